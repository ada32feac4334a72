/* The rings that a case has open. What it leaves open when it fails is closed by its teardown: the next case
 * finds the path free. */
#pragma once

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "shm/ring.h"

#define OPEN_RINGS_MAX 8

static struct shm_ring *open_rings[OPEN_RINGS_MAX];

/* `ring` as it is; the case fails when there is none. */
static inline struct shm_ring *ring_opened(struct shm_ring *ring, const struct err *err)
{
    if (ring == NULL)
        fail_msg("%s", err->text);
    for (unsigned i = 0; i < OPEN_RINGS_MAX; i++)
        if (open_rings[i] == NULL) {
            open_rings[i] = ring;
            return ring;
        }
    shm_ring_close(ring);
    fail_msg("more than %d rings are open", OPEN_RINGS_MAX);
    return NULL;
}

/* NULL is allowed. */
static inline void ring_close(struct shm_ring *ring)
{
    for (unsigned i = 0; i < OPEN_RINGS_MAX; i++)
        if (open_rings[i] == ring)
            open_rings[i] = NULL;
    shm_ring_close(ring);
}

/* A cmocka teardown. Planners before nodes: the later one opened goes first. */
static inline int rings_teardown(void **state)
{
    (void)state;
    for (unsigned i = OPEN_RINGS_MAX; i > 0; i--)
        ring_close(open_rings[i - 1]);
    return 0;
}
