#include "probe/gather.h"

#include <math.h>

#include "base/check.h"

#define WINDOW_LEAST   12u        /* packets: shares of fewer are chance */
#define WINDOW_PART    8u         /* … or such a part of all that came */
#define WINDOW_NS      3000000ULL /* … or what comes in that time … */
#define WINDOW_TIMES   12u        /* … or in so many times what lies between two stamps */
#define STEPS          4u         /* of a window, from one to the next */
#define WINDOWS_MAX    (2 * STEPS * WINDOW_PART)
#define FULL_SHARE     0.1 /* two windows in which as much came differ by no more */
#define LOST_SHARE     0.4 /* of the line, what senders lose to others that begin, or get as they end … */
#define BOTH_SHARE     0.6 /* … or both together */
#define LATE_PART      20u /* of all packets */
#define RATE_LEAST_BPS UINT64_C(1000000)
#define HALF_SHARE     0.03 /* half of an interval, at least */

uint64_t gather_rate_bps(uint64_t port_bps)
{
    return MAX(port_bps / GATHER_PORT_PART, RATE_LEAST_BPS);
}

uint64_t gather_train_ns(uint64_t port_bps, uint64_t bytes)
{
    return transmit_ns(bytes / GATHER_SENDERS_MAX, gather_rate_bps(port_bps));
}

uint64_t gather_apart_ns(uint64_t port_bps, uint64_t bytes)
{
    uint64_t train_ns = gather_train_ns(port_bps, bytes);
    return train_ns + train_ns / 2;
}

uint64_t gather_offered_bps(uint64_t port_bps, unsigned senders)
{
    unsigned beside = MIN(senders, GATHER_STEPS); /* whose trains overlap */
    return gather_rate_bps(port_bps) * (beside > 1 ? beside - 1 : 1);
}

void gather_begin(struct gather *gather)
{
    gather->count = 0;
}

void gather_take(struct gather *gather, uint16_t sender, uint16_t index, uint64_t came_ns,
                 uint32_t wire_bytes)
{
    CHECK(sender < GATHER_SENDERS_MAX);
    uint32_t place = gather->count;
    if (place == GATHER_SENDERS_MAX * GATHER_PACKETS_MAX)
        return;
    gather->count++;
    for (; place > 0 && gather->arrivals[place - 1].came_ns > came_ns; place--)
        gather->arrivals[place] = gather->arrivals[place - 1];
    gather->arrivals[place] = (struct gather_arrival){
        .came_ns = came_ns, .wire_bytes = wire_bytes, .sender = sender, .index = index};
}

/* Delays vary by more than a queue's: packets of one sender overtake each other. */
static bool is_disordered(const struct gather *gather)
{
    uint16_t newest[GATHER_SENDERS_MAX] = {0};
    uint32_t late = 0;
    for (uint32_t place = 0; place < gather->count; place++) {
        const struct gather_arrival *arrival = &gather->arrivals[place];
        late += arrival->index < newest[arrival->sender];
        newest[arrival->sender] = MAX(newest[arrival->sender], arrival->index);
    }
    return late > gather->count / LATE_PART;
}

/* So many packets in a row, and the rates at which they came, bit/ns; of a sender from its first packet to its last. */
struct window {
    double all, own[GATHER_SENDERS_MAX];
    uint8_t within_mask; /* bit per sender: all of it lies between that one's first packet and its last */
};

struct windows {
    uint32_t packets, count;
    double much; /* as comes in all while the line, or all senders together, are at their most */
    struct window list[WINDOWS_MAX];
};

/* Packets of a window; 0: too few came. */
static uint32_t window_packets(const struct gather *gather)
{
    uint32_t count = gather->count, stamps = 1;
    if (count < 2 * WINDOW_LEAST)
        return 0;
    for (uint32_t place = 1; place < count; place++)
        stamps += gather->arrivals[place].came_ns != gather->arrivals[place - 1].came_ns;
    uint64_t took_ns = gather->arrivals[count - 1].came_ns - gather->arrivals[0].came_ns;
    uint64_t lasts_ns = MAX(WINDOW_NS, stamps < count - count / 4 ? WINDOW_TIMES * took_ns / stamps : 0);
    if (took_ns < 2 * lasts_ns)
        return 0;
    uint64_t packets = MAX((uint64_t)count / WINDOW_PART, count * lasts_ns / took_ns);
    return (uint32_t)MAX(packets, (uint64_t)WINDOW_LEAST);
}

static void find_ends(const struct gather *gather, uint32_t first[GATHER_SENDERS_MAX],
                      uint32_t last[GATHER_SENDERS_MAX])
{
    for (uint16_t sender = 0; sender < GATHER_SENDERS_MAX; sender++) {
        first[sender] = gather->count;
        last[sender] = 0;
    }
    for (uint32_t place = 0; place < gather->count; place++) {
        uint16_t sender = gather->arrivals[place].sender;
        first[sender] = MIN(first[sender], place);
        last[sender] = place;
    }
}

