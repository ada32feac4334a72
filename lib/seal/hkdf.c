#include "seal/hkdf.h"

#include <string.h>

#include "base/check.h"
#include "base/units.h"
#include "seal/wipe.h"

void hkdf_extract(const struct primitives *primitives, struct seal_bytes salt, struct seal_bytes secret,
                  uint8_t out[SEAL_KEY_BYTES])
{
    primitives->hmac(out, salt, &secret, 1);
}

void hkdf_expand(const struct primitives *primitives, const uint8_t key[SEAL_KEY_BYTES],
                 const struct seal_bytes info[2], uint8_t *out, size_t length)
{
    CHECK(length <= HKDF_OUT_MAX);
    uint8_t block[SEAL_KEY_BYTES];
    for (uint8_t number = 1; length > 0; number++) {
        const struct seal_bytes pieces[] = {
            {block, number == 1 ? 0 : sizeof(block)}, info[0], info[1], {&number, 1}};
        primitives->hmac(block, (struct seal_bytes){key, SEAL_KEY_BYTES}, pieces, 4);
        size_t taken = MIN(length, sizeof(block));
        memcpy(out, block, taken);
        out += taken;
        length -= taken;
    }
    wipe(block, sizeof(block));
}

void hkdf_expand_label(const struct primitives *primitives, const uint8_t key[SEAL_KEY_BYTES],
                       const char *label, uint8_t *out, size_t length)
{
    const struct seal_bytes info[2] = {{(const uint8_t *)label, strlen(label)}, {NULL, 0}};
    hkdf_expand(primitives, key, info, out, length);
}
