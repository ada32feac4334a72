#include "own_key.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "seal/key_text.h"

#define BEGINNINGS_BYTES (2 * KEY_TEXT_SHORT_BYTES + 8)

bool own_key_is_needed(const struct app_config *config)
{
    bool needed = config->own_keys.count > 0;
    for (uint16_t peer = 0; peer < config->node.peer_count; peer++)
        needed = needed || config->peer_keys[peer].count > 0;
    return needed;
}

/* "4Ot6fDtB or X5yVvKNQ" */
static void beginnings(const struct app_keys *keys, char text[BEGINNINGS_BYTES])
{
    char one[KEY_TEXT_SHORT_BYTES];
    text[0] = '\0';
    for (unsigned index = 0; index < keys->count; index++) {
        key_text_short(one, keys->keys[index]);
        snprintf(text + strlen(text), BEGINNINGS_BYTES - strlen(text), "%s%s", index > 0 ? " or " : "", one);
    }
}

static bool is_expected(const struct app_config *config, const struct key_pair *own, struct err *err)
{
    const struct app_keys *keys = &config->own_keys;
    char expected[BEGINNINGS_BYTES], got[KEY_TEXT_SHORT_BYTES];
    for (unsigned index = 0; index < keys->count; index++)
        if (memcmp(keys->keys[index], own->public_key, SEAL_KEY_BYTES) == 0)
            return true;
    if (keys->count == 0) /* no entry of its own, only peers */
        return true;
    beginnings(keys, expected);
    key_text_short(got, own->public_key);
    return err_set(err,
                   "%s: its public key begins with %s, that of %s in the roster with %s: take the line of "
                   "`sluicectl key show` into the roster of all sites, or restore the key file",
                   config->key_file, got, config->node.name, expected);
}

/* A key that is made now is not that of the roster: rather a word on the one that was lost. */
static bool is_lost(const struct app_config *config, bool make, struct err *err)
{
    if (access(config->key_file, F_OK) == 0 || errno != ENOENT)
        return false;
    if (config->own_keys.count > 0)
        err_set(err,
                "%s: no such key file, but the roster has a key of %s: restore it, or take the line of "
                "`sluicectl key show`, which makes a new one, into the roster of all sites",
                config->key_file, config->node.name);
    else if (!make)
        err_set(err, "%s: no such key file: the first start makes it, or `sluicectl key show`",
                config->key_file);
    return config->own_keys.count > 0 || !make;
}

/* Root may check a file for an appliance that another user will start. */
static bool is_own(const struct app_config *config, enum own_key_for use, uid_t owner, struct err *err)
{
    if (owner == 0 || owner == geteuid())
        return true;
    err_set(err,
            "%s: belongs to user %u, who can read the private key and put another one in its place; expected "
            "root, or the "
            "user who runs the appliance",
            config->key_file, (unsigned)owner);
    if (use != OWN_KEY_CHECK)
        return false;
    fprintf(stderr, "%s: %s\n", config->node.name, err->text);
    return true;
}

bool own_key_ready(const struct app_config *config, enum own_key_for use, struct key_pair *own,
                   struct err *err)
{
    bool made, make = use == OWN_KEY_START;
    uid_t owner;
    if (!own_key_is_needed(config))
        return true;
    return !is_lost(config, make, err) && (!make || key_file_make(config->key_file, &made, err)) &&
           key_file_read_of(config->key_file, own, &owner, err) && is_own(config, use, owner, err) &&
           is_expected(config, own, err);
}
