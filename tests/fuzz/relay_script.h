/* A script: one input of relay_fuzz, put together step by step, and what its steps are written with. */
#pragma once

#include "relay_bench.h"
#include "wire/control.h"

/* Codes of wide(). */
#define POWER(bit) (0x60 + (bit))

/* Steps of a message, from kind and job on. */
#define SITE_JOB 0
#define OWN_JOB  0x80
#define NINE     POWER(13), 100 /* size: nine symbols of 1024 bytes, the last one of 100 */
#define CHILDREN (1 << PEER_LEFT | 1 << PEER_RIGHT)

#define BLOCKS_OF_4 0 /* symbols of 1024 bytes, 4 to a block */
#define BLOCKS_OF_1 (1 << 3)
#define TWO_STRIPES (1 << 6)

struct script {
    uint8_t bytes[(STEPS_MAX + 1) * STEP_BYTES];
    size_t length;
};

/* One step more; `arguments`: STEP_ARGUMENTS bytes. */
void script_add(struct script *script, enum step_kind kind, uint8_t peer, uint8_t time,
                const uint8_t *arguments);
#define STEP(kind, peer, time, ...)                                                                          \
    script_add(script, kind, peer, time, (const uint8_t[STEP_ARGUMENTS]){__VA_ARGS__})

/* A script that has the configuration and the time that sessions and measurements take. There is one at a time. */
struct script *script_begin(uint8_t configuration);
/* Runs the script, which must bring `done` jobs to their end, and emits it under its name. */
void script_end(struct seeds *seeds, const char *name, const struct script *script, uint32_t done);

/* relay_source_seeds.c: the node as the source. */
void relay_source_seeds(struct seeds *seeds);
