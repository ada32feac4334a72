/* Steepest of each host's moves, hosts on the fullest rows only. */
#include "planner/tree/improve.h"

#define NEAR_FULL  0.7 /* of the largest load: rows below do not matter in the sum of powers */
#define WORTHWHILE 1e-6

static double power(double load)
{
    double square = load * load, fourth = square * square, eighth = fourth * fourth;
    return eighth * eighth;
}

/* By how much the sum of powers would grow if the edge came (sign 1) or went (-1). */
static double growth(const struct booking *booking, unsigned tree, uint16_t from, uint16_t to, double sign,
                     double unit)
{
    const struct shares *shares = booking->shares;
    uint32_t edge = shares_edge(shares, from, to);
    double weight = sign * booking->forest->weight[tree] * booking->scale[to], sum = 0;
    for (uint32_t use = shares->first[edge]; use < shares->first[edge + 1]; use++) {
        double load = booking->load[shares->row[use]];
        sum += power((load + weight * shares->share[use]) * unit) - power(load * unit);
    }
    return sum;
}

static bool on_full_row(const struct booking *booking, uint16_t from, uint16_t to, double full)
{
    const struct shares *shares = booking->shares;
    uint32_t edge = shares_edge(shares, from, to);
    for (uint32_t use = shares->first[edge]; use < shares->first[edge + 1]; use++)
        if (booking->load[shares->row[use]] >= full)
            return true;
    return false;
}

/* Gives the host the parent that lowers the sum most; it keeps its own when none does. */
static bool move(struct booking *booking, unsigned tree, uint16_t host, double unit)
{
    uint16_t count = booking->shares->hosts, before = booking->forest->trees[tree].parent[host],
             best = before;
    double gain = growth(booking, tree, before, host, -1, unit), best_sum = -WORTHWHILE;
    booking_remove(booking, tree, host);
    for (uint16_t from = 0; from < count; from++) {
        if (from == before || !booking_allows(booking, tree, from, host))
            continue;
        double sum = gain + growth(booking, tree, from, host, 1, unit);
        bool inside =
            booking->forest->trees[tree].parent[from] != NET_NONE || from == booking->task->net->source;
        if (sum < best_sum && inside && !booking_below(booking, tree, from, host)) {
            best = from;
            best_sum = sum;
        }
    }
    booking_add(booking, tree, best, host);
    return best != before;
}

uint64_t improve(struct booking *booking, uint64_t budget)
{
    uint16_t count = booking->shares->hosts;
    for (bool moved = true; moved;) {
        double largest = booking_load_max(booking);
        moved = false;
        for (unsigned tree = 0; tree < booking->forest->tree_count; tree++)
            for (uint16_t host = 0; host < count; host++) {
                uint16_t parent = booking->forest->trees[tree].parent[host];
                if (parent == NET_NONE || !on_full_row(booking, parent, host, largest * NEAR_FULL))
                    continue;
                if (budget < count)
                    return 0;
                budget -= count;
                moved |= move(booking, tree, host, 1 / largest);
            }
    }
    return budget;
}
