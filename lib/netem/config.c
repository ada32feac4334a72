#include "netem/config.h"

#include "base/units.h"

void netem_config_change(struct netem_config *config, const struct netem_config *set, uint32_t mask)
{
    if (mask & NETEM_CHANGE_RATE)
        config->rate_bps = set->rate_bps;
    if (mask & NETEM_CHANGE_DELAY)
        config->delay_ns = set->delay_ns;
    if (mask & NETEM_CHANGE_JITTER)
        config->jitter_ns = set->jitter_ns;
    if (mask & NETEM_CHANGE_LOSS)
        config->loss_ppb = set->loss_ppb;
    if (mask & NETEM_CHANGE_QUEUE) {
        config->queue_unit = set->queue_unit;
        config->queue_limit = set->queue_limit;
    }
    if (mask & NETEM_CHANGE_QUEUE_MIN)
        config->queue_min_packets = set->queue_min_packets;
    if (mask & NETEM_CHANGE_ECN)
        config->ecn_ns = set->ecn_ns;
    if (mask & NETEM_CHANGE_POLICER) {
        config->policer_bps = set->policer_bps;
        config->policer_depth_bytes = set->policer_depth_bytes;
    }
    if (mask & NETEM_CHANGE_BURST)
        config->burst = set->burst;
}

uint64_t netem_config_wait_ns(const struct netem_config *config, uint32_t packet_bytes)
{
    if (config->rate_bps == 0)
        return 0;
    uint64_t least_ns = transmit_ns((uint64_t)config->queue_min_packets * packet_bytes, config->rate_bps);
    switch ((enum netem_queue_unit)config->queue_unit) {
    case NETEM_QUEUE_NONE:
        return UINT64_MAX;
    case NETEM_QUEUE_NS:
        return MAX(config->queue_limit, least_ns);
    case NETEM_QUEUE_BYTES:
        return MAX(transmit_ns(config->queue_limit, config->rate_bps), least_ns);
    case NETEM_QUEUE_PACKETS:
        return transmit_ns(config->queue_limit * packet_bytes, config->rate_bps);
    }
    return UINT64_MAX;
}
