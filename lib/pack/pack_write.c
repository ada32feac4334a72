/* Writing an index into memory of the caller. */
#include <string.h>

#include "base/bytes.h"
#include "base/check.h"
#include "pack/layout.h"

uint64_t pack_index_bytes(uint32_t entries, uint64_t text_bytes)
{
    return pack_record_at(entries) + text_bytes;
}

uint32_t pack_text_bytes(const struct pack_entry *entry)
{
    uint32_t target = entry->target_bytes == 0 ? 0 : entry->target_bytes + 1u;
    return entry->name_bytes + 1u + target + entry->xattr_bytes;
}

void pack_write_begin(struct pack_writer *writer, uint8_t *out, uint32_t entries, uint64_t text_bytes)
{
    *writer = (struct pack_writer){.out = out,
                                   .index_bytes = pack_index_bytes(entries, text_bytes),
                                   .text_at = pack_record_at(entries),
                                   .entries = entries};
    writer->offset = writer->index_bytes;
    memset(out, 0, PACK_HEADER_BYTES);
    store_be32(out + HEADER_MAGIC, PACK_MAGIC);
    store_be32(out + HEADER_VERSION, PACK_VERSION);
    store_be32(out + HEADER_ENTRIES, entries);
    store_be64(out + HEADER_INDEX_BYTES, writer->index_bytes);
}

static void put_text(struct pack_writer *writer, const void *text, uint16_t bytes, bool terminated)
{
    if (bytes != 0)
        memcpy(writer->out + writer->text_at, text, bytes);
    writer->text_at += bytes;
    if (terminated)
        writer->out[writer->text_at++] = 0;
}

void pack_write(struct pack_writer *writer, const struct pack_entry *entry)
{
    CHECK(writer->written < writer->entries);
    CHECK(pack_text_bytes(entry) <= writer->index_bytes - writer->text_at);
    CHECK(entry->name_bytes <= PACK_NAME_BYTES_MAX);
    uint8_t *record = writer->out + pack_record_at(writer->written++);
    record[RECORD_KIND] = entry->kind;
    record[RECORD_NAME_BYTES] = (uint8_t)entry->name_bytes;
    store_be16(record + RECORD_MODE, entry->mode);
    store_be16(record + RECORD_TARGET_BYTES, entry->target_bytes);
    store_be16(record + RECORD_XATTR_BYTES, entry->xattr_bytes);
    store_be32(record + RECORD_PARENT, entry->parent);
    store_be32(record + RECORD_TEXT_AT, (uint32_t)writer->text_at);
    store_be64(record + RECORD_SIZE, entry->size_bytes);
    store_be64(record + RECORD_OFFSET, writer->offset);
    store_be64(record + RECORD_MODIFIED_S, (uint64_t)entry->modified_s);
    store_be32(record + RECORD_MODIFIED_NS, entry->modified_ns);
    store_be32(record + RECORD_UID, entry->uid);
    store_be32(record + RECORD_GID, entry->gid);
    store_be32(record + RECORD_LINK, entry->link);
    put_text(writer, entry->name, entry->name_bytes, true);
    put_text(writer, entry->target, entry->target_bytes, entry->target_bytes != 0);
    put_text(writer, entry->xattrs, entry->xattr_bytes, false);
    writer->offset += entry->size_bytes;
}

uint64_t pack_write_end(struct pack_writer *writer)
{
    CHECK(writer->written == writer->entries && writer->text_at == writer->index_bytes);
    store_be64(writer->out + HEADER_OBJECT_BYTES, writer->offset);
    return writer->offset;
}

bool pack_xattr_put(uint8_t *blob, uint16_t room, uint16_t *bytes, const char *name, const uint8_t *value,
                    size_t value_bytes)
{
    size_t name_bytes = strlen(name);
    if (name_bytes > UINT8_MAX || value_bytes > UINT16_MAX ||
        PACK_XATTR_HEADER_BYTES + name_bytes + 1 + value_bytes > (size_t)room - *bytes)
        return false;
    uint8_t *out = blob + *bytes;
    out[0] = (uint8_t)name_bytes;
    store_be16(out + 1, (uint16_t)value_bytes);
    memcpy(out + PACK_XATTR_HEADER_BYTES, name, name_bytes + 1);
    if (value_bytes != 0)
        memcpy(out + PACK_XATTR_HEADER_BYTES + name_bytes + 1, value, value_bytes);
    *bytes = (uint16_t)(*bytes + PACK_XATTR_HEADER_BYTES + name_bytes + 1 + value_bytes);
    return true;
}
