/* AES-256-GCM by one library: what it puts into the table of primitives. */
#pragma once

#include "seal/primitives.h"

/* False: not on this processor, or not in this build. */
bool cipher_multi_buffer(struct primitives *primitives);
bool cipher_libcrypto(struct primitives *primitives);
