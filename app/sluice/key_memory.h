/* Memory for keys: of pages of its own, which are in no core, on no swap device and in no child process. */
#pragma once

#include <stddef.h>

#include "base/err.h"

/* Nobody but root attaches to this process from now on, and the kernel writes no core of it. */
void key_memory_guard_process(void);
/* Zeroed, aligned to pages, for the life of the process. Where it can't be locked a warning says so, of a node of that
 * name: the limit is the operator's. NULL: err. */
void *key_memory_take(const char *name, size_t bytes, struct err *err);
