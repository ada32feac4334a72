/* A directory tree packed into one object: index, then the content of all files without gaps.
 *
 *   0 header (PACK_HEADER_BYTES) | records, PACK_RECORD_BYTES each | texts | content
 *
 * Entry 0 is the directory itself, without a name. All others name their parent by its number and themselves
 * by one path component; they stand breadth first: parents in ascending order, names of one parent in
 * strictly ascending order of their bytes. From this follows, without any look at paths: no entry is there
 * twice, none lies outside the tree, none lies behind a symbolic link, and the entries of a directory are
 * neighbours. Content stands in the order of the entries, so that an offset is found by halving.
 *
 * Guarantee: after pack_open every number, text and range that the functions below hand out is valid; equal
 * trees give equal bytes. Texts are bytes without zero and end with one; nothing is known of their encoding.
 *
 * Sans-IO. The index's bytes belong to the caller and must stay as long as the struct pack. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"

#define PACK_HEADER_BYTES     32
#define PACK_RECORD_BYTES     56
#define PACK_NAME_BYTES_MAX   255
#define PACK_TARGET_BYTES_MAX 4095
#define PACK_DEPTH_MAX        128 /* directories one within the other, the root not counted */
#define PACK_INDEX_BYTES_MAX  ((uint64_t)1 << 30)
#define PACK_OBJECT_BYTES_MAX ((uint64_t)1 << 50)
#define PACK_MODE_MASK        07777u

enum pack_kind { PACK_DIRECTORY = 1, PACK_FILE, PACK_SYMLINK, PACK_HARDLINK, PACK_KIND_END };

struct pack_entry {
    uint8_t kind;  /* enum pack_kind */
    uint16_t mode; /* permissions, set-id and sticky bits */
    uint32_t parent;
    uint32_t link; /* HARDLINK: number of the FILE, which comes before */
    uint32_t uid, gid;
    uint64_t size_bytes; /* FILE */
    uint64_t offset;     /* in the object; of an entry without content: where it would be */
    int64_t modified_s;
    uint32_t modified_ns;
    const char *name;
    uint16_t name_bytes;
    const char *target; /* SYMLINK */
    uint16_t target_bytes;
    const uint8_t *xattrs; /* FILE, DIRECTORY: pack_xattr_next reads them */
    uint16_t xattr_bytes;
};

struct pack {
    const uint8_t *bytes;
    uint64_t index_bytes;
    uint64_t object_bytes;
    uint32_t entries;
};

/* Checks all of an index. False: err says which entry and what is wrong with it. */
bool pack_open(struct pack *pack, const uint8_t *bytes, uint64_t index_bytes, uint64_t object_bytes,
               struct err *err);
void pack_entry(const struct pack *pack, uint32_t number, struct pack_entry *entry);
/* The entry's path below the root, cut at its beginning ("...") where it is too long, with '?' for what is
 * not printable: for texts only. */
void pack_show(const struct pack *pack, uint32_t number, char *text, size_t room);

/* ---- what lies where ---- */

/* Part of a FILE within a range of the object, or a FILE without content or a SYMLINK, which belongs to the
 * range that its offset lies in, and to the last one at the object's end. */
struct pack_piece {
    uint32_t entry;
    uint64_t file_offset;
    uint64_t range_offset; /* from the range's start */
    uint64_t length;
};

struct pack_cursor {
    const struct pack *pack;
    uint64_t start, end;
    uint32_t next;
};

/* For start >= index_bytes; end is cut to the object's. */
void pack_seek(struct pack_cursor *cursor, const struct pack *pack, uint64_t start, uint64_t end);
/* Pieces in the order of the object. False: no more. */
bool pack_next(struct pack_cursor *cursor, struct pack_piece *piece);

/* ---- extended attributes: { u8 name bytes, u16 value bytes, name, zero, value } ---- */

#define PACK_XATTR_HEADER_BYTES 3
#define PACK_XATTR_PREFIX       "user."

struct pack_xattr {
    const char *name;
    const uint8_t *value;
    uint16_t value_bytes;
};
/* *at counts from 0; false: no more. */
bool pack_xattr_next(const struct pack_entry *entry, uint16_t *at, struct pack_xattr *xattr);
/* Appends one to a blob of *bytes in `room`; false: it does not fit. */
bool pack_xattr_put(uint8_t *blob, uint16_t room, uint16_t *bytes, const char *name, const uint8_t *value,
                    size_t value_bytes);

/* ---- writing ---- */

struct pack_writer {
    uint8_t *out;
    uint64_t index_bytes;
    uint64_t text_at;
    uint64_t offset; /* of the next content */
    uint32_t entries, written;
};

/* Bytes of an index; texts: what pack_text_bytes says, summed over the entries. */
uint64_t pack_index_bytes(uint32_t entries, uint64_t text_bytes);
uint32_t pack_text_bytes(const struct pack_entry *entry);
/* `out` has index_bytes. The caller adds exactly `entries`, in the order above, with exactly those texts;
 * their `offset` is set here. The order is not checked: pack_open does. */
void pack_write_begin(struct pack_writer *writer, uint8_t *out, uint32_t entries, uint64_t text_bytes);
void pack_write(struct pack_writer *writer, const struct pack_entry *entry);
/* The object's length. */
uint64_t pack_write_end(struct pack_writer *writer);
