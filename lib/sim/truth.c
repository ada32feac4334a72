#include "sim/truth.h"

#define ANY       UINT16_MAX
#define LEFT_BPS  1000ULL
#define WHOLE_PPB 1000000000ULL

/* ---- cross traffic ---- */

static uint64_t flow_bps(const struct scenario_cross *cross, uint64_t now_ns)
{
    if (now_ns < cross->start_ns || now_ns >= cross->stop_ns)
        return 0;
    switch (cross->kind) {
    case CROSS_CBR:
    case CROSS_POISSON:
        return cross->rate_bps * cross->count;
    case CROSS_ONOFF:
        return muldiv64(cross->rate_bps * cross->count, cross->on_ns,
                        MAX(cross->on_ns + cross->off_ns, 1ULL));
    default:
        return 0;
    }
}

/* What the flows of the list bring from one host to another, or from and to ANY. */
static uint64_t flows_bps(const struct scenario *scenario, uint16_t from, uint16_t to, uint64_t now_ns)
{
    uint64_t sum_bps = 0;
    for (uint16_t index = 0; index < scenario->cross_count; index++) {
        const struct scenario_cross *cross = &scenario->crosses[index];
        if ((from == ANY || cross->from == from) && (to == ANY || cross->to == to))
            sum_bps += flow_bps(cross, now_ns);
    }
    return sum_bps;
}

static uint64_t shared_flows_bps(const struct scenario *scenario, const struct scenario_shared *shared,
                                 uint64_t now_ns)
{
    uint64_t sum_bps = 0;
    for (uint16_t index = 0; index < scenario->cross_count; index++) {
        const struct scenario_cross *cross = &scenario->crosses[index];
        if (shared->members[cross->from] >> cross->to & 1)
            sum_bps += flow_bps(cross, now_ns);
    }
    return sum_bps;
}

/* ---- links ---- */

/* 0: no limit. */
static uint64_t left_bps(const struct netem_config *link, uint64_t cross_bps)
{
    uint64_t rate_bps = link->rate_bps;
    uint64_t taken_bps = netem_config_cross_bps(link) + cross_bps;
    if (link->policer_bps != 0 && (rate_bps == 0 || link->policer_bps < rate_bps))
        rate_bps = link->policer_bps;
    if (rate_bps == 0)
        return 0;
    return rate_bps > taken_bps + LEFT_BPS ? rate_bps - taken_bps : LEFT_BPS;
}

static uint64_t either_ppb(uint64_t one_ppb, uint64_t other_ppb)
{
    return one_ppb + other_ppb - muldiv64(one_ppb, other_ppb, WHOLE_PPB);
}

static uint64_t burst_ppb(const struct netem_burst *burst)
{
    uint64_t both_ppb = burst->enter_ppb + burst->leave_ppb;
    if (burst->enter_ppb == 0)
        return burst->gap_loss_ppb;
    return muldiv64(burst->loss_ppb, burst->enter_ppb, both_ppb) +
           muldiv64(burst->gap_loss_ppb, burst->leave_ppb, both_ppb);
}

static uint32_t loss_ppm(const struct netem_config *link)
{
    uint64_t lost_ppb = either_ppb(either_ppb(link->loss_ppb, burst_ppb(&link->burst)), link->corrupt_ppb);
    return (uint32_t)(MIN(lost_ppb, WHOLE_PPB - 1) / 1000);
}

/* ---- rows ---- */

