#include "edge/holes.h"

#include "base/units.h"

void holes_init(struct holes *holes)
{
    *holes = (struct holes){.head = 0};
}

void holes_forget(struct holes *holes)
{
    holes->head = holes->tail;
}

bool holes_on_lag(struct holes *holes, uint64_t lost_ns, uint64_t depart_ns, uint64_t rtt_ns)
{
    uint64_t passed_ns = elapsed_ns(depart_ns, holes->since_ns);
    rtt_ns = MAX(rtt_ns, HOLES_MIN_NS);
    /* What is older counts less and less, and is gone after a round trip. */
    holes->short_ns -= muldiv64(holes->short_ns, MIN(passed_ns, rtt_ns), rtt_ns);
    holes->since_ns = depart_ns;
    if (lost_ns >= HOLES_MIN_NS)
        return false;
    holes->short_ns += lost_ns;
    return holes->short_ns > rtt_ns / HOLES_LIMIT_PART;
}

void holes_add(struct holes *holes, const struct hole *hole)
{
    if (holes->tail - holes->head == HOLES_MAX)
        holes->head++;
    holes->ring[holes->tail++ % HOLES_MAX] = *hole;
}

bool holes_spoil(const struct holes *holes, uint64_t before, uint64_t largest)
{
    for (uint32_t place = holes->head; place != holes->tail; place++) {
        const struct hole *hole = &holes->ring[place % HOLES_MAX];
        if (before < hole->number && largest >= hole->first)
            return true;
    }
    return false;
}

bool holes_pass(struct holes *holes, uint64_t largest, struct hole *hole)
{
    if (holes->head == holes->tail || holes->ring[holes->head % HOLES_MAX].number > largest)
        return false;
    *hole = holes->ring[holes->head++ % HOLES_MAX];
    return true;
}
