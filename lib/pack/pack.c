/* Checking and reading an index; the map from ranges of the object to pieces of files. */
#include "pack/pack.h"

#include <inttypes.h>
#include <string.h>

#include "base/bytes.h"
#include "base/check.h"
#include "base/units.h"
#include "pack/layout.h"

static const uint8_t *record_of(const struct pack *pack, uint32_t number)
{
    return pack->bytes + pack_record_at(number);
}

void pack_entry(const struct pack *pack, uint32_t number, struct pack_entry *entry)
{
    CHECK(number < pack->entries);
    const uint8_t *record = record_of(pack, number);
    const uint8_t *text = pack->bytes + load_be32(record + RECORD_TEXT_AT);
    *entry = (struct pack_entry){
        .kind = record[RECORD_KIND],
        .mode = load_be16(record + RECORD_MODE),
        .parent = load_be32(record + RECORD_PARENT),
        .link = load_be32(record + RECORD_LINK),
        .uid = load_be32(record + RECORD_UID),
        .gid = load_be32(record + RECORD_GID),
        .size_bytes = load_be64(record + RECORD_SIZE),
        .offset = load_be64(record + RECORD_OFFSET),
        .modified_s = (int64_t)load_be64(record + RECORD_MODIFIED_S),
        .modified_ns = load_be32(record + RECORD_MODIFIED_NS),
        .name = (const char *)text,
        .name_bytes = record[RECORD_NAME_BYTES],
        .target_bytes = load_be16(record + RECORD_TARGET_BYTES),
        .xattr_bytes = load_be16(record + RECORD_XATTR_BYTES),
    };
    text += entry->name_bytes + 1;
    entry->target = entry->target_bytes == 0 ? "" : (const char *)text;
    text += entry->target_bytes == 0 ? 0 : entry->target_bytes + 1;
    entry->xattrs = text;
}

/* ---- texts ---- */

static char printable(char byte)
{
    return byte >= ' ' && byte <= '~' ? byte : '?';
}

/* Built from its end: names are known from the entry upwards. */
void pack_show(const struct pack *pack, uint32_t number, char *text, size_t room)
{
    size_t at = room - 1;
    text[at] = '\0';
    for (uint32_t up = 0; number != 0 && up <= PACK_DEPTH_MAX; up++) {
        struct pack_entry entry;
        pack_entry(pack, number, &entry);
        if (text[at] != '\0' && at > 0)
            text[--at] = '/';
        for (uint16_t byte = entry.name_bytes; byte > 0 && at > 0; byte--)
            text[--at] = printable(entry.name[byte - 1]);
        number = entry.parent;
    }
    bool cut = at == 0 && room > 4;
    memmove(text, text + at, room - at);
    if (cut)
        memcpy(text, "...", 3);
}

static bool wrong(const struct pack *pack, uint32_t number, struct err *err, const char *what)
{
    char name[PACK_NAME_BYTES_MAX / 2];
    struct pack_entry entry;
    pack_entry(pack, number, &entry);
    size_t bytes = MIN((size_t)entry.name_bytes, sizeof(name) - 1);
    for (size_t byte = 0; byte < bytes; byte++)
        name[byte] = printable(entry.name[byte]);
    name[bytes] = '\0';
    return err_set(err, "index: entry %" PRIu32 " \"%s\" %s", number, name, what);
}

/* ---- checking ---- */

struct check {
    struct pack *pack;
    uint64_t text_at; /* where the next entry's texts have to begin */
    uint64_t offset;  /* and its content */
    struct pack_entry before;
};

/* `bytes` without a zero, and one behind. */
static bool text_ends(const struct pack *pack, uint64_t at, uint64_t bytes)
{
    return memchr(pack->bytes + at, 0, bytes + 1) == pack->bytes + at + bytes;
}

/* Where the texts lie, before anything else looks at them. */
static bool check_texts(struct check *check, uint32_t number, struct err *err)
{
    const struct pack *pack = check->pack;
    const uint8_t *record = record_of(pack, number);
    uint64_t at = check->text_at;
    uint64_t name = record[RECORD_NAME_BYTES], target = load_be16(record + RECORD_TARGET_BYTES);
    uint64_t target_room = target == 0 ? 0 : target + 1;
    uint64_t xattrs = load_be16(record + RECORD_XATTR_BYTES);
    if (load_be32(record + RECORD_TEXT_AT) != at || name + 1 + target_room + xattrs > pack->index_bytes - at)
        return err_set(err, "index: entry %" PRIu32 " has its texts elsewhere than it should", number);
    if (!text_ends(pack, at, name) || (target != 0 && !text_ends(pack, at + name + 1, target)))
        return err_set(err, "index: entry %" PRIu32 " has a text with a zero, or without an end", number);
    check->text_at += name + 1 + target_room + xattrs;
    return true;
}

