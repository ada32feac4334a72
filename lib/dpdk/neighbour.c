#include "dpdk/neighbour.h"

#include "base/units.h"

static uint16_t neighbour_find(const struct neighbour_table *table, const struct net_address *address)
{
    for (uint16_t index = 0; index < table->count; index++) {
        const struct neighbour *entry = &table->entries[index];
        if (entry->address.family == address->family && memcmp(entry->address.ip, address->ip, 16) == 0)
            return index;
    }
    return NEIGHBOUR_NONE;
}

uint16_t neighbour_add(struct neighbour_table *table, const struct net_address *address)
{
    uint16_t index = neighbour_find(table, address);
    if (index != NEIGHBOUR_NONE)
        return index;
    if (table->count == NEIGHBOURS_MAX)
        return NEIGHBOUR_NONE;
    struct neighbour *entry = &table->entries[table->count];
    *entry = (struct neighbour){.address = *address};
    entry->address.udp_port = 0;
    return table->count++;
}

static void neighbour_set(struct neighbour_table *table, struct neighbour *entry,
                          const uint8_t mac[MAC_BYTES])
{
    if (!entry->known || memcmp(entry->mac, mac, MAC_BYTES) != 0)
        table->version++;
    memcpy(entry->mac, mac, MAC_BYTES);
    entry->known = true;
    entry->tries = 0;
}

void neighbour_fix(struct neighbour_table *table, uint16_t index, const uint8_t mac[MAC_BYTES])
{
    CHECK(index < table->count);
    table->entries[index].fixed = true;
    neighbour_set(table, &table->entries[index], mac);
}

void neighbour_learn(struct neighbour_table *table, const struct net_address *address,
                     const uint8_t mac[MAC_BYTES], uint64_t now_ns)
{
    uint16_t index = neighbour_find(table, address);
    if (index == NEIGHBOUR_NONE || table->entries[index].fixed)
        return;
    neighbour_set(table, &table->entries[index], mac);
    table->entries[index].ask_ns = later_ns(now_ns, NEIGHBOUR_FRESH_NS);
}

const uint8_t *neighbour_mac(const struct neighbour_table *table, uint16_t index)
{
    if (index >= table->count || !table->entries[index].known)
        return NULL;
    return table->entries[index].mac;
}

uint16_t neighbour_next(struct neighbour_table *table, uint64_t now_ns)
{
    for (uint16_t index = 0; index < table->count; index++) {
        struct neighbour *entry = &table->entries[index];
        if (entry->fixed || entry->ask_ns > now_ns)
            continue;
        if (entry->tries < NEIGHBOUR_TRIES)
            entry->tries++;
        bool patient = entry->tries == NEIGHBOUR_TRIES;
        if (patient && entry->known) {
            entry->known = false;
            table->version++;
        }
        entry->ask_ns = later_ns(now_ns, patient ? NEIGHBOUR_SLOW_NS : NEIGHBOUR_RETRY_NS);
        return index;
    }
    return NEIGHBOUR_NONE;
}
