/* What edges and flows do over time, for plots: every step of virtual time a row for each edge that has sent
 * data and for each flow of cross traffic that has sent anything, in the order of their hosts, then of the
 * flows. It only looks: a run has the same digest with and without.
 *
 * Rates are wire rates, repairs included, of what happened within the step; as hosts have turns of
 * NET_TURN_NS, a packet may count so much early or late. Nothing is asked of the edge but its pacing rate
 * and its smoothed RTT, as they are at the end of the step. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#define TRACE_STEP_NS 100000000ULL /* where the scenario has no measure.step */

struct trace_row {
    uint64_t time_ns; /* end of the step */
    uint16_t from, to;
    bool is_edge; /* false: `flow` of the cross traffic, of this `kind` (enum scenario_cross_kind) */
    uint16_t flow;
    uint8_t kind;
    uint64_t rate_bps; /* pacing rate; 0: a flow, or a node that is dead */
    uint64_t sent_bps, delivered_bps;
    uint64_t queue_ns; /* longest wait of a data packet that came; of a flow 0 */
    uint64_t rtt_ns;   /* 0: a flow, or not known */
    uint64_t lost;     /* data packets that loss models took; of a flow what its sender has given up */
    uint64_t dropped;  /* and that queues and policers refused; of a flow 0 */
};

/* Takes rows as they are made; `context` is the caller's. */
struct trace_sink {
    void (*row)(void *context, const struct trace_row *row); /* NULL: no trace */
    void *context;
};

/* Sums at the end of the step before. */
struct trace_past {
    uint64_t sent_bytes, delivered_bytes, lost, dropped;
};

struct trace {
    struct trace_sink sink;
    uint64_t step_ns;
    struct trace_past *edges; /* [from * node_count + to] */
    struct trace_past *flows;
};

struct sim;
/* Puts the first step into the heap, when somebody wants the rows. */
void trace_start(struct sim *sim, const struct trace_sink *sink);
void trace_on_step(struct sim *sim);
void trace_free(struct trace *trace);
