/* What estimators have in common that send trains, wait for what became of them and decide: when the next
 * one may leave, what has been spent, when there is an end.
 *
 * Guarantee: at any time t behind the start no more than load * C * (5 s + t / 2) has been asked for, C
 * being the receiver's interface or, where that is not told, the sender's: within any 10 s no more than
 * load * C * 10 s. And never more than goal.bytes_max. */
#pragma once

#include "probe/estimator.h"

struct search {
    struct estimator_goal goal;
    uint64_t begin_ns;
    uint64_t due_ns;            /* the next train does not leave before */
    uint64_t from_ns, until_ns; /* first and last departure of what counts */
    uint64_t bytes;             /* of trains that were asked for */
    uint32_t under_way;         /* trains without an answer */
    uint32_t trains, discarded; /* that were answered: of use, and not */
    uint32_t answers, silent;   /* of them all: reports; and none */
    bool over, spent;           /* it is done; because nothing more may be sent */
};

void search_start(struct search *search, const struct estimator_goal *goal, uint64_t now_ns);
/* Asks for the shape to be sent once it is due and allowed, at most `together` being under way. */
enum estimator_step search_next(struct search *search, const struct train_shape *shape, uint32_t together,
                                uint64_t now_ns, uint64_t *at_ns);
/* What became of a train. True: it is of use: it left as it should, and of it came at least `least` packets. */
bool search_take(struct search *search, const struct train_record *record, uint32_t least);
/* Time is up for a measurement that lasts goal.duration_ns; one without ends with its first result. */
bool search_time_is_up(const struct search *search, uint64_t now_ns);
/* The fastest rate that makes sense: the slower of both interfaces. */
uint64_t search_rate_max(const struct estimator_goal *goal);
/* An estimate without a value yet: what was spent, and why there is none. */
void search_result(const struct search *search, struct estimate *estimate);
/* … and with one. */
void search_value(const struct search *search, struct estimate *estimate, double low_bps, double avail_bps,
                  double high_bps);

/* Mean time from packet to packet of what came of a train, by the departures and by the arrivals; false: fewer than two
 * came, or all at once. Lost packets count as having been there. */
bool search_gaps(const struct train_record *record, double *sent_ns, double *received_ns);
