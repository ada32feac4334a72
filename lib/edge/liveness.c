#include "edge/liveness.h"

#include <string.h>

#include "base/units.h"

#define SPAN_NS        (100 * NS_PER_MS)
#define SPAN_PACKETS   16
#define WINDOW_RTTS    8
#define WINDOW_PACKETS 32
#define MEMORY_NS      (12 * NS_PER_S)
#define HALF_NS        (10 * NS_PER_S)
#define HALF_RTTS      20
#define LOW_DIVISOR    4
#define BACK_DIVISOR   2
#define DEEP_DIVISOR   16
#define BACK_WINDOWS   3 /* of 2 W and what comes before the first whole one */
#define AWAKE_PERCENT  90
#define LOSS_PPM       20000 /* beyond 1.5 times what is lost at M */
#define PPM            1000000ULL

/* A strategy began, or starts: nothing is known of what the path takes. */
static void forget(struct liveness *liveness)
{
    *liveness = (struct liveness){.sums = liveness->sums};
}

struct liveness_most liveness_most(const struct liveness *liveness)
{
    struct liveness_most most = liveness->most[0];
    for (unsigned index = 1; index < LIVENESS_MEMORY_SPANS; index++)
        if (liveness->most[index].bps > most.bps)
            most = liveness->most[index];
    return most;
}

static uint64_t rate_bps(const struct liveness_part *part)
{
    return muldiv64(part->came_bytes * 8, NS_PER_S, part->awake_ns);
}

static uint32_t loss_ppm(const struct liveness_part *part)
{
    uint64_t known = part->came_packets + part->lost_packets;
    return known == 0 ? 0 : (uint32_t)muldiv64(part->lost_packets, PPM, known);
}

/* So many packets at M; 0: not known. */
static uint64_t packets_ns(uint32_t packets, uint64_t most_bps)
{
    return most_bps == 0 ? 0 : transmit_ns((uint64_t)packets * FULL_PACKET_WIRE_BYTES, most_bps);
}

static uint64_t window_ns(const struct liveness *liveness, uint64_t most_bps)
{
    uint64_t least_ns = MAX(SPAN_NS, packets_ns(WINDOW_PACKETS, most_bps));
    return MAX(WINDOW_RTTS * liveness->before.rtt_ns, least_ns);
}

static void add_look(struct liveness_part *part, const struct liveness_look *before,
                     const struct liveness_look *look)
{
    uint64_t passed_ns = elapsed_ns(look->now_ns, before->now_ns);
    uint64_t packets = excess_of(look->came_packets, before->came_packets);
    part->awake_ns += excess_of(passed_ns, excess_of(look->asleep_ns, before->asleep_ns));
    part->congested_ns += excess_of(look->congested_ns, before->congested_ns);
    part->came_bytes += excess_of(look->came_bytes, before->came_bytes);
    part->came_packets += packets;
    part->lost_packets += excess_of(look->lost_packets, before->lost_packets);
    part->queue_packets_ns += packets * look->queue_ns;
    part->target_packets_ns += packets * look->target_ns;
    part->hindered |= look->silent || look->silences != before->silences ||
                      look->marked_packets != before->marked_packets ||
                      (look->duty != CONGESTION_OWES_RATE && look->duty != CONGESTION_HOLDS);
    part->held |= look->duty == CONGESTION_HOLDS;
}

static void add_part(struct liveness_part *sum, const struct liveness_part *part)
{
    sum->awake_ns += part->awake_ns;
    sum->congested_ns += part->congested_ns;
    sum->came_bytes += part->came_bytes;
    sum->came_packets += part->came_packets;
    sum->lost_packets += part->lost_packets;
    sum->queue_packets_ns += part->queue_packets_ns;
    sum->target_packets_ns += part->target_packets_ns;
    sum->hindered |= part->hindered;
    sum->held |= part->held;
}

static void note_most(struct liveness *liveness, uint64_t remember_ns)
{
    struct liveness_most *most = liveness->most;
    uint64_t bps = rate_bps(&liveness->span);
    liveness->memory_awake_ns += liveness->span.awake_ns;
    if (liveness->memory_awake_ns >= remember_ns) {
        memmove(most + 1, most, (LIVENESS_MEMORY_SPANS - 1) * sizeof(*most));
        *most = (struct liveness_most){.bps = 0};
        liveness->memory_awake_ns = 0;
    }
    if (bps > most->bps)
        *most = (struct liveness_most){bps, loss_ppm(&liveness->span)};
}

