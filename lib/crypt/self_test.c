#include "crypt/self_test.h"

#include <string.h>

/* Vectors of NIST (gcmEncryptExtIV256.rsp), RFC 7748, FIPS 180-4, RFC 4231 and SipHash's authors; tests/seal has many. */

static bool cipher_answers(const struct primitives *primitives)
{
    static const uint8_t known[16] = "known to both si", text[20] = "text of twenty bytes";
    static const uint8_t nonce[SEAL_NONCE_BYTES] = {0x51, 0x6c, 0x33, 0x92, 0x9d, 0xf5,
                                                    0xa3, 0x28, 0x4f, 0xf4, 0x63, 0xd7};
    static const uint8_t bytes[SEAL_KEY_BYTES] = {
        0xb5, 0x2c, 0x50, 0x5a, 0x37, 0xd7, 0x8e, 0xda, 0x5d, 0xd3, 0x4f, 0x20, 0xc2, 0x25, 0x40, 0xea,
        0x1b, 0x58, 0x96, 0x3c, 0xf8, 0xe5, 0xbf, 0x8f, 0xfa, 0x85, 0xf9, 0xf2, 0x49, 0x25, 0x05, 0xb4};
    static const uint8_t empty_tag[SEAL_TAG_BYTES] = {0xbd, 0xc1, 0xac, 0x88, 0x4d, 0x33, 0x24, 0x57,
                                                      0xa1, 0xd2, 0x66, 0x4f, 0x16, 0x8c, 0x76, 0xf0};
    struct cipher_key key = {0};
    primitives->cipher_key_init(&key);
    primitives->cipher_key_set(&key, bytes);
    uint8_t tag[SEAL_TAG_BYTES], sealed[sizeof(text)], opened[sizeof(text)];
    primitives->seal(&key, nonce, (struct seal_bytes){NULL, 0}, NULL, 0, NULL, tag);
    if (memcmp(tag, empty_tag, sizeof(tag)) != 0)
        return false;
    primitives->seal(&key, nonce, (struct seal_bytes){known, sizeof(known)}, text, sizeof(text), sealed, tag);
    if (!primitives->open(&key, nonce, (struct seal_bytes){known, sizeof(known)}, sealed, sizeof(sealed),
                          opened, tag) ||
        memcmp(opened, text, sizeof(text)) != 0)
        return false;
    tag[7] ^= 0x10;
    return !primitives->open(&key, nonce, (struct seal_bytes){known, sizeof(known)}, sealed, sizeof(sealed),
                             opened, tag);
}

static bool curve_answers(const struct primitives *primitives)
{
    static const uint8_t scalar[SEAL_KEY_BYTES] = {
        0xa5, 0x46, 0xe3, 0x6b, 0xf0, 0x52, 0x7c, 0x9d, 0x3b, 0x16, 0x15, 0x4b, 0x82, 0x46, 0x5e, 0xdd,
        0x62, 0x14, 0x4c, 0x0a, 0xc1, 0xfc, 0x5a, 0x18, 0x50, 0x6a, 0x22, 0x44, 0xba, 0x44, 0x9a, 0xc4};
    static const uint8_t point[SEAL_KEY_BYTES] = {
        0xe6, 0xdb, 0x68, 0x67, 0x58, 0x30, 0x30, 0xdb, 0x35, 0x94, 0xc1, 0xa4, 0x24, 0xb1, 0x5f, 0x7c,
        0x72, 0x66, 0x24, 0xec, 0x26, 0xb3, 0x35, 0x3b, 0x10, 0xa9, 0x03, 0xa6, 0xd0, 0xab, 0x1c, 0x4c};
    static const uint8_t expected[SEAL_KEY_BYTES] = {
        0xc3, 0xda, 0x55, 0x37, 0x9d, 0xe9, 0xc6, 0x90, 0x8e, 0x94, 0xea, 0x4d, 0xf2, 0x8d, 0x08, 0x4f,
        0x32, 0xec, 0xcf, 0x03, 0x49, 0x1c, 0x71, 0xf7, 0x54, 0xb4, 0x07, 0x55, 0x77, 0xa2, 0x85, 0x52};
    static const uint8_t nine[SEAL_KEY_BYTES] = {9}, zero[SEAL_KEY_BYTES];
    uint8_t out[SEAL_KEY_BYTES], again[SEAL_KEY_BYTES];
    if (!primitives->agree(out, scalar, point) || memcmp(out, expected, sizeof(out)) != 0)
        return false;
    primitives->public_key(out, scalar);
    return primitives->agree(again, scalar, nine) && memcmp(out, again, sizeof(out)) == 0 &&
           !primitives->agree(out, scalar, zero);
}

static bool hashes_answer(const struct primitives *primitives)
{
    static const uint8_t abc_hash[8] = {0xba, 0x78, 0x16, 0xbf, 0x8f, 0x01, 0xcf, 0xea};
    static const uint8_t hi_there[8] = {0xb0, 0x34, 0x4c, 0x61, 0xd8, 0xdb, 0x38, 0x53};
    const struct seal_bytes abc[2] = {{(const uint8_t *)"a", 1}, {(const uint8_t *)"bc", 2}};
    const struct seal_bytes text = {(const uint8_t *)"Hi There", 8};
    uint8_t out[SEAL_KEY_BYTES], key[20];
    memset(key, 0x0b, sizeof(key));
    primitives->hash(out, abc, 2);
    if (memcmp(out, abc_hash, sizeof(abc_hash)) != 0)
        return false;
    primitives->hmac(out, (struct seal_bytes){key, sizeof(key)}, &text, 1);
    return memcmp(out, hi_there, sizeof(hi_there)) == 0;
}

static bool mac_answers(const struct primitives *primitives)
{
    static const uint8_t expected[SEAL_TAG_BYTES] = {0xa3, 0x81, 0x7f, 0x04, 0xba, 0x25, 0xa8, 0xe6,
                                                     0x6d, 0xf6, 0x72, 0x14, 0xc7, 0x55, 0x02, 0x93};
    uint8_t key[SEAL_MAC_KEY_BYTES], tag[SEAL_TAG_BYTES];
    for (uint8_t index = 0; index < sizeof(key); index++)
        key[index] = index;
    primitives->mac(tag, key, key, 0);
    return memcmp(tag, expected, sizeof(tag)) == 0;
}

const char *self_test(const struct primitives *primitives)
{
    if (!cipher_answers(primitives))
        return "AES-256-GCM";
    if (!curve_answers(primitives))
        return "X25519";
    if (!hashes_answer(primitives))
        return "SHA-256 or HMAC";
    return mac_answers(primitives) ? NULL : "SipHash";
}
