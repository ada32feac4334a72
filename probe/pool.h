/* What many trains say together: the cross traffic's mean over their windows, and how sure that is.
 *
 * Kept are each train's sums, so that a capacity learned later serves earlier trains too. `busy`: cross
 * bits of all over time of all, which has the least variance and no bias where the queue ran dry early in a
 * train, if its trains see one steady process; for Poisson arrivals of packets of L bits its deviation is
 * sqrt(cross * L / T), the law that no estimator of this kind goes below; less so much of each as makes the
 * capacity's error in the whole, and the trains' own, the least together. `equal`: each train counts alike,
 * whatever it saw of the queue; for cross traffic that changes from one train to the next. Then variance is
 * the greater of that of all trains and that of the differences of successive ones, with a third of the
 * freedom that as many independent values would have. */
#pragma once

#include "probe/conserve.h"

#define POOL_TRAINS_MAX 512u

struct pool_train {
    struct conserve fit;
    uint32_t bytes;
};

struct pool {
    uint32_t count, begin; /* of the ring */
    struct pool_train trains[POOL_TRAINS_MAX];
};

struct pool_view {
    double cross;       /* bit/ns */
    double error;       /* half-width of its interval at 95 %, by the trains alone */
    double law;         /* standard deviation by the law */
    double spread;      /* variance between trains over that of the law; 0: too few to tell */
    double balance;     /* share of the capacity's error that goes into what is available */
    double turned_down; /* trains' weights: by time, less so much of their shares of the capacity's error */
    double weight_ns;   /* sum of those */
    double sent_ns, edges;     /* sums */
    double jumps;              /* bit/ns of the cross traffic that may be delays of another kind */
    struct conserve_sums tail; /* of the trains' second halves */
    bool rank;                 /* which of conserve's hypotheses holds */
    uint32_t trains;
    uint64_t from_ns, until_ns, bytes;
};

void pool_clear(struct pool *pool);
/* The oldest goes when it is full. */
void pool_add(struct pool *pool, const struct conserve *fit, uint32_t bytes);
/* Trains that began before go. */
void pool_forget(struct pool *pool, uint64_t before_ns);
void pool_view(const struct pool *pool, double capacity, double capacity_error, double packet_bits,
               bool equal, struct pool_view *view);
/* A good part of the trains found the hop idle for most of their time, another one busy: `busy` would go by
 * these alone. */
bool pool_divided(const struct pool *pool);
/* Of Student's distribution, 97.5 %. */
double pool_quantile(double freedom);
