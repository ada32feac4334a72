/* What happens in the data plane and an operator wants to read: links, peers and jobs that change their
 * state. The worker notes it in a ring, the background thread prints it on stderr, at most EVENTS_PER_S a
 * second. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/gaps.h"
#include "claim.h"
#include "node/node.h"
#include "transfer.h"

#define EVENTS_PLACES  256
#define EVENTS_PER_S   20
#define EVENTS_SCAN_NS 50000000ULL

enum event_kind {
    EVENT_PEER,
    EVENT_LINK,
    EVENT_JOB,
    EVENT_RECEIVED,
    EVENT_MISFIT,
    EVENT_SILENCE,
    EVENT_LINE,
    EVENT_HOLDER,
    EVENT_NAMESAKE
};

struct event {
    uint8_t kind;  /* enum event_kind */
    uint8_t state; /* up, or enum job_state */
    char name[NAME_BYTES];
    bool moved; /* JOB, RECEIVED: the transfer tells something */
    struct transfer transfer;
    char text[CONTROL_TEXT_BYTES];
};

struct events {
    uint32_t head, tail; /* worker writes tail, background head */
    uint64_t missed;     /* ring full */
    struct event places[EVENTS_PLACES];
    /* worker's own: what was last seen */
    uint64_t scan_ns;
    uint32_t job_index;
    bool peer_up[NODE_PEERS_MAX];
    bool silence_said[NODE_PEERS_MAX];   /* of the peer, since it was up */
    struct gaps misfits[NODE_PEERS_MAX]; /* of the peer: it does not fit, and that was said */
    bool line_said[2];                   /* that the node's line, out and in, is narrower than its port */
    struct claim namesake;               /* another node has this one's name */
    uint64_t namesake_hellos;
    bool link_up[NODE_PORTS_MAX];
    uint64_t conflicts[NODE_PORTS_MAX];   /* over the port's address, seen so far */
    struct claim holders[NODE_PORTS_MAX]; /* another host has that address */
    struct events_job {
        uint32_t id;
        uint8_t state;
        uint8_t result;
        uint16_t note_bytes;
    } jobs[NODE_JOBS_MAX];
    struct node_job_view job_view;
    /* background's own */
    uint64_t second_ns;
    uint32_t printed, suppressed;
};

struct datagram_port;

/* Worker: looks at a few things each EVENTS_SCAN_NS. */
void events_scan(struct events *events, const struct node *node, const struct datagram_port *ports,
                 uint16_t port_count, uint64_t now_ns);
/* Background: prints what has come, under the name of this node. */
void events_print(struct events *events, const char *node_name, uint64_t now_ns);
