/* The estimators that there are, each in a file of its own, whose head says what it does; probe/estimator.c
 * lists them. All but ours are written from published descriptions, without their code. What the originals
 * take for granted and 10 Gbit/s does not give (clocks and gaps in whole us) is replaced by exact times,
 * for all of them alike. */
#pragma once

#include "probe/estimator.h"

extern const struct estimator_kind estimator_sluice;
extern const struct estimator_kind estimator_yaz;
extern const struct estimator_kind estimator_pathload;
extern const struct estimator_kind estimator_pathchirp;
extern const struct estimator_kind estimator_kite2;
extern const struct estimator_kind estimator_capacity;
extern const struct estimator_kind estimator_rtt;
