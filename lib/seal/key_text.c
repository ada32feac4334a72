#include "seal/key_text.h"

#include <string.h>

#include "base/bytes.h"
#include "base/crc32c.h"
#include "seal/wipe.h"

#define CHECKED_BYTES (SEAL_KEY_BYTES + 4)
_Static_assert(CHECKED_BYTES / 3 * 4 == KEY_TEXT_CHARACTERS && CHECKED_BYTES % 3 == 0, "no bit is left over");

static const char alphabet[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";

static void encode(char *text, const uint8_t key[SEAL_KEY_BYTES])
{
    uint8_t bytes[CHECKED_BYTES];
    memcpy(bytes, key, SEAL_KEY_BYTES);
    store_be32(bytes + SEAL_KEY_BYTES, crc32c(key, SEAL_KEY_BYTES));
    for (const uint8_t *at = bytes; at < bytes + sizeof(bytes); at += 3) {
        uint32_t bits = (uint32_t)at[0] << 16 | (uint32_t)at[1] << 8 | at[2];
        for (int shift = 18; shift >= 0; shift -= 6)
            *text++ = alphabet[bits >> shift & 63];
    }
    *text = '\0';
    wipe(bytes, sizeof(bytes));
}

/* The characters are there. False: some are not of the alphabet. */
static bool decode(uint8_t bytes[CHECKED_BYTES], const char *text)
{
    bool good = true;
    for (unsigned group = 0; group < CHECKED_BYTES / 3; group++) {
        uint32_t bits = 0;
        for (unsigned place = 0; place < 4; place++) {
            const char *found = strchr(alphabet, text[group * 4 + place]);
            good = good && found != NULL;
            bits = bits << 6 | (found != NULL ? (uint32_t)(found - alphabet) : 0);
        }
        bytes[group * 3] = (uint8_t)(bits >> 16);
        bytes[group * 3 + 1] = (uint8_t)(bits >> 8);
        bytes[group * 3 + 2] = (uint8_t)bits;
    }
    return good;
}

static bool begins_with(const char *text, const char *prefix)
{
    return strncmp(text, prefix, strlen(prefix)) == 0;
}

static enum key_text_fault read_key(uint8_t key[SEAL_KEY_BYTES], const char *text, const char *prefix,
                                    const char *other)
{
    uint8_t bytes[CHECKED_BYTES];
    enum key_text_fault fault = KEY_TEXT_GOOD;
    memset(key, 0, SEAL_KEY_BYTES);
    if (begins_with(text, other))
        return KEY_TEXT_WRONG_KIND;
    if (!begins_with(text, prefix))
        return KEY_TEXT_WRONG_PREFIX;
    text += strlen(prefix);
    if (strlen(text) != KEY_TEXT_CHARACTERS)
        return KEY_TEXT_WRONG_LENGTH;
    if (!decode(bytes, text))
        fault = KEY_TEXT_WRONG_CHARACTERS;
    else if (load_be32(bytes + SEAL_KEY_BYTES) != crc32c(bytes, SEAL_KEY_BYTES))
        fault = KEY_TEXT_WRONG_CHECKSUM;
    else
        memcpy(key, bytes, SEAL_KEY_BYTES);
    wipe(bytes, sizeof(bytes));
    return fault;
}

void key_text_public(char text[KEY_TEXT_BYTES], const uint8_t key[SEAL_KEY_BYTES])
{
    memcpy(text, KEY_TEXT_PREFIX, sizeof(KEY_TEXT_PREFIX));
    encode(text + strlen(KEY_TEXT_PREFIX), key);
}

enum key_text_fault key_text_read_public(uint8_t key[SEAL_KEY_BYTES], const char *text)
{
    return read_key(key, text, KEY_TEXT_PREFIX, KEY_TEXT_PRIVATE);
}

void key_text_private(char text[KEY_TEXT_PRIVATE_BYTES], const uint8_t key[SEAL_KEY_BYTES])
{
    memcpy(text, KEY_TEXT_PRIVATE, sizeof(KEY_TEXT_PRIVATE));
    encode(text + strlen(KEY_TEXT_PRIVATE), key);
}

enum key_text_fault key_text_read_private(uint8_t key[SEAL_KEY_BYTES], const char *text)
{
    return read_key(key, text, KEY_TEXT_PRIVATE, KEY_TEXT_PREFIX);
}

void key_text_short(char text[KEY_TEXT_SHORT_BYTES], const uint8_t key[SEAL_KEY_BYTES])
{
    char whole[KEY_TEXT_CHARACTERS + 1];
    encode(whole, key);
    memcpy(text, whole, KEY_TEXT_SHORT_BYTES - 1);
    text[KEY_TEXT_SHORT_BYTES - 1] = '\0';
}

const char *key_text_fault_words(enum key_text_fault fault)
{
    switch (fault) {
    case KEY_TEXT_GOOD:
        return "nothing wrong";
    case KEY_TEXT_WRONG_PREFIX:
        return "it begins neither with slk1, as public keys do, nor with slk1-private";
    case KEY_TEXT_WRONG_KIND:
        return "it is of the other kind, public or private";
    case KEY_TEXT_WRONG_LENGTH:
        return "too few or too many characters, 48 expected behind the colon";
    case KEY_TEXT_WRONG_CHARACTERS:
        return "a character other than A-Z a-z 0-9 - _ behind the colon";
    case KEY_TEXT_WRONG_CHECKSUM:
        return "wrong checksum, so some character is not what it was";
    }
    return "";
}

/* Those below 2^255; the highest bit of a key does not count (RFC 7748). Two have another name each, p and p + 1. */
static const uint8_t low_orders[][SEAL_KEY_BYTES] = {
    {0},
    {1},
    {0xe0, 0xeb, 0x7a, 0x7c, 0x3b, 0x41, 0xb8, 0xae, 0x16, 0x56, 0xe3, 0xfa, 0xf1, 0x9f, 0xc4, 0x6a,
     0xda, 0x09, 0x8d, 0xeb, 0x9c, 0x32, 0xb1, 0xfd, 0x86, 0x62, 0x05, 0x16, 0x5f, 0x49, 0xb8, 0x00},
    {0x5f, 0x9c, 0x95, 0xbc, 0xa3, 0x50, 0x8c, 0x24, 0xb1, 0xd0, 0xb1, 0x55, 0x9c, 0x83, 0xef, 0x5b,
     0x04, 0x44, 0x5c, 0xc4, 0x58, 0x1c, 0x8e, 0x86, 0xd8, 0x22, 0x4e, 0xdd, 0xd0, 0x9f, 0x11, 0x57},
    {0xec, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff,
     0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x7f},
    {0xed, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff,
     0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x7f},
    {0xee, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff,
     0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x7f},
};

bool key_is_low_order(const uint8_t key[SEAL_KEY_BYTES])
{
    uint8_t plain[SEAL_KEY_BYTES];
    memcpy(plain, key, sizeof(plain));
    plain[SEAL_KEY_BYTES - 1] &= 0x7f;
    for (unsigned row = 0; row < sizeof(low_orders) / sizeof(low_orders[0]); row++)
        if (memcmp(plain, low_orders[row], sizeof(plain)) == 0)
            return true;
    return false;
}
