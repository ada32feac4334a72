/* Measurements into the node's table of paths, and out of it into a job's request. */
#include <string.h>

#include "node/peer/path_table.h"
#include "node/role/source.h"

/* UINT16_MAX: none that this node is configured with. */
static uint16_t table_site(const struct node *node, const char *name)
{
    uint16_t peer = peer_find(node, name);
    if (peer == PEER_NONE)
        return UINT16_MAX;
    return peer == PEER_SELF ? PATH_SITE_SELF : (uint16_t)(peer + 1);
}

void source_take_records(struct node *node, uint16_t peer, const struct control_measurement *report,
                         uint64_t now_ns)
{
    uint16_t from = peer == PEER_SELF ? PATH_SITE_SELF : (uint16_t)(peer + 1);
    struct path_site site = {.up_bps = report->fixed.up_bps,
                             .down_bps = report->fixed.down_bps,
                             .packets_ps = report->fixed.packets_ps,
                             .window_bytes = report->fixed.window_bytes,
                             .leaf = report->fixed.leaf != 0};
    path_table_set_site(node->paths, from, &site);
    for (uint16_t index = 0; index < report->fixed.count; index++) {
        const struct wire_measured *entry = &report->peers[index];
        uint16_t to = table_site(node, entry->peer.text);
        if (to != UINT16_MAX && to != from)
            path_table_set_measured(node->paths, from, to, entry->rtt_min_us, entry->mtu, now_ns);
    }
}

void source_take_available(struct node *node, uint16_t peer, const struct control_available *available,
                           uint64_t now_ns)
{
    uint16_t from = (uint16_t)(peer + 1);
    for (uint16_t index = 0; index < available->fixed.count; index++) {
        const struct wire_available_peer *entry = &available->peers[index];
        uint16_t to = table_site(node, entry->peer.text);
        uint32_t high_kbps = entry->high_kbps == UINT32_MAX ? 0 : entry->high_kbps;
        uint16_t sender = entry->line_in != 0 ? PATH_SITE_ANY : from;
        if (to != UINT16_MAX && (entry->line_in == 0 || to == from))
            path_table_set_available(node->paths, sender, to, entry->avail_kbps, entry->low_kbps, high_kbps,
                                     elapsed_ns(now_ns, entry->age_ms * NS_PER_MS));
    }
}

bool source_drop_idle_leaves(const struct node *node, struct job *job, struct err *err)
{
    for (uint16_t index = 0; index < job->source->site_count; index++) {
        struct site *site = &job->source->sites[index];
        if (site->receiver || !site->included || !path_table_site(node->paths, site->peer + 1u)->leaf)
            continue;
        if (job->source->spec.metric == PLAN_METRIC_GIVEN)
            return err_set(err, "the given tree leads through %s, which relays nothing (plan: relay: no)",
                           site->name);
        site->included = false;
    }
    return true;
}

void source_take_told(struct node *node, const struct ctl_paths *told, uint64_t now_ns)
{
    uint16_t site_of[PLAN_NODES_MAX];
    path_table_tell(node->paths, told->shared, told->shared_count, now_ns);
    for (uint16_t index = 0; index < told->site_count; index++) {
        const struct ctl_site *site = &told->sites[index];
        site_of[index] = table_site(node, site->name);
        if (site_of[index] != UINT16_MAX)
            path_table_tell_site(node->paths, site_of[index], site->up_bps, site->down_bps);
    }
    for (uint16_t from = 0; from < told->site_count; from++)
        for (uint16_t to = 0; to < told->site_count; to++)
            if (site_of[from] != UINT16_MAX && site_of[to] != UINT16_MAX)
                path_table_tell_path(node->paths, site_of[from], site_of[to], &told->paths[from][to]);
}

static void fill_node(const struct path_site *site, struct plan_node *filled)
{
    filled->up_bps = site->left_up_bps != 0 ? MIN(site->left_up_bps, site->up_bps) : site->up_bps;
    filled->down_bps = site->left_down_bps != 0 ? MIN(site->left_down_bps, site->down_bps) : site->down_bps;
    filled->packets_ps = site->packets_ps;
    filled->window_bytes = site->window_bytes;
    filled->leaf = site->leaf;
}

/* What a path carries its two lines carry: of one that is known roughly, the lower end. Where both contradict, the line
 * has become slower since, or the path faster, and it stays as it was measured. */
static void raise_low_end(struct plan_path *line, const struct plan_path *path)
{
    uint32_t kbps = plan_path_at_least(path) ? path->avb_low_kbps : path->avb_kbps;
    bool both = plan_path_counts(PLAN_AVB_MEASURED, line) && plan_path_counts(PLAN_AVB_MEASURED, path);
    if (!both || plan_path_at_least(line) || kbps >= line->avb_high_kbps)
        return;
    line->avb_kbps = MAX(line->avb_kbps, kbps);
    line->avb_low_kbps = MAX(line->avb_low_kbps, path->avb_low_kbps);
}

static void raise_low_ends(struct plan_request *request)
{
    for (uint16_t from = 0; from < request->node_count; from++)
        for (uint16_t to = 0; to < request->node_count; to++)
            if (from != to) {
                raise_low_end(&request->paths[from][from], &request->paths[from][to]);
                raise_low_end(&request->lines_in[to], &request->paths[from][to]);
            }
}

void source_fill_request(const struct node *node, struct job *job, uint64_t now_ns)
{
    struct plan_request *request = &job->source->request;
    uint16_t site_of[PLAN_NODES_MAX];
    for (uint16_t index = 0; index < request->node_count; index++) {
        site_of[index] = table_site(node, request->nodes[index].name);
        fill_node(path_table_site(node->paths, site_of[index]), &request->nodes[index]);
    }
    for (uint16_t to = 0; to < request->node_count; to++)
        request->lines_in[to] =
            path_table_path(node->paths, PATH_SITE_ANY, site_of[to], job->source->known_since_ns, now_ns);
    request->nodes[request->source].leaf = false;
    request->shared_count = node->paths->shared_count;
    memcpy(request->shared, node->paths->shared, sizeof(request->shared));
    for (uint16_t from = 0; from < request->node_count; from++)
        for (uint16_t to = 0; to < request->node_count; to++)
            request->paths[from][to] =
                path_table_path(node->paths, site_of[from], site_of[to], job->source->known_since_ns, now_ns);
    raise_low_ends(request);
}