static const char *name_fault(const struct pack_entry *entry)
{
    if (entry->name_bytes == 0)
        return "has no name";
    if (memchr(entry->name, '/', entry->name_bytes) != NULL)
        return "has a name with a slash";
    if (strcmp(entry->name, ".") == 0 || strcmp(entry->name, "..") == 0)
        return "leads out of its directory";
    return NULL;
}

/* The zeros behind the names make strcmp order them as the bytes do, a beginning first. */
static const char *place_fault(const struct check *check, const struct pack_entry *entry, uint32_t number)
{
    if (entry->parent >= number)
        return "stands before its directory";
    if (record_of(check->pack, entry->parent)[RECORD_KIND] != PACK_DIRECTORY)
        return "lies in what is no directory";
    if (number == 1)
        return NULL;
    if (entry->parent < check->before.parent)
        return "is out of order";
    if (entry->parent > check->before.parent)
        return NULL;
    int order = strcmp(entry->name, check->before.name);
    return order == 0 ? "is there twice" : order < 0 ? "is out of order" : NULL;
}

static const char *depth_fault(const struct pack *pack, const struct pack_entry *entry)
{
    uint32_t depth = 1;
    for (uint32_t up = entry->parent; up != 0; up = load_be32(record_of(pack, up) + RECORD_PARENT))
        if (++depth > PACK_DEPTH_MAX)
            return "lies too deep";
    return NULL;
}

static const char *xattr_fault(const struct pack_entry *entry)
{
    const size_t prefix = sizeof(PACK_XATTR_PREFIX) - 1;
    for (uint32_t at = 0; at < entry->xattr_bytes;) {
        const uint8_t *in = entry->xattrs + at;
        uint32_t left = entry->xattr_bytes - at;
        if (left < PACK_XATTR_HEADER_BYTES)
            return "has attributes that are cut off";
        uint32_t name = in[0], bytes = PACK_XATTR_HEADER_BYTES + name + 1 + load_be16(in + 1);
        if (bytes > left)
            return "has attributes that are cut off";
        in += PACK_XATTR_HEADER_BYTES;
        if (memchr(in, 0, name + 1) != in + name || name <= prefix ||
            memcmp(in, PACK_XATTR_PREFIX, prefix) != 0)
            return "has an attribute that is not one of the user's";
        at += bytes;
    }
    return NULL;
}

/* What each kind may have. */
static const char *kind_fault(const struct pack *pack, const struct pack_entry *entry, uint32_t number)
{
    bool symlink = entry->kind == PACK_SYMLINK, hardlink = entry->kind == PACK_HARDLINK;
    if (entry->kind < PACK_DIRECTORY || entry->kind >= PACK_KIND_END)
        return "is of no known kind";
    if (entry->kind != PACK_FILE && entry->size_bytes != 0)
        return "has a size and is no file";
    if (symlink != (entry->target_bytes != 0) || entry->target_bytes > PACK_TARGET_BYTES_MAX)
        return "has a target and is no link, or the other way round";
    if (hardlink ? entry->link >= number || record_of(pack, entry->link)[RECORD_KIND] != PACK_FILE
                 : entry->link != 0)
        return "is linked to what is no file before it";
    if (entry->xattr_bytes != 0 && (symlink || hardlink))
        return "has attributes and is a link";
    if ((entry->mode & ~PACK_MODE_MASK) != 0 || entry->modified_ns >= NS_PER_S)
        return "has no valid mode or time";
    return xattr_fault(entry);
}

static bool check_entry(struct check *check, uint32_t number, struct err *err)
{
    const struct pack *pack = check->pack;
    struct pack_entry entry;
    if (!check_texts(check, number, err))
        return false;
    pack_entry(pack, number, &entry);
    const char *fault = kind_fault(pack, &entry, number);
    if (fault == NULL && number == 0 &&
        (entry.kind != PACK_DIRECTORY || entry.name_bytes != 0 || entry.parent != 0))
        fault = "is the first and not the directory itself";
    if (fault == NULL && number != 0)
        fault = name_fault(&entry);
    if (fault == NULL && number != 0)
        fault = place_fault(check, &entry, number);
    if (fault == NULL && number != 0 && entry.kind == PACK_DIRECTORY)
        fault = depth_fault(pack, &entry);
    if (fault == NULL &&
        (entry.offset != check->offset || entry.size_bytes > pack->object_bytes - check->offset))
        fault = "has its content elsewhere than it should";
    if (fault != NULL)
        return wrong(pack, number, err, fault);
    check->offset += entry.size_bytes;
    check->before = entry;
    return true;
}

