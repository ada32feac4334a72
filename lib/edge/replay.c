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
    replay->strays = 0;
}

void replay_reset(struct replay *replay)
{
    uint64_t window = MIN(replay->end, (uint64_t)REPLAY_WINDOW);
    number_bits_clear_range(&replay->seen, replay->end - window, replay->end);
    replay->end = 0;
    replay->strays = 0;
}

uint64_t replay_expand(const struct replay *replay, uint32_t low)
{
    return serial_expand32(replay->end, low);
}

static void note_stray(struct replay *replay, uint64_t number, uint64_t now_ns)
{
    if (replay->strays == 0)
        replay->stray_from_ns = now_ns;
    if (replay->strays == 0 || number > replay->stray) {
        replay->stray = number;
        replay->strays++;
    }
}

bool replay_take(struct replay *replay, uint64_t number, uint64_t now_ns)
{
    if (number >= replay->end) {
        /* The bits of the new ones were those of numbers a window before. */
        number_bits_clear_range(&replay->seen, replay->end, number + 1);
        replay->end = number + 1;
    } else if (replay->end - number > REPLAY_WINDOW || number_bits_test(&replay->seen, number)) {
        note_stray(replay, number, now_ns);
        return false;
    }
    number_bits_set(&replay->seen, number);
    replay->strays = 0;
    return true;
}

bool replay_lost_sync(const struct replay *replay, uint64_t now_ns)
{
    return replay->strays >= REPLAY_LOST_SYNC_NUMBERS &&
           elapsed_ns(now_ns, replay->stray_from_ns) >= REPLAY_LOST_SYNC_NS;
}
