/* RTT of a pair, and what a tree makes of them: the delay of its slowest receiver. */
#include "planner/solve.h"

uint32_t solve_rtt_us(const struct plan_request *request, uint16_t one, uint16_t other)
{
    uint32_t there_us = request->paths[one][other].rtt_us, back_us = request->paths[other][one].rtt_us;
    return there_us < back_us ? there_us : back_us;
}

bool solve_delay(const struct plan_request *request, const struct plan_tree *tree, uint64_t *delay_us,
                 struct err *err)
{
    uint64_t sum_us[PLAN_NODES_MAX] = {0}, largest_us = 0;
    for (uint16_t edge = 0; edge < tree->edge_count; edge++) {
        uint16_t from = tree->edges[edge].from, to = tree->edges[edge].to;
        uint32_t rtt_us = solve_rtt_us(request, from, to);
        if (rtt_us == PLAN_RTT_UNKNOWN)
            return err_set(err, "no RTT was measured between %s and %s", request->nodes[from].name,
                           request->nodes[to].name);
        sum_us[to] = sum_us[from] + rtt_us;
        if (sum_us[to] > largest_us)
            largest_us = sum_us[to];
    }
    *delay_us = largest_us / 2;
    return true;
}
