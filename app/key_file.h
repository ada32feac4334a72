/* The private key of a node, in a file of its own: one line, slk1-private: and what lib/seal/key_text.h says.
 *
 * Guarantee: a key file is whole or not there, nobody but its owner could ever read it, and no call overwrites or removes
 * one. Of several that make it at once one has made it, and all go on with that key. No message has a byte of it. */
#pragma once

#include <stdbool.h>
#include <sys/types.h>

#include "base/err.h"
#include "seal/noise.h"

/* Makes a key where there is none, with the folder of the file; on the disk when this returns. *made: it was this call.
 * False: err. */
bool key_file_make(const char *path, bool *made, struct err *err);
/* Both keys; who calls wipes them. False: err says why, and what to do: there is no such file, others may read it, it is
 * no whole key. */
bool key_file_read(const char *path, struct key_pair *pair, struct err *err);
/* The same, and whose file it is: he can read it, and put another one in its place. */
bool key_file_read_of(const char *path, struct key_pair *pair, uid_t *owner, struct err *err);
