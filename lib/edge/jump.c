#include "edge/jump.h"

#define SHIFT_MAX 16u

void jump_init(struct jump *jump)
{
    jump->shift = 0;
    jump->peak = 0;
    /* The complement of a slot's index never belongs into that slot: it matches nothing. */
    for (uint32_t index = 0; index < JUMP_RING; index++)
        jump->ring[index] = (struct jump_entry){.number = ~index};
}

void jump_set_span(struct jump *jump, uint64_t numbers)
{
    jump->shift = 0;
    if (numbers <= JUMP_RING)
        return;
    while (jump->shift < SHIFT_MAX && (uint64_t)JUMP_RING / 2 << jump->shift < numbers)
        jump->shift++;
}

uint32_t jump_read_peak(struct jump *jump)
{
    uint32_t peak = jump->peak;
    jump->peak = 0;
    return peak;
}
