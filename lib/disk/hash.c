#include "disk/hash.h"

#include <openssl/evp.h>
#include <string.h>

#include "base/check.h"
#include "disk/clock.h"

/* Set up once: with OpenSSL 3 looking the algorithm up costs more than hashing a kilobyte. */
static _Thread_local EVP_MD_CTX *context;
static _Thread_local struct hash_work work;

static void sha256(const uint8_t *data, size_t length, struct wire_hash *hash)
{
    if (context == NULL) {
        context = EVP_MD_CTX_new();
        CHECK(context != NULL);
        CHECK(EVP_DigestInit_ex(context, EVP_sha256(), NULL) == 1);
    } else {
        CHECK(EVP_DigestInit_ex(context, NULL, NULL) == 1);
    }
    CHECK(EVP_DigestUpdate(context, data, length) == 1);
    CHECK(EVP_DigestFinal_ex(context, hash->bytes, NULL) == 1);
}

void hash_block(enum part_hash kind, const uint8_t *data, size_t length, struct wire_hash *hash)
{
    uint64_t begin_ns;
    switch (kind) {
    case PART_HASH_NONE:
        memset(hash, 0, sizeof(*hash));
        return;
    case PART_HASH_SHA256:
        begin_ns = clock_ns(CLOCK_THREAD_CPUTIME_ID);
        sha256(data, length, hash);
        work.bytes += length;
        work.cpu_ns += clock_ns(CLOCK_THREAD_CPUTIME_ID) - begin_ns;
        return;
    }
    CHECK(false);
}

void hash_chain(enum part_hash kind, struct wire_hash *chain, const struct wire_hash *hash)
{
    uint8_t both[2 * WIRE_HASH_BYTES];
    memcpy(both, chain, WIRE_HASH_BYTES);
    memcpy(both + WIRE_HASH_BYTES, hash, WIRE_HASH_BYTES);
    hash_block(kind, both, sizeof(both), chain);
}

struct hash_work hash_thread_work(void)
{
    return work;
}

void hash_thread_end(void)
{
    EVP_MD_CTX_free(context);
    context = NULL;
}
