/* Runs: which of the packets that are due leave together. A run has one receiver and one traffic class, its packets are
 * of one size, but for the last, which may be shorter: what UDP_SEGMENT can cut from one piece. Order among the packets
 * of a receiver is kept. Pure; no IO. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#define RUN_PACKETS_MAX 64    /* UDP_MAX_SEGMENTS of kernels before 6.9 */
#define RUN_BYTES_MAX   65507 /* of a datagram before it is cut */
#define RUN_WAITING_MAX 512

/* A packet that is due. */
struct run_packet {
    uint16_t peer; /* < RUN_PEERS_MAX */
    uint16_t place;
    uint32_t class; /* traffic class and whatever else has to be the same */
    uint32_t bytes;
    bool
        alone; /* no other may leave with it: it is timed, or goes to an address that is not the peer's usual one */
};

#define RUN_PEERS_MAX 64

struct runs {
    uint16_t count, next_first;
    struct run_packet packets[RUN_WAITING_MAX];
    uint16_t following[RUN_WAITING_MAX]; /* of the same peer */
    bool taken[RUN_WAITING_MAX];
    uint16_t last_of[RUN_PEERS_MAX]; /* only while packets are added */
};

void runs_begin(struct runs *runs);
/* In the order of departure; CHECKs room. */
void runs_add(struct runs *runs, const struct run_packet *packet);
/* The next run: places of its packets, at most packets_max (1: one by one). Returns how many; 0: all were given. */
uint16_t runs_next(struct runs *runs, uint16_t places[RUN_PACKETS_MAX], uint16_t packets_max);
