/* A competitor: TCP as the network sees it, a sender that always has data and a receiver without limits.
 *
 * What is sent has a packet number, never reused: a retransmission is a new number, as in QUIC. That is the
 * same on the wire and makes delivery-rate samples (draft-cheng-iccrg-delivery-rate-estimation) and RTT
 * samples unambiguous. The receiver acks every second packet, every packet at the start and at once when one
 * comes out of order, the rest after 40 ms (RFC 1122, 5681, Linux). An ack lists the last receipts and the
 * run of numbers that the newest one ends, so a few lost acks do no harm.
 *
 * Loss: three later numbers acked (RFC 6675) as long as the path has kept order; from the first overtaking on
 * by time (RFC 8985): a packet sent a quarter of the least RTT later was acked, more after each mistake. One
 * reduction per round trip; the window then follows proportional rate reduction (RFC 6937) unless the
 * controller sets its own. Where the scenario says so (ecn) its packets are ECN-capable, and a mark counts as
 * a loss does, without one (RFC 3168; the receiver tells how many came, which is ECE and CWR without the
 * chance of missing one). A tail loss probe after two RTTs of silence, then timeouts (RFC 6298, at least
 * 200 ms beyond the RTT as in Linux) that double and take everything in flight for lost.
 *
 * As in Linux without fq, a controller that sets no pacing rate is clocked by acks alone. Initial window 10.
 * Left out: SYN handshake, receive window, undo after a spurious loss. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "sim/cross_flow.h"

#define COMPETITOR_WINDOW_FIRST 10
#define COMPETITOR_RECEIPTS     10 /* listed in an ack */
#define COMPETITOR_HEADER_BYTES 52 /* IPv4, TCP with timestamps */

enum competitor_state { COMPETITOR_OPEN, COMPETITOR_RECOVERY, COMPETITOR_TIMEOUT };
enum competitor_fate { FATE_IN_FLIGHT, FATE_LOST, FATE_ACKED };

struct competitor_record {
    uint64_t sent_ns;
    uint64_t first_sent_ns; /* draft-cheng: state of the connection when it was sent */
    uint64_t delivered;
    uint64_t delivered_ns;
    uint8_t fate; /* enum competitor_fate */
    bool app_limited;
};

/* What one ack taught; counts in packets, all of one size. */
struct competitor_sample {
    uint64_t now_ns;
    uint64_t rtt_ns; /* 0: none */
    uint32_t acked;
    uint32_t lost;
    bool marked; /* packets came with CE that no ack told of before */
    uint64_t in_flight_before;
    uint64_t delivered;       /* within interval_ns */
    uint64_t interval_ns;     /* 0: no rate sample */
    uint64_t prior_delivered; /* the count when the newest acked packet was sent */
    bool app_limited;
    bool window_used; /* the window is what limits */
};

struct cubic {
    uint64_t window;                   /* in 1/1024 packets: what lies below a whole packet is carried */
    uint64_t window_max, window_prior; /* same unit: W_max and cwnd_prior of RFC 9438 */
    uint64_t reno_window;
    uint64_t epoch_ns; /* 0: none */
    uint64_t k_ms;
    uint64_t delay_min_ns;
    uint64_t round_start_ns, round_end, round_last_ns, round_rtt_ns; /* HyStart */
    uint32_t round_samples;
    bool hystart_found;
};

enum bbr_mode { BBR_STARTUP, BBR_DRAIN, BBR_PROBE_BW, BBR_PROBE_RTT };

struct bbr_peak {
    uint64_t round, bps;
};

