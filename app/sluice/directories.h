/* The directories of the node file, before anything is written there. */
#pragma once

#include "base/err.h"
#include "node/node_config.h"

/* Makes those with `create: yes` that are missing, with what leads there (mode 0755). False: err names the one that can't be
 * made. */
bool directories_create(const struct node_config *config, struct err *err);
/* Says on stderr which can't be reached or, being directories, not be written into by this user; where one is missing, what
 * mends that. */
void directories_warn(const struct node_config *config);
