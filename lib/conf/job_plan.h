/* `plan` of a job, and the rows that it has in common with a net file: how trees are found, and
 * what the operator knows better. */
#pragma once

#include "conf/reader.h"
#include "ctl/job_spec.h"

/* Fill a struct job_spec. */
extern const struct conf_option job_plan_options[];
/* Contradictions within it; brings a given tree into the order parents before children. */
void job_plan_check(struct conf_reader *reader, const char *where, struct job_spec *spec);
/* The map of the job at key path `where` ("" or "jobs[0]."). */
const yaml_node_t *conf_find_job(struct conf_reader *reader, const char *where);

/* ---- with net files ---- */

extern const struct word conf_metric_words[]; /* of `metric` */
extern const struct word conf_avb_words[];    /* of `avb`, in net files `avb_of` */
extern const struct word conf_dcmst_words[];  /* of `dcmst_of` */
extern const struct word conf_trees_words[];  /* of `trees` */
/* `ties`, a struct job_ties: "name" or "seed N". */
bool conf_parse_ties(const struct conf_option *option, const char *text, void *field);
#define CONF_TIES_FORM                                "name | seed N"
#define CONF_TIES_HELP                                "where the metric ties: by the nodes' names, or at random, the same for the same seed"
#define CONF_AVB_HELP                                 "whose word on the available bandwidth of paths counts"
#define CONF_DEGREE_HELP                              "dcmst: children that a node may have at most"
#define CONF_DCMST_HELP                               "dcmst: whose tree"
#define CONF_TREES_HELP                               "trees that share the object, at most; auto: as many as help"
#define CONF_METRIC_HELP(constant, value, word, help) "; " word ": " help