struct bbr {
    uint8_t mode; /* enum bbr_mode */
    uint64_t round, next_round_delivered;
    bool round_start;
    struct bbr_peak peaks[3]; /* windowed maximum, best first */
    uint64_t rtt_min_ns, rtt_min_stamp_ns;
    uint64_t cycle_ns;
    uint32_t cycle;
    uint64_t full_bps;
    uint32_t full_rounds;
    bool full;
    uint32_t pacing_gain, window_gain; /* in 1/1000 */
    uint64_t probe_rtt_done_ns;        /* 0: not yet down to four packets */
    bool probe_rtt_round_done;
    uint64_t prior_window;
    uint8_t prior_state; /* enum competitor_state at the ack before */
    bool conserve;
    uint64_t conserve_until; /* delivered */
    bool rtt_seen;
};

struct competitor;

/* A congestion controller. */
struct competitor_type {
    const char *name;
    bool sets_window; /* by itself, in every state: no proportional rate reduction */
    void (*init)(struct competitor *competitor, uint64_t now_ns);
    /* A loss episode begins, or a timeout has struck: sets slow_start_end; called before the state
     * changes. */
    void (*on_loss)(struct competitor *competitor, bool timeout, uint64_t now_ns);
    void (*on_ack)(struct competitor *competitor, const struct competitor_sample *sample);
};

extern const struct competitor_type competitor_cubic_type;
extern const struct competitor_type competitor_bbr1_type;

struct competitor {
    const struct competitor_type *type;
    struct cross_flow *flow;
    uint64_t rate_max_bps; /* of the application; 0: no limit */

    /* Set by the controller. */
    uint64_t window; /* packets */
    uint64_t slow_start_end;
    uint64_t pacing_bps;    /* 0: none */
    uint32_t burst_packets; /* sent at once when pacing */
    union {
        struct cubic cubic;
        struct bbr bbr;
    } control;

    /* Sender. */
    struct competitor_record *records;
    uint64_t mask;
    uint64_t next;     /* number */
    uint64_t settled;  /* lower numbers are acked or lost */
    uint64_t highest;  /* acked, plus one */
    uint64_t lost_end; /* the newest lost number, plus one */
    uint64_t in_flight;
    uint8_t state;                                       /* enum competitor_state */
    uint64_t recovery_end;                               /* the episode ends when this number is settled */
    uint64_t reduce_delivered, reduce_sent, reduce_from; /* proportional rate reduction */
    bool reordered;
    uint64_t reorder_steps, reorder_step_ns;
    uint64_t rtt_smoothed_ns, rtt_var_ns, rtt_min_ns, rtt_min_stamp_ns;
    uint64_t timer_ns; /* tail probe or timeout; TIME_NEVER: nothing in flight */
    bool probed;       /* the tail probe is out: the timer is a timeout's */
    uint32_t backoff;
    uint64_t pace_ns; /* the next departure */
    uint64_t delivered, delivered_ns, first_sent_ns;
    uint64_t app_limited_until; /* delivered; 0: not limited */
    uint64_t losses;            /* episodes */
    uint64_t marked_told;       /* packets with CE, by the acks */

    /* Receiver. */
    uint64_t receipts[COMPETITOR_RECEIPTS];
    uint64_t received;
    uint64_t marked;             /* of these, with CE */
    uint64_t run_start, run_end; /* numbers in unbroken order, up to the newest */
    uint32_t unacked;
    uint64_t ack_ns; /* delayed ack due; TIME_NEVER: none */
};

struct competitor *competitor_new(struct cross_flow *flow, const struct competitor_type *type,
                                  uint64_t now_ns);
void competitor_free(struct competitor *competitor);
/* Does what is due and says when to call again. `stopped`: sends nothing new. */
uint64_t competitor_run(struct competitor *competitor, bool stopped, uint64_t now_ns);
void competitor_on_data(struct competitor *competitor, const struct sim_packet *packet, uint64_t now_ns);
void competitor_on_ack(struct competitor *competitor, const struct sim_packet *packet, uint64_t now_ns);
/* Packets that the rate carries within the time. */
uint64_t competitor_packets(const struct competitor *competitor, uint64_t rate_bps, uint64_t duration_ns);
