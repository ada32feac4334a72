/* The flows: setting up, what comes in, open loops. */
#include "sim/cross.h"

#include <stdlib.h>
#include <string.h>

#include "base/check.h"
#include "base/units.h"
#include "sim/competitor.h"
#include "sim/cross_edge.h"

#define OPEN_HEADER_BYTES 28            /* IPv4, UDP */
#define LN2_32            2977044472ULL /* ln 2 in 1/2^32 */

/* ---- open loops ---- */

/* Exponential with the given mean: -ln of a uniform number, its binary logarithm bit by bit. */
static uint64_t exponential_ns(struct rng *rng, uint64_t mean_ns)
{
    uint64_t uniform = rng_next(rng) | 1;
    uint32_t zeros = (uint32_t)__builtin_clzll(uniform);
    uint64_t mantissa = uniform << zeros >> 32; /* 1 to 2 in 1/2^31 */
    uint64_t log2 = 0;                          /* of it, in 1/2^20 */
    for (int bit = 19; bit >= 0; bit--) {
        mantissa = mantissa * mantissa >> 31;
        if (mantissa >> 32 == 0)
            continue;
        mantissa >>= 1;
        log2 |= 1ULL << bit;
    }
    uint64_t minus_log2 = ((uint64_t)(zeros + 1) << 20) - log2;
    return muldiv64(mean_ns, minus_log2 * (LN2_32 >> 12), 1ULL << 40);
}

static uint64_t phase_ns(struct cross_flow *flow, uint64_t mean_ns)
{
    return flow->config->fixed_times ? mean_ns : exponential_ns(&flow->rng, mean_ns);
}

static void open_start(struct cross_flow *flow)
{
    const struct scenario_cross *config = flow->config;
    pacer_init(&flow->pacer, config->rate_bps, 0, config->start_ns);
    flow->open_next_ns = config->start_ns;
    flow->open_turn_ns = TIME_NEVER;
    if (config->kind == CROSS_POISSON)
        flow->open_next_ns += exponential_ns(&flow->rng, transmit_ns(flow->wire_bytes, config->rate_bps));
    if (config->kind == CROSS_ONOFF)
        flow->open_turn_ns = config->start_ns + phase_ns(flow, config->on_ns);
}

/* The departure after the one at open_next_ns. */
static void open_advance(struct cross_flow *flow)
{
    const struct scenario_cross *config = flow->config;
    if (config->kind == CROSS_POISSON) {
        flow->open_next_ns += exponential_ns(&flow->rng, transmit_ns(flow->wire_bytes, config->rate_bps));
        return;
    }
    pacer_on_sent(&flow->pacer, flow->wire_bytes, flow->open_next_ns);
    flow->open_next_ns = pacer_next_ns(&flow->pacer);
    while (flow->open_next_ns >= flow->open_turn_ns) {
        uint64_t on_ns = flow->open_turn_ns + phase_ns(flow, config->off_ns);
        flow->open_turn_ns = on_ns + phase_ns(flow, config->on_ns);
        flow->open_next_ns = MAX(flow->open_next_ns, on_ns);
    }
}

static uint64_t open_run(struct cross_flow *flow, uint64_t now_ns)
{
    while (flow->open_next_ns <= now_ns) {
        uint8_t nothing = 0;
        cross_send(flow, false, flow->packet_bytes, &nothing, sizeof(nothing), now_ns);
        open_advance(flow);
    }
    return flow->open_next_ns;
}

/* ---- life ---- */

static const struct competitor_type *competitor_of(uint8_t kind)
{
    return kind == CROSS_CUBIC ? &competitor_cubic_type : kind == CROSS_BBR1 ? &competitor_bbr1_type : NULL;
}

static bool is_open(uint8_t kind)
{
    return kind == CROSS_CBR || kind == CROSS_POISSON || kind == CROSS_ONOFF;
}

static bool check(const struct scenario *scenario, const struct scenario_cross *config, struct err *err)
{
    const char *kind = cross_kind_name(config->kind);
    uint32_t bytes = config->packet_bytes;
    if (config->from >= scenario->node_count || config->to >= scenario->node_count ||
        config->from == config->to)
        return err_set(err, "cross traffic %s: needs two different nodes", kind);
    if (is_open(config->kind) && config->rate_bps == 0)
        return err_set(err, "cross traffic %s: needs a rate", kind);
    if (!is_open(config->kind) && bytes != 0 && bytes < SCENARIO_LOOP_BYTES_MIN)
        return err_set(err, "cross traffic %s: packets of %u bytes at least", kind, SCENARIO_LOOP_BYTES_MIN);
    if (!is_open(config->kind) && competitor_of(config->kind) == NULL && !cross_edge_known(config->kind))
        return err_set(err, "cross traffic %s: no such kind in this version", kind);
    return true;
}

