/* Copies host by host and edge by edge. */
#include "planner/tree/part.h"

#include <string.h>

size_t part_bytes(const struct net *whole)
{
    return net_bytes(whole->count, whole->shared_count) + arena_need(whole->count * sizeof(uint16_t));
}

static void copy_edge(struct part *part, const struct net *whole, uint16_t from, uint16_t to)
{
    uint32_t edge = net_edge(&part->net, from, to);
    uint32_t original = net_edge(whole, part->host_of[from], part->host_of[to]);
    part->net.path_bps[edge] = whole->path_bps[original];
    part->net.loss[edge] = whole->loss[original];
    part->net.rtt_us[edge] = whole->rtt_us[original];
    part->net.crosses[edge] = whole->crosses[original];
    memcpy(&part->net.shared_of[edge * NET_SHARED_OF_EDGE], &whole->shared_of[original * NET_SHARED_OF_EDGE],
           NET_SHARED_OF_EDGE);
}

void part_init(struct part *part, const struct net *whole, const bool *keep, struct arena *arena)
{
    uint16_t count = 0, source = 0;
    part->host_of = arena_alloc(arena, whole->count * sizeof(uint16_t));
    for (uint16_t host = 0; host < whole->count; host++) {
        source = host == whole->source ? count : source;
        if (keep[host])
            part->host_of[count++] = host;
    }
    net_make(&part->net, count, source, whole->shared_count, arena);
    part->net.packet_bits = whole->packet_bits;
    memcpy(part->net.shared, whole->shared, whole->shared_count * sizeof(struct net_shared));
    for (uint16_t from = 0; from < count; from++) {
        part->net.hosts[from] = whole->hosts[part->host_of[from]];
        for (uint16_t to = 0; to < count; to++)
            copy_edge(part, whole, from, to);
    }
}

void part_tree(const struct part *part, const struct net_tree *tree, struct net_tree *in_whole)
{
    for (uint16_t host = 0; host < part->net.count; host++)
        if (tree->parent[host] != NET_NONE)
            in_whole->parent[part->host_of[host]] = part->host_of[tree->parent[host]];
}
