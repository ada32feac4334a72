/* The law of conservation of a queue that serves in order, over one train.
 *
 * Let C be the tight hop's capacity. While it is not idle, what it serves between the ends of two probes is
 * what came between their arrivals: C * (r_j - r_i) = probe bits + cross bits that came within (s_i, s_j).
 * The probe bits are known, so the cross bits are, for any pattern of gaps: no search, no bend to find.
 * Available is C less those over s_j - s_i; of C itself only the share 1 - (r_j - r_i) / (s_j - s_i) goes
 * into that, nothing where the queue ends as it began.
 *
 * A step from one point to the next goes in when the queue cannot have run dry in it, by what was known
 * when the step began: the first packet's wait is at least its delay beyond the least delay so far, and the
 * gap behind it is known. What the step itself then measures has no say in that, so the sum over all steps
 * has no bias, wherever the queue ran dry (cross bits of a stopped random walk have the mean of an
 * unstopped one). Between points that lie many packets apart (batches) the cross traffic known so far is
 * reckoned with, less two deviations of it. */
#pragma once

#include "probe/points.h"

#define CONSERVE_BLOCKS 8u

/* What is known before. */
struct conserve_path {
    double capacity;    /* bit/ns; > 0 */
    double cross;       /* bit/ns; 0: not known */
    double packet_bits; /* of a cross packet, at most */
};

/* Probe packets that did not come, or came late, may have been in the tight hop's queue at their place (index) or not
 * (rank). Both are counted; `evidence` says which it was. */
struct conserve_sums {
    double sent_ns, received_ns;
    double index_bits, rank_bits; /* probe bits served */
};

struct conserve {
    struct conserve_sums all;  /* of the steps that went in */
    struct conserve_sums tail; /* … in the second half of the train's time: what its prime did is over */
    double evidence, evidence_weight; /* for rank rather than index: evidence / weight is 1 or 0 */
    double variance_bits2; /* of the cross bits in all steps, by what differs between parts of the train */
    double edges;          /* stretches of steps: each ends in two stamps */
    double closing_ns2;    /* variance of those by batches that time closed */
    uint32_t steps, first, last; /* points; the first step's begin and the last one's end */
    uint64_t from_ns, until_ns;  /* their departures, sender's clock */
    /* Of the cross bits, those in steps with more of them than a line a few times as fast could bring: or a delay. */
    double jump_bits;
    double wait_ns; /* the greatest, at least */
    double span_ns; /* from the first point to the last, busy or not */
};

void conserve_fit(struct conserve *fit, const struct probe_points *points, const struct conserve_path *path);
/* Whether the step from point i is one of those, given the least delay of points up to i. */
bool conserve_busy(const struct probe_points *points, const struct conserve_path *path, uint32_t i,
                   int64_t least_ns);
/* Cross bits within their sent_ns. */
double conserve_cross_bits(const struct conserve_sums *sums, double capacity, bool rank);
