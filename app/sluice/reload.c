#include "reload.h"

#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "key_memory.h"
#include "node/core/node_keys.h"
#include "own_key.h"
#include "roster_hash.h"
#include "seal/wipe.h"

#define KEYS_TEXT_BYTES (APP_KEYS_MAX * (KEY_TEXT_SHORT_BYTES + 4) + 8)

/* Large, and one at a time: operators may ask by several ways at once. */
static pthread_mutex_t one_at_a_time = PTHREAD_MUTEX_INITIALIZER;
/* In memory that no core has, from the first time on. */
struct reload {
    struct app_config file; /* as it is by now */
    struct node_config next;
    struct node_keys keys;
    struct app_keys peer_keys[NODE_PEERS_MAX]; /* by peer of what is in force; none: it was removed */
};
static struct reload *reload;

__attribute__((format(printf, 2, 3))) static void add_line(struct command_reply *reply, const char *format,
                                                           ...)
{
    size_t length = strlen(reply->text);
    va_list arguments;
    va_start(arguments, format);
    if (length > 0)
        length += (size_t)snprintf(reply->text + length, sizeof(reply->text) - length, "\n");
    vsnprintf(reply->text + length, sizeof(reply->text) - length, format, arguments);
    va_end(arguments);
}

/* ---- what may not change ---- */

static int find_peer(const struct node_config *config, const char *name)
{
    for (uint16_t index = 0; index < config->peer_count; index++)
        if (strcmp(config->peers[index].name, name) == 0)
            return index;
    return -1;
}

static bool same_ports(const struct node_config *now, const struct node_config *file)
{
    bool same = now->port_count == file->port_count;
    for (uint16_t index = 0; same && index < now->port_count; index++)
        same = address_equal(&now->ports[index].address, &file->ports[index].address);
    return same;
}

/* Who has a key by now does not count: all may have been shut out since. */
static bool started_with_keys(const struct node_config *now)
{
    return now->primitives != NULL && now->primitives->authenticates;
}

/* False: err says what needs a restart. Whoever is no longer in the file only has no key any more. */
static bool fits(const struct app *app, struct err *err)
{
    const struct node_config *now = &app->config.node, *file = &reload->file.node;
    if (!started_with_keys(now))
        return err_set(err, "this appliance was started without keys: that needs a restart");
    if (file->peer_count > 0 && !own_key_is_needed(&reload->file))
        return err_set(err, "%s: no keys any more: that needs a restart", app->config.source_path);
    if (!same_ports(now, file))
        return err_set(err, "%s: the own address has changed: that needs a restart", app->config.source_path);
    for (uint16_t index = 0; index < file->peer_count; index++) {
        const struct node_peer_config *peer = &file->peers[index];
        int known = find_peer(now, peer->name);
        if (known < 0)
            return err_set(err, "%s: %s is new: that needs a restart", app->config.source_path, peer->name);
        if (!address_equal(&now->peers[known].address, &peer->address) ||
            now->peers[known].port != peer->port)
            return err_set(err, "%s: the address of %s has changed: that needs a restart",
                           app->config.source_path, peer->name);
    }
    return true;
}

/* ---- what changes ---- */

/* "4Ot6fDtB, X5yVvKNQ" */
static void keys_text(const struct app_keys *keys, char text[KEYS_TEXT_BYTES])
{
    char one[KEY_TEXT_SHORT_BYTES];
    snprintf(text, KEYS_TEXT_BYTES, "%s", keys->count == 0 ? "none" : "");
    for (unsigned index = 0; index < keys->count; index++) {
        key_text_short(one, keys->keys[index]);
        snprintf(text + strlen(text), KEYS_TEXT_BYTES - strlen(text), "%s%s", index > 0 ? ", " : "", one);
    }
}

static void say_change(const struct app *app, const char *name, const struct app_keys *before,
                       const struct app_keys *after, struct command_reply *reply)
{
    char old[KEYS_TEXT_BYTES], new[KEYS_TEXT_BYTES];
    keys_text(before, old);
    keys_text(after, new);
    if (strcmp(old, new) == 0)
        return;
    add_line(reply, "%s: key %s, before %s", name, new, old);
    fprintf(stderr, "%s: reload keys: %s: key %s, before %s\n", app->config.node.name, name, new, old);
}

