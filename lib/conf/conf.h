/* YAML files → typed structs. Every key is declared once, in a table (name, type, bounds, unit, default,
 * help) that drives parsing, checking, `--help-config` and the documentation. A file is checked as a whole:
 * all its errors are reported, each as "file:line: what is wrong, what was expected", unknown and duplicate
 * keys included. Values carry units: 1Gbps, 40ms, 64MiB, 100MB (SI), 0.7%. Allocation is the parser's own and
 * gone when a call returns. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

#include "conf/app_config.h"
#include "ctl/job_spec.h"
#include "ctl/paths.h"
#include "plan/plan.h"
#include "sim/scenario.h"

/* Errors of one file, in order of lines. */
#define CONF_ERRORS_MAX 32
struct conf_errors {
    unsigned count; /* may exceed CONF_ERRORS_MAX: the rest was not kept */
    char lines[CONF_ERRORS_MAX][320];
};

/* The whole of a file or pipe as a fresh, zero-terminated string, which the caller frees; NULL: errno, and err says
 * why (without the path). A FIFO that nobody writes to is refused after 2 s, devices at once. */
char *conf_slurp(const char *path, size_t bytes_max, struct err *err);

/* Each reads `path`, or, when text is not NULL, that text under the name `path` in messages. False: see
 * errors. */
/* name: of this node, before the file's and the host's; NULL: not given. */
bool conf_read_node(const char *path, const char *text, const char *name, struct app_config *config,
                    struct conf_errors *errors);
/* What is in force, key by key: of a map in a list as "peers[2].address". */
struct conf_settings {
    char *text; /* to be freed by conf_settings_free */
    size_t bytes;
};
struct conf_setting {
    const char *key, *value; /* as in the file; lists as "a, b"; "": there is none */
    bool given;              /* by the file; else it is the default */
};
/* The same as conf_read_node; *settings stays as it is where the file has errors. */
bool conf_read_node_settings(const char *path, const char *text, const char *name, struct app_config *config,
                             struct conf_settings *settings, struct conf_errors *errors);
/* *at: 0 at first. False: that was the last one. */
bool conf_settings_next(const struct conf_settings *settings, size_t *at, struct conf_setting *setting);
void conf_settings_free(struct conf_settings *settings);
/* The same of a file whose roster may not have all keys yet, so that each node can say its own: none is read. */
bool conf_read_identity(const char *path, const char *name, struct app_config *config,
                        struct conf_errors *errors);
/* The name of a node whose file and caller say none: the host's. False: that is none that a node can have. */
bool conf_host_name(char name[NAME_BYTES]);
/* The `stream` of a job that is fed through sluicectl; then it is also spec->file. */
#define CONF_JOB_STDIN "-"
/* A text is taken for one that came through the control socket: at most 64 KiB (reader.h). */
bool conf_read_job(const char *path, const char *text, struct job_spec *spec, struct conf_errors *errors);
/* Matrices named in a scenario are searched beside it, then in conf/data of the installation. */
bool conf_read_scenario(const char *path, const char *text, struct scenario *scenario,
                        struct conf_errors *errors);
/* The same with changes from a command line: each of `sets` is "links.default.loss=1%" (change.h). */
bool conf_read_scenario_set(const char *path, const char *text, const char *const *sets, unsigned set_count,
                            struct scenario *scenario, struct conf_errors *errors);
/* The planner's offline input; job and epoch are set to 1. YAML or JSON. */
bool conf_read_net(const char *path, const char *text, struct plan_request *request,
                   struct conf_errors *errors);

/* A node's plan.avb and plan.distance, CSV files (avb_file.h); an empty path: none. False: err names the line. */
bool conf_read_paths(const char *avb_path, const char *distance_path, struct ctl_paths *paths,
                     struct err *err);

/* One thing that `job set` changes, as it stands in a job file: into the field of that key. *changed: its bit
 * of enum job_control. */
bool conf_parse_job_control(const char *key, const char *text, struct job_controls *controls,
                            uint8_t *changed, struct err *err);

/* Values with units, for command lines too. False: not of that form or out of range. */
bool conf_parse_rate(const char *text, uint64_t *bps);
bool conf_parse_time(const char *text, uint64_t *ns);
bool conf_parse_size(const char *text, uint64_t *bytes);
bool conf_parse_share(const char *text, uint64_t *ppb); /* "0.7%" */

void conf_errors_print(const struct conf_errors *errors, FILE *stream);
/* The reference of one kind of file ("node", "job", "scenario", "net"), made from its table. False: no such
 * kind. */
bool conf_print_help(const char *kind, FILE *stream);
