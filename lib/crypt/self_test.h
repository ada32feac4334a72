/* Known answers for each primitive; of the cipher with a text and with none. */
#pragma once

#include "seal/primitives.h"

/* NULL, or the name of the primitive that answered something else. */
const char *self_test(const struct primitives *primitives);