/* Behind the packet at `first`, up to the one at `last`. False: they have one time. */
static bool fill_window(const struct gather *gather, uint32_t first, uint32_t last, struct window *window)
{
    double took_ns = (double)(gather->arrivals[last].came_ns - gather->arrivals[first].came_ns);
    *window = (struct window){.all = 0};
    if (took_ns <= 0)
        return false;
    for (uint32_t place = first + 1; place <= last; place++)
        window->own[gather->arrivals[place].sender] += gather->arrivals[place].wire_bytes * 8 / took_ns;
    for (uint16_t sender = 0; sender < GATHER_SENDERS_MAX; sender++)
        window->all += window->own[sender];
    return true;
}

/* A quarter of windows have more. */
static double much_of(const struct windows *windows)
{
    double rates[WINDOWS_MAX];
    for (uint32_t index = 0; index < windows->count; index++) {
        uint32_t place = index;
        for (; place > 0 && rates[place - 1] > windows->list[index].all; place--)
            rates[place] = rates[place - 1];
        rates[place] = windows->list[index].all;
    }
    return windows->count == 0 ? 0 : rates[windows->count * 3 / 4];
}

static void find_windows(const struct gather *gather, struct windows *windows)
{
    uint32_t first_of[GATHER_SENDERS_MAX], last_of[GATHER_SENDERS_MAX];
    uint32_t packets = windows->packets = window_packets(gather), first = 0;
    windows->count = 0;
    find_ends(gather, first_of, last_of);
    for (; packets > 0 && first + packets < gather->count && windows->count < WINDOWS_MAX;
         first += packets / STEPS) {
        struct window *window = &windows->list[windows->count];
        if (!fill_window(gather, first, first + packets, window))
            continue;
        for (uint16_t sender = 0; sender < GATHER_SENDERS_MAX; sender++)
            if (first >= first_of[sender] && first + packets <= last_of[sender])
                window->within_mask |= (uint8_t)(1u << sender);
        windows->count++;
    }
    windows->much = much_of(windows);
}

static bool is_full(const struct windows *windows, uint32_t index)
{
    return fabs(windows->list[index].all - windows->much) <= FULL_SHARE * windows->much;
}

/* What those lost that sent all through both windows. */
static double lost_between(const struct window *one, const struct window *other)
{
    double lost = 0;
    for (uint16_t sender = 0; sender < GATHER_SENDERS_MAX; sender++)
        if ((one->within_mask & other->within_mask & 1u << sender) != 0)
            lost += fmax(one->own[sender] - other->own[sender], 0);
    return lost;
}

/* Senders lost much to others that began, and got much again as others ended, and as much came in all. */
static bool is_shared(const struct windows *windows)
{
    double lost = 0, gained = 0;
    for (uint32_t late = 0; late < windows->count; late++)
        for (uint32_t early = 0; early < late; early++) {
            if (!is_full(windows, early) || !is_full(windows, late))
                continue;
            lost = fmax(lost, lost_between(&windows->list[early], &windows->list[late]));
            gained = fmax(gained, lost_between(&windows->list[late], &windows->list[early]));
        }
    return fmax(lost, gained) >= LOST_SHARE * windows->much || lost + gained >= BOTH_SHARE * windows->much;
}

/* The longest time in which as much came: the mean of its windows, and by what share they differ from that. */
static double full_rate(const struct windows *windows, double *spread)
{
    double rate = windows->much, least = 0, most = 0, sum = 0;
    uint32_t longest = 0, run = 0;
    *spread = FULL_SHARE;
    for (uint32_t index = 0; index < windows->count; index++) {
        double now = windows->list[index].all;
        run = is_full(windows, index) ? run + 1 : 0;
        sum = run == 0 ? 0 : sum + now;
        least = run <= 1 ? now : fmin(least, now);
        most = run <= 1 ? now : fmax(most, now);
        if (run > longest) {
            longest = run;
            rate = sum / run;
            *spread = (most - least) / rate / 2;
        }
    }
    return rate;
}

/* Why nothing can be told; ESTIMATE_SURE: something can. */
static enum estimate_reason hindrance(const struct gather *gather, const struct windows *windows)
{
    if (is_disordered(gather))
        return ESTIMATE_JITTER;
    if (gather->count < 2 * WINDOW_LEAST)
        return ESTIMATE_LOSS;
    return windows->count < STEPS ? ESTIMATE_BUDGET : ESTIMATE_SURE; /* all came in too short a time */
}

void gather_line(const struct gather *gather, struct estimate *estimate)
{
    struct windows windows;
    double spread = 0;
    find_windows(gather, &windows);
    *estimate =
        (struct estimate){.kind = ESTIMATE_REFUSED, .reason = hindrance(gather, &windows), .trains = 1};
    if (estimate->reason != ESTIMATE_SURE)
        return;
    double rate = full_rate(&windows, &spread), half = fmax(spread, HALF_SHARE);
    *estimate =
        (struct estimate){.kind = ESTIMATE_AT_LEAST, .avail_bps = (uint64_t)(rate * 1e9), .trains = 1};
    estimate->low_bps = estimate->avail_bps;
    if (!is_shared(&windows))
        return;
    estimate->kind = ESTIMATE_VALUE;
    estimate->capacity_bps = estimate->avail_bps;
    estimate->low_bps = (uint64_t)((1 - half) * rate * 1e9);
    estimate->high_bps = (uint64_t)((1 + half) * rate * 1e9);
}
