#include "crypt/crypt.h"

#include <sodium.h>
#include <string.h>

#include "crypt/cipher.h"
#include "crypt/self_test.h"
#include "crypt/libsodium.h"

static struct primitives multi_buffer, libcrypto;
static bool has_multi_buffer, has_libcrypto;

static bool processor_has_aes(void)
{
#if defined(__x86_64__)
    return __builtin_cpu_supports("aes") && __builtin_cpu_supports("pclmul");
#else
    return true; /* libcrypto falls back to bit slices, which have no tables */
#endif
}

static bool is_good(const struct primitives *primitives, struct err *err)
{
    const char *wrong = self_test(primitives);
    if (wrong != NULL)
        err_set(err, "the self test of %s failed with %s: a broken library, or a broken processor", wrong,
                primitives->name);
    return wrong == NULL;
}

const struct primitives *crypt_primitives(struct err *err)
{
    if (!processor_has_aes()) {
        err_set(err, "this processor has no AES and PCLMULQDQ instructions, which packets are sealed with");
        return NULL;
    }
    if (!sodium_primitives(&multi_buffer) || !sodium_primitives(&libcrypto)) {
        err_set(err, "libsodium does not start");
        return NULL;
    }
    has_libcrypto = cipher_libcrypto(&libcrypto);
    has_multi_buffer = cipher_multi_buffer(&multi_buffer);
    const struct primitives *chosen = has_multi_buffer ? &multi_buffer : &libcrypto;
    return is_good(chosen, err) ? chosen : NULL;
}

const struct primitives *crypt_multi_buffer(void)
{
    return has_multi_buffer ? &multi_buffer : NULL;
}

const struct primitives *crypt_libcrypto(void)
{
    return has_libcrypto ? &libcrypto : NULL;
}

void crypt_random(uint8_t *out, size_t length)
{
    randombytes_buf(out, length);
}
