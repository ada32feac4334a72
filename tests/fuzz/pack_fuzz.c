/* The index of a packed directory: what is accepted can be walked whole, its pieces cover the content
 * exactly, and written anew it is the same bytes. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/bytes.h"
#include "base/check.h"
#include "fuzz.h"
#include "pack/pack.h"

/* The object's length, which another message tells, is taken from the header. */
#define OBJECT_BYTES_AT 24

static void check_cover(const struct pack *pack)
{
    struct pack_cursor cursor;
    struct pack_piece piece;
    uint64_t covered = 0;
    pack_seek(&cursor, pack, pack->index_bytes, UINT64_MAX);
    while (pack_next(&cursor, &piece)) {
        CHECK(piece.entry < pack->entries && piece.file_offset == 0 && piece.range_offset == covered);
        covered += piece.length;
    }
    CHECK(covered == pack->object_bytes - pack->index_bytes);
}

/* Blocks, in whatever order they come, make every file whole and every empty file and link exactly once. */
static void check_ranges(const struct pack *pack, uint8_t how_many)
{
    uint64_t content_bytes = pack->object_bytes - pack->index_bytes, bytes = 0;
    uint64_t step = content_bytes / (1 + how_many) + 1;
    uint32_t whole = 0, expected = 0;
    for (uint64_t start = pack->index_bytes; start == pack->index_bytes || start < pack->object_bytes;
         start += step) {
        struct pack_cursor cursor;
        struct pack_piece piece;
        pack_seek(&cursor, pack, start, start + step);
        while (pack_next(&cursor, &piece)) {
            struct pack_entry entry;
            pack_entry(pack, piece.entry, &entry);
            CHECK(piece.range_offset + piece.length <= step);
            CHECK(entry.offset + piece.file_offset == start + piece.range_offset);
            CHECK(piece.file_offset + piece.length <= entry.size_bytes);
            whole += piece.file_offset + piece.length == entry.size_bytes ? 1 : 0;
            bytes += piece.length;
        }
    }
    for (uint32_t number = 0; number < pack->entries; number++) {
        struct pack_entry entry;
        pack_entry(pack, number, &entry);
        expected += entry.kind == PACK_FILE || entry.kind == PACK_SYMLINK ? 1 : 0;
    }
    CHECK(bytes == content_bytes && whole == expected);
}

static void check_rewrite(const struct pack *pack)
{
    struct pack_writer writer;
    uint64_t text_bytes = 0;
    uint8_t *bytes = calloc(1, pack->index_bytes);
    CHECK(bytes != NULL);
    for (uint32_t pass = 0; pass < 2; pass++) {
        if (pass == 1)
            pack_write_begin(&writer, bytes, pack->entries, text_bytes);
        for (uint32_t number = 0; number < pack->entries; number++) {
            struct pack_entry entry;
            struct pack_xattr xattr;
            uint16_t at = 0;
            char shown[40];
            pack_entry(pack, number, &entry);
            pack_show(pack, number, shown, sizeof(shown));
            CHECK(strlen(shown) < sizeof(shown) && strlen(entry.name) == entry.name_bytes);
            while (pack_xattr_next(&entry, &at, &xattr))
                CHECK(strncmp(xattr.name, PACK_XATTR_PREFIX, strlen(PACK_XATTR_PREFIX)) == 0);
            CHECK(at == entry.xattr_bytes);
            text_bytes += pack_text_bytes(&entry);
            if (pass == 1)
                pack_write(&writer, &entry);
        }
    }
    CHECK(pack_write_end(&writer) == pack->object_bytes);
    CHECK(memcmp(bytes, pack->bytes, pack->index_bytes) == 0);
    free(bytes);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct pack pack;
    struct err err;
    if (size < PACK_HEADER_BYTES || !pack_open(&pack, data, size, load_be64(data + OBJECT_BYTES_AT), &err))
        return 0;
    check_cover(&pack);
    check_ranges(&pack, data[size - 1]);
    check_rewrite(&pack);
    return 0;
}

void fuzz_seeds(struct seeds *seeds)
{
    static const uint8_t value[] = "value";
    uint8_t blob[64], bytes[1024];
    struct pack_entry entries[] = {
        {.kind = PACK_DIRECTORY, .name = ""},
        {.kind = PACK_DIRECTORY, .name = "a", .name_bytes = 1, .mode = 0755},
        {.kind = PACK_FILE, .name = "b", .name_bytes = 1, .size_bytes = 5, .mode = 0644},
        {.kind = PACK_SYMLINK, .name = "c", .name_bytes = 1, .target = "../x", .target_bytes = 4},
        {.kind = PACK_HARDLINK, .name = "b", .name_bytes = 1, .parent = 1, .link = 2},
    };
    const uint32_t count = sizeof(entries) / sizeof(entries[0]);
    uint64_t text_bytes = 0;
    struct pack_writer writer;
    CHECK(pack_xattr_put(blob, sizeof(blob), &entries[2].xattr_bytes, "user.k", value, sizeof(value)));
    entries[2].xattrs = blob;
    for (uint32_t number = 0; number < count; number++)
        text_bytes += pack_text_bytes(&entries[number]);
    pack_write_begin(&writer, bytes, count, text_bytes);
    for (uint32_t number = 0; number < count; number++)
        pack_write(&writer, &entries[number]);
    uint64_t object_bytes = pack_write_end(&writer);
    struct pack pack;
    struct err err;
    CHECK(pack_open(&pack, bytes, pack_index_bytes(count, text_bytes), object_bytes, &err));
    seeds->emit(seeds, "tree", bytes, pack_index_bytes(count, text_bytes));
}
