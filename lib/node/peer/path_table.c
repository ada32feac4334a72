#include "node/peer/path_table.h"

static struct path_record *record_of(const struct path_table *table, uint16_t from, uint16_t to)
{
    uint16_t row = from == PATH_SITE_ANY ? table->count : from;
    CHECK(row <= table->count && to < table->count);
    return &table->records[(uint32_t)row * table->count + to];
}

size_t path_table_bytes(uint16_t count)
{
    return arena_need(count * sizeof(struct path_site)) +
           arena_need((size_t)(count + 1u) * count * sizeof(struct path_record));
}

void path_table_init(struct path_table *table, uint16_t count, struct arena *arena)
{
    table->count = count;
    table->sites = arena_alloc(arena, count * sizeof(struct path_site));
    table->records = arena_alloc(arena, (size_t)(count + 1u) * count * sizeof(struct path_record));
    for (uint16_t from = 0; from < count; from++)
        table->sites[from] = (struct path_site){0};
    for (uint32_t place = 0; place < (count + 1u) * count; place++)
        table->records[place] = (struct path_record){.rtt_us = PLAN_RTT_UNKNOWN};
}

void path_table_set_site(struct path_table *table, uint16_t site, const struct path_site *told)
{
    CHECK(site < table->count);
    struct path_site *kept = &table->sites[site];
    uint64_t left_up_bps = kept->left_up_bps, left_down_bps = kept->left_down_bps;
    *kept = *told;
    kept->left_up_bps = left_up_bps;
    kept->left_down_bps = left_down_bps;
}

void path_table_set_measured(struct path_table *table, uint16_t from, uint16_t to, uint32_t rtt_us,
                             uint16_t mtu, uint64_t now_ns)
{
    struct path_record *record = record_of(table, from, to);
    record->measured_ns = now_ns;
    record->rtt_us = rtt_us;
    record->mtu = mtu;
}

void path_table_set_available(struct path_table *table, uint16_t from, uint16_t to, uint32_t available_kbps,
                              uint32_t low_kbps, uint32_t high_kbps, uint64_t measured_ns)
{
    struct path_record *record = record_of(table, from, to);
    bool no_width = available_kbps != 0 && low_kbps == available_kbps && high_kbps == available_kbps;
    record->available_kbps = available_kbps;
    record->available_low_kbps =
        no_width ? available_kbps - 1 : low_kbps; /* else it would be one that was told */
    record->available_high_kbps = high_kbps;
    record->available_ns = measured_ns;
}

static uint32_t kbps(uint64_t bps)
{
    return (uint32_t)MIN(bps / 1000, (uint64_t)UINT32_MAX);
}

void path_table_set_estimate(struct path_table *table, uint16_t from, uint16_t to,
                             const struct estimate *estimate, uint64_t measured_ns)
{
    uint64_t high_bps = estimate->kind == ESTIMATE_VALUE ? estimate->high_bps : 0;
    if (estimate_says(estimate))
        path_table_set_available(table, from, to, kbps(estimate->avail_bps), kbps(estimate->low_bps),
                                 kbps(high_bps), measured_ns);
}

bool path_table_available(const struct path_table *table, uint16_t from, uint16_t to, uint64_t now_ns,
                          struct wire_available_peer *measured)
{
    const struct path_record *record = record_of(table, from, to);
    uint64_t age_ms = elapsed_ns(now_ns, record->available_ns) / NS_PER_MS;
    measured->avail_kbps = record->available_kbps;
    measured->low_kbps = record->available_low_kbps;
    measured->high_kbps = record->available_high_kbps;
    measured->age_ms = (uint32_t)MIN(age_ms, (uint64_t)UINT32_MAX);
    return record->available_kbps != 0;
}

void path_table_tell(struct path_table *table, const struct plan_shared *shared, uint16_t shared_count,
                     uint64_t now_ns)
{
    CHECK(shared_count <= PLAN_SHARED_MAX);
    table->told_ns = now_ns;
    table->shared_count = shared_count;
    for (uint16_t index = 0; index < shared_count; index++)
        table->shared[index] = shared[index];
    for (uint16_t from = 0; from < table->count; from++) {
        path_table_tell_site(table, from, 0, 0);
        for (uint16_t to = 0; to < table->count; to++)
            path_table_tell_path(table, from, to, &(struct plan_path){0});
    }
}

void path_table_tell_site(struct path_table *table, uint16_t site, uint64_t left_up_bps,
                          uint64_t left_down_bps)
{
    CHECK(site < table->count);
    table->sites[site].left_up_bps = left_up_bps;
    table->sites[site].left_down_bps = left_down_bps;
}

void path_table_tell_path(struct path_table *table, uint16_t from, uint16_t to, const struct plan_path *told)
{
    struct path_record *record = record_of(table, from, to);
    record->loss_ppm = told->loss_ppm;
    record->avb_kbps = told->avb_kbps;
    record->avb_low_kbps = told->avb_low_kbps;
    record->avb_high_kbps = told->avb_high_kbps;
    record->distance = told->distance;
    record->shared = told->shared;
}

const struct path_site *path_table_site(const struct path_table *table, uint16_t site)
{
    CHECK(site < table->count);
    return &table->sites[site];
}

struct plan_path path_table_path(const struct path_table *table, uint16_t from, uint16_t to,
                                 uint64_t since_ns, uint64_t now_ns)
{
    const struct path_record *record = record_of(table, from, to);
    struct plan_path path = {.rtt_us = PLAN_RTT_UNKNOWN,
                             .loss_ppm = record->loss_ppm,
                             .avb_kbps = record->avb_kbps,
                             .avb_low_kbps = record->avb_low_kbps,
                             .avb_high_kbps = record->avb_high_kbps,
                             .distance = record->distance,
                             .shared = record->shared};
    if (record->avb_kbps != 0) {
        path.avb_age_s = (uint32_t)((now_ns - table->told_ns) / NS_PER_S);
    } else if (record->available_kbps != 0) {
        path.avb_kbps = record->available_kbps;
        path.avb_low_kbps = record->available_low_kbps;
        path.avb_high_kbps = record->available_high_kbps;
        path.avb_age_s = (uint32_t)(elapsed_ns(now_ns, record->available_ns) / NS_PER_S);
    }
    if (record->measured_ns >= since_ns) {
        path.rtt_us = record->rtt_us;
        path.mtu = record->mtu;
    }
    return path;
}
