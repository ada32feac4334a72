#include "sim/alive.h"

#include "base/units.h"
#include "sim/result.h"
#include "sim/run.h"
#include "sim/truth.h"

static void look_at_edge(struct sim *sim, uint16_t from, uint16_t to, struct meter *meter)
{
    struct node_edge_pulse pulse;
    const struct sim_host *host = &sim->hosts[from];
    const struct liveness_look *before = &meter->liveness.before;
    if (host->node == NULL || !node_edge_pulse(host->node, to < from ? to : to - 1u,
                                               clock_local(&host->clock, sim->now_ns), &pulse))
        return;
    uint64_t packets = meter->came_packets - before->came_packets, rate_bps;
    const struct liveness_look look = {
        .now_ns = sim->now_ns,
        /* A node that was started anew counts anew. */
        .began_ns = pulse.began_ns ^ host->starts << 56,
        .asleep_ns = pulse.cpu_ns,
        .congested_ns = pulse.congested_ns,
        .came_bytes = meter->all.delivered_bytes,
        .came_packets = meter->came_packets,
        .lost_packets = meter->all.lost + meter->all.dropped,
        .marked_packets = pulse.marked_packets,
        .silences = pulse.silences,
        .rtt_ns = MAX(pulse.rtt_ns, meter->rtt_ns),
        .queue_ns = packets == 0 ? 0 : meter->waited_ns / packets,
        .target_ns = pulse.target_ns,
        .left_bps = truth_tight_bps(sim->scenario, &sim->net, from, to, sim->now_ns, &rate_bps),
        .silent = pulse.silent || sim->hosts[to].node == NULL, /* the sender may not know yet */
        .duty = pulse.duty};
    meter->waited_ns = 0;
    liveness_on_look(&meter->liveness, &look);
}

void alive_look(struct sim *sim)
{
    uint16_t count = sim->scenario->node_count;
    for (uint16_t from = 0; from < count; from++)
        for (uint16_t to = 0; to < count; to++) {
            struct meter *meter = meter_at(&sim->net.meters, from, to);
            if (meter != NULL && liveness_due(&meter->liveness, sim->now_ns))
                look_at_edge(sim, from, to, meter);
        }
}

static void note_breach(struct result_breach *breach, uint64_t ns, uint16_t from, uint16_t to)
{
    if (ns > breach->ns)
        *breach = (struct result_breach){ns, from, to};
}

void alive_gather(struct sim *sim, struct sim_result *result)
{
    uint16_t count = sim->scenario->node_count;
    for (uint16_t from = 0; from < count; from++)
        for (uint16_t to = 0; to < count; to++) {
            const struct meter *meter = meter_at(&sim->net.meters, from, to);
            if (meter == NULL)
                continue;
            const struct liveness_sums *sums = &meter->liveness.sums;
            note_breach(&result->breaches[BREACH_STUCK], sums->stuck_ns, from, to);
            note_breach(&result->breaches[BREACH_LATE], sums->late_ns, from, to);
            note_breach(&result->breaches[BREACH_DEEP], sums->deep_ns, from, to);
        }
}
