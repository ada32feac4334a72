#include "probe/order.h"

#include <string.h>

#include "base/check.h"
#include "base/units.h"

#define PORT_FULL 0.99

static struct known *known_of(const struct order *order, uint16_t from, uint16_t to)
{
    CHECK(from < order->goal.node_count && to < order->goal.node_count && from != to);
    return &order->known[(uint32_t)from * order->goal.node_count + to];
}

void order_init(struct order *order, const struct order_goal *goal, struct known *known)
{
    CHECK(goal->node_count <= ROTATION_NODES_MAX && goal->keep > 0);
    *order = (struct order){.goal = *goal, .known = known};
    for (uint32_t pair = 0; pair < (uint32_t)goal->node_count * goal->node_count; pair++)
        known[pair] = (struct known){.drift_bps = goal->drift_bps};
}

void order_take(struct order *order, uint16_t from, uint16_t to, const struct estimate *estimate,
                uint64_t at_ns)
{
    known_take(known_of(order, from, to), estimate, at_ns);
}

/* The greatest ones, greatest first. */
static void insert(uint64_t *greatest, uint16_t count, uint64_t value)
{
    for (uint16_t place = 0; place < count; place++)
        if (value > greatest[place]) {
            uint64_t pushed = greatest[place];
            greatest[place] = value;
            value = pushed;
        }
}

void order_look(struct order *order, uint64_t now_ns)
{
    uint16_t count = order->goal.node_count, keep = (uint16_t)MIN(order->goal.keep, ROTATION_NODES_MAX);
    order->now_ns = now_ns;
    for (uint16_t to = 0; to < count; to++) {
        uint64_t lows_bps[ROTATION_NODES_MAX] = {0};
        for (uint16_t from = 0; from < count; from++)
            if (from != to)
                insert(lows_bps, keep, known_at(known_of(order, from, to), now_ns).low_bps);
        order->bar_bps[to] = lows_bps[keep - 1];
    }
}

#define HALF_UNKNOWN (UINT64_MAX / 2)

/* The greater of both sides. */
static uint64_t half_bps(const struct estimate *estimate)
{
    switch ((enum estimate_kind)estimate->kind) {
    case ESTIMATE_VALUE:
        return MAX(estimate->avail_bps - estimate->low_bps, estimate->high_bps - estimate->avail_bps);
    case ESTIMATE_AT_LEAST:
    case ESTIMATE_NONE:
    case ESTIMATE_REFUSED:
        break;
    }
    return HALF_UNKNOWN;
}

/* More could not be found out, or not be used. */
static bool full(const struct order *order, const struct estimate *estimate)
{
    return estimate->kind == ESTIMATE_AT_LEAST &&
           (double)estimate->low_bps >= PORT_FULL * (double)order->goal.port_bps;
}

enum order_state order_state(const struct order *order, uint16_t from, uint16_t to)
{
    struct estimate estimate = known_at(known_of(order, from, to), order->now_ns);
    uint64_t half = half_bps(&estimate);
    if (full(order, &estimate))
        return ORDER_SURE;
    if (half > order->goal.coarse_bps)
        return ORDER_OPEN;
    if (estimate.high_bps < order->bar_bps[to])
        return ORDER_OUT;
    return half <= order->goal.fine_bps ? ORDER_SURE : ORDER_OPEN;
}

uint64_t order_wanted(const struct order *order, uint16_t from)
{
    uint64_t bits = 0;
    for (uint16_t to = 0; to < order->goal.node_count; to++)
        if (to != from && order_state(order, from, to) == ORDER_OPEN)
            bits |= UINT64_C(1) << to;
    return bits;
}

static uint64_t value_of(const struct order *order, uint16_t from, uint16_t to)
{
    struct estimate estimate = known_at(known_of(order, from, to), order->now_ns);
    if (half_bps(&estimate) > order->goal.coarse_bps)
        return half_bps(&estimate);
    uint64_t from_bps = MAX(estimate.low_bps, order->bar_bps[to]);
    return estimate.high_bps > from_bps ? estimate.high_bps - from_bps : 0;
}

bool order_next(const struct order *order, uint16_t *from, uint16_t *to)
{
    uint64_t greatest = 0;
    for (uint16_t one = 0; one < order->goal.node_count; one++)
        for (uint64_t left = order_wanted(order, one); left != 0; left &= left - 1) {
            uint16_t other = (uint16_t)__builtin_ctzll(left);
            uint64_t value = value_of(order, one, other) + 1;
            if (value > greatest) {
                greatest = value;
                *from = one;
                *to = other;
            }
        }
    return greatest > 0;
}
