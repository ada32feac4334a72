#include "node/flow/data_rate.h"

#include "node/train/prober.h"

#define WHOLE_PPM 1000000u

size_t data_rate_bytes(const struct node_config *config)
{
    return config->probe.background ? arena_need(config->peer_count * sizeof(struct data_rate)) : 0;
}

void data_rate_init(struct node *node, struct arena *arena)
{
    node->data_rates = node->config.probe.background
                           ? arena_alloc(arena, node->config.peer_count * sizeof(struct data_rate))
                           : NULL;
}

/* Share of `part` in `whole`, in millionths. */
static uint32_t share_ppm(uint64_t part, uint64_t whole)
{
    return whole == 0 ? 0 : (uint32_t)muldiv64(MIN(part, whole), WHOLE_PPM, whole);
}

static struct data_rate state_now(const struct node *node, const struct peer *peer, uint64_t now_ns)
{
    const struct sender *sender = &peer->sender;
    return (struct data_rate){
        .in_band = node->data_rates[peer->index].in_band,
        .looked_ns = now_ns,
        .delivered_bytes = sender->delivered_bytes,
        .received_ns = sender->delivered_ns,
        .congested_ns = causes_total_ns(&flow_of(node, peer)->causes, EDGE_LIMIT_congestion, now_ns),
        .sent_packets = sender->counters.sent_packets,
        .lost_packets = sender->counters.lost_packets};
}

/* The receiver's clock says how long it took, ours when that was. */
static void look_at(struct node *node, const struct peer *peer, uint64_t now_ns)
{
    struct data_rate *last = &node->data_rates[peer->index], now = state_now(node, peer, now_ns);
    struct estimate estimate;
    bool follows = last->looked_ns != 0 && now.delivered_bytes > last->delivered_bytes &&
                   now.received_ns > last->received_ns && now.received_ns - last->received_ns < now_ns;
    if (follows) {
        struct in_band_window window = {
            .from_ns = now_ns - (now.received_ns - last->received_ns),
            .until_ns = now_ns,
            .delivered_bytes = now.delivered_bytes - last->delivered_bytes,
            .congested_ppm = share_ppm(now.congested_ns - last->congested_ns, now_ns - last->looked_ns),
            .loss_ppm =
                share_ppm(now.lost_packets - last->lost_packets, now.sent_packets - last->sent_packets)};
        if (in_band_take(&now.in_band, &window, &estimate))
            prober_take_data(node, peer->index, &estimate, now_ns);
    } else {
        now.in_band = (struct in_band){0};
    }
    *last = now;
}

void data_rate_look(struct node *node, uint64_t now_ns)
{
    if (node->data_rates == NULL)
        return;
    for (uint16_t index = 0; index < node->peer_count; index++) {
        const struct peer *peer = &node->peers[index];
        if (peer->state == PEER_UP && peer->sender.delivered_known &&
            elapsed_ns(now_ns, node->data_rates[index].looked_ns) >= DATA_RATE_LOOK_NS)
            look_at(node, peer, now_ns);
    }
}
