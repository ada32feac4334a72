/* Which rows can bind, and what an edge takes of them. */
#include "planner/tree/shares.h"

#include <string.h>

static size_t uses_max(uint16_t count, uint16_t shared_count)
{
    unsigned shared = shared_count < NET_SHARED_OF_EDGE ? shared_count : NET_SHARED_OF_EDGE;
    return (size_t)count * count * (NET_USES_MAX - NET_SHARED_OF_EDGE + shared);
}

size_t shares_bytes(uint16_t count, uint16_t shared_count)
{
    size_t edges = (size_t)count * count, uses = uses_max(count, shared_count);
    return arena_need((edges + 1) * sizeof(uint32_t)) + arena_need(uses * sizeof(uint32_t)) +
           arena_need(uses * sizeof(double)) + arena_need(edges);
}

static bool edge_usable(const struct task *task, uint16_t from, uint16_t to)
{
    const struct net *net = task->net;
    struct net_use uses[NET_USES_MAX];
    if (!task->member[from] || !task->member[to] || !net_usable(net, from, to) ||
        task->pace_bps[from] < task->pace_bps[to])
        return false;
    unsigned count = net_uses(net, from, to, uses);
    for (unsigned use = 0; use < count; use++)
        if (!(net_capacity(net, uses[use].row) > 0))
            return false;
    return true;
}

/* What the host can be sent at most, whatever the trees: its downlink, and all that its neighbours can
 * give. */
static double into_max_bps(const struct task *task, const bool *usable, uint16_t to)
{
    const struct net *net = task->net;
    double sum_bps = 0;
    for (uint16_t from = 0; from < net->count; from++) {
        uint32_t edge = net_edge(net, from, to);
        if (!usable[edge])
            continue;
        double path_bps = net->path_bps[edge];
        sum_bps += path_bps < net->hosts[from].up_bps ? path_bps : net->hosts[from].up_bps;
    }
    return sum_bps < net->hosts[to].down_bps ? sum_bps : net->hosts[to].down_bps;
}

/* min(uplink of the source, all uplinks over what all receivers take, what each one can be sent). */
static double rate_max_bps(const struct task *task, const bool *usable)
{
    const struct net *net = task->net;
    double up_bps = 0, receivers = 0, rate_bps = net->hosts[net->source].up_bps;
    for (uint16_t host = 0; host < net->count; host++) {
        bool slow = task->pace_bps[host] < NET_NO_LIMIT;
        up_bps += task->member[host] ? net->hosts[host].up_bps : 0;
        if (host == net->source || !net->hosts[host].receiver)
            continue;
        if (slow)
            up_bps -= task->pace_bps[host];
        receivers += slow ? 0 : 1;
        double into_bps = slow ? rate_bps : into_max_bps(task, usable, host);
        rate_bps = into_bps < rate_bps ? into_bps : rate_bps;
    }
    if (receivers > 0 && up_bps < rate_bps * receivers)
        rate_bps = up_bps / receivers;
    return rate_bps > 0 ? rate_bps : 0;
}

/* Rows that never decide: without a limit, or always below another one. */
static bool slack(const struct task *task, const struct shares *shares, const struct net_use *use,
                  uint16_t from, uint16_t to)
{
    const struct net *net = task->net;
    struct net_row row = net_row_of(net, use->row);
    double capacity = net_capacity(net, use->row);
    if (capacity >= NET_NO_LIMIT)
        return true;
    if (row.kind == NET_DOWNLINK)
        return net->hosts[to].receiver;
    return row.kind == NET_PATH &&
           (capacity >= net->hosts[from].up_bps || capacity >= task_pace_bps(task, to, shares->rate_max_bps));
}

static void add_edge(struct shares *shares, const struct task *task, uint16_t from, uint16_t to,
                     uint32_t *used)
{
    const struct net *net = task->net;
    struct net_use uses[NET_USES_MAX];
    unsigned count = shares->usable[net_edge(net, from, to)] ? net_uses(net, from, to, uses) : 0;
    for (unsigned use = 0; use < count; use++) {
        if (slack(task, shares, &uses[use], from, to))
            continue;
        bool path = uses[use].row >= net_common_rows(net);
        shares->row[*used] = path ? shares->count++ : uses[use].row;
        shares->share[(*used)++] = uses[use].per_bit / net_capacity(net, uses[use].row);
    }
}

void shares_init(struct shares *shares, const struct task *task, struct arena *arena)
{
    const struct net *net = task->net;
    size_t edges = (size_t)net->count * net->count, uses = uses_max(net->count, net->shared_count);
    *shares = (struct shares){.hosts = net->count,
                              .count = net_common_rows(net),
                              .first = arena_alloc(arena, (edges + 1) * sizeof(uint32_t)),
                              .row = arena_alloc(arena, uses * sizeof(uint32_t)),
                              .share = arena_alloc(arena, uses * sizeof(double)),
                              .usable = arena_alloc(arena, edges)};
    for (uint16_t from = 0; from < net->count; from++)
        for (uint16_t to = 0; to < net->count; to++)
            shares->usable[net_edge(net, from, to)] = edge_usable(task, from, to);
    shares->rate_max_bps = rate_max_bps(task, shares->usable);
    uint32_t used = 0;
    for (uint16_t from = 0; from < net->count; from++)
        for (uint16_t to = 0; to < net->count; to++) {
            shares->first[net_edge(net, from, to)] = used;
            add_edge(shares, task, from, to, &used);
        }
    shares->first[edges] = used;
}
