#include "netem/link.h"

#include "base/units.h"
#include "netem/truth.h"

/* Largest values for which bytes * 8 * 10^9 plus a remainder stay within 64 bits. */
#define WIRE_BYTES_MAX (1u << 24)
#define RATE_BPS_MAX   1000000000000000000ULL
/* What waits gets a time of departure behind this: room to count on. */
#define HOLD_NS_MAX (1ULL << 60)

#define PPB 1000000000ULL

/* The ECN field, RFC 3168. */
#define ECN_NOT_CAPABLE 0
#define ECN_CE          3

/* What a packet takes of the line: ns, and 1 / rate_bps ns besides. */
static uint64_t line_share(const struct netem_link *link, uint32_t wire_bytes, uint64_t *remainder)
{
    uint64_t rate_bps = link->config.rate_bps;
    *remainder = 0;
    if (rate_bps == 0)
        return 0;
    *remainder = (uint64_t)wire_bytes * 8 * NS_PER_S % rate_bps;
    return (uint64_t)wire_bytes * 8 * NS_PER_S / rate_bps;
}

static void set_shares(const struct netem_link *link, struct netem_background *background)
{
    for (unsigned size = 0; size < background->size_count; size++)
        background->share_ns[size] =
            line_share(link, background->bytes[size], &background->share_remainder[size]);
}

static void configure(struct netem_link *link, const struct netem_config *config)
{
    CHECK(config->rate_bps <= RATE_BPS_MAX);
    if (config->queue_unit == NETEM_QUEUE_PACKETS) {
        CHECK(link->departures != NULL);
        CHECK(config->queue_limit <= link->departures_mask);
    }
    bool policed = config->policer_bps != 0;
    if (policed && (config->policer_bps != link->policer.rate_bps ||
                    config->policer_depth_bytes != link->policer.depth_bytes))
        netem_bucket_init(&link->policer, config->policer_bps, config->policer_depth_bytes);
    link->has_burst = config->burst.enter_ppb != 0 || config->burst.gap_loss_ppb != 0;
    link->in_burst = link->in_burst && link->has_burst;
    link->config = *config;
    netem_shaper_set(&link->shaper, config->shaper_bps, config->shaper_depth_bytes);
    if (link->truth != NULL)
        netem_shaper_set(&link->truth->alone, config->shaper_bps, config->shaper_depth_bytes);
    for (struct netem_background *each = &link->background; each != NULL; each = each->following)
        set_shares(link, each);
    link->queue_ns_max = UINT64_MAX;
    if (config->queue_unit == NETEM_QUEUE_NS)
        link->queue_ns_max = config->queue_limit;
    uint64_t drain_bps = netem_config_drain_bps(config);
    if (config->queue_unit == NETEM_QUEUE_BYTES && drain_bps != 0)
        link->queue_ns_max = transmit_ns(config->queue_limit, drain_bps);
}

void netem_init(struct netem_link *link, const struct netem_config *config, uint64_t seed,
                uint64_t *departures, uint32_t departures_places)
{
    CHECK((departures_places & (departures_places - 1)) == 0);
    CHECK((departures == NULL) == (departures_places == 0));
    *link = (struct netem_link){.departures = departures};
    if (departures != NULL)
        link->departures_mask = departures_places - 1;
    rng_init(&link->rng, seed);
    netem_background_init(&link->background, config->background_bps, seed);
    link->background_ns = link->background.next_ns;
    configure(link, config);
}

void netem_join(struct netem_link *link, struct netem_background *background)
{
    struct netem_background *last = &link->background;
    while (last->following != NULL)
        last = last->following;
    last->following = background;
    background->following = NULL;
    set_shares(link, background);
    link->background_ns = MIN(link->background_ns, background->next_ns);
}

void netem_watch(struct netem_link *link, struct netem_truth *truth)
{
    link->truth = truth;
    truth->alone = link->shaper;
}

void netem_set(struct netem_link *link, const struct netem_config *config)
{
    configure(link, config);
}

