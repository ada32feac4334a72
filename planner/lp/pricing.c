#include "planner/lp/pricing.h"

#include <string.h>

#include "planner/lp/arborescence.h"
#include "planner/lp/branch.h"

#define BRANCH_WORK 1000000 /* turns * count^2 */

size_t pricing_bytes(uint16_t count, uint16_t shared_count)
{
    size_t edges = (size_t)count * count;
    return arena_need((edges + 4u * count + shared_count) * sizeof(double)) +
           arena_need(edges * sizeof(double)) + arena_need(edges * sizeof(uint32_t)) +
           arena_need(count * sizeof(bool));
}

size_t pricing_scratch_bytes(uint16_t count)
{
    return branch_bytes(count);
}

static void list_dead(struct pricing *pricing)
{
    const struct net *net = pricing->rows->net;
    struct net_use culprit;
    for (uint16_t from = 0; from < net->count; from++)
        for (uint16_t to = 0; to < net->count; to++)
            if (net_usable(net, from, to) && rows_dead(pricing->rows, from, to, &culprit))
                pricing->dead[pricing->dead_count++] = net_edge(net, from, to);
}

void pricing_init(struct pricing *pricing, const struct rows *rows, struct arena *arena)
{
    const struct net *net = rows->net;
    size_t edges = (size_t)net->count * net->count;
    *pricing = (struct pricing){.rows = rows, .arena = arena};
    pricing->price = arena_alloc(arena, net_rows(net) * sizeof(double));
    pricing->weight = arena_alloc(arena, edges * sizeof(double));
    pricing->dead = arena_alloc(arena, edges * sizeof(uint32_t));
    pricing->wanted = arena_alloc(arena, net->count * sizeof(bool));
    memset(pricing->price, 0, net_rows(net) * sizeof(double));
    for (uint16_t host = 0; host < net->count; host++) {
        pricing->wanted[host] = host == net->source || net->hosts[host].receiver;
        pricing->relays |= !pricing->wanted[host];
    }
    list_dead(pricing);
}

static void weigh_children(struct pricing *pricing, uint16_t host, double price)
{
    uint32_t first = net_edge(pricing->rows->net, host, 0);
    for (uint16_t to = 0; to < pricing->rows->net->count; to++)
        if (pricing->weight[first + to] < ARBORESCENCE_NO_EDGE)
            pricing->weight[first + to] += price;
}

/* Fills in the weights; returns what every tree costs besides. */
static double weigh(struct pricing *pricing, const struct pricing_list *list)
{
    const struct rows *rows = pricing->rows;
    uint32_t net_count = net_rows(rows->net);
    double constant =
        list->besides == NULL ? 0 : list->besides[rows_sum(rows)] * rows->unit_bps / rows->rate_most_bps;
    for (uint32_t row = 0; row < net_count && list->besides != NULL; row++)
        pricing->price[row] = list->besides[row] * rows->scale[row];
    for (uint32_t index = 0; index < list->count; index++)
        if (list->row[index] < net_count)
            pricing->price[list->row[index]] += list->price[index] * rows->scale[list->row[index]];
    net_weigh(rows->net, pricing->price, pricing->weight);
    for (uint32_t index = 0; index < list->count; index++) {
        uint32_t row = list->row[index];
        double price = list->price[index];
        if (row < net_count) {
            pricing->price[row] = 0;
        } else if (row == rows_sum(rows)) {
            constant += price * rows->unit_bps / rows->rate_most_bps;
        } else {
            uint16_t host = (uint16_t)(row - rows_children(rows, 0));
            weigh_children(pricing, host, price);
            constant -= price * rows->net->hosts[host].children_max;
        }
    }
    for (uint16_t host = 0; host < rows->net->count && list->besides != NULL; host++) {
        double price = list->besides[rows_children(rows, host)];
        if (price > 0)
            weigh_children(pricing, host, price);
        constant -= price * rows->net->hosts[host].children_max;
    }
    if (list->besides != NULL)
        memset(pricing->price, 0, net_count * sizeof(double));
    for (uint32_t index = 0; index < pricing->dead_count; index++)
        pricing->weight[pricing->dead[index]] = ARBORESCENCE_NO_EDGE;
    return constant;
}

static bool steiner(struct pricing *pricing, enum pricing_effort effort, uint16_t *parent,
                    struct pricing_answer *answer)
{
    uint32_t count = pricing->rows->net->count;
    struct steiner_task task = {(uint16_t)count, pricing->rows->net->source, pricing->weight,
                                pricing->wanted};
    answer->least = 0;
    if (!steiner_tree(&task, effort != PRICING_QUICK, pricing->arena, parent, &answer->cost))
        return false;
    if (effort == PRICING_EXACT)
        answer->least =
            branch_least(&task, BRANCH_WORK / (count * count), pricing->arena, parent, &answer->cost);
    else if (effort == PRICING_THOROUGH)
        answer->least = steiner_least(&task, pricing->arena);
    return true;
}

bool pricing_tree(struct pricing *pricing, const struct pricing_list *list, enum pricing_effort effort,
                  uint16_t *parent, struct pricing_answer *answer)
{
    const struct net *net = pricing->rows->net;
    double constant = weigh(pricing, list);
    bool found;
    if (pricing->relays) {
        found = steiner(pricing, effort, parent, answer);
    } else {
        struct arborescence_task task = {net->count, net->source, pricing->weight, pricing->wanted};
        found = arborescence(&task, pricing->arena, parent, &answer->cost);
        answer->least = answer->cost;
    }
    answer->cost += constant;
    answer->least += constant;
    return found;
}

bool pricing_first(struct pricing *pricing, uint16_t *parent)
{
    struct pricing_answer answer;
    struct pricing_list none = {0, NULL, NULL, NULL};
    const struct rows *rows = pricing->rows;
    memcpy(pricing->price, rows->scale, net_rows(rows->net) * sizeof(double));
    bool found = pricing_tree(pricing, &none, PRICING_QUICK, parent, &answer);
    memset(pricing->price, 0, net_rows(rows->net) * sizeof(double));
    return found;
}
