/* `key gen` and `key show`: a node's key, without an appliance. */
#pragma once

#include <stdbool.h>

/* A new key into that file, its public one to the standard output. "": the key file of the node of that name, or of the
 * host's where it is NULL. */
int key_gen(const char *path, const char *name, bool json);
/* The node's line for rosters; its key is made where there is none. NULL: as the file, or the host, says. */
int key_show(const char *config_path, const char *name, bool json);