void netem_down(struct netem_link *link, bool holds, uint64_t up_ns)
{
    link->down = true;
    link->down_holds = holds;
    link->up_ns = holds ? MIN(up_ns, HOLD_NS_MAX) : up_ns;
}

/* When the shaper works on what arrives now: while the link holds, not before it is up again. */
static uint64_t shaper_ns(const struct netem_link *link, uint64_t now_ns)
{
    return link->down && link->down_holds ? MAX(now_ns, link->up_ns) : now_ns;
}

/* Time that a packet arriving now waits, the background up to now taken in. */
static uint64_t backlog_ns(const struct netem_link *link, uint64_t now_ns)
{
    return elapsed_ns(link->shaper.busy_until_ns, shaper_ns(link, now_ns));
}

uint64_t netem_queue_ns(struct netem_link *link, uint64_t now_ns)
{
    netem_catch_up(link, now_ns);
    return backlog_ns(link, now_ns);
}

static bool queue_is_full(struct netem_link *link, uint32_t wire_bytes, uint64_t now_ns)
{
    if (link->departures != NULL)
        while (link->departures_tail != link->departures_head &&
               link->departures[link->departures_tail & link->departures_mask] <= now_ns)
            link->departures_tail++;
    if (link->config.queue_unit == NETEM_QUEUE_PACKETS)
        return link->departures_head - link->departures_tail > link->config.queue_limit;
    uint64_t wait_ns = backlog_ns(link, now_ns);
    if (wait_ns <= link->queue_ns_max)
        return false;
    uint64_t least_bytes = (uint64_t)link->config.queue_min_packets * wire_bytes;
    return least_bytes == 0 || wait_ns > transmit_ns(least_bytes, netem_config_drain_bps(&link->config));
}

/* Takes the packet's share of the link and returns when its last bit has left. */
static uint64_t occupy(struct netem_link *link, uint32_t wire_bytes, uint64_t share_ns,
                       uint64_t share_remainder, uint64_t now_ns)
{
    uint64_t left_ns = netem_shaper_take(&link->shaper, link->config.rate_bps, share_ns, share_remainder,
                                         wire_bytes, shaper_ns(link, now_ns));
    if (link->departures != NULL) {
        /* A change of units can leave more packets waiting than there is room to remember: forget the
         * oldest. */
        if (link->departures_head - link->departures_tail > link->departures_mask)
            link->departures_tail++;
        link->departures[link->departures_head++ & link->departures_mask] = left_ns;
    }
    return left_ns;
}

/* ---- the background ---- */

void netem_background_from(struct netem_link *link, uint64_t now_ns)
{
    link->background_ns = TIME_NEVER;
    for (struct netem_background *each = &link->background; each != NULL; each = each->following) {
        netem_background_delay(each, now_ns);
        link->background_ns = MIN(link->background_ns, each->next_ns);
    }
}

/* Whether the queue of the cross traffic alone would refuse it; a limit in packets counts such as this one
 * there. */
static bool alone_is_full(const struct netem_link *link, uint32_t wire_bytes, uint64_t start_ns)
{
    uint64_t wait_ns = elapsed_ns(link->truth->alone.busy_until_ns, start_ns);
    bool counted = link->config.queue_unit == NETEM_QUEUE_PACKETS;
    if (wait_ns == 0 || (!counted && wait_ns <= link->queue_ns_max))
        return false;
    return wait_ns > netem_config_wait_ns(&link->config, wire_bytes);
}

/* The same packet comes to the queue of the cross traffic alone. */
static void take_alone(struct netem_link *link, const struct netem_background *background, bool dropped)
{
    struct netem_truth *truth = link->truth;
    unsigned size = background->next_size;
    uint64_t start_ns = shaper_ns(link, background->next_ns);
    if (dropped || alone_is_full(link, background->bytes[size], start_ns))
        truth->refused_alone++;
    else
        netem_shaper_take(&truth->alone, link->config.rate_bps, background->share_ns[size],
                          background->share_remainder[size], background->bytes[size], start_ns);
}

