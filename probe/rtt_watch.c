#include "probe/rtt_watch.h"

#include "base/units.h"

_Static_assert(RTT_WATCH_OUTSTANDING <= 16, "one bit of `waiting` per probe");

bool rtt_watch_next(struct rtt_watch *watch, uint64_t interval_ns, uint64_t now_ns,
                    struct wire_probe *message)
{
    if (now_ns < watch->next_ns)
        return false;
    *message = (struct wire_probe){.id = watch->next_id++ | RTT_WATCH_ID_BIT, .t1_ns = now_ns};
    watch->waiting = (uint16_t)(watch->waiting << 1 | 1);
    watch->next_ns = now_ns + interval_ns;
    return true;
}

void rtt_watch_take(struct rtt_watch *watch, uint64_t rtt_ns, uint64_t now_ns)
{
    rtt_ns = MAX(rtt_ns, (uint64_t)1);
    uint64_t age_ns = elapsed_ns(now_ns, watch->window_ns);
    if (age_ns >= RTT_WATCH_WINDOW_NS) {
        watch->least_ns[1] = age_ns < 2 * RTT_WATCH_WINDOW_NS ? watch->least_ns[0] : 0;
        watch->least_ns[0] = 0;
        watch->window_ns = now_ns;
    }
    watch->least_ns[0] = watch->least_ns[0] == 0 ? rtt_ns : MIN(watch->least_ns[0], rtt_ns);
    watch->smoothed_ns =
        watch->smoothed_ns == 0 ? rtt_ns : watch->smoothed_ns - watch->smoothed_ns / 8 + rtt_ns / 8;
    watch->sampled_ns = now_ns;
}

bool rtt_watch_on_reply(struct rtt_watch *watch, const struct wire_probe *reply, uint32_t datagram_bytes,
                        uint64_t t4_ns)
{
    uint32_t back = watch->next_id - 1 - (reply->id & ~RTT_WATCH_ID_BIT);
    if ((reply->id & RTT_WATCH_ID_BIT) == 0 || back >= RTT_WATCH_OUTSTANDING)
        return false;
    if ((watch->waiting >> back & 1) == 0 || datagram_bytes != WIRE_PROBE_BYTES)
        return false;
    if (reply->t3_ns < reply->t2_ns || t4_ns < reply->t1_ns ||
        t4_ns - reply->t1_ns < reply->t3_ns - reply->t2_ns)
        return false;
    watch->waiting &= (uint16_t) ~(1u << back);
    rtt_watch_take(watch, (t4_ns - reply->t1_ns) - (reply->t3_ns - reply->t2_ns), t4_ns);
    return true;
}

uint64_t rtt_watch_min_ns(const struct rtt_watch *watch)
{
    if (watch->least_ns[0] == 0 || watch->least_ns[1] == 0)
        return MAX(watch->least_ns[0], watch->least_ns[1]);
    return MIN(watch->least_ns[0], watch->least_ns[1]);
}

bool rtt_watch_fresh(const struct rtt_watch *watch, uint64_t age_ns, uint64_t now_ns)
{
    return watch->smoothed_ns != 0 && elapsed_ns(now_ns, watch->sampled_ns) <= age_ns;
}
