/* The only file that includes Intel's header, whose names collide with those of OpenSSL, and whose calls change with its
 * versions 2 and 3. */
#include "crypt/cipher.h"

#ifdef HAVE_IPSEC_MB
#define NO_COMPAT_IMB_API_053
#include <intel-ipsec-mb.h>

#include "seal/wipe.h"

_Static_assert(sizeof(struct gcm_key_data) <= CIPHER_KEY_ROOM, "a key holds its expanded form");
_Static_assert(_Alignof(struct gcm_key_data) <= _Alignof(struct cipher_key), "and is aligned for it");

/* Only its table of functions is used, which is written once. */
static IMB_MGR *manager;

static void key_init(struct cipher_key *key)
{
    (void)key;
}

static void key_set(struct cipher_key *key, const uint8_t bytes[SEAL_KEY_BYTES])
{
    IMB_AES256_GCM_PRE(manager, bytes, (struct gcm_key_data *)key->room);
}

static void seal(const struct cipher_key *key, const uint8_t nonce[SEAL_NONCE_BYTES], struct seal_bytes known,
                 const uint8_t *text, size_t length, uint8_t *out, uint8_t tag[SEAL_TAG_BYTES])
{
    struct gcm_context_data context;
    IMB_AES256_GCM_ENC(manager, (const struct gcm_key_data *)key->room, &context, out, text, length, nonce,
                       known.data, known.length, tag, SEAL_TAG_BYTES);
}

static bool open_sealed(const struct cipher_key *key, const uint8_t nonce[SEAL_NONCE_BYTES],
                        struct seal_bytes known, const uint8_t *sealed, size_t length, uint8_t *out,
                        const uint8_t tag[SEAL_TAG_BYTES])
{
    struct gcm_context_data context;
    uint8_t made[SEAL_TAG_BYTES];
    IMB_AES256_GCM_DEC(manager, (const struct gcm_key_data *)key->room, &context, out, sealed, length, nonce,
                       known.data, known.length, made, SEAL_TAG_BYTES);
    return equal_in_constant_time(made, tag, SEAL_TAG_BYTES);
}

bool cipher_multi_buffer(struct primitives *primitives)
{
    const uint64_t needed = IMB_FEATURE_AESNI | IMB_FEATURE_PCLMULQDQ;
    if (manager == NULL)
        manager = alloc_mb_mgr(0);
    if (manager == NULL || (manager->features & needed) != needed)
        return false;
    init_mb_mgr_auto(manager, NULL);
    primitives->name = "ipsec-mb";
    primitives->authenticates = true;
    primitives->cipher_key_init = key_init;
    primitives->cipher_key_set = key_set;
    primitives->seal = seal;
    primitives->open = open_sealed;
    return true;
}

#else

bool cipher_multi_buffer(struct primitives *primitives)
{
    (void)primitives;
    return false;
}

#endif
