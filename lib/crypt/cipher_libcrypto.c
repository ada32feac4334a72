#include <openssl/evp.h>
#include <stdatomic.h>
#include <stdlib.h>

#include "base/check.h"
#include "crypt/cipher.h"

/* OpenSSL's context is memory of its own, as long as the key that it belongs to, which is as long as the process: a list
 * keeps it in sight of those who look for memory that is lost. */
struct context {
    EVP_CIPHER_CTX *cipher;
    struct context *next;
};
static _Atomic(struct context *) contexts;
_Static_assert(sizeof(EVP_CIPHER_CTX *) <= CIPHER_KEY_ROOM, "a key holds a pointer");

static EVP_CIPHER_CTX *context_of(const struct cipher_key *key)
{
    EVP_CIPHER_CTX *cipher;
    __builtin_memcpy(&cipher, key->room, sizeof(cipher));
    return cipher;
}

static void key_init(struct cipher_key *key)
{
    struct context *context = malloc(sizeof(*context));
    CHECK(context != NULL);
    context->cipher = EVP_CIPHER_CTX_new();
    CHECK(context->cipher != NULL);
    CHECK(EVP_CipherInit_ex(context->cipher, EVP_aes_256_gcm(), NULL, NULL, NULL, 1) == 1);
    __builtin_memcpy(key->room, &context->cipher, sizeof(context->cipher));
    context->next = atomic_load(&contexts);
    while (!atomic_compare_exchange_weak(&contexts, &context->next, context))
        ;
}

static void key_set(struct cipher_key *key, const uint8_t bytes[SEAL_KEY_BYTES])
{
    CHECK(EVP_CipherInit_ex(context_of(key), NULL, NULL, bytes, NULL, 1) == 1);
}

/* One way through it: direction, nonce, what is known, text. */
static void run(EVP_CIPHER_CTX *context, int sealing, const uint8_t nonce[SEAL_NONCE_BYTES],
                struct seal_bytes known, const uint8_t *in, size_t length, uint8_t *out)
{
    int written;
    CHECK(EVP_CipherInit_ex(context, NULL, NULL, NULL, nonce, sealing) == 1);
    if (known.length > 0)
        CHECK(EVP_CipherUpdate(context, NULL, &written, known.data, (int)known.length) == 1);
    if (length > 0)
        CHECK(EVP_CipherUpdate(context, out, &written, in, (int)length) == 1);
}

static void seal(const struct cipher_key *key, const uint8_t nonce[SEAL_NONCE_BYTES], struct seal_bytes known,
                 const uint8_t *text, size_t length, uint8_t *out, uint8_t tag[SEAL_TAG_BYTES])
{
    EVP_CIPHER_CTX *context = context_of(key);
    uint8_t none[1];
    int written;
    run(context, 1, nonce, known, text, length, out);
    CHECK(EVP_CipherFinal_ex(context, none, &written) == 1);
    CHECK(EVP_CIPHER_CTX_ctrl(context, EVP_CTRL_AEAD_GET_TAG, SEAL_TAG_BYTES, tag) == 1);
}

static bool open_sealed(const struct cipher_key *key, const uint8_t nonce[SEAL_NONCE_BYTES],
                        struct seal_bytes known, const uint8_t *sealed, size_t length, uint8_t *out,
                        const uint8_t tag[SEAL_TAG_BYTES])
{
    EVP_CIPHER_CTX *context = context_of(key);
    uint8_t expected[SEAL_TAG_BYTES], none[1];
    int written;
    __builtin_memcpy(expected, tag, sizeof(expected));
    run(context, 0, nonce, known, sealed, length, out);
    CHECK(EVP_CIPHER_CTX_ctrl(context, EVP_CTRL_AEAD_SET_TAG, SEAL_TAG_BYTES, expected) == 1);
    return EVP_CipherFinal_ex(context, none, &written) == 1;
}

bool cipher_libcrypto(struct primitives *primitives)
{
    primitives->name = "libcrypto";
    primitives->authenticates = true;
    primitives->cipher_key_init = key_init;
    primitives->cipher_key_set = key_set;
    primitives->seal = seal;
    primitives->open = open_sealed;
    return true;
}