/* The next packet of the background, whose turn it is. */
static void take_next(struct netem_link *link, struct netem_background *background)
{
    uint64_t at_ns = background->next_ns, left_ns = link->shaper.busy_until_ns;
    unsigned size = background->next_size;
    uint32_t bytes = background->bytes[size];
    if (link->down && at_ns >= link->up_ns)
        link->down = false;
    bool dropped = link->down && !link->down_holds, refused = dropped || queue_is_full(link, bytes, at_ns);
    link->counters.background_packets++;
    if (refused) {
        link->counters.background_drops++;
    } else {
        link->counters.background_bytes += bytes;
        left_ns = occupy(link, bytes, background->share_ns[size], background->share_remainder[size], at_ns);
    }
    if (link->truth != NULL) {
        netem_truth_note(link->truth, at_ns, left_ns, bytes, refused);
        take_alone(link, background, dropped);
    }
    netem_background_step(background);
}

/* Passes over those that find the link idle and leave it so before the next one comes: the last one
 * counts. */
static void pass_over(struct netem_link *link, uint64_t now_ns)
{
    struct netem_background *background = &link->background;
    if (link->down || link->shaper.busy_until_ns > background->next_ns)
        return;
    uint64_t count = netem_background_skip(background, now_ns);
    link->counters.background_packets += count;
    link->counters.background_bytes += count * background->bytes[0];
}

void netem_take_background(struct netem_link *link, uint64_t now_ns)
{
    /* Evenly spaced ones alone, on a link that keeps up. */
    bool passes = link->background.following == NULL && link->truth == NULL &&
                  link->shaper.bucket.rate_bps == 0 &&
                  (link->config.rate_bps == 0 || link->background.pace.denominator <= link->config.rate_bps);
    while (link->background_ns <= now_ns) {
        struct netem_background *first = &link->background;
        uint64_t until_ns = TIME_NEVER; /* when the next one of another background comes */
        for (struct netem_background *each = first->following; each != NULL; each = each->following) {
            until_ns = MIN(until_ns, MAX(each->next_ns, first->next_ns));
            first = each->next_ns < first->next_ns ? each : first;
        }
        do {
            if (passes)
                pass_over(link, now_ns);
            take_next(link, first);
        } while (first->next_ns <= now_ns && first->next_ns < until_ns);
        link->background_ns = MIN(first->next_ns, until_ns);
    }
}

/* Delay, jitter and order of one packet (or of its copy) that left the shaper at depart_ns. */
static uint64_t arrival(struct netem_link *link, uint64_t depart_ns)
{
    const struct netem_config *config = &link->config;
    uint64_t arrive_ns = later_ns(depart_ns, config->delay_ns);
    if (config->jitter_ns != 0)
        arrive_ns = later_ns(arrive_ns, rng_below(&link->rng, config->jitter_ns + 1));
    if (!config->reorder)
        arrive_ns = MAX(arrive_ns, link->last_arrive_ns);
    link->last_arrive_ns = arrive_ns;
    if (rng_chance_ppb(&link->rng, config->delay_some_ppb))
        arrive_ns = later_ns(arrive_ns, config->delay_some_ns);
    if (arrive_ns < link->newest_arrive_ns)
        link->counters.reordered++;
    link->newest_arrive_ns = MAX(link->newest_arrive_ns, arrive_ns);
    return arrive_ns;
}

/* Whether the packet gets onto the link at all; counts the refusal. */
static enum netem_verdict admit(struct netem_link *link, uint32_t wire_bytes, uint32_t ip_bytes,
                                uint64_t now_ns)
{
    if (link->down && now_ns >= link->up_ns)
        link->down = false;
    if (link->config.mtu != 0 && ip_bytes > link->config.mtu) {
        link->counters.too_long++;
        return NETEM_TOO_LONG;
    }
    if (link->down && !link->down_holds) {
        link->counters.down_drops++;
        return NETEM_DOWN;
    }
    if (link->config.policer_bps != 0 && !netem_bucket_take(&link->policer, wire_bytes, now_ns)) {
        link->counters.policer_drops++;
        return NETEM_POLICED;
    }
    if (queue_is_full(link, wire_bytes, now_ns)) {
        link->counters.queue_drops++;
        return NETEM_QUEUE_DROP;
    }
    return NETEM_PASS;
}

