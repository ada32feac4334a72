/* A peer: who it is, its session, whether it is there, its mail, and what was measured of
 * the path to it. What happens to a peer that others must hear of is returned, never called:
 * it came up, it lost its state. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "edge/mail.h"
#include "edge/receiver.h"
#include "edge/sender.h"
#include "node/core/core.h"
#include "node/peer/misfit.h"
#include "node/peer/port.h"
#include "node/peer/session.h"
#include "node/peer/sparing.h"
#include "probe/mtu_watch.h"
#include "probe/rtt_probe.h"
#include "probe/rtt_watch.h"
#include "wire/control.h"
#include "wire/header.h"
#include "wire/probe.h"

#define PEER_NONE         UINT16_MAX
#define PEER_SELF         (UINT16_MAX - 1)
#define PROBE_REPLIES_MAX 16

enum peer_state { PEER_DOWN, PEER_UP };

struct peer {
    const struct node_peer_config *config;
    uint16_t index;
    uint16_t port;
    uint32_t frame_overhead; /* wire bytes around a datagram */
    enum peer_state state;
    struct sessions sessions;
    uint64_t incarnation;      /* of the peer, by its newest session */
    uint64_t told_interval_ns; /* between its signs of life, by its newest hello; 0: there was none */
    uint64_t silence_ns;       /* this long without a packet means that it is gone */
    /* In lived time: the last packet; when it last acked a message, or had
     * acked them all; since when down. */
    uint64_t heard_ns, answered_ns, down_since_ns;
    uint64_t answered_messages; /* acked by answered_ns */
    uint64_t hello_due_ns;
    struct misfit misfit;
    struct rival rival;
    struct sparing sparing; /* what the path can afford of hellos and the watch's probes */
    bool close_due;
    uint8_t close_reason;
    uint16_t jobs_out;   /* bit per job slot in which this peer is a child; written by the flow */
    uint64_t rtt_min_ns; /* of recent samples; 0: none yet */
    struct rtt_probe probe;
    uint64_t probe_ns;   /* when it was started; 0: never; the very first: see measure.c */
    uint8_t probe_tries; /* measurements that this one repeats */
    struct rtt_watch watch;
    struct mtu_watch mtu;                         /* of the path */
    struct wire_probe replies[PROBE_REPLIES_MAX]; /* probes to be answered */
    uint32_t reply_count;
    struct sender sender;
    struct receiver receiver;
    struct mail mail;
};

/* ---- peer.c: who is who; what is due ---- */
void peer_init(struct node *node, uint16_t index, struct arena *arena, uint64_t now_ns);
size_t peer_bytes(const struct node_config *config, const struct node_peer_config *peer);
uint16_t peer_find(const struct node *node, const char *name); /* PEER_NONE; PEER_SELF for the node itself */
uint16_t peer_by_address(const struct node *node, const struct net_address *address);
const char *peer_name(const struct node *node, uint16_t peer); /* the node's own for PEER_SELF */
/* Why what was between the two is lost, behind its name: it has no key any more, or otherwise. */
const char *peer_why_lost(const struct node *node, uint16_t peer, const char *otherwise);
/* It has something to say: its port asks it at the next node_tx. */
void peer_note_control(struct node *node, const struct peer *peer);
/* A node that shuts down says farewell, and nothing after that. */
bool peer_control_due(const struct node *node, const struct peer *peer, uint64_t now_ns);
/* So long without an ack is more than acks take. */
uint64_t peer_quiet_ns(const struct peer *peer);
/* When what is in flight has gone without any ack for so long that the path may be too narrow for it; TIME_NEVER: nothing
 * is, or that is being found out. */
uint64_t peer_doubt_ns(const struct peer *peer);
/* When the next of that, or of its timers, is due. */
uint64_t peer_next_ns(const struct node *node, const struct peer *peer);
/* node->due holds that time for each peer, found anew by the next tick for those which something has happened to. Whoever
 * changes what is due says so, … */
static inline void peer_changed(struct node *node, const struct peer *peer)
{
    node->changed_mask |= 1ULL << peer->index;
}
/* … and where it may be due earlier than anybody knew, when. */
static inline void peer_schedule(struct node *node, const struct peer *peer, uint64_t at_ns)
{
    peer_changed(node, peer);
    deadlines_earlier(&node->due, peer->index, at_ns);
}
static inline void peer_reschedule(struct node *node, const struct peer *peer)
{
    deadlines_set(&node->due, peer->index, peer_next_ns(node, peer));
}
/* When the next message may depart: it takes its turn with the data of its edge, so that a full queue on the
 * way is as kind to it; but it does not wait for a low cap of a job. */
uint64_t peer_message_ns(const struct peer *peer);
/* Looks whether the peer answers what is written to it; on every tick. */
void peer_note_answers(const struct node *node, struct peer *peer);
/* It was not heard for the stall timeout. */
bool peer_is_lost(const struct node *node, const struct peer *peer);
/* It may be heard, but has acked no message for twice as long: what is written to it does not arrive. */
bool peer_is_deaf(const struct node *node, const struct peer *peer);
/* What was on its way while this process stood still tells nothing of the path. */
void peer_on_standstill(struct peer *peer, uint64_t gap_ns);
/* The session that is sent under. */
static inline struct session *peer_session(struct peer *peer)
{
    return &peer->sessions.used[peer->sessions.current];
}
/* There is one. */
static inline bool peer_is_known(const struct peer *peer)
{
    return peer->sessions.used[peer->sessions.current].in != 0;
}
