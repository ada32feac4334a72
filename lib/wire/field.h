/* Wire fields declared once: a message lists FIELD(type, name) rows in one macro; the struct, the size, the
 * encoder and the decoder all come from that list. Types: u8 u16 u32 u64 (big-endian), tag (16 bytes), hash
 * (32 bytes), name (NAME_BYTES, zero padded), sealed (a greeting and its tag:
 * 120 bytes). Variable tails (arrays, strings) follow the fixed part and are
 * written by hand. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "base/bytes.h"
#include "base/name.h"
#include "base/units.h"
#include "base/word.h"

#define WIRE_TAG_BYTES    16
#define WIRE_HASH_BYTES   32
#define WIRE_SEALED_BYTES 120

struct wire_tag {
    uint8_t bytes[WIRE_TAG_BYTES];
};
struct wire_hash {
    uint8_t bytes[WIRE_HASH_BYTES];
};
struct wire_sealed {
    uint8_t bytes[WIRE_SEALED_BYTES];
};
struct wire_name {
    char text[NAME_BYTES];
};

typedef uint8_t wire_type_u8;
typedef uint16_t wire_type_u16;
typedef uint32_t wire_type_u32;
typedef uint64_t wire_type_u64;
typedef struct wire_tag wire_type_tag;
typedef struct wire_hash wire_type_hash;
typedef struct wire_name wire_type_name;
typedef struct wire_sealed wire_type_sealed;

#define WIRE_STRUCT(type, name) wire_type_##type name;
#define WIRE_SIZE(type, name)   +sizeof(wire_type_##type)
#define WIRE_ENCODE(type, name) out = wire_put_##type(out, message->name);
#define WIRE_DECODE(type, name) in = wire_get_##type(in, &message->name);

/* Declares struct wire_<message> and wire_<message>_put / _get for its fixed part of WIRE_<…>_BYTES.
 * put writes exactly that many bytes, get reads them; both return the position behind. */
#define WIRE_DECLARE(message_name, fields)                                                                   \
    struct wire_##message_name {                                                                             \
        fields(WIRE_STRUCT)                                                                                  \
    };                                                                                                       \
    static inline uint8_t *wire_##message_name##_put(uint8_t *out,                                           \
                                                     const struct wire_##message_name *message)              \
    {                                                                                                        \
        fields(WIRE_ENCODE) return out;                                                                      \
    }                                                                                                        \
    static inline const uint8_t *wire_##message_name##_get(const uint8_t *in,                                \
                                                           struct wire_##message_name *message)              \
    {                                                                                                        \
        fields(WIRE_DECODE) return in;                                                                       \
    }

#define WIRE_FIXED_BYTES(fields) (0 fields(WIRE_SIZE))

static inline uint8_t *wire_put_u8(uint8_t *out, uint8_t value)
{
    out[0] = value;
    return out + 1;
}

static inline uint8_t *wire_put_u16(uint8_t *out, uint16_t value)
{
    store_be16(out, value);
    return out + 2;
}

static inline uint8_t *wire_put_u32(uint8_t *out, uint32_t value)
{
    store_be32(out, value);
    return out + 4;
}

static inline uint8_t *wire_put_u64(uint8_t *out, uint64_t value)
{
    store_be64(out, value);
    return out + 8;
}

static inline uint8_t *wire_put_tag(uint8_t *out, struct wire_tag value)
{
    memcpy(out, value.bytes, sizeof(value.bytes));
    return out + sizeof(value.bytes);
}

static inline uint8_t *wire_put_hash(uint8_t *out, struct wire_hash value)
{
    memcpy(out, value.bytes, sizeof(value.bytes));
    return out + sizeof(value.bytes);
}

static inline uint8_t *wire_put_sealed(uint8_t *out, struct wire_sealed value)
{
    memcpy(out, value.bytes, sizeof(value.bytes));
    return out + sizeof(value.bytes);
}

static inline uint8_t *wire_put_name(uint8_t *out, struct wire_name value)
{
    memcpy(out, value.text, sizeof(value.text));
    return out + sizeof(value.text);
}

static inline const uint8_t *wire_get_u8(const uint8_t *in, uint8_t *value)
{
    *value = in[0];
    return in + 1;
}

static inline const uint8_t *wire_get_u16(const uint8_t *in, uint16_t *value)
{
    *value = load_be16(in);
    return in + 2;
}

static inline const uint8_t *wire_get_u32(const uint8_t *in, uint32_t *value)
{
    *value = load_be32(in);
    return in + 4;
}

static inline const uint8_t *wire_get_u64(const uint8_t *in, uint64_t *value)
{
    *value = load_be64(in);
    return in + 8;
}

static inline const uint8_t *wire_get_tag(const uint8_t *in, struct wire_tag *value)
{
    memcpy(value->bytes, in, sizeof(value->bytes));
    return in + sizeof(value->bytes);
}

static inline const uint8_t *wire_get_hash(const uint8_t *in, struct wire_hash *value)
{
    memcpy(value->bytes, in, sizeof(value->bytes));
    return in + sizeof(value->bytes);
}

static inline const uint8_t *wire_get_sealed(const uint8_t *in, struct wire_sealed *value)
{
    memcpy(value->bytes, in, sizeof(value->bytes));
    return in + sizeof(value->bytes);
}

static inline const uint8_t *wire_get_name(const uint8_t *in, struct wire_name *value)
{
    memcpy(value->text, in, sizeof(value->text));
    return in + sizeof(value->text);
}

/* A name as it must be on the wire: valid, and nothing but zeros behind it, so that equal names are equal
 * bytes. */
static inline bool wire_name_valid(const struct wire_name *name)
{
    if (!name_valid(name->text))
        return false;
    for (size_t index = strlen(name->text); index < NAME_BYTES; index++)
        if (name->text[index] != '\0')
            return false;
    return true;
}

/* A rate that somebody is to send at: none, or not below the floor. */
static inline bool wire_rate_valid(uint64_t bps)
{
    return bps == 0 || bps >= SEND_RATE_MIN_BPS;
}

static inline bool wire_name_empty(const struct wire_name *name)
{
    static const struct wire_name empty;
    return memcmp(name, &empty, sizeof(empty)) == 0;
}
