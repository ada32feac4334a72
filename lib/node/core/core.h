/* The ground of a node: configuration, time, deadlines, counters, digest, generator and the disk queue.
 * Every room above gets `struct node` and finds its own part there; a room knows the types of the rooms
 * below it only, so the parts of upper rooms are pointers that lower ones can't follow.
 *
 * Rooms, from the ground up: core, peer, train, job, flow, kind, role; on top of them the seam (node.c, create.c,
 * node_rx.c, node_tx.c), the dispatch of messages (control.c) and the views (views.c, show.c). Calls go downwards only
 * (tests/style/cycles.py); what an upper room has to know travels upwards as data: a return value, a bit, an
 * event. The one exception is the table of an object's kind (job/object_kind.h), whose hooks the flow calls. */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "base/digest.h"
#include "base/rng.h"
#include "base/units.h"
#include "ctl/ctl.h"
#include "node/core/deadlines.h"
#include "node/core/disk_queue.h"
#include "node/node_config.h"
#include "store/store.h"

/* A node commits packets to a port so far ahead at most; trains always, data unless it gathers. */
#define TX_HORIZON_NS 50000ULL
/* Jobs look at what they can't be woken for this often. */
#define JOB_TICK_NS 5000000ULL

/* More than peers can have at once: a power of two. */
#define NODE_SESSIONS 1024

#define COUNTER(name, help) uint64_t name;
#define STORE_COUNTER(name, help)
struct node_counters {
#include "node/counters.def"
};
#undef STORE_COUNTER
#undef COUNTER

struct node {
    struct node_config config;
    struct rng rng;
    struct rng secret_rng; /* of what nobody may guess, where the configuration has nothing better */
    struct digest digest;  /* over everything the node does */
    struct node_counters counters;
    uint64_t now_ns;       /* the newest time; never runs back */
    uint64_t still_ns;     /* of it, what this process stood still */
    uint64_t ahead_ns;     /* … and what it is ahead of the caller's clock, because that was set back */
    uint64_t tick_ns;      /* when node_tick has something to do … */
    uint64_t jobs_tick_ns; /* … for the jobs … */
    bool jobs_given;       /* one of them has been given to its sites: trains are in its way */
    struct deadlines due;  /* … and for each peer … */
    uint64_t changed_mask; /* … bit per peer for which that has to be found anew */
    uint64_t horizon_ns;   /* data is handed out so far ahead of its departure */
    bool shutting_down;
    struct disk_queue disk_queue;
    /* room peer */
    uint16_t peer_count;
    struct peer *peers;
    struct net_address namesake; /* from there somebody begins handshakes in this node's own name … */
    uint64_t namesake_hellos;    /* … so often … */
    uint64_t namesake_ns;        /* … and did so last, in lived time */
    uint8_t session_peer[NODE_SESSIONS]; /* low bits of a session to us → peer; UINT8_MAX: none has it */
    struct key_room *key_room;
    uint64_t stranger_due_ns; /* when an initiation from an unknown address is looked at again */
    /* When the initiations of all that were computed are paid for: those that may be old, and those that cannot; their
     * responses; and when the last one was. */
    uint64_t asked_ns[2], answered_ns, computed_ns;
    struct node_port *ports; /* NODE_PORTS_MAX */
    struct measure *measure;
    struct path_table *paths;
    /* room train */
    struct train_out *train_out;
    struct train_in *train_in;
    struct line_in *line_in;
    struct asked *asked;
    struct prober *prober;
    struct pairs *pairs;
    struct all *all;
    /* room job: NODE_JOBS_MAX slots; the ids once more, side by side, for the way of a data packet */
    struct job *jobs;
    uint32_t job_ids[NODE_JOBS_MAX];
    struct store store;
    /* room flow: one per peer */
    struct flow *flows;
    struct data_rate *data_rates; /* one per peer; NULL: paths are not measured in the background */
    struct pieces *pieces;        /* data packets in pieces */
    uint64_t short_mask;          /* bit per peer that was told of no room by the last ack */
    /* room kind: one per job slot */
    struct job_stream *streams;
    /* room role: one source per job slot, one offer per peer, the manifests that are being written, the
     * planner */
    struct source *sources;
    struct offer *offers;
    struct manifest_file *manifests;
    bool planner_attached;
    uint64_t planner_gone_ns;          /* of lived time: when the last one was; 0: none was there yet */
    char planner_news[CTL_NEWS_BYTES]; /* why none is there, as far as the program knows */
    uint32_t plan_requests_due; /* bit per job slot in PLANNING that has to ask, once a planner is there */
    uint32_t plans_open;        /* bit per job slot of a source that has no plan to go by yet */
    /* on top */
    struct scratch *scratch;
};

/* The time that this process has lived through. What judges others is measured by it, never by now_ns: their
 * silence, timeouts, no progress, the age of what they lack. While this process stands still they can't be
 * heard. */
static inline uint64_t core_lived_ns(const struct node *node)
{
    return node->now_ns - node->still_ns;
}

_Static_assert(NODE_PEERS_MAX < DEADLINES_MAX, "a bit and a deadline for each peer");

/* node_tick is wanted at that time, or before. What one peer wants is peer_schedule's (peer/peer.h). */
static inline void core_schedule(struct node *node, uint64_t at_ns)
{
    if (at_ns < node->tick_ns)
        node->tick_ns = at_ns;
}

/* Something changed that jobs have to look at. */
static inline void core_wake_jobs(struct node *node, uint64_t now_ns)
{
    if (now_ns < node->jobs_tick_ns)
        node->jobs_tick_ns = now_ns;
}

/* What may come in by the port. */
static inline uint64_t core_port_in_bps(const struct node_port_config *port)
{
    return port->down_bps != 0 ? port->down_bps : port->rate_bps;
}

/* Some job is known here that is not over, and has a plan that its sites have been told of. */
static inline bool core_has_jobs(const struct node *node)
{
    return node->jobs_given;
}

/* Bytes that nobody can guess. */
static inline void core_draw(struct node *node, void *out, size_t length)
{
    if (node->config.random != NULL) {
        node->config.random(out, length);
        return;
    }
    for (size_t at = 0; at < length; at += sizeof(uint64_t)) {
        uint64_t drawn = rng_next(&node->secret_rng);
        memcpy((uint8_t *)out + at, &drawn, MIN(length - at, sizeof(drawn)));
    }
}

/* A job's or a site's new state, into the digest. */
static inline void core_note_state(struct node *node, uint32_t job, unsigned state)
{
    digest_add(&node->digest, (uint64_t)job << 8 | state);
}
