/* What is known of one path by now: every estimate of it, from trains and from data that was sent anyway,
 * goes in here, and one comes out, with the interval that its age leaves.
 *
 * Between estimates available bandwidth is taken for a random walk: after t seconds what was known has a
 * variance of drift_bps^2 * t more. What comes in is weighed with that by its own interval (Kalman), so
 * that several coarse ones give a narrow one and an old one gives way to a new one. An estimate that lies
 * more than KNOWN_CHANGE_SIGMAS away, or says itself that the path has changed, takes the place of all
 * before. "At least R" lifts what is known up to R where it is less, and says nothing where it is more.
 *
 * No IO; times are the caller's, of one clock. A struct of zeroes knows nothing. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "probe/estimate.h"

#define KNOWN_CHANGE_SIGMAS 4
/* Half of an interval at 95 % in standard deviations. */
#define KNOWN_SIGMAS 1.96
/* Where nothing else is known: of the capacity, per square root of a second. An hour makes it a quarter. */
#define KNOWN_DRIFT 0.004
/* Half of an interval by data that is as narrow as it gets (in_band.h), and some seconds old. */
#define KNOWN_DATA_SHARE 0.05

struct known {
    struct estimate newest; /* that went in; ESTIMATE_NONE: nothing is known */
    uint64_t at_ns;         /* when avail_bps was so */
    double avail_bps;
    double variance;  /* of it, at at_ns; bps^2 */
    double drift_bps; /* per square root of a second; 0: KNOWN_DRIFT of the capacity */
    bool open;        /* all that is known is a lower end: avail_bps */
    uint32_t taken, changes;
};

/* False: it said nothing (none, refused, or "at least" of what is known to be more). */
bool known_take(struct known *known, const struct estimate *estimate, uint64_t at_ns);
/* As of now_ns: kind NONE, VALUE with the aged interval within [0, capacity], or AT_LEAST. Flags, capacity
 * and what else was seen are the newest one's. */
struct estimate known_at(const struct known *known, uint64_t now_ns);
/* Whether a train is worth its bytes: nothing is known, or not as narrow as half_bps on either side by now.
 * "At least" what the sender's port can do, but for one part in a hundred, is all that a train could find
 * out. */
bool known_wants_train(const struct known *known, uint64_t half_bps, uint64_t port_bps, uint64_t now_ns);
/* The newest word is that of data that was sent anyway, and as narrow as that gets or as is asked for: a
 * train is not worth its bytes while the data goes on, nor for some seconds behind it. */
bool known_data_tells(const struct known *known, uint64_t half_bps, uint64_t port_bps, uint64_t now_ns);
