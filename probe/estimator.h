/* Estimators of available bandwidth: one interface for all of them, one file each.
 *
 * An estimator is a state machine without IO: it says which train it wants next and when, is told what became of each,
 * and has an estimate at any time. It runs at the sender and sees nothing but records of its own trains: neither the
 * path nor its truth. Several trains may be under way at a time: a round trip is only latency. Whoever drives it sends
 * no train before its time, and answers each one once: by a record or as lost (record NULL: no report came).
 *
 *     estimator_init(&estimator, memory, kind, &goal, now)
 *     while (step != ESTIMATOR_DONE)
 *         step = estimator_next(..., now, &shape, &at_ns)   TRAIN: send it at at_ns; WAIT: ask again at at_ns, or
 *                                                           after the next record
 *         estimator_take(..., record, now)
 *     estimator_result(..., now, &estimate) */
#pragma once

#include <stddef.h>

#include "probe/estimate.h"
#include "probe/record.h"

/* What is asked for, and what may be spent on it. */
struct estimator_goal {
    uint64_t port_bps;        /* the sender's interface: no train is faster; > 0 */
    uint64_t receiver_bps;    /* the receiver's, as it tells; 0: not known */
    uint64_t rtt_ns;          /* least one known; 0: not known */
    uint32_t wire_bytes;      /* of the largest packet that the path takes, on the wire */
    uint64_t width_ppm;       /* half-width of the interval that is asked for, of capacity */
    uint64_t duration_ns;     /* of the measurement, and of the period it stands for; 0: as soon as can be */
    uint64_t bytes_max;       /* for all of its trains; 0: no limit */
    uint64_t queue_bytes_max; /* that a train of its own may add to a queue, once the path is known */
    uint32_t first_packets_max; /* of the first train: the path is slow; 0: no limit */
    uint32_t load_ppm;          /* of the path's capacity, over any 10 s, that trains may take; 0: no limit */
    bool continuous;            /* goes on for ever: estimator_result is that of the running window */
    struct train_floor sender, receiver; /* as measured before; zero: exact */
};

enum estimator_step { ESTIMATOR_WAIT, ESTIMATOR_TRAIN, ESTIMATOR_DONE };

struct estimator_kind {
    const char *name;
    size_t bytes; /* of its state */
    bool floors;  /* goal.sender and goal.receiver are to be known before its first train */
    void (*start)(void *state, const struct estimator_goal *goal, uint64_t now_ns);
    enum estimator_step (*next)(void *state, uint64_t now_ns, struct train_shape *shape, uint64_t *at_ns);
    void (*take)(void *state, const struct train_record *record, uint64_t now_ns);
    void (*result)(const void *state, uint64_t now_ns, struct estimate *estimate);
};

/* All kinds; the last is NULL. `sluice` comes first. */
extern const struct estimator_kind *const estimator_kinds[];
const struct estimator_kind *estimator_kind(const char *name); /* NULL: there is none of that name */

/* Bytes that hold the state of any kind. */
size_t estimator_bytes(void);