static void tell_shared(const struct scenario *scenario, const struct net *net, uint64_t now_ns,
                        struct ctl_paths *paths)
{
    for (uint16_t index = 0; index < scenario->shared_count; index++) {
        const struct scenario_shared *shared = &scenario->shared[index];
        uint64_t bps = left_bps(&net->shared[index].link.config, shared_flows_bps(scenario, shared, now_ns));
        bool has_place = paths->shared_count < PLAN_SHARED_MAX;
        if (bps == 0)
            continue;
        for (uint16_t from = 0; from < scenario->node_count; from++)
            for (uint16_t to = 0; to < scenario->node_count; to++) {
                struct plan_path *path = &paths->paths[from][to];
                uint32_t kbps = (uint32_t)MIN(bps / 1000, (uint64_t)UINT32_MAX);
                if ((shared->members[from] >> to & 1) == 0)
                    continue;
                if (has_place)
                    path->shared |= (uint16_t)(1u << paths->shared_count);
                else if (path->avb_kbps == 0 || path->avb_kbps > kbps)
                    path->avb_kbps = kbps;
            }
        if (!has_place)
            continue;
        struct plan_shared *told = &paths->shared[paths->shared_count++];
        told->rate_bps = bps;
        name_copy(told->name, sizeof(told->name), shared->name);
    }
}

static void tell_hosts(const struct scenario *scenario, const struct net *net, uint64_t now_ns,
                       struct ctl_paths *paths)
{
    paths->site_count = scenario->node_count;
    for (uint16_t host = 0; host < scenario->node_count; host++) {
        const struct net_port *port = &net->ports[host];
        struct ctl_site *site = &paths->sites[host];
        name_copy(site->name, sizeof(site->name), scenario->nodes[host].name);
        site->up_bps = left_bps(&port->uplink.config, flows_bps(scenario, host, ANY, now_ns));
        site->down_bps = left_bps(&port->downlink.config, flows_bps(scenario, ANY, host, now_ns));
    }
}

void truth_paths(const struct scenario *scenario, struct net *net, uint64_t now_ns, struct ctl_paths *paths)
{
    *paths = (struct ctl_paths){0};
    tell_hosts(scenario, net, now_ns, paths);
    for (uint16_t from = 0; from < scenario->node_count; from++)
        for (uint16_t to = 0; to < scenario->node_count; to++) {
            const struct netem_config *link = &net_pair(net, from, to)->link.config;
            uint64_t bps = left_bps(link, flows_bps(scenario, from, to, now_ns));
            if (from == to)
                continue;
            paths->paths[from][to] = (struct plan_path){
                .loss_ppm = loss_ppm(link), .avb_kbps = (uint32_t)MIN(bps / 1000, (uint64_t)UINT32_MAX)};
        }
    tell_shared(scenario, net, now_ns, paths);
    for (uint16_t from = 0; from < scenario->node_count; from++)
        for (uint16_t to = 0; to < scenario->node_count; to++) {
            struct plan_path *path = &paths->paths[from][to];
            path->avb_low_kbps = path->avb_high_kbps = path->avb_kbps;
        }
}

/* One hop more. */
static void narrow(const struct netem_config *link, uint64_t cross_bps, uint64_t *least_bps,
                   uint64_t *rate_bps)
{
    uint64_t left = left_bps(link, cross_bps);
    if (left == 0 || (*rate_bps != 0 && left >= *least_bps))
        return;
    *least_bps = left;
    *rate_bps = link->rate_bps != 0 ? link->rate_bps : link->policer_bps;
}

uint64_t truth_tight_bps(const struct scenario *scenario, struct net *net, uint16_t from, uint16_t to,
                         uint64_t now_ns, uint64_t *rate_bps)
{
    uint64_t least_bps = *rate_bps = 0;
    uint8_t way[SCENARIO_WAY_MAX];
    narrow(&net->ports[from].uplink.config, flows_bps(scenario, from, ANY, now_ns), &least_bps, rate_bps);
    for (uint8_t shared = scenario_way(scenario, from, to, way); shared > 0; shared--)
        narrow(&net->shared[way[shared - 1]].link.config,
               shared_flows_bps(scenario, &scenario->shared[way[shared - 1]], now_ns), &least_bps, rate_bps);
    narrow(&net_pair(net, from, to)->link.config, flows_bps(scenario, from, to, now_ns), &least_bps,
           rate_bps);
    narrow(&net->ports[to].downlink.config, flows_bps(scenario, ANY, to, now_ns), &least_bps, rate_bps);
    return least_bps;
}
