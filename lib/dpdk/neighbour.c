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

/* Known from now on, and no claim is open. */
static void neighbour_set(struct neighbour_table *table, struct neighbour *entry,
                          const uint8_t mac[MAC_BYTES], uint64_t now_ns)
{
    if (!entry->known || memcmp(entry->mac, mac, MAC_BYTES) != 0)
        table->version++;
    memmove(entry->mac, mac, MAC_BYTES);
    entry->known = true;
    entry->claimed = false;
    entry->tries = 0;
    entry->ask_ns = later_ns(now_ns, NEIGHBOUR_FRESH_NS);
}

void neighbour_fix(struct neighbour_table *table, uint16_t index, const uint8_t mac[MAC_BYTES])
{
    CHECK(index < table->count);
    table->entries[index].fixed = true;
    neighbour_set(table, &table->entries[index], mac, 0);
}

static void claim_begin(struct neighbour *entry, const uint8_t mac[MAC_BYTES], uint64_t now_ns)
{
    if (entry->claimed)
        return;
    entry->claimed = true;
    entry->claim_asks = 0;
    entry->claim_ask_ns = MAX(entry->claim_ask_ns, now_ns);
    memcpy(entry->claim_mac, mac, MAC_BYTES);
}

/* True: the holder is to be asked now. */
static bool claim_tick(struct neighbour_table *table, struct neighbour *entry, uint64_t now_ns)
{
    if (!entry->claimed)
        return false;
    if (!entry->known || (entry->claim_asks > 0 && now_ns >= entry->claim_over_ns)) {
        table->moves++;
        entry->claim_ask_ns = now_ns;
        neighbour_set(table, entry, entry->claim_mac, now_ns);
        return false;
    }
    if (entry->claim_asks == NEIGHBOUR_CLAIM_ASKS || now_ns < entry->claim_ask_ns)
        return false;
    if (entry->claim_asks++ == 0)
        entry->claim_over_ns = later_ns(now_ns, NEIGHBOUR_CLAIM_NS);
    entry->claim_ask_ns = later_ns(now_ns, NEIGHBOUR_CLAIM_ASK_NS);
    return true;
}

void neighbour_learn(struct neighbour_table *table, const struct net_address *address,
                     const uint8_t mac[MAC_BYTES], bool override, uint64_t now_ns)
{
    uint16_t index = neighbour_find(table, address);
    if (index == NEIGHBOUR_NONE || table->entries[index].fixed)
        return;
    struct neighbour *entry = &table->entries[index];
    if (entry->known && memcmp(entry->mac, mac, MAC_BYTES) != 0) {
        if (override)
            claim_begin(entry, mac, now_ns);
        return;
    }
    if (entry->known && entry->claimed) {
        table->conflicts++;
        entry->claim_ask_ns = later_ns(now_ns, NEIGHBOUR_CLAIM_NS);
    }
    neighbour_set(table, entry, mac, now_ns);
}

const uint8_t *neighbour_mac(const struct neighbour_table *table, uint16_t index)
{
    if (index >= table->count || !table->entries[index].known)
        return NULL;
    return table->entries[index].mac;
}

uint16_t neighbour_next(struct neighbour_table *table, uint64_t now_ns, const uint8_t **holder)
{
    for (uint16_t index = 0; index < table->count; index++) {
        struct neighbour *entry = &table->entries[index];
        *holder = entry->mac;
        if (claim_tick(table, entry, now_ns))
            return index;
        *holder = NULL;
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
