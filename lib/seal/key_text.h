/* Keys as text that people copy: a prefix, then base64url (RFC 4648, without padding) of the 32 bytes of the key and the
 * CRC-32C of them, big-endian. 36 bytes are 48 characters without a bit left over: a key has one text.
 *
 *   slk1:          public, stands in rosters
 *   slk1-private:  stands in the key file of its node, and nowhere else
 *
 * Guarantee: one character changed, or two neighbours that changed places, are found. Errors say nothing of the text:
 * what stands where a public key belongs may be a private one. */
#pragma once

#include <stdbool.h>

#include "seal/primitives.h"

#define KEY_TEXT_CHARACTERS    48
#define KEY_TEXT_PREFIX        "slk1:"
#define KEY_TEXT_BYTES         (sizeof(KEY_TEXT_PREFIX) + KEY_TEXT_CHARACTERS) /* with the terminating zero */
#define KEY_TEXT_PRIVATE       "slk1-private:"
#define KEY_TEXT_PRIVATE_BYTES (sizeof(KEY_TEXT_PRIVATE) + KEY_TEXT_CHARACTERS)
#define KEY_TEXT_SHORT_BYTES   9 /* enough of it to tell keys apart: 8 characters and a zero */

enum key_text_fault {
    KEY_TEXT_GOOD,
    KEY_TEXT_WRONG_PREFIX,
    KEY_TEXT_WRONG_KIND, /* a private key for a public one, or the other way round */
    KEY_TEXT_WRONG_LENGTH,
    KEY_TEXT_WRONG_CHARACTERS,
    KEY_TEXT_WRONG_CHECKSUM,
};

void key_text_public(char text[KEY_TEXT_BYTES], const uint8_t key[SEAL_KEY_BYTES]);
/* The key is zero where it is not good. */
enum key_text_fault key_text_read_public(uint8_t key[SEAL_KEY_BYTES], const char *text);
/* Who calls these wipes text and key. */
void key_text_private(char text[KEY_TEXT_PRIVATE_BYTES], const uint8_t key[SEAL_KEY_BYTES]);
enum key_text_fault key_text_read_private(uint8_t key[SEAL_KEY_BYTES], const char *text);
/* The first characters of a public key, for messages. */
void key_text_short(char text[KEY_TEXT_SHORT_BYTES], const uint8_t key[SEAL_KEY_BYTES]);
/* What is wrong with it, for the end of a message. */
const char *key_text_fault_words(enum key_text_fault fault);

/* One of the few points of low order: with such a key everybody agrees on the same secret. */
bool key_is_low_order(const uint8_t key[SEAL_KEY_BYTES]);