static void set_up(struct cross *cross, const struct scenario_cross *config, uint64_t seed)
{
    struct cross_flow *flow = &cross->flows[cross->count];
    *flow = (struct cross_flow){.net = cross->net,
                                .heap = cross->heap,
                                .seconds_count = cross->seconds_count,
                                .config = config,
                                .index = cross->count};
    flow->packet_bytes = config->packet_bytes != 0 ? config->packet_bytes : CROSS_PACKET_BYTES;
    flow->wire_bytes = flow->packet_bytes + ETHERNET_HEADER_BYTES + ETHERNET_OVERHEAD_BYTES;
    flow->payload_bytes = flow->packet_bytes - OPEN_HEADER_BYTES;
    flow->seconds = calloc(cross->seconds_count, sizeof(*flow->seconds));
    CHECK(flow->seconds != NULL);
    rng_init(&flow->rng, seed * 0x9e3779b97f4a7c15ULL ^ (config->seed * 65537 + cross->count + 1));
    flow->wake_ns = config->start_ns;
    event_add(cross->heap, flow->wake_ns, EVENT_CROSS, flow->index, NULL);
    cross->count++;
}

bool cross_init(struct cross *cross, const struct scenario *scenario, uint64_t seed, uint64_t limit_ns,
                struct net *net, struct event_heap *heap, struct err *err)
{
    uint32_t total = 0;
    for (uint16_t index = 0; index < scenario->cross_count; index++) {
        if (!check(scenario, &scenario->crosses[index], err))
            return false;
        total += MAX(scenario->crosses[index].count, (uint16_t)1);
    }
    if (total > SCENARIO_FLOWS_MAX)
        return err_set(err, "cross traffic: at most %u flows", SCENARIO_FLOWS_MAX);
    *cross = (struct cross){.net = net, .heap = heap};
    cross->seconds_count = (uint32_t)MIN(limit_ns / NS_PER_S + 1, (uint64_t)CROSS_SECONDS_MAX);
    cross->flows = calloc(MAX(total, 1u), sizeof(*cross->flows));
    cross->drops = calloc(MAX(total, 1u), sizeof(*cross->drops));
    CHECK(cross->flows != NULL && cross->drops != NULL);
    net->flows = cross->drops;
    for (uint16_t index = 0; index < scenario->cross_count; index++)
        for (uint16_t copy = 0; copy < MAX(scenario->crosses[index].count, (uint16_t)1); copy++)
            set_up(cross, &scenario->crosses[index], seed);
    return true;
}

void cross_free(struct cross *cross)
{
    for (uint16_t index = 0; index < cross->count; index++) {
        competitor_free(cross->flows[index].competitor);
        cross_edge_free(cross->flows[index].edge);
        free(cross->flows[index].seconds);
    }
    free(cross->flows);
    free(cross->drops);
    *cross = (struct cross){0};
}

static void start(struct cross_flow *flow, uint64_t now_ns)
{
    const struct competitor_type *type = competitor_of(flow->config->kind);
    if (type != NULL)
        flow->competitor = competitor_new(flow, type, now_ns);
    else if (is_open(flow->config->kind))
        open_start(flow);
    else
        flow->edge = cross_edge_new(flow, now_ns);
}

/* ---- running ---- */

static bool started(const struct cross_flow *flow)
{
    return flow->competitor != NULL || flow->edge != NULL || flow->pacer.rate_bps != 0;
}

/* Does what is due and sees to it that the flow is called again. */
static void run(struct cross_flow *flow, uint64_t now_ns)
{
    bool stopped = now_ns >= flow->config->stop_ns;
    uint64_t next_ns = TIME_NEVER;
    if (flow->competitor != NULL)
        next_ns = competitor_run(flow->competitor, stopped, now_ns);
    else if (flow->edge != NULL)
        next_ns = cross_edge_run(flow->edge, stopped, now_ns);
    else if (!stopped)
        next_ns = open_run(flow, now_ns);
    CHECK(next_ns > now_ns);
    if (next_ns >= flow->wake_ns)
        return;
    flow->wake_ns = next_ns;
    event_add(flow->heap, next_ns, EVENT_CROSS, flow->index, NULL);
}

void cross_on_wake(struct cross *cross, uint32_t index, uint64_t now_ns)
{
    struct cross_flow *flow = &cross->flows[index];
    if (flow->wake_ns != now_ns)
        return;
    flow->wake_ns = TIME_NEVER;
    if (!started(flow))
        start(flow, now_ns);
    run(flow, now_ns);
}

void cross_on_packet(struct cross *cross, const struct sim_packet *packet, uint64_t now_ns)
{
    struct cross_flow *flow = &cross->flows[packet->flow - 1];
    bool back = packet->from == flow->config->to;
    if (!back)
        wait_add(&flow->waits, packet->queued_ns);
    if (flow->competitor != NULL && back)
        competitor_on_ack(flow->competitor, packet, now_ns);
    else if (flow->competitor != NULL)
        competitor_on_data(flow->competitor, packet, now_ns);
    else if (flow->edge != NULL)
        cross_edge_on_packet(flow->edge, packet, back, now_ns);
    else
        cross_delivered(flow, 1, now_ns);
    if (!is_open(flow->config->kind))
        run(flow, now_ns);
}

uint64_t cross_end_ns(const struct cross *cross)
{
    uint64_t end_ns = 0;
    for (uint16_t index = 0; index < cross->count; index++)
        end_ns = MAX(end_ns, cross->flows[index].config->stop_ns);
    return end_ns;
}
