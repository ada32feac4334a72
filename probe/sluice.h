/* The state of estimator `sluice`, which its files share: estimator_sluice.c drives it, sluice_course.c
 * says which train is next, sluice_verdict.c what is known. */
#pragma once

#include "base/rng.h"
#include "base/units.h"
#include "probe/budget.h"
#include "probe/estimator.h"
#include "probe/pool.h"
#include "probe/profile.h"
#include "probe/reading.h"
#include "probe/shaper.h"
#include "probe/tracker.h"

/* One that goes on: what it looks back on. */
#define SLUICE_WINDOW_NS (10 * NS_PER_S)
/* Trains in a row that show the same token bucket: a finding. */
#define SLUICE_SHAPERS_SURE 2u

enum sluice_phase { CONTACT, FINGERPRINT, REFINE, SPREAD, OVER };

struct sluice {
    struct estimator_goal goal;
    struct profile profile;
    struct rng rng;
    struct budget budget;
    enum sluice_phase phase;
    enum estimate_reason hopeless;   /* before the first train; ESTIMATE_SURE: it is not */
    uint64_t begin_ns, end_ns;       /* TIME_NEVER: none is asked for */
    uint64_t slot_begin_ns, slot_ns; /* of spread: the running slot, its length */
    uint64_t at_ns;                  /* when the next train leaves, at the earliest */
    uint64_t sent_ns, round_ns;      /* the last train; from a train to its report */
    uint64_t changed_ns;             /* TIME_NEVER: never */
    uint64_t first_ns, last_ns;      /* of trains that found nothing queued */
    uint32_t sent, under_way, tries, failures, lost, spoiled, jitter, idle, taken;
    /* Of those spoiled: by departures, by a receiver that was away, by a clock that was set. */
    uint32_t late, swallowed, stepped;
    uint64_t packets, packets_lost, packets_late;
    uint32_t batch; /* the largest batch or clump seen, or told by the receiver */
    bool bursty, batched;
    uint8_t stamp_kind; /* the worse of both ends, of the last record */
    struct reading_path path;
    double drowned; /* bit/ns that came of the last train that was lost for the most part; 0: none was */
    double packet_bits, noise_ns, passed; /* the greatest rate that queued nowhere */
    struct tracker avail, capacity;
    struct shaper shaper;     /* as the last train of that phase showed it */
    uint32_t shapers;         /* trains in a row that showed the same one */
    uint32_t shaper_misses;   /* in a row, after that */
    struct conserve overload; /* of a fingerprint that showed no bucket: sent faster than what is available */
    struct pool pool;
    struct reading reading;
    struct probe_points points;
};

static inline double bits_ns(uint64_t bps)
{
    return (double)bps / 1e9;
}

static inline uint64_t bps_of(double bits)
{
    return bits > 0 ? (uint64_t)(bits * 1e9 + 0.5) : 0;
}