static bool check_header(const struct pack *pack, uint64_t object_bytes, struct err *err)
{
    const uint8_t *header = pack->bytes;
    if (pack->index_bytes < PACK_HEADER_BYTES || pack->index_bytes > PACK_INDEX_BYTES_MAX)
        return err_set(err, "index of %" PRIu64 " bytes: the limit is %" PRIu64, pack->index_bytes,
                       PACK_INDEX_BYTES_MAX);
    if (load_be32(header + HEADER_MAGIC) != PACK_MAGIC ||
        load_be32(header + HEADER_VERSION) != PACK_VERSION || load_be32(header + HEADER_ZERO) != 0)
        return err_set(err, "index: not one of this version");
    if (load_be64(header + HEADER_INDEX_BYTES) != pack->index_bytes ||
        load_be64(header + HEADER_OBJECT_BYTES) != object_bytes || object_bytes < pack->index_bytes ||
        object_bytes > PACK_OBJECT_BYTES_MAX)
        return err_set(err, "index: its lengths are not those of the object");
    uint32_t entries = load_be32(header + HEADER_ENTRIES);
    if (entries == 0 || pack_record_at(entries) > pack->index_bytes)
        return err_set(err, "index: %" PRIu32 " entries do not fit %" PRIu64 " bytes", entries,
                       pack->index_bytes);
    return true;
}

bool pack_open(struct pack *pack, const uint8_t *bytes, uint64_t index_bytes, uint64_t object_bytes,
               struct err *err)
{
    *pack = (struct pack){.bytes = bytes, .index_bytes = index_bytes, .object_bytes = object_bytes};
    if (!check_header(pack, object_bytes, err))
        return false;
    pack->entries = load_be32(bytes + HEADER_ENTRIES);
    struct check check = {.pack = pack, .text_at = pack_record_at(pack->entries), .offset = index_bytes};
    for (uint32_t number = 0; number < pack->entries; number++)
        if (!check_entry(&check, number, err))
            return false;
    if (check.text_at != index_bytes || check.offset != object_bytes)
        return err_set(err, "index: ends before the object, or behind it");
    return true;
}

/* ---- what lies where ---- */

static uint64_t offset_of(const struct pack *pack, uint32_t number)
{
    return load_be64(record_of(pack, number) + RECORD_OFFSET);
}

static uint64_t size_of(const struct pack *pack, uint32_t number)
{
    return load_be64(record_of(pack, number) + RECORD_SIZE);
}

/* Has something at `start` or behind it. Once true along the entries, it stays true. */
static bool reaches(const struct pack *pack, uint32_t number, uint64_t start)
{
    uint64_t size_bytes = size_of(pack, number), end = offset_of(pack, number) + size_bytes;
    return end > start || (size_bytes == 0 && end == start);
}

void pack_seek(struct pack_cursor *cursor, const struct pack *pack, uint64_t start, uint64_t end)
{
    uint32_t low = 0, high = pack->entries;
    CHECK(start >= pack->index_bytes);
    while (low < high) {
        uint32_t middle = low + (high - low) / 2;
        if (reaches(pack, middle, start))
            high = middle;
        else
            low = middle + 1;
    }
    *cursor =
        (struct pack_cursor){.pack = pack, .start = start, .end = MIN(end, pack->object_bytes), .next = low};
}

bool pack_next(struct pack_cursor *cursor, struct pack_piece *piece)
{
    const struct pack *pack = cursor->pack;
    for (; cursor->next < pack->entries; cursor->next++) {
        uint32_t number = cursor->next;
        uint8_t kind = record_of(pack, number)[RECORD_KIND];
        uint64_t offset = offset_of(pack, number), size_bytes = size_of(pack, number);
        bool last = size_bytes == 0 && cursor->end == pack->object_bytes;
        if (offset >= cursor->end && !last)
            return false;
        if (kind != PACK_FILE && kind != PACK_SYMLINK)
            continue;
        uint64_t from = MAX(offset, cursor->start), to = MIN(offset + size_bytes, cursor->end);
        *piece = (struct pack_piece){.entry = number,
                                     .file_offset = from - offset,
                                     .range_offset = from - cursor->start,
                                     .length = to - from};
        cursor->next++;
        return true;
    }
    return false;
}

bool pack_xattr_next(const struct pack_entry *entry, uint16_t *at, struct pack_xattr *xattr)
{
    if (*at >= entry->xattr_bytes)
        return false;
    const uint8_t *in = entry->xattrs + *at;
    uint16_t value_bytes = load_be16(in + 1);
    *xattr = (struct pack_xattr){.name = (const char *)in + PACK_XATTR_HEADER_BYTES,
                                 .value = in + PACK_XATTR_HEADER_BYTES + in[0] + 1,
                                 .value_bytes = value_bytes};
    *at = (uint16_t)(*at + PACK_XATTR_HEADER_BYTES + in[0] + 1 + value_bytes);
    return true;
}