static void say_changes(const struct app *app, const struct key_pair *own, struct command_reply *reply)
{
    struct app_keys before = {.count = 1}, after = {.count = 1};
    memcpy(before.keys[0], app->config.node.key.public_key, SEAL_KEY_BYTES);
    memcpy(after.keys[0], own->public_key, SEAL_KEY_BYTES);
    reply->text[0] = '\0';
    say_change(app, app->config.node.name, &before, &after, reply);
    for (uint16_t index = 0; index < app->config.node.peer_count; index++)
        say_change(app, app->config.node.peers[index].name, &app->config.peer_keys[index],
                   &reload->peer_keys[index], reply);
    if (reply->text[0] == '\0')
        add_line(reply, "no key has changed");
}

static void take_peer_keys(const struct app *app)
{
    const struct node_config *now = &app->config.node;
    reload->next = *now;
    for (uint16_t index = 0; index < now->peer_count; index++) {
        struct node_peer_config *peer = &reload->next.peers[index];
        int found = find_peer(&reload->file.node, peer->name);
        struct app_keys *keys = &reload->peer_keys[index];
        *keys = found >= 0 ? reload->file.peer_keys[found] : (struct app_keys){0};
        peer->key_count = (uint8_t)keys->count;
        memcpy(peer->public_keys, keys->keys, sizeof(peer->public_keys));
    }
}

/* The node has taken them. */
static void note_in_force(struct app *app)
{
    memcpy(app->config.node.key.public_key, reload->keys.own.public_key, SEAL_KEY_BYTES);
    app->config.node.roster = reload->keys.roster;
    app->config.own_keys = reload->file.own_keys;
    memcpy(app->config.peer_keys, reload->peer_keys, sizeof(reload->peer_keys));
}

static bool give_to_node(struct app *app, struct command_reply *reply, struct err *err)
{
    if (!node_keys_make(&reload->keys, &reload->next, err))
        return false;
    reply->call.msg.type = CTL_KEYS;
    reply->call.msg.body.keys = &reload->keys;
    reply->call.reply.text = reply->text;
    reply->call.reply.room = sizeof(reply->text);
    if (channel_call(&app->channel, &reply->call))
        return true;
    *err = reply->call.reply.err;
    return false;
}

void reload_keys_in_force(const struct app *app, const char *name, char text[KEYS_IN_FORCE_BYTES])
{
    char one[KEY_TEXT_BYTES];
    pthread_mutex_lock(&one_at_a_time);
    int peer = find_peer(&app->config.node, name);
    const struct app_keys *keys = peer >= 0 ? &app->config.peer_keys[peer] : &app->config.own_keys;
    text[0] = '\0';
    for (unsigned index = 0; index < keys->count; index++) {
        key_text_public(one, keys->keys[index]);
        snprintf(text + strlen(text), KEYS_IN_FORCE_BYTES - strlen(text), "%s%s", index > 0 ? ", " : "", one);
    }
    pthread_mutex_unlock(&one_at_a_time);
}

static bool read_files(const struct app *app, struct command_reply *reply, struct err *err)
{
    struct conf_errors errors = {0};
    err->text[0] = '\0';
    if (conf_read_node(app->config.source_path, NULL, app->config.node.name, &reload->file, &errors))
        return fits(app, err);
    for (unsigned index = 0; index < errors.count && index < CONF_ERRORS_MAX; index++)
        add_line(reply, "%s", errors.lines[index]);
    return false;
}

static bool run(struct app *app, struct command_reply *reply, struct err *err)
{
    if (reload == NULL)
        reload = key_memory_take(app->config.node.name, sizeof(*reload), err);
    if (reload == NULL || !read_files(app, reply, err))
        return false;
    take_peer_keys(app);
    reload->next.roster = roster_hash(&reload->file, reload->next.primitives);
    /* With the last peer away no key is left in a file without a roster. */
    bool has_own = own_key_is_needed(&reload->file);
    if ((has_own && !own_key_ready(&reload->file, OWN_KEY_USE, &reload->next.key, err)) ||
        !give_to_node(app, reply, err))
        return false;
    say_changes(app, &reload->keys.own, reply);
    note_in_force(app);
    return true;
}

void reload_keys(struct app *app, struct command_reply *reply)
{
    struct err err;
    pthread_mutex_lock(&one_at_a_time);
    reply->text[0] = '\0';
    reply->ok = run(app, reply, &err);
    if (!reply->ok && err.text[0] != '\0')
        add_line(reply, "%s", err.text);
    if (reload != NULL)
        wipe(reload, sizeof(*reload));
    pthread_mutex_unlock(&one_at_a_time);
}
