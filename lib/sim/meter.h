/* What the network itself sees of the data of each edge. Nothing here asks a node: the meter reads the DATA
 * headers of the packets that the simulated links are given, refuse, lose and deliver, and keeps for each job
 * which symbols were sent and which arrived.
 *
 *   repair       a data packet with a symbol that was sent on this edge before
 *   lost         data packets that a loss model, a link that is down or a wrong checksum took
 *   dropped      data packets that a queue or a policer refused: loss that the edge causes itself
 *   duplicate    a data packet that arrived with nothing but symbols that had arrived before
 *   new bytes    payload of symbols that had not arrived before
 *   steady       new bytes that arrive between 12 RTT after the first data packet left and the departure of
 *                the last symbol never sent before; RTT is the configured base of the pair (both delays at
 *                the start)
 *   wait         time in the queues of a data packet that arrived: of uplink, link and downlink together
 *   feedback     wire bytes of everything but data that the receiver sends to the sender
 *
 * Sent packets count when they are handed to the uplink, all others when they arrive or are refused. Cost:
 * two bit operations and a few additions per packet; memory: two bits per symbol, made when a pair's first
 * data packet is sent. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "edge/liveness.h"
#include "netem/link.h"
#include "sim/scenario.h"
#include "sim/waits.h"

#define METER_STEADY_RTTS 12
#define METER_START_RTTS  40 /* watched in quarters, from the first data packet's departure */
#define METER_QUARTERS    (4 * METER_START_RTTS)
#define METER_STEPS_MAX   100000

/* One quarter of an RTT of the start. */
struct meter_quarter {
    uint64_t new_bytes;
    uint32_t sent_packets, dropped_packets;
};

/* One step of scenario_measure.step_ns, from time 0 on. Wire bytes of data. */
struct meter_step {
    uint64_t sent_bytes, dropped_bytes, delivered_bytes, wait_ns_max;
};

struct meter_sums {
    uint64_t sent_packets, sent_bytes, repairs, lost, dropped, duplicates, delivered_bytes, new_bytes;
};

struct meter_symbols {
    uint32_t job;
    uint64_t places;
    uint64_t *sent, *received; /* bitmaps */
};

/* Of one ordered pair of hosts. */
struct meter {
    uint64_t rtt_ns;
    uint64_t first_ns;    /* departure of the first data packet */
    uint64_t last_new_ns; /* departure of the last symbol never sent before, so far */
    bool steady;          /* its beginning has passed */
    uint64_t steady_from_bytes, steady_to_bytes;
    struct meter_sums all, window; /* window: within scenario_measure.from_ns … to_ns */
    struct wait_histogram waits;   /* of the window */
    uint64_t recent_wait_ns_max;   /* since meter_look */
    uint64_t came_packets;         /* all that arrived */
    uint64_t waited_ns;            /* of those since the newest look of alive.h, in sum */
    struct liveness liveness;      /* alive.h */
    struct meter_quarter quarters[METER_QUARTERS];
    struct meter_step *steps;
    uint32_t step_count, step_room;
    uint32_t job_count;
    struct meter_symbols jobs[SCENARIO_JOBS_MAX];
};

struct meter_table {
    const struct scenario *scenario;
    struct meter **meters; /* [from * count + to], NULL: no data was sent */
    uint64_t *other_bytes; /* of the same places: wire bytes that are no data */
};

void meter_init(struct meter_table *table, const struct scenario *scenario);
void meter_free(struct meter_table *table);
/* The pair's meter; NULL: no data went there. */
struct meter *meter_at(struct meter_table *table, uint16_t from, uint16_t to);
/* Hands the pair's meter out, to be given to meter_delete; nothing is metered afterwards. NULL: no data went
 * there. */
struct meter *meter_take(struct meter_table *table, uint16_t from, uint16_t to);
void meter_delete(struct meter *meter);
/* The pair's sums so far, and the longest wait since the last look. False: no data went there. */
bool meter_look(struct meter_table *table, uint16_t from, uint16_t to, struct meter_sums *sums,
                uint64_t *wait_ns_max);
uint64_t meter_feedback_bytes(const struct meter_table *table, uint16_t from, uint16_t to);
/* Of the steady time; 0 where there was none. */
uint64_t meter_steady_ns(const struct meter *meter);
uint64_t meter_steady_bps(const struct meter *meter);

/* What a link or a port decided about a datagram, `head` its first bytes (all headers), `length` its
 * length. */
struct meter_packet {
    uint16_t from, to;
    const uint8_t *head;
    uint32_t length;
    uint32_t wire_bytes;
};
void meter_on_sent(struct meter_table *table, const struct meter_packet *packet, uint64_t sent_ns);
void meter_on_refused(struct meter_table *table, const struct meter_packet *packet,
                      enum netem_verdict verdict, uint64_t now_ns);
void meter_on_corrupted(struct meter_table *table, const struct meter_packet *packet, uint64_t now_ns);
void meter_on_delivered(struct meter_table *table, const struct meter_packet *packet, uint64_t wait_ns,
                        uint64_t now_ns);
