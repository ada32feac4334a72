/* One number for a roster, the same at all sites that have the same names and keys, whatever the order of lines, and however
 * each is reached. */
#pragma once

#include <stdint.h>

#include "conf/app_config.h"
#include "seal/primitives.h"

/* 0: it has no keys, or no entry of this node, so that it can't be the same as others'. */
uint64_t roster_hash(const struct app_config *config, const struct primitives *primitives);
