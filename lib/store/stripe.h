/* Which blocks of an object travel down which tree: stripe `of[block % period]`.
 *
 * The schedule follows from the weights alone, so that every node of a plan has the same one. Among any
 * `period` blocks in a row, stripe s has exactly weights[s], as evenly spread as whole blocks allow: the
 * stripe that is furthest behind its share is next, of equals the first (the "smooth" weighted round robin of
 * nginx's upstream module; Tijdeman, "The chairman assignment problem", 1980, bounds the distance to the share
 * below one). */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#define STRIPES_MAX       8
#define STRIPE_PERIOD_MAX 32
_Static_assert(STRIPES_MAX <= 8, "sets of stripes are kept in bytes");

struct stripe_schedule {
    uint8_t count;  /* of stripes */
    uint8_t period; /* sum of their weights */
    uint8_t of[STRIPE_PERIOD_MAX];
};

/* False, and no schedule: none or more than STRIPES_MAX stripes, a weight of 0, or a sum above
 * STRIPE_PERIOD_MAX. */
bool stripe_schedule_init(struct stripe_schedule *schedule, const uint8_t *weights, uint32_t count);

static inline uint8_t stripe_of_block(const struct stripe_schedule *schedule, uint64_t block)
{
    return schedule->of[block % schedule->period];
}
