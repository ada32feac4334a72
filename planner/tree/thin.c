/* Per host a few short lists of those who might feed it. */
#include "planner/tree/thin.h"

#include <string.h>

#define EACH 32 /* on a list */

struct best {
    uint16_t count;
    uint16_t host[EACH];
    double key[EACH]; /* ascending */
};

/* Smaller keys first, of equal ones who came first. */
static void offer(struct best *best, uint16_t host, double key)
{
    uint16_t place = best->count;
    if (place == EACH && !(key < best->key[place - 1]))
        return;
    if (place == EACH)
        place--;
    else
        best->count++;
    for (; place > 0 && key < best->key[place - 1]; place--) {
        best->host[place] = best->host[place - 1];
        best->key[place] = best->key[place - 1];
    }
    best->host[place] = host;
    best->key[place] = key;
}

static void keep(const struct best *best, bool *kept)
{
    for (uint16_t place = 0; place < best->count; place++)
        kept[best->host[place]] = true;
}

static double width_bps(const struct net *net, uint16_t from, uint16_t to)
{
    double path_bps = net->path_bps[net_edge(net, from, to)];
    return path_bps < net->hosts[from].up_bps ? path_bps : net->hosts[from].up_bps;
}

/* The greatest uplinks; returns the mean. */
static double list_greatest(const struct task *task, struct best *greatest)
{
    double sum_bps = 0;
    greatest->count = 0;
    for (uint16_t host = 0; host < task->net->count; host++) {
        sum_bps += task->net->hosts[host].up_bps;
        if (task->member[host] && task->net->hosts[host].children_max > 0)
            offer(greatest, host, -task->net->hosts[host].up_bps);
    }
    return sum_bps / task->net->count;
}

static void list_into(const struct net *net, const struct shares *shares, uint16_t to, double mean_bps,
                      bool *kept)
{
    struct best nearest = {0}, strong = {0}, widest = {0};
    for (uint16_t from = 0; from < net->count; from++) {
        uint32_t edge = shares_edge(shares, from, to);
        if (!shares->usable[edge])
            continue;
        offer(&nearest, from, net->rtt_us[edge]);
        if (net->hosts[from].up_bps > mean_bps)
            offer(&strong, from, net->rtt_us[edge]);
        offer(&widest, from, -width_bps(net, from, to));
    }
    keep(&nearest, kept);
    keep(&strong, kept);
    keep(&widest, kept);
}

void thin(const struct task *task, const struct net_forest *const *forests, unsigned forest_count,
          struct shares *shares)
{
    const struct net *net = task->net;
    struct best greatest;
    double mean_bps = list_greatest(task, &greatest);
    for (uint16_t to = 0; to < net->count; to++) {
        bool kept[NET_HOSTS_MAX] = {false};
        kept[net->source] = true;
        keep(&greatest, kept);
        list_into(net, shares, to, mean_bps, kept);
        for (unsigned index = 0; index < forest_count; index++)
            for (unsigned tree = 0; tree < forests[index]->tree_count; tree++)
                if (forests[index]->trees[tree].parent[to] != NET_NONE)
                    kept[forests[index]->trees[tree].parent[to]] = true;
        for (uint16_t from = 0; from < net->count; from++)
            if (!kept[from])
                shares->usable[shares_edge(shares, from, to)] = false;
    }
}
