/* All but the cipher, by libsodium. */
#pragma once

#include "seal/primitives.h"

/* False: the library does not start. */
bool sodium_primitives(struct primitives *primitives);
