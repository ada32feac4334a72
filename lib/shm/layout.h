/* What lies in each of the two files: a header page, then the bytes of the ring. Fields are grouped by the
 * moment they are written; after creation all are written by the owner alone (down: node, up: planner).
 *
 * Positions run freely over 64 bits and are masked on use, so that full and empty differ and a wrap of the
 * counter is out of reach. They are multiples of 8. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "shm/ring.h"

#define SHM_MAGIC        0x676e7253u /* "Srng" */
#define SHM_VERSION      2
#define SHM_HEADER_BYTES 4096
#define SHM_FILE_BYTES   (SHM_HEADER_BYTES + SHM_RING_BYTES)
#define SHM_ALIGN_BYTES  8

struct shm_file {
    /* Written once, by the node. */
    uint32_t magic;
    uint32_t version;
    uint32_t header_bytes;
    uint32_t ring_bytes;
    uint64_t instance; /* random, the same in both files of one node's start */

    /* The owner's positions: as producer in this file, as consumer in the other one. */
    uint64_t produced __attribute__((aligned(64)));
    uint64_t consumed __attribute__((aligned(64)));

    uint64_t beats __attribute__((aligned(64)));
    uint32_t generation; /* up only: attaches so far */

    uint8_t data[SHM_RING_BYTES] __attribute__((aligned(SHM_HEADER_BYTES)));
};
_Static_assert(offsetof(struct shm_file, produced) == 64, "layout of version 1");
_Static_assert(offsetof(struct shm_file, consumed) == 128, "layout of version 1");
_Static_assert(offsetof(struct shm_file, beats) == 192, "layout of version 1");
_Static_assert(offsetof(struct shm_file, generation) == 200, "layout of version 1");
_Static_assert(offsetof(struct shm_file, data) == SHM_HEADER_BYTES, "layout of version 1");
_Static_assert(sizeof(struct shm_file) == SHM_FILE_BYTES, "layout of version 1");
_Static_assert((SHM_RING_BYTES & (SHM_RING_BYTES - 1)) == 0, "positions are masked");
