#include "sim/tree.h"

#include <stdio.h>
#include <stdlib.h>

#include "base/check.h"
#include "base/rng.h"
#include "base/units.h"

#define NAME_ROOM  16
#define MODIFIED_S 1500000000

/* Entry `number` of those below the root: directories first, then what lies in each of them. */
static void entry_of(struct pack_entry *entry, char name[NAME_ROOM], uint32_t number, uint32_t directories,
                     uint32_t files)
{
    uint32_t below = number - directories;
    uint32_t parent = below / (SIM_TREE_FILES_IN + 1), place = below % (SIM_TREE_FILES_IN + 1);
    *entry = (struct pack_entry){.mode = 0755, .modified_s = MODIFIED_S + number, .name = name};
    if (number < directories) {
        entry->kind = PACK_DIRECTORY;
        entry->name_bytes = (uint16_t)snprintf(name, NAME_ROOM, "%06u", number);
        return;
    }
    entry->parent = 1 + parent;
    bool last = place == SIM_TREE_FILES_IN || parent * SIM_TREE_FILES_IN + place == files;
    entry->kind = last ? PACK_SYMLINK : PACK_FILE;
    entry->target = last ? "../0" : "";
    entry->target_bytes = last ? 4 : 0;
    entry->name_bytes = (uint16_t)snprintf(name, NAME_ROOM, last ? "z" : "%06u", place);
}

/* About twice the share of those left, or nothing; the last file takes what remains. */
static uint64_t size_of(struct rng *rng, uint64_t left_bytes, uint32_t left_files)
{
    if (left_files == 1)
        return left_bytes;
    if (rng_below(rng, 10) == 0)
        return 0;
    return MIN(left_bytes, rng_below(rng, 2 * (left_bytes / left_files) + 1));
}

void sim_tree_make(struct pack *pack, uint32_t files, uint64_t size_bytes, uint64_t seed)
{
    uint32_t directories = (files + SIM_TREE_FILES_IN - 1) / SIM_TREE_FILES_IN;
    uint32_t entries = 1 + 2 * directories + files, left_files = files;
    struct pack_entry entry = {.kind = PACK_DIRECTORY, .name = "", .mode = 0755, .modified_s = MODIFIED_S};
    uint64_t text_bytes = pack_text_bytes(&entry), left_bytes = size_bytes;
    char name[NAME_ROOM];
    struct pack_writer writer;
    struct rng rng;
    struct err err;
    for (uint32_t number = 0; number + 1 < entries; number++) {
        entry_of(&entry, name, number, directories, files);
        text_bytes += pack_text_bytes(&entry);
    }
    uint64_t index_bytes = pack_index_bytes(entries, text_bytes);
    uint8_t *bytes = malloc(index_bytes);
    CHECK(bytes != NULL);
    rng_init(&rng, seed);
    pack_write_begin(&writer, bytes, entries, text_bytes);
    pack_write(&writer, &(struct pack_entry){
                            .kind = PACK_DIRECTORY, .name = "", .mode = 0755, .modified_s = MODIFIED_S});
    for (uint32_t number = 0; number + 1 < entries; number++) {
        entry_of(&entry, name, number, directories, files);
        if (entry.kind == PACK_FILE) {
            entry.size_bytes = size_of(&rng, left_bytes, left_files--);
            left_bytes -= entry.size_bytes;
        }
        pack_write(&writer, &entry);
    }
    CHECK(pack_open(pack, bytes, index_bytes, pack_write_end(&writer), &err));
}
