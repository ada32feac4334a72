/* See cubic_window.h. */
#include "edge/cubic_window.h"

#include "base/units.h"
#include "edge/roots.h"

#define PACKETS_MIN   4
#define TIME_MAX_MS   300000
#define CUBE_DIVISOR  2500000000LL /* ms^3 per packet: 1 / C */
#define BETA_PERCENT  80
#define CONVERGE_PCT  90  /* (1 + beta) / 2 */
#define RENO_PER_MILL 333 /* 3 (1 - beta) / (1 + beta) */

static uint64_t inflect_ms(const struct cubic_window *window, uint64_t below_bytes)
{
    return cube_root(below_bytes / window->packet_bytes * (uint64_t)CUBE_DIVISOR);
}

void cubic_init(struct cubic_window *window, uint64_t bytes, uint64_t packet_bytes, uint64_t now_ns)
{
    bytes = MAX(bytes, PACKETS_MIN * packet_bytes);
    *window = (struct cubic_window){.packet_bytes = packet_bytes,
                                    .bytes = bytes,
                                    .max_bytes = bytes,
                                    .reno_bytes = bytes,
                                    .epoch_ns = now_ns};
}

void cubic_on_acked(struct cubic_window *window, uint64_t acked_bytes, uint64_t rtt_ns, uint64_t now_ns)
{
    int64_t since_ms = (int64_t)((elapsed_ns(now_ns, window->epoch_ns) + rtt_ns) / NS_PER_MS);
    int64_t off_ms = MIN(since_ms, TIME_MAX_MS) - (int64_t)window->inflect_ms;
    int64_t off_bytes = off_ms * off_ms * off_ms / CUBE_DIVISOR * (int64_t)window->packet_bytes;
    int64_t target = (int64_t)window->max_bytes + off_bytes;
    target = MIN(target, (int64_t)(window->bytes + window->bytes / 2));
    window->reno_bytes +=
        muldiv64(muldiv64(acked_bytes, window->packet_bytes, window->bytes), RENO_PER_MILL, 1000);
    if (target > (int64_t)window->bytes)
        window->bytes += muldiv64((uint64_t)target - window->bytes, acked_bytes, window->bytes);
    window->bytes = MAX(window->bytes, window->reno_bytes);
}

void cubic_on_loss(struct cubic_window *window, uint64_t rtt_ns, uint64_t now_ns)
{
    if (elapsed_ns(now_ns, window->epoch_ns) < rtt_ns)
        return;
    uint64_t before = window->bytes;
    window->bytes = MAX(before * BETA_PERCENT / 100, PACKETS_MIN * window->packet_bytes);
    window->max_bytes = before < window->max_bytes ? before * CONVERGE_PCT / 100 : before;
    window->reno_bytes = window->bytes;
    window->epoch_ns = now_ns;
    window->inflect_ms = inflect_ms(window, excess_of(window->max_bytes, window->bytes));
}
