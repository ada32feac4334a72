/* `reload keys`: the node file is read again, and of it the keys alone come into force: those of the roster and peers, and
 * the own one of the key file. Off the worker's thread, which gets finished keys. */
#pragma once

#include "command.h"
#include "seal/key_text.h"

/* Every key that changed is a line of the reply, and of the log. Nothing changes where the file has errors, or says something
 * else of names and addresses than is in force. */
void reload_keys(struct app *app, struct command_reply *reply);
/* Those of the site of that name, this node too, as texts: "slk1:…, slk1:…"; "": it has none. */
#define KEYS_IN_FORCE_BYTES (APP_KEYS_MAX * (KEY_TEXT_BYTES + 2))
void reload_keys_in_force(const struct app *app, const char *name, char text[KEYS_IN_FORCE_BYTES]);
