#include "node/peer/fresh.h"

#include "base/bytes.h"

uint32_t fresh_name(const uint8_t ephemeral[SEAL_KEY_BYTES])
{
    uint32_t name = load_be32(ephemeral);
    return name != 0 ? name : 1;
}

void fresh_note_own(struct freshness *freshness, uint32_t name, uint64_t now_ns)
{
    unsigned place = freshness->own_next++ % FRESH_OWN;
    freshness->own[place] = name;
    freshness->own_ns[place] = now_ns;
}

bool fresh_names_own(const struct freshness *freshness, uint32_t name, uint64_t now_ns)
{
    bool found = false;
    for (unsigned place = 0; place < FRESH_OWN; place++)
        found |= name != 0 && freshness->own[place] == name &&
                 elapsed_ns(now_ns, freshness->own_ns[place]) < FRESH_NS;
    return found;
}

/* Its place; FRESH_CAME: it did not come. Whether it did is looked up without a branch, so that many cost little. */
static unsigned find(const struct freshness *freshness, uint32_t name)
{
    unsigned place = 0, found = 0;
    for (unsigned index = 0; index < FRESH_CAME; index++)
        found |= freshness->came[index] == name;
    if (found == 0)
        return FRESH_CAME;
    while (freshness->came[place] != name)
        place++;
    return place;
}

bool fresh_on_came(struct freshness *freshness, uint32_t name, bool fresh, unsigned *place)
{
    *place = find(freshness, name);
    bool is_new = *place == FRESH_CAME;
    if (is_new) {
        *place = freshness->next++ % FRESH_CAME;
        freshness->came[*place] = name;
        freshness->computed[*place / 64] &= ~(1ULL << *place % 64);
    }
    if (fresh || is_new)
        freshness->newest = name;
    return is_new;
}

bool fresh_is_computed(const struct freshness *freshness, unsigned place)
{
    return (freshness->computed[place / 64] >> place % 64 & 1) != 0;
}

void fresh_note_computed(struct freshness *freshness, unsigned place)
{
    freshness->computed[place / 64] |= 1ULL << place % 64;
}
