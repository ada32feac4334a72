/* Where the fields of header and record stand, big-endian. Internal to lib/pack. */
#pragma once

#include "pack/pack.h"

#define PACK_MAGIC   0x534c504bu /* "SLPK" */
#define PACK_VERSION 1

enum pack_header_offset {
    HEADER_MAGIC = 0,
    HEADER_VERSION = 4, /* u32 */
    HEADER_ENTRIES = 8, /* u32 */
    HEADER_ZERO = 12,   /* u32 */
    HEADER_INDEX_BYTES = 16,
    HEADER_OBJECT_BYTES = 24,
    HEADER_END = 32
};

enum pack_record_offset {
    RECORD_KIND = 0,       /* u8 */
    RECORD_NAME_BYTES = 1, /* u8 */
    RECORD_MODE = 2,
    RECORD_TARGET_BYTES = 4,
    RECORD_XATTR_BYTES = 6,
    RECORD_PARENT = 8,
    RECORD_TEXT_AT = 12, /* from the index's start: name, zero, target, zero (where there is one), xattrs */
    RECORD_SIZE = 16,
    RECORD_OFFSET = 24,
    RECORD_MODIFIED_S = 32,
    RECORD_MODIFIED_NS = 40,
    RECORD_UID = 44,
    RECORD_GID = 48,
    RECORD_LINK = 52,
    RECORD_END = 56
};

_Static_assert((int)HEADER_END == PACK_HEADER_BYTES && (int)RECORD_END == PACK_RECORD_BYTES,
               "layout as stated");
_Static_assert(PACK_INDEX_BYTES_MAX <= UINT32_MAX, "a text's place fits its field");

static inline uint64_t pack_record_at(uint32_t number)
{
    return PACK_HEADER_BYTES + (uint64_t)number * PACK_RECORD_BYTES;
}
