#include "sim/trace.h"

#include <stdlib.h>

#include "base/check.h"
#include "base/units.h"
#include "sim/run.h"

void trace_start(struct sim *sim, const struct trace_sink *sink)
{
    uint32_t count = sim->scenario->node_count;
    if (sink->row == NULL)
        return;
    uint64_t step_ns = sim->scenario->measure.step_ns;
    sim->trace = (struct trace){.sink = *sink,
                                .step_ns = step_ns != 0 ? step_ns : TRACE_STEP_NS,
                                .edges = calloc((size_t)count * count, sizeof(*sim->trace.edges)),
                                .flows = calloc(sim->cross.count + 1u, sizeof(*sim->trace.flows))};
    CHECK(sim->trace.edges != NULL && sim->trace.flows != NULL);
    event_add(&sim->heap, sim->trace.step_ns, EVENT_TRACE, 0, NULL);
}

void trace_free(struct trace *trace)
{
    free(trace->edges);
    free(trace->flows);
}

/* What came since *past goes into the row's step, and *past becomes `now`. */
static void fill(struct trace_row *row, struct trace_past *past, const struct trace_past *now,
                 uint64_t step_ns)
{
    row->sent_bps = muldiv64((now->sent_bytes - past->sent_bytes) * 8, NS_PER_S, step_ns);
    row->delivered_bps = muldiv64((now->delivered_bytes - past->delivered_bytes) * 8, NS_PER_S, step_ns);
    row->lost = now->lost - past->lost;
    row->dropped = now->dropped - past->dropped;
    *past = *now;
}

static void trace_edge(struct sim *sim, uint16_t from, uint16_t to)
{
    struct trace *trace = &sim->trace;
    struct node_edge_view view;
    struct meter_sums sums;
    struct trace_row row = {.time_ns = sim->now_ns, .from = from, .to = to, .is_edge = true};
    if (!meter_look(&sim->net.meters, from, to, &sums, &row.queue_ns))
        return;
    const struct trace_past now = {sums.sent_bytes, sums.delivered_bytes, sums.lost, sums.dropped};
    fill(&row, &trace->edges[from * sim->scenario->node_count + to], &now, trace->step_ns);
    const struct node *node = sim->hosts[from].node;
    if (node != NULL && node_edge_view(node, to < from ? to : to - 1u, &view)) {
        row.rate_bps = view.rate_bps;
        row.rtt_ns = view.rtt_smoothed_ns;
    }
    trace->sink.row(trace->sink.context, &row);
}

static void trace_flow(struct sim *sim, uint16_t index)
{
    struct trace *trace = &sim->trace;
    const struct cross_flow *flow = &sim->cross.flows[index];
    if (flow->total.sent_packets == 0)
        return;
    struct trace_row row = {.time_ns = sim->now_ns,
                            .from = flow->config->from,
                            .to = flow->config->to,
                            .flow = index,
                            .kind = flow->config->kind};
    const struct trace_past now = {.sent_bytes = flow->total.sent_bytes,
                                   .delivered_bytes = flow->total.delivered_packets * flow->wire_bytes,
                                   .lost = flow->total.lost_packets};
    fill(&row, &trace->flows[index], &now, trace->step_ns);
    trace->sink.row(trace->sink.context, &row);
}

void trace_on_step(struct sim *sim)
{
    uint16_t count = sim->scenario->node_count;
    for (uint16_t from = 0; from < count; from++)
        for (uint16_t to = 0; to < count; to++)
            trace_edge(sim, from, to);
    for (uint16_t flow = 0; flow < sim->cross.count; flow++)
        trace_flow(sim, flow);
    event_add(&sim->heap, sim->now_ns + sim->trace.step_ns, EVENT_TRACE, 0, NULL);
}
