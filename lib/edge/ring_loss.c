#include "edge/ring_loss.h"

#include "base/units.h"

#define STANDS_TIMES   2
#define STANDS_NS      (100 * NS_PER_US) /* no ring is shorter */
#define CLAMP_TIMES    4
#define USUAL_PART     8
#define LIMITS_PERCENT 1
#define LIMITS_NS      (NS_PER_S / 2)
#define LIMITS_HOLD_NS (6 * NS_PER_S) /* longer than a strategy waits before it tries more again */

void ring_loss_init(struct ring_loss *ring)
{
    *ring = (struct ring_loss){.known = false};
}

void ring_loss_forget(struct ring_loss *ring)
{
    ring->known = false;
    ring->credit = 0;
    ring->open = 0;
}

/* Whether it is no usual time; learnt once in what is usual, so that the several acks of one turn count as one. */
static bool stands_out(struct ring_usual *usual, uint64_t span_ns, uint64_t now_ns)
{
    bool stands = span_ns >= MAX(STANDS_TIMES * usual->ns, STANDS_NS);
    if (elapsed_ns(now_ns, usual->set_ns) >= usual->ns) {
        span_ns = MIN(span_ns, CLAMP_TIMES * MAX(usual->ns, STANDS_NS));
        usual->ns = ((USUAL_PART - 1) * usual->ns + span_ns) / USUAL_PART;
        usual->set_ns = now_ns;
    }
    return stands;
}

uint32_t ring_loss_on_ack(struct ring_loss *ring, uint32_t missed, uint64_t wait_ns, uint64_t in_flight,
                          uint64_t lasts_ns, uint64_t now_ns)
{
    uint32_t growth = ring->known ? missed - ring->missed : 0;
    if (growth > INT32_MAX) /* overtaken by a newer one */
        growth = 0;
    if (elapsed_ns(now_ns, ring->grown_ns) > lasts_ns)
        ring->credit = 0;
    if (growth > 0) {
        ring->credit = MIN(ring->credit + growth, in_flight);
        ring->grown_ns = now_ns;
    }
    ring->missed = missed;
    ring->known = true;
    bool waited = stands_out(&ring->wait, wait_ns, now_ns);
    bool late = stands_out(&ring->gap, elapsed_ns(now_ns, ring->heard_ns), now_ns);
    ring->heard_ns = now_ns;
    if (waited || late) {
        ring->open = elapsed_ns(now_ns, ring->stood_ns) > lasts_ns ? in_flight : MAX(ring->open, in_flight);
        ring->stood_ns = now_ns;
    }
    return growth;
}

static void note_limit(struct ring_loss *ring, uint64_t judged, uint64_t lost, uint64_t now_ns)
{
    ring->judged += judged;
    ring->lost += lost;
    if (elapsed_ns(now_ns, ring->since_ns) < LIMITS_NS)
        return;
    if (ring->lost * 100 > ring->judged * LIMITS_PERCENT)
        ring->limits_until_ns = now_ns + LIMITS_HOLD_NS;
    ring->judged = ring->lost = 0;
    ring->since_ns = now_ns;
}

struct ring_lost ring_loss_judge(struct ring_loss *ring, uint64_t judged, uint64_t lost, uint64_t lasts_ns,
                                 uint64_t now_ns)
{
    struct ring_lost found = {.all = MIN(lost, ring->credit)};
    ring->credit -= found.all;
    if (elapsed_ns(now_ns, ring->stood_ns) <= lasts_ns) {
        found.forgiven = MIN(found.all, ring->open);
        ring->open -= found.forgiven;
    }
    note_limit(ring, judged, found.all, now_ns);
    return found;
}

bool ring_loss_limits(const struct ring_loss *ring, uint64_t now_ns)
{
    return now_ns < ring->limits_until_ns;
}
