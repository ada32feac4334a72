/* The flow of one edge: when it may send, what it waits for, whose turn it is, what its receiver has room
 * for. One per peer, in a compact array: choosing the next edge of a port walks over it. */
#pragma once

#include "node/flow/causes.h"
#include "node/flow/unasked.h"
#include "node/job/job.h"

struct flow {
    uint64_t ready_ns;           /* when the edge may send again; TIME_NEVER: woken by an event */
    struct fair_user port_share; /* of the port, by the rates of plan and jobs */
    struct fair_clock turns;     /* of its jobs, see turn.h */
    uint32_t mtu;                /* of the path, for which its packets are made */
    uint16_t dry;                /* bit per job slot that had nothing, and has nothing new */
    bool job_held;               /* ready_ns is the time of a job's pacer: another job may come earlier */
    uint8_t ack_class;           /* traffic class of acks: that of the data which came last */
    uint32_t credit_symbols;     /* block symbols of the job last received … */
    uint32_t run_symbols;        /* … and the most that came in one packet: turn slots into packets */
    uint32_t credit_told;        /* in the last ack; UINT32_MAX: never short */
    uint16_t jobs_full; /* bit per job slot: the last ack said that these stripes of it have no place … */
    uint8_t full_told[NODE_JOBS_MAX];
    bool places_there;       /* … and the other end said that jobs have few places there */
    uint64_t feedback_bytes; /* wire bytes of acks sent */
    uint64_t acked_payload_bytes;
    struct unasked unasked;                 /* what its peer was told that it feeds in vain */
    struct causes causes;                   /* what it waited for since its first job came */
    struct fair_user shares[NODE_JOBS_MAX]; /* of the edge, by job slot */
};

#define FLOW_ALL_JOBS UINT16_MAX

static inline struct flow *flow_of(const struct node *node, const struct peer *peer)
{
    return &node->flows[peer->index];
}

/* The edge is asked anew, whatever it has waited for. */
static inline void flow_begin(struct flow *flow)
{
    flow->ready_ns = 0;
    flow->dry = 0;
}

/* These jobs, one bit each, may have something to send. An edge that waits for its pacer finds out by itself, one
 * that is due already keeps the time since when. */
static inline void flow_wake(struct flow *flow, uint16_t jobs, uint64_t now_ns)
{
    flow->dry &= (uint16_t)~jobs;
    if (flow->ready_ns == TIME_NEVER || (flow->job_held && flow->ready_ns > now_ns))
        flow->ready_ns = 0;
}

void flow_init(struct flow *flow);
/* Its peer lost its state. */
void flow_on_reset(struct node *node, struct peer *peer);
/* What its peer has places for of the jobs that go there: as many as there are. */
void flow_forget_places(struct node *node, struct peer *peer);
/* Its peer came up. */
static inline void flow_on_up(struct flow *flow)
{
    flow_begin(flow);
}
/* Something of its peer came under our session and could be decoded. */
void flow_on_packet(struct node *node, struct peer *peer, uint64_t now_ns);
/* False: the datagram could not be decoded; the one counter that says why has counted it. */
bool flow_is_decoded(struct node *node, enum wire_error error);
/* Children of the job have something new to be sent. */
void flow_wake_children(struct node *node, const struct job *job);
/* All edges that sleep try again: a tail probe may have given something back, or the window may have opened. */
void flow_wake_all(struct node *node);
/* There is something left that the child lacks. */
bool flow_owes(const struct job *job, uint8_t child);
