/* A job as `show jobs` describes it in JSON. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/name.h"
#include "ctl/job_spec.h"
#include "node/job_state.h"

#define VIEW_SITES_MAX 64
#define VIEW_TEXT      256
#define VIEW_TREE      8192

struct site_view {
    char name[NAME_BYTES];
    char state[16];
    uint64_t received_bytes, verified_bytes;
    uint64_t complete_ns; /* 0: not yet */
    uint64_t stalled_ns;  /* so long nothing has come; 0: it gets on */
    /* The edge that limits it, and why: empty, or "none", while nothing is known. */
    char limited_from[NAME_BYTES], limited_to[NAME_BYTES], limited_by[16];
    char text[VIEW_TEXT]; /* why it failed, or what it waits for, or where the file lies */
};

struct job_view {
    char name[NAME_BYTES];
    uint64_t id;
    char state[16];
    char text[VIEW_TEXT]; /* why it failed */
    char note[VIEW_TEXT]; /* what of a directory is not kept */
    uint64_t size_bytes;
    uint64_t created_ns, running_ns, ended_ns; /* 0: not yet */
    uint64_t now_ns;
    uint64_t rate_bps; /* that the plan gives all receivers but slow ones; 0: there is no plan yet */
    char tree[VIEW_TREE];
    unsigned site_count;
    struct site_view sites[VIEW_SITES_MAX];
};

enum view_result { VIEW_FOUND, VIEW_NO_SUCH_JOB, VIEW_MALFORMED };

/* The newest job, or plan, of that name or id of which the node is the source. Missing members read as 0 and "". */
enum view_result job_view_parse(struct job_view *view, const char *json, const char *asked);

/* By the words of the enum; the text itself may be one that this program does not know. */
bool job_view_is(const struct job_view *view, enum job_state state);
bool site_view_is(const struct site_view *site, enum site_state state);
/* Something still comes to it, or may: it has not ended. */
bool site_view_going(const struct site_view *site);
bool job_view_over(const struct job_view *view); /* done, failed or cancelled */
/* A site that has everything: verified, or skipped because it already had it. */
bool site_view_complete(const struct site_view *site);
/* Over, done, and every site complete. */
bool job_view_good(const struct job_view *view);
/* Over and not cancelled; some sites are complete, and some are not. */
bool job_view_incomplete(const struct job_view *view);
