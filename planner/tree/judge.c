/* Rates by rows: what slow hosts take is a constant, what the others take grows with the rate. */
#include "planner/tree/judge.h"

#include <string.h>

size_t judge_bytes(const struct net *net)
{
    return 2 * arena_need(net_rows(net) * sizeof(double));
}

/* Per row, of period blocks: use of the hosts that get the forest's rate, per bit/s of it, and of those
 * with a pace, in bit/s. */
static void sum_up(const struct task *task, const struct net_forest *forest, double *use, double *paced)
{
    struct net_use uses[NET_USES_MAX];
    memset(use, 0, net_rows(task->net) * sizeof(double));
    memset(paced, 0, net_rows(task->net) * sizeof(double));
    for (uint16_t tree = 0; tree < forest->tree_count; tree++)
        for (uint16_t host = 0; host < task->net->count; host++) {
            uint16_t parent = forest->trees[tree].parent[host];
            bool slow = task->pace_bps[host] < NET_NO_LIMIT;
            unsigned count = parent == NET_NONE ? 0 : net_uses(task->net, parent, host, uses);
            for (unsigned index = 0; index < count; index++) {
                double weighed = forest->weight[tree] * uses[index].per_bit;
                if (slow)
                    paced[uses[index].row] += weighed * task->pace_bps[host];
                else
                    use[uses[index].row] += weighed;
            }
        }
}

static double rate(const struct task *task, const struct net_forest *forest, const double *use,
                   const double *paced, uint32_t *tight)
{
    const struct net *net = task->net;
    double rate_bps = NET_NO_LIMIT;
    *tight = 0;
    for (uint32_t row = 0; row < net_rows(net); row++) {
        double capacity = use[row] > 0 || paced[row] > 0 ? net_capacity(net, row) : NET_NO_LIMIT;
        if (capacity >= NET_NO_LIMIT)
            continue;
        double left = capacity * forest->period - paced[row];
        if (left < 0 && left > -1e-9 * capacity * forest->period)
            left = 0;
        if (left < 0 || (use[row] > 0 && left < rate_bps * use[row])) {
            rate_bps = left < 0 ? 0 : left / use[row];
            *tight = row;
        }
    }
    return rate_bps;
}

/* To the host, by the slowest of the trees. */
static uint64_t delay_us(const struct net *net, const struct net_forest *forest, uint16_t host)
{
    uint64_t largest_us = 0;
    for (uint16_t tree = 0; tree < forest->tree_count; tree++) {
        uint64_t sum_us = 0;
        const uint16_t *parent = forest->trees[tree].parent;
        for (uint16_t below = host; parent[below] != NET_NONE; below = parent[below])
            sum_us += net->rtt_us[net_edge(net, parent[below], below)];
        largest_us = sum_us / 2 > largest_us ? sum_us / 2 : largest_us;
    }
    return largest_us;
}

static double seconds_at(const struct judge_object *object, double rate_bps, uint64_t us)
{
    if (!(rate_bps > 0))
        return NET_NO_LIMIT;
    if (object->size_bytes == 0)
        return 1 / rate_bps;
    return (double)object->size_bytes * 8 / (rate_bps * object->payload_per_wire) + (double)us / 1e6;
}

struct judgement judge(const struct task *task, const struct net_forest *forest,
                       const struct judge_object *object, struct arena *arena)
{
    size_t mark = arena->used;
    double *use = arena_alloc(arena, net_rows(task->net) * sizeof(double));
    double *paced = arena_alloc(arena, net_rows(task->net) * sizeof(double));
    struct judgement result = {.delay_us = 0};
    sum_up(task, forest, use, paced);
    result.rate_bps = rate(task, forest, use, paced, &result.tight);
    arena->used = mark;
    if (object->rate_cap_bps < result.rate_bps)
        result.rate_bps = object->rate_cap_bps;
    for (uint16_t host = 0; host < task->net->count; host++) {
        if (!task->net->hosts[host].receiver || host == task->net->source)
            continue;
        uint64_t its_us = delay_us(task->net, forest, host);
        double seconds = seconds_at(object, task_pace_bps(task, host, result.rate_bps), its_us);
        bool slow = task->pace_bps[host] < NET_NO_LIMIT;
        result.delay_us = its_us > result.delay_us ? its_us : result.delay_us;
        result.seconds = !slow && seconds > result.seconds ? seconds : result.seconds;
        result.last_seconds = seconds > result.last_seconds ? seconds : result.last_seconds;
    }
    return result;
}