/* Both models judge every packet, so that bursts last as long as they should. */
static bool is_lost(struct netem_link *link)
{
    bool lost = rng_chance_ppb(&link->rng, link->config.loss_ppb);
    if (link->has_burst && netem_burst_step(&link->config.burst, &link->in_burst, &link->rng)) {
        link->counters.lost_burst += !lost;
        lost = true;
    }
    link->counters.lost += lost;
    return lost;
}

/* What has been sent keeps the queue busy for longer than the cross traffic alone would. */
static void note_own(const struct netem_link *link, uint64_t now_ns)
{
    struct netem_truth *truth = link->truth;
    uint64_t idle_ns = MAX(truth->alone.busy_until_ns, shaper_ns(link, now_ns));
    uint64_t own_ns = elapsed_ns(link->shaper.busy_until_ns, idle_ns);
    uint64_t rate_bps = netem_config_drain_bps(&link->config);
    truth->own_queue_ns_max = MAX(truth->own_queue_ns_max, own_ns);
    if (rate_bps != 0)
        truth->own_queue_bytes_max = MAX(truth->own_queue_bytes_max, bytes_within(rate_bps, own_ns));
}

/* The ramp's law is linear, from a chance of 0 at the threshold. */
static bool is_congested(struct netem_link *link, uint64_t now_ns)
{
    const struct netem_config *config = &link->config;
    if (config->ecn_field != NETEM_ECN_KEPT)
        return true;
    if (config->ecn_ns == 0)
        return false;
    uint64_t above_ns = elapsed_ns(backlog_ns(link, now_ns), config->ecn_ns);
    if (above_ns == 0 || above_ns >= config->ecn_ramp_ns)
        return above_ns > 0;
    return rng_chance_ppb(&link->rng, muldiv64(above_ns, PPB, config->ecn_ramp_ns));
}

struct netem_decision netem_send(struct netem_link *link, uint32_t wire_bytes, uint32_t ip_bytes,
                                 uint64_t now_ns)
{
    CHECK(wire_bytes < WIRE_BYTES_MAX && ip_bytes <= wire_bytes);
    const struct netem_config *config = &link->config;
    struct netem_decision decision = {.depart_ns = now_ns};
    netem_catch_up(link, now_ns);
    link->counters.packets++;
    link->counters.bytes += wire_bytes;
    decision.verdict = admit(link, wire_bytes, ip_bytes, now_ns);
    if (decision.verdict != NETEM_PASS)
        return decision;

    decision.congested = is_congested(link, now_ns);
    uint64_t share_remainder, share_ns = line_share(link, wire_bytes, &share_remainder);
    decision.depart_ns = occupy(link, wire_bytes, share_ns, share_remainder, now_ns);
    if (link->truth != NULL)
        note_own(link, now_ns);
    if (is_lost(link)) {
        decision.verdict = NETEM_LOST;
        return decision;
    }
    if (ip_bytes != 0 && rng_chance_ppb(&link->rng, config->corrupt_ppb)) {
        link->counters.corrupted++;
        decision.corrupted = true;
        decision.corrupt_bit = (uint32_t)rng_below(&link->rng, (uint64_t)ip_bytes * 8);
    }
    decision.duplicated = rng_chance_ppb(&link->rng, config->duplicate_ppb);
    decision.arrive_ns = arrival(link, decision.depart_ns);
    if (decision.duplicated) {
        link->counters.duplicated++;
        decision.duplicate_ns = arrival(link, decision.depart_ns);
    }
    return decision;
}

uint8_t netem_mark(struct netem_link *link, const struct netem_decision *decision, uint8_t ecn)
{
    if (!decision->congested || ecn == ECN_NOT_CAPABLE)
        return ecn;
    if (link->config.ecn_field == NETEM_ECN_CLEARED)
        return ECN_NOT_CAPABLE;
    if (ecn == ECN_CE)
        return ecn;
    link->counters.marked++;
    return ECN_CE;
}
