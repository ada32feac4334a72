#include "seal/session_keys.h"

#include <string.h>

#include "base/bytes.h"
#include "base/check.h"
#include "seal/hkdf.h"
#include "seal/wipe.h"

static const char *const labels[SEAL_SPACES] = {
    [SEAL_DATA] = "sluice 2 data", [SEAL_CONTROL] = "sluice 2 ctrl"};
static const char update_label[] = "sluice 2 update";

static unsigned place_of(const struct direction_keys *direction, enum key_age age)
{
    unsigned place = direction->current + (unsigned)age;
    return place < KEY_AGES ? place : place - KEY_AGES;
}

static uint8_t id_behind(uint8_t id)
{
    return id == UINT8_MAX ? 1 : (uint8_t)(id + 1);
}

static uint8_t id_before(uint8_t id)
{
    return id == 1 ? UINT8_MAX : (uint8_t)(id - 1);
}

static void init_direction(const struct primitives *primitives, struct direction_keys *direction)
{
    for (unsigned place = 0; place < KEY_AGES; place++)
        for (unsigned space = 0; space < SEAL_SPACES; space++)
            primitives->cipher_key_init(&direction->sets[place].cipher[space]);
}

void session_keys_init(struct session_keys *keys, const struct primitives *primitives)
{
    keys->primitives = primitives;
    init_direction(primitives, &keys->out);
    init_direction(primitives, &keys->in);
}

static void make_set(const struct primitives *primitives, struct key_set *set,
                     const uint8_t secret[SEAL_KEY_BYTES])
{
    uint8_t drawn[SEAL_KEY_BYTES + SEAL_NONCE_BYTES];
    for (unsigned space = 0; space < SEAL_SPACES; space++) {
        hkdf_expand_label(primitives, secret, labels[space], drawn, sizeof(drawn));
        primitives->cipher_key_set(&set->cipher[space], drawn);
        memcpy(set->iv[space], drawn + SEAL_KEY_BYTES, SEAL_NONCE_BYTES);
    }
    wipe(drawn, sizeof(drawn));
}

/* With keys of no secret: the memory is the library's to use, not ours to zero. */
static void forget_set(const struct primitives *primitives, struct key_set *set)
{
    static const uint8_t none[SEAL_KEY_BYTES];
    for (unsigned space = 0; space < SEAL_SPACES; space++)
        primitives->cipher_key_set(&set->cipher[space], none);
    wipe(set->iv, sizeof(set->iv));
}

static void forget_direction(const struct primitives *primitives, struct direction_keys *direction)
{
    for (unsigned place = 0; place < KEY_AGES; place++)
        forget_set(primitives, &direction->sets[place]);
    wipe(direction->secret, sizeof(direction->secret));
    direction->has_next = direction->has_old = false;
    direction->id = 0;
}

void session_keys_forget(struct session_keys *keys)
{
    forget_direction(keys->primitives, &keys->out);
    forget_direction(keys->primitives, &keys->in);
}

static void set_direction(const struct primitives *primitives, struct direction_keys *direction,
                          const uint8_t secret[SEAL_KEY_BYTES])
{
    memcpy(direction->secret, secret, SEAL_KEY_BYTES);
    make_set(primitives, &direction->sets[direction->current], secret);
    direction->has_next = direction->has_old = false;
    direction->id = primitives->authenticates ? 1 : 0;
}

void session_keys_set(struct session_keys *keys, const struct session_secrets *secrets)
{
    set_direction(keys->primitives, &keys->out, secrets->out);
    set_direction(keys->primitives, &keys->in, secrets->in);
}

void session_keys_prepare(struct session_keys *keys, struct direction_keys *direction)
{
    uint8_t behind[SEAL_KEY_BYTES];
    if (direction->has_next || direction->id == 0)
        return;
    hkdf_expand_label(keys->primitives, direction->secret, update_label, behind, sizeof(behind));
    memcpy(direction->secret, behind, sizeof(behind));
    wipe(behind, sizeof(behind));
    make_set(keys->primitives, &direction->sets[place_of(direction, KEYS_NEXT)], direction->secret);
    direction->has_next = true;
}

void session_keys_move(struct direction_keys *direction)
{
    CHECK(direction->has_next);
    direction->current = (uint8_t)place_of(direction, KEYS_NEXT);
    direction->id = id_behind(direction->id);
    direction->has_next = false;
    direction->has_old = true;
}

void session_keys_forget_old(struct session_keys *keys, struct direction_keys *direction)
{
    if (!direction->has_old)
        return;
    direction->has_old = false;
    forget_set(keys->primitives, &direction->sets[place_of(direction, KEYS_OLD)]);
}

enum key_age session_keys_find(const struct direction_keys *direction, uint8_t id)
{
    if (id == direction->id)
        return KEYS_CURRENT;
    if (id == 0 || direction->id == 0)
        return KEYS_NONE;
    if (direction->has_next && id == id_behind(direction->id))
        return KEYS_NEXT;
    return direction->has_old && id == id_before(direction->id) ? KEYS_OLD : KEYS_NONE;
}

static void make_nonce(const struct key_set *set, const struct sealing *what, uint8_t nonce[SEAL_NONCE_BYTES])
{
    memcpy(nonce, set->iv[what->space], SEAL_NONCE_BYTES);
    store_be64(nonce + 4, load_be64(nonce + 4) ^ what->number);
}

void session_keys_seal(const struct session_keys *keys, const struct sealing *what, uint8_t *out,
                       uint8_t tag[SEAL_TAG_BYTES])
{
    const struct key_set *set = &keys->out.sets[keys->out.current];
    uint8_t nonce[SEAL_NONCE_BYTES];
    make_nonce(set, what, nonce);
    keys->primitives->seal(&set->cipher[what->space], nonce, what->known, what->text, what->length, out, tag);
}

bool session_keys_open(const struct session_keys *keys, enum key_age age, const struct sealing *what,
                       uint8_t *out, const uint8_t tag[SEAL_TAG_BYTES])
{
    const struct key_set *set = &keys->in.sets[place_of(&keys->in, age)];
    uint8_t nonce[SEAL_NONCE_BYTES];
    make_nonce(set, what, nonce);
    return keys->primitives->open(&set->cipher[what->space], nonce, what->known, what->text, what->length,
                                  out, tag);
}
