/* What a fuzz target consists of: the test itself, which CHECKs or trips a sanitizer on a finding, and valid
 * inputs to start from. <name>_fuzz.c defines both; meson.build makes two programs of it: <name>_fuzz with
 * libFuzzer (-Dfuzz=true) and <name>_replay with replay.c (always). */
#pragma once

#include <stddef.h>
#include <stdint.h>

#define FUZZ_INPUT_MAX 65536

/* Returns 0 always. No state outlives a call: an input alone must reproduce a finding. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

struct seeds {
    const char *root; /* the project's folder: seeds may be read from its files */
    void *context;
    unsigned changes; /* of each seed, in the replay; fuzz_seeds may lower it where a run takes long */
    void (*emit)(struct seeds *seeds, const char *name, const uint8_t *data, size_t size);
};

/* Emits at least one input that goes all the way through each path worth fuzzing. */
void fuzz_seeds(struct seeds *seeds);
