/* What the parts of the strategy bql share: its law (congestion_bql.c), its start (bql_start.c), and how it
 * holds its own beside senders that fill the buffer (bql_compete.c). Only those three include it. Rates in
 * bit/s on the wire. */
#pragma once

#include "base/units.h"
#include "edge/congestion.h"

#define BQL_PPM               1000000ULL
#define BQL_RATE_MIN_BPS      50000ULL
#define BQL_RATE_MAX_BPS      1000000000000ULL
#define BQL_TRAIN_BPS         40000000000ULL
#define BQL_TRAIN_PACKETS     20
#define BQL_PARK_PPM          985000ULL
#define BQL_PLAIN_LOSS_PPM    100000 /* above what chance takes: few packets tell */
#define BQL_GROWTH_UNSURE_PPM 200000

enum bql_phase { BQL_TRAIN, BQL_START, BQL_TRACK, BQL_CALM, BQL_PARK, BQL_REFRESH, BQL_COMPETE };

/* What this ack makes of the path. */
struct bql_path {
    uint64_t now_ns;
    uint64_t rtt_ns;
    uint64_t capacity_bps; /* what the path takes from this edge, random loss included */
    uint64_t queue_ns;     /* as measured */
    uint64_t newest_ns;    /* as the newest packet tells, beyond jitter */
    uint64_t predicted_ns; /* when what is under way will have arrived */
    uint64_t target_ns;
    uint64_t newest_sent_ns;
};

/* The packets whose fate became known within a round trip. */
struct bql_round {
    uint32_t loss_ppm;
    uint64_t delivered_bps;
};

void bql_set_rate(struct congestion_bql *bql, uint64_t rate_bps);
/* Begins a phase. */
void bql_enter(struct congestion_bql *bql, enum bql_phase phase);
/* Begins PARK, or, in it, goes lower. */
void bql_park(struct congestion_bql *bql, const struct bql_round *round);

/* Jitter that the least delay shows, because packets wait for their predecessors instead of overtaking. */
uint64_t bql_order_kept_jitter_ns(const struct congestion_bql *bql);
/* How long packets wait for their predecessors on an idle path, at most. */
uint64_t bql_waiting_ns(const struct congestion_bql *bql);
/* Whether what looks like a queue may as well be packets that wait for their predecessors. */
bool bql_may_wait(const struct congestion_bql *bql, uint64_t queue_ns);
/* q* at this rate. */
uint64_t bql_target_ns(const struct congestion_bql *bql, uint64_t rate_bps);
/* The rate at which so much is delivered, the usual loss being what it is. */
uint64_t bql_with_losses_bps(const struct congestion_bql *bql, uint64_t delivered_bps);
/* Chance rarely takes more than this of so many packets. */
uint32_t bql_likely_ppm(const struct congestion_bql *bql, uint64_t packets);

/* The next train is to tell. */
void bql_await_train(struct congestion_bql *bql, uint64_t delivered_bytes);
void bql_train(struct congestion_bql *bql, const struct congestion_sample *sample);
void bql_start(struct congestion_bql *bql, const struct bql_path *path);

/* Takes note of what all edges into the receiver's port have. */
void bql_take_own(struct congestion_bql *bql, const struct congestion_sample *sample);
void bql_compete_when_contested(struct congestion_bql *bql, const struct bql_path *path);
void bql_compete(struct congestion_bql *bql, const struct bql_path *path,
                 const struct congestion_sample *sample);
/* lossy: the round lost more than chance takes. */
void bql_compete_round(struct congestion_bql *bql, const struct bql_path *path, bool lossy);