static bool unhindered(const struct liveness_part *window, const struct liveness_most *most)
{
    uint64_t allowed_ppm = most->loss_ppm + most->loss_ppm / 2 + LOSS_PPM;
    bool holds = window->held && rate_bps(window) >= most->bps / DEEP_DIVISOR;
    return !window->hindered && !holds && window->congested_ns * 100 >= window->awake_ns * AWAKE_PERCENT &&
           loss_ppm(window) <= allowed_ppm && 2 * window->queue_packets_ns < window->target_packets_ns;
}

/* What the newest window adds to the time for which the edge stands still. */
static uint64_t low_breach_ns(struct liveness *liveness)
{
    uint64_t awake_ns = liveness->window.awake_ns;
    if (!liveness->low || !liveness->unhindered) {
        liveness->low_windows = 0;
        liveness->low_ns = 0;
        return 0;
    }
    liveness->low_windows++;
    liveness->low_ns += awake_ns;
    if (liveness->low_windows == LIVENESS_STUCK_WINDOWS)
        return liveness->low_ns;
    return liveness->low_windows > LIVENESS_STUCK_WINDOWS ? awake_ns : 0;
}

static void note_stuck(struct liveness *liveness, bool below_half)
{
    uint64_t adds_ns = low_breach_ns(liveness);
    bool half = below_half && liveness->unhindered;
    liveness->half_ns = half ? liveness->half_ns + liveness->window.awake_ns : 0;
    liveness->half_counted_ns = half ? liveness->half_counted_ns + adds_ns : 0;
    if (liveness->half_ns > MAX(HALF_NS, HALF_RTTS * liveness->before.rtt_ns)) {
        adds_ns += liveness->half_ns - liveness->half_counted_ns;
        liveness->half_counted_ns = liveness->half_ns;
    }
    liveness->sums.stuck_ns += adds_ns;
}

static void note_late(struct liveness *liveness, bool below_half)
{
    bool slow = liveness->unhindered && below_half && (liveness->low || liveness->slow_windows > 0);
    liveness->slow_windows = slow ? liveness->slow_windows + 1 : 0;
    if (liveness->slow_windows > BACK_WINDOWS)
        liveness->sums.late_ns += liveness->window.awake_ns;
}

static void judge_window(struct liveness *liveness, const struct liveness_most *most)
{
    const struct liveness_part *window = &liveness->window;
    uint64_t bps = rate_bps(window);
    bool before = liveness->unhindered;
    liveness->low = bps < most->bps / LOW_DIVISOR;
    liveness->unhindered = unhindered(window, most);
    note_stuck(liveness, bps < most->bps / BACK_DIVISOR);
    note_late(liveness, bps < most->bps / BACK_DIVISOR);
    if (before && liveness->unhindered && bps < most->bps / DEEP_DIVISOR)
        liveness->sums.deep_ns += window->awake_ns;
}

static bool span_is_over(const struct liveness *liveness, uint64_t most_bps)
{
    const struct liveness_part *span = &liveness->span;
    uint64_t least_ns = MAX(liveness->before.rtt_ns, SPAN_NS);
    bool enough = span->came_packets >= SPAN_PACKETS;
    return span->awake_ns >= least_ns &&
           (enough || (most_bps > 0 && span->awake_ns >= packets_ns(SPAN_PACKETS, most_bps)));
}

void liveness_on_look(struct liveness *liveness, const struct liveness_look *look)
{
    struct liveness_part *window = &liveness->window;
    bool known = liveness->before.now_ns != 0 && look->began_ns == liveness->before.began_ns;
    if (!known || look->duty == CONGESTION_STARTS)
        forget(liveness);
    else
        add_look(&liveness->span, &liveness->before, look);
    liveness->before = *look;
    struct liveness_most most = liveness_most(liveness);
    if (look->left_bps > 0)
        most.bps = MIN(most.bps, look->left_bps);
    if (!span_is_over(liveness, most.bps))
        return;
    uint64_t needed_ns = window_ns(liveness, most.bps);
    note_most(liveness, MAX(MEMORY_NS, needed_ns));
    add_part(window, &liveness->span);
    liveness->span = (struct liveness_part){.awake_ns = 0};
    if (window->awake_ns < needed_ns || window->came_packets + window->lost_packets == 0)
        return;
    judge_window(liveness, &most);
    *window = (struct liveness_part){.awake_ns = 0};
}
