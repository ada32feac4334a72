#include "roster_hash.h"

#include <stdlib.h>
#include <string.h>

#include "base/bytes.h"

/* What is hashed of a site; keys that it has not are zeros. */
struct entry {
    uint8_t name[NAME_BYTES];
    uint8_t keys[APP_KEYS_MAX][SEAL_KEY_BYTES];
};
_Static_assert(sizeof(struct entry) == NAME_BYTES + APP_KEYS_MAX * SEAL_KEY_BYTES, "no bytes between them");

static struct entry entry_of(const char *name, const struct app_keys *keys)
{
    struct entry entry = {0};
    memcpy(entry.name, name, strlen(name));
    memcpy(entry.keys, keys->keys, keys->count * sizeof(entry.keys[0]));
    return entry;
}

static int by_name(const void *one, const void *other)
{
    return memcmp(((const struct entry *)one)->name, ((const struct entry *)other)->name, NAME_BYTES);
}

uint64_t roster_hash(const struct app_config *config, const struct primitives *primitives)
{
    struct entry entries[NODE_PEERS_MAX + 1];
    uint8_t hash[SEAL_KEY_BYTES];
    size_t count = config->node.peer_count;
    if (config->own_keys.count == 0)
        return 0;
    for (size_t index = 0; index < count; index++)
        entries[index] = entry_of(config->node.peers[index].name, &config->peer_keys[index]);
    entries[count] = entry_of(config->node.name, &config->own_keys);
    qsort(entries, count + 1, sizeof(entries[0]), by_name);
    const struct seal_bytes piece = {(const uint8_t *)entries, (count + 1) * sizeof(entries[0])};
    primitives->hash(hash, &piece, 1);
    uint64_t number = load_be64(hash);
    return number != 0 ? number : 1;
}
