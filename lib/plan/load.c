#include "plan/load.h"

#include <string.h>

#include "base/units.h"

void load_init(struct load *load, const struct plan *plan, const struct plan_request *request)
{
    memset(load, 0, sizeof(*load));
    for (uint16_t tree = 0; tree < plan->tree_count; tree++)
        for (uint16_t edge = 0; edge < plan->trees[tree].edge_count; edge++) {
            uint16_t from = plan->trees[tree].edges[edge].from, to = plan->trees[tree].edges[edge].to;
            uint64_t rate_bps = plan_edge_rate_bps(plan, tree, to);
            uint64_t kept_ppm = PLAN_WHOLE_PPM - request->paths[from][to].loss_ppm;
            load->up_bps[from] += rate_bps;
            load->down_bps[to] += muldiv64(rate_bps, kept_ppm, PLAN_WHOLE_PPM);
            load->path_bps[from][to] += rate_bps;
            for (uint16_t shared = 0; shared < request->shared_count; shared++)
                if (request->paths[from][to].shared >> shared & 1)
                    load->shared_bps[shared] += rate_bps;
        }
}

static unsigned share(uint64_t used_bps, uint64_t limit_bps)
{
    return limit_bps == 0 ? 0 : (unsigned)muldiv64(used_bps, 1000, limit_bps);
}

unsigned load_up(const struct load *load, const struct plan_request *request, uint16_t node)
{
    return share(load->up_bps[node], request->nodes[node].up_bps);
}

unsigned load_down(const struct load *load, const struct plan_request *request, uint16_t node)
{
    return share(load->down_bps[node], request->nodes[node].down_bps);
}

unsigned load_path(const struct load *load, const struct plan_request *request, uint16_t from, uint16_t to)
{
    const struct plan_path *path = &request->paths[from][to];
    unsigned most = share(load->path_bps[from][to], (uint64_t)path->avb_kbps * 1000);
    for (uint16_t shared = 0; shared < request->shared_count; shared++)
        if (path->shared >> shared & 1)
            most = MAX(most, share(load->shared_bps[shared], request->shared[shared].rate_bps));
    return most;
}
