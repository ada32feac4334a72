/* One EAL for all tests of a program: no hugepages, no PCI, nothing shared. */
#pragma once

#include "dpdk/eal.h"

static inline bool fixture_eal_start(const char *program)
{
    static struct eal eal;
    struct eal_options options = {.program = program, .memory_bytes = 256ULL << 20};
    struct err err;
    if (eal_start(&eal, &options, &err))
        return true;
    fprintf(stderr, "%s\n", err.text);
    return false;
}
