/* The keys of a session: each direction has two, one for DATA and one for all other datagrams, whose numbers count apart.
 *
 * Nonce: the direction's iv, its last 8 bytes combined with the packet number (RFC 9001, section 5.3). The caller never
 * uses a number twice in a space and direction: the numbers of a session begin with its keys, and go on through updates.
 *
 * A direction has three sets of keys: the current one; the next one, derived beforehand (session_keys_prepare), so that no
 * packet makes anybody derive; the old one, which opens what was on its way. Each set has an id, which packets carry: from
 * 1 to 255, then 1 again. The secret that a set is made of makes the next secret, and is gone then: whoever learns the keys
 * of today opens nothing of yesterday. */
#pragma once

#include "seal/handshake.h"

enum seal_space { SEAL_DATA, SEAL_CONTROL, SEAL_SPACES };

enum key_age { KEYS_CURRENT, KEYS_NEXT, KEYS_OLD, KEY_AGES, KEYS_NONE = KEY_AGES };

struct key_set {
    struct cipher_key cipher[SEAL_SPACES];
    uint8_t iv[SEAL_SPACES][SEAL_NONCE_BYTES];
};

struct direction_keys {
    struct key_set sets[KEY_AGES];
    uint8_t secret[SEAL_KEY_BYTES]; /* that the newest set was made of */
    uint8_t current;                /* its place; behind it, in a ring, the next one's, then the old one's */
    uint8_t id;                     /* of the current set; 0: nobody is kept out, and nothing is updated */
    bool has_next, has_old;
};

struct session_keys {
    const struct primitives *primitives;
    struct direction_keys out, in;
};

/* What is sealed: `known` is authenticated only, `text` of `length` bytes (0, NULL) encrypted as well. */
struct sealing {
    enum seal_space space;
    uint64_t number;
    struct seal_bytes known;
    const uint8_t *text;
    size_t length;
};

/* Once, in zeroed memory. */
void session_keys_init(struct session_keys *keys, const struct primitives *primitives);
/* Of a new session: both directions begin at id 1. */
void session_keys_set(struct session_keys *keys, const struct session_secrets *secrets);
/* All of them are gone; what is sealed or opened from now on is so with keys of no secret. */
void session_keys_forget(struct session_keys *keys);

/* ---- update: of what goes out by this node, of what comes in by the peer ---- */
/* Derives a direction's next set, if there is none: five hashes and two keys, a few microseconds. */
void session_keys_prepare(struct session_keys *keys, struct direction_keys *direction);
/* The next set, which must be there, becomes the current one, that one old. */
void session_keys_move(struct direction_keys *direction);
void session_keys_forget_old(struct session_keys *keys, struct direction_keys *direction);
/* Whose id that is; KEYS_NONE: of no set that is there. */
enum key_age session_keys_find(const struct direction_keys *direction, uint8_t id);

/* For the peer, with the current set. Writes the text's length to out, which may be the text. */
void session_keys_seal(const struct session_keys *keys, const struct sealing *what, uint8_t *out,
                       uint8_t tag[SEAL_TAG_BYTES]);
/* From the peer, with the set of that age, which is there. False: changed on the way, or not the peer's, or another
 * number, or of another set. */
bool session_keys_open(const struct session_keys *keys, enum key_age age, const struct sealing *what,
                       uint8_t *out, const uint8_t tag[SEAL_TAG_BYTES]);
