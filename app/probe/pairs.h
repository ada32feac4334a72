/* All pairs of N hosts in sites, measured for a plan: the rotation says who sends when, the order who is still worth a
 * train, an estimator of its own for each pair which train. Each pair has a link of its own, crossed by Poisson traffic of a
 * load drawn uniformly, and the pairs that leave a site share its way out. Cross traffic is made up for the time of a train
 * alone: it has no memory. */
#pragma once

#include "app/probe/run.h"
#include "probe/order.h"

struct pairs_config {
    uint64_t nodes, sites;
    uint64_t egress_bps;           /* of a site */
    uint64_t load_ppb_max;         /* of a pair's link: drawn from 0 to this */
    uint64_t keep;                 /* paths into each host that a plan may choose among */
    uint64_t limit_ns;             /* it is over then, whatever is open */
    uint64_t coarse_ppb, fine_ppb; /* half-widths that the order asks for, of the link */
    struct run_config run;         /* of one pair: its link is the only hop; goal, estimator, ends */
};

struct pairs_figures {
    /* Kendall's, of pairs further than 5 % of the link apart: against a measurement in full, and the truth. */
    double tau, tau_truth;
    double bytes, bytes_full;
    double took_s;
    double error_sd, error_full_sd; /* root of the mean square against the truth, of the link */
    double open;                    /* share of pairs that were still worth a train in the end */
    double rate, rate_full; /* what a plan by it carries on the true net, of what one by the truth carries */
};

/* False: no memory. `solver` is an arena for the planner. */
struct arena;
bool pairs_measure(const struct pairs_config *config, uint64_t seed, struct arena *solver,
                   struct pairs_figures *figures);
