#include "netem/make.h"

#include "base/units.h"

#define LOAD_SEED 0x6c6f61642d736565ULL

/* What one load takes. */
struct loaded {
    struct netem_background background;
    struct netem_onoff onoff[]; /* of that kind */
};

static size_t load_bytes(const struct netem_load *load)
{
    return sizeof(struct loaded) + (load->kind == NETEM_LOAD_ONOFF ? sizeof(struct netem_onoff) : 0);
}

/* A power of two above the limit. */
static uint32_t places_for(uint64_t packets_limit)
{
    uint32_t places = 2;
    if (packets_limit == 0)
        return 0;
    while (places <= packets_limit)
        places *= 2;
    return places;
}

size_t netem_memory_bytes(const struct netem_config *config, uint64_t packets_limit)
{
    size_t bytes = places_for(packets_limit) * sizeof(uint64_t);
    for (unsigned load = 0; load < config->load_count; load++)
        bytes += load_bytes(&config->loads[load]);
    return bytes;
}

void netem_make(struct netem_link *link, const struct netem_config *config, uint64_t packets_limit,
                uint64_t seed, void *memory)
{
    uint32_t places = places_for(packets_limit);
    uint8_t *rest = (uint8_t *)memory + places * sizeof(uint64_t);
    CHECK((memory != NULL) == (netem_memory_bytes(config, packets_limit) != 0));
    netem_init(link, config, seed, places != 0 ? memory : NULL, places);
    link->memory = memory;
    for (unsigned index = 0; index < config->load_count; index++) {
        const struct netem_load *load = &config->loads[index];
        struct loaded *loaded = (struct loaded *)(void *)rest;
        netem_background_of(&loaded->background, load, seed ^ LOAD_SEED * (index + 1),
                            load->kind == NETEM_LOAD_ONOFF ? loaded->onoff : NULL);
        netem_join(link, &loaded->background);
        rest += load_bytes(load);
    }
}
