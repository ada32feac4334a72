#include "node/peer/path_table.h"

static struct path_record *record_of(const struct path_table *table, uint16_t from, uint16_t to)
{
    CHECK(from < table->count && to < table->count);
    return &table->records[(uint32_t)from * table->count + to];
}

size_t path_table_bytes(uint16_t count)
{
    return arena_need(count * sizeof(struct path_site)) +
           arena_need((size_t)count * count * sizeof(struct path_record));
}

void path_table_init(struct path_table *table, uint16_t count, struct arena *arena)
{
    table->count = count;
    table->sites = arena_alloc(arena, count * sizeof(struct path_site));
    table->records = arena_alloc(arena, (size_t)count * count * sizeof(struct path_record));
    for (uint16_t from = 0; from < count; from++) {
        table->sites[from] = (struct path_site){0};
        for (uint16_t to = 0; to < count; to++)
            *record_of(table, from, to) = (struct path_record){.rtt_us = PLAN_RTT_UNKNOWN};
    }
}

void path_table_set_site(struct path_table *table, uint16_t site, const struct path_site *told)
{
    CHECK(site < table->count);
    table->sites[site] = *told;
}

void path_table_set_measured(struct path_table *table, uint16_t from, uint16_t to, uint32_t rtt_us,
                             uint16_t mtu, uint64_t now_ns)
{
    struct path_record *record = record_of(table, from, to);
    record->measured_ns = now_ns;
    record->rtt_us = rtt_us;
    record->mtu = mtu;
}

const struct path_site *path_table_site(const struct path_table *table, uint16_t site)
{
    CHECK(site < table->count);
    return &table->sites[site];
}

struct plan_path path_table_path(const struct path_table *table, uint16_t from, uint16_t to,
                                 uint64_t since_ns)
{
    const struct path_record *record = record_of(table, from, to);
    struct plan_path path = {.rtt_us = PLAN_RTT_UNKNOWN};
    if (record->measured_ns >= since_ns) {
        path.rtt_us = record->rtt_us;
        path.mtu = record->mtu;
    }
    return path;
}
