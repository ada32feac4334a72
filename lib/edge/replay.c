#include "edge/replay.h"

#include "base/serial.h"
#include "base/units.h"

size_t replay_bytes(void)
{
    return number_bits_bytes(REPLAY_WINDOW);
}

void replay_init(struct replay *replay, struct arena *arena)
{
    number_bits_init(&replay->seen, REPLAY_WINDOW, arena);
    replay->end = 0;
}

void replay_reset(struct replay *replay)
{
    uint64_t window = MIN(replay->end, (uint64_t)REPLAY_WINDOW);
    number_bits_clear_range(&replay->seen, replay->end - window, replay->end);
    replay->end = 0;
}

uint64_t replay_expand(const struct replay *replay, uint32_t low)
{
    return serial_expand32(replay->end, low);
}

bool replay_take(struct replay *replay, uint64_t number)
{
    if (number >= replay->end) {
        /* The bits of the new ones were those of numbers a window before. */
        number_bits_clear_range(&replay->seen, replay->end, number + 1);
        replay->end = number + 1;
    } else if (replay->end - number > REPLAY_WINDOW || number_bits_test(&replay->seen, number)) {
        return false;
    }
    number_bits_set(&replay->seen, number);
    return true;
}
