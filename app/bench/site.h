/* One site of a bench: a node on one port, with a disk or without, and the loop around it. The same calls in
 * the same order as the appliance's worker (app/sluice/worker.c), without console, planner and events, so
 * that several can be driven by one thread. Plans are solved on the spot with the planner's code. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "app/bench/stages.h"
#include "dpdk/crossing.h"
#include "dpdk/port.h"

#include "base/err.h"
#include "disk/disk.h"
#include "dpdk/histogram.h"
#include "dpdk/idle.h"
#include "dpdk/tsc.h"
#include "node/node.h"
#include "seal/body.h"

#define SITE_BURST 32

struct site_config {
    uint16_t number; /* from 0; its address is 10.9.0.(number + 1) */
    uint16_t count;  /* sites in all: the others are its peers */
    uint16_t guests; /* so many more peers, with the numbers that follow */
    uint32_t mtu;
    uint64_t rate_bps;
    uint64_t buffer_bytes;
    uint64_t blocks_max;
    uint64_t object_bytes; /* what OPEN_SOURCE answers without a disk */
    struct disk *disk;     /* NULL: requests are answered at once, nothing is read, hashed or kept */
    bool made_up;          /* no file is behind the source; with a disk its blocks are hashed, not read */
    const char *directory; /* of incoming files; with a disk */
    bool discard;          /* received blocks are hashed and dropped */
    uint8_t idle;          /* enum idle_mode */
    uint8_t stripes;       /* a plan's tree becomes that many alike; 0 and 1: stays one */
    bool hugepages;
    const struct estimator_kind *estimator; /* measures paths when it is asked to; NULL: it can't */
    uint64_t probe_ns;                      /* that a measurement lasts; > 0 with an estimator */
    const struct primitives *primitives;    /* that seal what it sends, with keys made of names; NULL: none */
    uint64_t update_ns, renewal_ns;         /* of these keys; 0: as an appliance */
};

struct site {
    struct site_config config;
    struct node *node;
    struct port port;
    struct crossing *crossing; /* another thread drives the port, by crossing_turn; NULL: site_turn does */
    struct tsc_clock clock;
    struct idle idle;
    struct waiter waiter;
    uint64_t now_ns, turn_ns;
    bool worked, slept;
    uint16_t sent;    /* packets that the last turn took from the node */
    uint64_t busy_ns; /* of turns that did something */
    struct stages stages;
    uint64_t gap_ns_max;       /* between two turns, unless it slept */
    struct body_cipher cipher; /* of what a source without a disk reads */
    uint16_t disk_waiting;
    struct disk_request disk_requests[SITE_BURST];
    struct disk_reply disk_replies[SITE_BURST];
    struct rx_packet received[PORT_RECEIVE_MAX];
    struct tx_packet sending[SITE_BURST];
    struct tx_report reports[SITE_BURST];
};

struct net_address site_address(uint16_t number);
/* Memory of the node, for the EAL when it comes from hugepages. */
uint64_t site_bytes(const struct site_config *config);
/* The port is open already; starts it and creates the node. */
bool site_start(struct site *site, const struct site_config *config, struct err *err);
/* One turn: receive, disk, tick, plan, send. True: did something. Does not rest. */
bool site_turn(struct site *site);
/* What the idle policy asks for after the last turn. */
void site_rest(struct site *site);
bool site_run_job(struct site *site, const struct job_spec *spec, struct err *err);
/* The path to site `number` is to be measured. */
bool site_probe(struct site *site, uint16_t number, struct err *err);
/* Index of the node's counter of that name; it is a bug to ask for one that is not there. */
uint32_t site_counter_index(const struct site *site, const char *name);
uint64_t site_counter(const struct site *site, const char *name);
