/* What the control groups of this process leave it of memory (cgroups(7), versions 1 and 2): who takes more is killed
 * without a word, while MemAvailable still says that there is plenty. */
#pragma once

#include <stdint.h>

/* The least that any group from this process's own up to the top has left, what the kernel can take back from it of its
 * page cache included; UINT64_MAX: no limit. root: "", or a test's own tree of files. */
uint64_t cgroup_memory_bytes(const char *root);
