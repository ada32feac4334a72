/* What an operator asks for: one job. Filled by lib/conf from a YAML job file; checked again by the node. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/name.h"
#include "plan/plan.h"
#include "wire/control.h"

struct job_spec {
    char name[NAME_BYTES];
    char source[NAME_BYTES]; /* must be the node that runs the job */
    bool to_all;             /* every configured peer */
    uint16_t receiver_count;
    char receivers[PLAN_NODES_MAX][NAME_BYTES];
    char file[PATH_BYTES];                         /* at the source */
    char directory[NAME_BYTES];                    /* name of a directory of the receivers' configuration */
    char target[CONTROL_FILE_BYTES];               /* path below it; empty: the base name of `file` */
    uint8_t metric;                                /* enum plan_metric */
    uint8_t trees;                                 /* 1 */
    uint8_t children_max;                          /* 0: no limit */
    uint16_t given_count;                          /* PLAN_METRIC_GIVEN */
    char given[PLAN_NODES_MAX - 1][2][NAME_BYTES]; /* [from, to] */
    uint64_t rate_bps;   /* 0: by the plan; else payload rate cap, and the rate of a given tree */
    uint8_t hash;        /* enum part_hash */
    uint8_t durable;     /* enum part_durable */
    uint8_t exists;      /* enum part_exists */
    uint8_t congestion;  /* enum part_congestion */
    uint64_t measure_ns; /* how long to measure before planning */
};
