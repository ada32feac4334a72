/* What an operator asks for: one job. Filled by lib/conf from a YAML job file; checked again by the node. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/name.h"
#include "base/rights.h"
#include "base/units.h"
#include "plan/plan.h"
#include "wire/control.h"

/* Longest measurement that a job may ask for: others wait for it too, and their patience ends. */
#define JOB_MEASURE_NS_MAX (3 * NS_PER_S)
/* Oldest measurement that a job may accept; what is older is not known. */
#define JOB_MEASURE_AGE_NS_MAX (600 * NS_PER_S)

/* What an operator may change while the job runs. */
struct job_controls {
    uint64_t rate_cap_bps; /* payload sent on each edge of the tree, repairs included; 0: no cap */
    uint8_t priority;      /* 0 to CONTROL_PRIORITY_MAX: weight 2^priority where jobs share an edge */
    uint8_t dscp;          /* of the job's data packets and their acks */
    bool paused;           /* nothing of it is sent, at the source and at relays */
};
enum job_control {
    JOB_CONTROL_RATE = 1,
    JOB_CONTROL_PRIORITY = 2,
    JOB_CONTROL_DSCP = 4,
    JOB_CONTROL_PAUSED = 8
};
#define JOB_PRIORITY_NORMAL 3

/* Who, beside the receivers, may pass the object on. */
enum job_relays { JOB_RELAYS_NONE = 0, JOB_RELAYS_ALL, JOB_RELAYS_NAMED };

/* What is said of one edge. */
struct job_rule {
    char edge[2][NAME_BYTES]; /* [from, to] */
    uint8_t rule;             /* enum plan_rule */
};
#define JOB_RULES_MAX 128

/* Where the metric ties. */
struct job_ties {
    bool random; /* else by name */
    uint64_t seed;
};

#define JOB_START_PLAN (UINT64_MAX - 1) /* more than any plan has: all edges begin at theirs */

#define JOB_SURVEY_OFF    UINT64_MAX
#define JOB_SURVEY_NS_MAX (60 * NS_PER_S)

struct job_spec {
    char name[NAME_BYTES];
    char source[NAME_BYTES]; /* must be the node that runs the job */
    bool to_all;             /* every configured peer */
    uint16_t receiver_count;
    char receivers[PLAN_NODES_MAX][NAME_BYTES];
    char file[PATH_BYTES];           /* at the source */
    char directory[NAME_BYTES];      /* name of a directory of the receivers' configuration */
    char target[CONTROL_FILE_BYTES]; /* path below it; empty: the base name of `file` */
    char manifest[PATH_BYTES];       /* where its manifest goes; empty: as the node says */
    uint8_t metric;                  /* enum plan_metric */
    uint8_t trees;                   /* at most; 0: the planner's choice */
    uint8_t children_max;            /* 0: no limit */
    uint8_t dcmst_of;                /* PLAN_METRIC_DCMST: whose tree */
    uint8_t degree;                  /* and of how many children per node */
    uint8_t avb_of;                  /* enum plan_avb_source */
    struct job_ties ties;
    uint8_t relays; /* enum job_relays */
    uint16_t relay_count;
    char relay_names[PLAN_NODES_MAX][NAME_BYTES];
    uint16_t leaf_count;
    char leaves[PLAN_NODES_MAX][NAME_BYTES]; /* receivers that pass nothing on */
    uint16_t rule_count;
    struct job_rule rules[JOB_RULES_MAX];
    uint16_t given_count;                          /* PLAN_METRIC_GIVEN */
    char given[PLAN_NODES_MAX - 1][2][NAME_BYTES]; /* [from, to] */
    uint64_t plan_rate_bps; /* payload rate of a given tree; 0: the planner computes one */
    /* Wire rate at which edges begin; 0: the plan's where the path is known; JOB_START_PLAN; UINT64_MAX: unknown. */
    uint64_t start_bps;
    uint64_t survey_ns;           /* for measuring the plan's edges; 0: what pays; JOB_SURVEY_OFF */
    struct job_controls controls; /* to begin with */
    uint8_t hash;                 /* enum part_hash */
    uint8_t durable;              /* enum part_durable */
    uint8_t exists;               /* enum part_exists */
    uint8_t congestion;           /* enum part_congestion */
    uint8_t object;               /* enum part_object */
    uint8_t slow;                 /* stream: enum part_slow */
    uint64_t retention_bytes;     /* stream: kept for slow receivers and repairs */
    uint64_t window_ns;           /* stream: and no older than this; 0: no limit */
    uint64_t flush_ns;            /* stream: a symbol waits so long to be filled */
    uint8_t tree_owner;           /* PART_TREE_OWNER or 0; the same for the next two */
    uint8_t tree_xattrs;
    uint8_t tree_hardlinks;
    uint64_t measure_ns;     /* how long to measure before planning … */
    uint64_t measure_age_ns; /* … what is unknown or older than this */
    bool fed;                /* stream: `file` is the socket of a client that tells the end; of no job file */
    bool dry_run;            /* ends once it is planned; of no job file */
    struct rights rights;    /* with which `file` is read; of no job file: whoever takes the job knows */
};
