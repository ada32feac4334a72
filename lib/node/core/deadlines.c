#include "node/core/deadlines.h"

#include "base/units.h"

/* Who plays match `match` from the one side; those of the first round are DEADLINES_MAX, DEADLINES_MAX + 1, … */
static uint8_t player(const struct deadlines *deadlines, uint32_t match)
{
    return match >= DEADLINES_MAX ? (uint8_t)(match - DEADLINES_MAX) : deadlines->first[match];
}

static void play(struct deadlines *deadlines, uint32_t match)
{
    uint8_t one = player(deadlines, 2 * match), other = player(deadlines, 2 * match + 1);
    deadlines->first[match] = deadlines->at_ns[other] < deadlines->at_ns[one] ? other : one;
}

void deadlines_init(struct deadlines *deadlines)
{
    for (uint32_t index = 0; index < DEADLINES_MAX; index++)
        deadlines->at_ns[index] = TIME_NEVER;
    for (uint32_t match = DEADLINES_MAX - 1; match > 0; match--)
        play(deadlines, match);
}

void deadlines_set(struct deadlines *deadlines, uint32_t index, uint64_t at_ns)
{
    if (at_ns == deadlines->at_ns[index])
        return;
    deadlines->at_ns[index] = at_ns;
    for (uint32_t match = (DEADLINES_MAX + index) / 2; match > 0; match /= 2)
        play(deadlines, match);
}

uint64_t deadlines_take(struct deadlines *deadlines, uint64_t now_ns)
{
    uint64_t taken = 0;
    while (deadlines_next_ns(deadlines) <= now_ns && deadlines_next_ns(deadlines) != TIME_NEVER) {
        uint32_t index = deadlines->first[1];
        taken |= 1ULL << index;
        deadlines_set(deadlines, index, TIME_NEVER);
    }
    return taken;
}
