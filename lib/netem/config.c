#include "netem/config.h"

#include "base/units.h"

const struct netem_size netem_trimodal[NETEM_LOAD_SIZES_MAX] = {{64, 7}, {576, 4}, {1500, 1}};

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
    if (mask & NETEM_CHANGE_SHAPER) {
        config->shaper_bps = set->shaper_bps;
        config->shaper_depth_bytes = set->shaper_depth_bytes;
    }
    if (mask & NETEM_CHANGE_MTU)
        config->mtu = set->mtu;
}

uint64_t netem_config_drain_bps(const struct netem_config *config)
{
    bool shaped = config->shaper_bps != 0 && (config->rate_bps == 0 || config->shaper_bps < config->rate_bps);
    return shaped ? config->shaper_bps : config->rate_bps;
}

uint64_t netem_config_wait_ns(const struct netem_config *config, uint32_t packet_bytes)
{
    uint64_t rate_bps = netem_config_drain_bps(config);
    if (rate_bps == 0)
        return 0;
    uint64_t least_ns = transmit_ns((uint64_t)config->queue_min_packets * packet_bytes, rate_bps);
    switch ((enum netem_queue_unit)config->queue_unit) {
    case NETEM_QUEUE_NONE:
        return UINT64_MAX;
    case NETEM_QUEUE_NS:
        return MAX(config->queue_limit, least_ns);
    case NETEM_QUEUE_BYTES:
        return MAX(transmit_ns(config->queue_limit, rate_bps), least_ns);
    case NETEM_QUEUE_PACKETS:
        return transmit_ns(config->queue_limit * packet_bytes, rate_bps);
    }
    return UINT64_MAX;
}

uint32_t netem_load_packet_bytes(const struct netem_load *load)
{
    uint32_t bytes = 0;
    for (unsigned size = 0; size < NETEM_LOAD_SIZES_MAX; size++)
        bytes += netem_trimodal[size].weight * (netem_trimodal[size].ip_bytes + WIRE_OVERHEAD_BYTES);
    return load->trimodal ? bytes / NETEM_TRIMODAL_WEIGHT : load->wire_bytes;
}

uint64_t netem_load_bps(const struct netem_load *load)
{
    if (load->kind != NETEM_LOAD_ONOFF)
        return load->rate_bps;
    return muldiv64(load->rate_bps * load->sources, load->on_ns, load->on_ns + load->off_ns);
}

uint64_t netem_config_cross_bps(const struct netem_config *config)
{
    uint64_t sum_bps = config->background_bps;
    for (unsigned load = 0; load < config->load_count; load++)
        sum_bps += netem_load_bps(&config->loads[load]);
    return sum_bps;
}
