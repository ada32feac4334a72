/* Which initiations of a peer cannot be recorded ones.
 *
 * An initiation has a name: the first four bytes of its ephemeral key. Its header tells the name of the newest one that
 * has come from the other end, under the MAC. So what names an initiation that was made here within FRESH_NS was made
 * since, and nobody has recorded it before that. Anything else may be old.
 *
 * The last FRESH_CAME that came are remembered: none is computed twice, and one that comes again is not the newest,
 * unless it is fresh itself. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/units.h"
#include "seal/primitives.h"

#define FRESH_NS   (10 * NS_PER_S)
#define FRESH_CAME 1024
#define FRESH_OWN  4 /* initiations that are made within FRESH_NS, and one or two to spare */

struct freshness {
    uint32_t came[FRESH_CAME];          /* names, in the order in which they came; 0: none yet */
    uint64_t computed[FRESH_CAME / 64]; /* bit for each of them */
    uint16_t next;
    uint32_t newest; /* name to be told; 0: none came */
    uint32_t own[FRESH_OWN];
    uint64_t own_ns[FRESH_OWN]; /* when they were made */
    uint8_t own_next;
};

/* Never 0. */
uint32_t fresh_name(const uint8_t ephemeral[SEAL_KEY_BYTES]);
/* One was made here. */
void fresh_note_own(struct freshness *freshness, uint32_t name, uint64_t now_ns);
/* This is the name of one that was made here within FRESH_NS. */
bool fresh_names_own(const struct freshness *freshness, uint32_t name, uint64_t now_ns);
/* One came whose MAC is right; `fresh`: what it named said so. True: for the first time, as far as is remembered. *place: where
 * it stands until the next one comes. */
bool fresh_on_came(struct freshness *freshness, uint32_t name, bool fresh, unsigned *place);
/* It was computed before; it is computed now. */
bool fresh_is_computed(const struct freshness *freshness, unsigned place);
void fresh_note_computed(struct freshness *freshness, unsigned place);
