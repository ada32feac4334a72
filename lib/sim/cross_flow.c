/* A flow's packets and counts. */
#include "sim/cross_flow.h"

#include <string.h>

#include "base/units.h"

static const struct word kind_words[] = CROSS_WORDS;

const char *cross_kind_name(unsigned kind)
{
    const char *word = word_of(kind_words, (int)kind);
    return word != NULL ? word : "unknown";
}

void cross_send(struct cross_flow *flow, bool back, uint32_t ip_bytes, const void *data, uint32_t bytes,
                uint64_t now_ns)
{
    struct net *net = flow->net;
    uint16_t from = back ? flow->config->to : flow->config->from;
    uint16_t to = back ? flow->config->from : flow->config->to;
    struct sim_packet *packet = net_packet(net, from, to, ip_bytes, bytes);
    packet->flow = (uint16_t)(flow->index + 1);
    memcpy(packet->data, data, bytes);
    if (!back) {
        packet->ecn = flow->ecn;
        flow->total.sent_packets++;
        flow->total.sent_bytes += packet->wire_bytes;
    }
    net_launch(net, packet, now_ns);
}

void cross_delivered(struct cross_flow *flow, uint64_t packets, uint64_t now_ns)
{
    uint64_t second = now_ns / NS_PER_S;
    flow->total.delivered_packets += packets;
    flow->total.delivered_bytes += packets * flow->payload_bytes;
    if (second < flow->seconds_count)
        flow->seconds[second] += packets * flow->wire_bytes;
}
