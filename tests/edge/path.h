/* A sender and a receiver joined by two simple seeded links, in virtual time: the harness of the edge's
 * transfer tests. The forward link has rate, buffer, delay, jitter (reordering), a share of packets delayed
 * more, loss, duplicates and a blackout; the way back has delay, jitter, loss and the blackout. The owner at
 * the sending end holds an object of `symbols` numbered contents and a repair queue. The receiver's clock
 * runs at an offset. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/rng.h"
#include "edge/receiver.h"
#include "edge/sender.h"

#define PATH_PACKET_BYTES 1538

struct path_config {
    uint64_t rate_bps; /* of the bottleneck */
    uint64_t buffer_ns;
    uint64_t delay_ns; /* one way, both ways alike */
    uint64_t jitter_ns;
    uint64_t loss_ppb, loss_back_ppb, duplicate_ppb;
    uint64_t delay_some_ppb, delay_some_ns;
    uint64_t black_from_ns, black_to_ns;
    uint64_t symbols;
    uint32_t window_packets;
    uint32_t receiver_window; /* 0: the same */
    const struct congestion_type *type;
    uint64_t initial_bps;
    bool known;
    uint64_t cap_bps; /* 0: none */
    uint64_t seed;
    uint64_t limit_ns;
};

struct path_result {
    bool completed;
    uint64_t complete_ns;  /* the receiver has every symbol */
    uint64_t settled_ns;   /* the sender knows, and its floor has reached the end */
    uint64_t last_new_ns;  /* departure of the last never-sent symbol */
    uint64_t link_lost;    /* data packets dropped by loss model, blackout and buffer */
    uint64_t buffer_drops; /* of these, by the full buffer */
    uint64_t sent, repairs, spurious, tail_probes, declared_lost;
    uint64_t feedback_bytes, data_bytes;
    uint64_t in_flight_max;  /* packets */
    uint64_t floor_lag_max;  /* next - floor */
    uint64_t floor_still_ns; /* longest time that the floor stood while packets were in flight */
    uint64_t steady_bytes;   /* new symbols received from steady_from on, as wire bytes */
    uint64_t steady_ns;
    uint64_t queue_ns_max;  /* at the bottleneck, in the steady time */
    uint64_t dark_sent;     /* bytes sent in the blackout, max(1 s, 4 RTT) and more after its start */
    uint64_t relit_bytes;   /* new, received from 2.5 to 3.5 RTT after its end */
    uint64_t repeated_acks; /* contents acked more than once */
};

/* Everything acked, or the limit: whichever is first. Steady time is from steady_from_ns to last_new_ns. */
void path_run(const struct path_config *config, uint64_t steady_from_ns, struct path_result *result);
