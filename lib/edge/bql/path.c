#include "edge/bql/path.h"

#include "base/units.h"
#include "edge/bql/move.h"
#include "edge/roots.h"

#define TARGET_BASE_NS      (5 * NS_PER_MS / 2)
#define TARGET_JITTER_PPM   800000ULL
#define LITTLE_PPM          400000ULL /* of q* */
#define LEAST_TELLS         8U
#define LEAST_UNSURE        4U
#define UNSURE_JITTERS      4
#define TARGET_ROOT_NS      (40 * NS_PER_MS)
#define TARGET_PACKETS      3 /* finer than that a slow path has no queue */
#define JITTERS_PER_LOOP    2 /* there and back */
#define WAITS_PER_LOOP      4
#define TELLING_NS          (NS_PER_S / 4)
#define TELLING_PACKETS_MIN 4
#define STANDS_LOOPS        8
#define STEP_PART           4 /* of q* and of J: what acks differ by */
#define BUFFER_HOLD_NS      (2 * NS_PER_S)

void bql_path_init(struct bql_path *path, uint64_t packet_bytes, uint64_t rtt_ns, bool trained,
                   uint64_t now_ns)
{
    *path = (struct bql_path){.now_ns = now_ns,
                              .rtt_ns = rtt_ns,
                              .packet_bytes = packet_bytes,
                              .train_end_ns = trained ? 0 : TIME_NEVER,
                              .queue_max_ns = TIME_NEVER};
    path_delay_init(&path->delay, now_ns);
    path_rate_init(&path->rate);
    bql_heed_init(&path->heed, now_ns);
}

static uint64_t gap_at(const struct bql_path *path, uint64_t rate_bps)
{
    return transmit_ns(path->packet_bytes, MAX(rate_bps, BQL_RATE_MIN_BPS));
}

static uint64_t kept_jitter_at(const struct bql_path *path, uint64_t rate_bps)
{
    if (!path_delay_keeps_order(&path->delay))
        return 0;
    /* Not much more than was ever seen: else a crowd wants more queue than there is. */
    uint64_t most_ns = MAX(path_delay_jitter_ns(&path->delay), TARGET_BASE_NS);
    return MIN(path_wait_jump_ns(&path->wait, gap_at(path, rate_bps)), most_ns);
}

uint64_t bql_path_kept_jitter_ns(const struct bql_path *path)
{
    return path->kept_jitter_ns;
}

uint64_t bql_path_waiting_ns(const struct bql_path *path)
{
    return path->kept_jitter_ns > 0 ? path_wait_most_ns(&path->wait) : 0;
}

bool bql_path_may_wait(const struct bql_path *path, uint64_t queue_ns)
{
    return queue_ns <= 2 * bql_path_waiting_ns(path);
}

uint64_t bql_path_usual_target_ns(const struct bql_path *path, uint64_t rate_bps)
{
    bool kept = path->kept_jitter_ns > 0;
    /* The least of so many packets is J / n above that of all, on average: a queue shorter than some of that looks like
     * none, and none like a queue. */
    uint32_t part = MIN(LEAST_TELLS, MAX(bql_path_telling_packets(path) / LEAST_UNSURE, 1U));
    uint64_t jitter_ns = kept ? kept_jitter_at(path, rate_bps) : path_delay_jitter_ns(&path->delay) / part;
    jitter_ns = muldiv64(jitter_ns, TARGET_JITTER_PPM, BQL_PPM);
    /* Where order is kept jumps grow by the same root. */
    uint64_t rooted_ns = TARGET_BASE_NS + (kept ? 0 : jitter_ns);
    uint64_t root_millis = square_root(muldiv64(NS_PER_S, BQL_PPM, MAX(rate_bps, BQL_RATE_MIN_BPS)));
    uint64_t root_ns = muldiv64(rooted_ns, root_millis, 1000);
    uint64_t packets_ns = transmit_ns(TARGET_PACKETS * path->packet_bytes, MAX(rate_bps, BQL_RATE_MIN_BPS));
    uint64_t least_ns = MIN(root_ns, TARGET_ROOT_NS);
    uint64_t target_ns = MAX(least_ns, packets_ns) + jitter_ns;
    return MIN(target_ns, path->queue_max_ns);
}

/* The least of a queue that jitter lets be told from none. */
static struct bql_heed_span heed_span(const struct bql_path *path, uint64_t rate_bps)
{
    uint64_t usual_ns = bql_path_usual_target_ns(path, rate_bps);
    return (struct bql_heed_span){.least_ns = usual_ns / 128 + path_delay_jitter_ns(&path->delay) / 32,
                                  .most_ns = usual_ns};
}

uint64_t bql_path_target_ns(const struct bql_path *path, uint64_t rate_bps)
{
    struct bql_heed_span span = heed_span(path, rate_bps);
    return bql_heed_target_ns(&path->heed, rate_bps, &span);
}

bool bql_path_is_limited(const struct bql_path *path)
{
    return path->now_ns < path->limited_until_ns && !path->window_limited;
}

bool bql_path_says_nothing(const struct bql_path *path, uint64_t rate_bps)
{
    return bql_path_is_limited(path) &&
           bql_chance_sent_bps(&path->chance, path->delivered_bps) < rate_bps / 10 * 8;
}

uint32_t bql_path_telling_packets(const struct bql_path *path)
{
    if (path->delivered_bps == 0)
        return PATH_DELAY_PACKETS_MIN;
    uint64_t packets = bytes_within(path->delivered_bps, TELLING_NS) / path->packet_bytes;
    return (uint32_t)MAX(MIN(packets, (uint64_t)PATH_DELAY_PACKETS_MIN), (uint64_t)TELLING_PACKETS_MIN);
}

bool bql_path_is_sparse(const struct bql_path *path)
{
    return bql_path_telling_packets(path) < PATH_DELAY_PACKETS_MIN;
}

/* Packets that left closer together than the path takes them jump by up to one packet's time, which is a queue's
 * where packets are few; half as much again for what is not known so well of that. */
static uint64_t own_jump_ns(const struct bql_path *path)
{
    uint64_t bps =
        path->capacity_bps > 0 ? MIN(path->capacity_bps, path->delivered_bps) : path->delivered_bps;
    if (!bql_path_is_sparse(path) || path->standing_ns == 0)
        return 0;
    return 3 * transmit_ns(path->packet_bytes, MAX(bps, BQL_RATE_MIN_BPS)) / 2;
}

void bql_path_look_for_step(struct bql_path *path, const struct congestion_sample *sample, uint64_t rate_bps)
{
    uint64_t jitter_ns = path_delay_jitter_ns(&path->delay);
    uint64_t stood_ns = path->standing_ns > 0 ? elapsed_ns(path->delivered_ns, path->standing_ns) : 0;
    const struct path_step_look look = {
        .empty_ns = path_delay_empty_ns(&path->delay),
        .noise_ns = bql_path_target_ns(path, bql_path_steers_by_bps(path, rate_bps)) / STEP_PART +
                    jitter_ns / STEP_PART,
        .rtt_ns = path->rtt_ns,
        .delivered_bps = path->delivered_bps,
        .stands = stood_ns > STANDS_LOOPS * path->loop_ns,
        .known = {.rate_bps = rate_bps, .capacity_bps = path->capacity_bps, .jitter_ns = jitter_ns}};
    path_step_on_sample(&path->step, sample, &look);
}

static void note_delays(struct bql_path *path, const struct congestion_sample *sample, uint64_t bytes,
                        uint64_t rate_bps)
{
    if (sample->owd_known)
        path_delay_on_sample(&path->delay, sample->owd_ns, bytes / path->packet_bytes, path->rtt_ns,
                             bql_path_target_ns(path, rate_bps) / 8, sample->now_ns);
    path_delay_on_late(&path->delay, sample->late_ns);
}

static void note_deliveries(struct bql_path *path, const struct congestion_sample *sample)
{
    if (sample->hole_ns > 0)
        path_rate_skip(&path->rate, sample->delivered_bytes, sample->delivered_ns, sample->hole_ns,
                       path->delivered_bps);
    if (sample->before_hole && sample->hole_ns == 0)
        path_rate_on_wait(&path->rate, sample->wait_ns);
    else
        path_rate_on_delivered(&path->rate, sample->delivered_bytes, sample->delivered_ns, sample->wait_ns,
                               path->loop_ns, path->delivered_bps);
    path->delivered_ns = path->rate.time_ns;
    path->delivered_bps =
        path_rate_over(&path->rate, path->loop_ns, bql_path_telling_packets(path) * path->packet_bytes);
}

/* An ack tells of packets that came at the rate of now or of a little before: the lower one, lest a jump of the
 * lower rate counts at the higher. */
static void note_jump(struct bql_path *path, const struct congestion_sample *sample)
{
    /* Neighbours in a train jump by the queue that they are. */
    if (path->newest_sent_ns <= path->train_end_ns)
        return;
    uint64_t jump_ns = elapsed_ns(sample->jump_ns, own_jump_ns(path));
    path_delay_on_jump(&path->delay, jump_ns, sample->now_ns);
    uint64_t newest_bps =
        path_rate_over(&path->rate, path->rtt_ns / 4, bql_path_telling_packets(path) * path->packet_bytes);
    /* In the first round trip there was no other rate yet. */
    bool first = sample->now_ns < path->train_end_ns + 2 * path->rtt_ns;
    uint64_t arriving_bps = first ? newest_bps : MIN(newest_bps, path->delivered_bps);
    if (arriving_bps > 0)
        path_wait_on_jump(&path->wait, jump_ns, transmit_ns(path->packet_bytes, arriving_bps),
                          sample->now_ns);
}

/* What packets wait longer now than when the base was seen: closer together they come nearer to the widest that
 * the jitter spreads, by what neighbours jump less. */
static void note_nearer(struct bql_path *path)
{
    if (path->delay.base_ns != path->base_ns)
        path->base_bps = path->delivered_bps;
    path->base_ns = path->delay.base_ns;
    path->kept_jitter_ns = kept_jitter_at(path, path->delivered_bps);
    path->delay.nearer_ns = 0;
    if (path_delay_keeps_order(&path->delay))
        path->delay.nearer_ns =
            path_wait_longer_ns(&path->wait, gap_at(path, path->base_bps), gap_at(path, path->delivered_bps),
                                path_delay_jitter_ns(&path->delay));
    if (path->delay.base_seen_ns == path->now_ns)
        path_wait_on_look(&path->wait);
}

static void note_marks(struct bql_path *path, const struct congestion_sample *sample, uint64_t bytes,
                       uint64_t rate_bps)
{
    struct path_marks_round round;
    uint64_t packets = path_marks_packets(&path->heed.marks, bytes, path->packet_bytes);
    path_marks_on_sample(&path->heed.marks, packets, sample->ce_count, sample->newest_sent_ns);
    uint64_t least_ns = MAX(path->rtt_ns, BQL_HEED_ROUND_NS);
    if (!path_marks_round(&path->heed.marks, least_ns, sample->now_ns, &round))
        return;
    uint64_t at_bps = bql_path_steers_by_bps(path, rate_bps);
    struct bql_heed_span span = heed_span(path, at_bps);
    bql_heed_on_round(&path->heed, &round, at_bps, &span, sample->now_ns);
}

/* What limits the edge, and how long that has its after-effects. */
static void note_limit(struct bql_path *path, const struct congestion_sample *sample)
{
    if (sample->limited == EDGE_LIMIT_congestion || sample->limited == EDGE_LIMIT_cap)
        return;
    path->limited_until_ns = sample->now_ns + 2 * path->rtt_ns;
    path->window_limited = sample->limited == EDGE_LIMIT_window || sample->limited == EDGE_LIMIT_credit;
}

/* Where packets and acks wait for their predecessors, or both come late by jitter, a change of the rate
 * shows later than after the least RTT, always: by that, and the queue that the edge wants then. A queue
 * beyond that is no reason to answer it slowly. */
static void note_loop(struct bql_path *path, const struct congestion_sample *sample, uint64_t rate_bps)
{
    uint64_t excess_ns = elapsed_ns(path_delay_queue_ns(&path->delay), bql_path_target_ns(path, rate_bps));
    uint64_t took_ns = elapsed_ns(elapsed_ns(sample->now_ns, sample->newest_sent_ns), excess_ns);
    uint64_t late_ns = path_delay_keeps_order(&path->delay)
                           ? WAITS_PER_LOOP * bql_path_waiting_ns(path)
                           : JITTERS_PER_LOOP * path_delay_jitter_ns(&path->delay);
    path->loop_ns = path->rtt_ns + MIN(elapsed_ns(took_ns, path->rtt_ns), late_ns);
}

/* A buffer may have become larger. */
static void try_more_buffer(struct bql_path *path)
{
    if (path->queue_max_ns == TIME_NEVER ||
        elapsed_ns(path->now_ns, path->queue_max_set_ns) <= path->queue_max_hold_ns)
        return;
    path->queue_max_ns += path->queue_max_ns / 4;
    path->queue_max_set_ns = path->now_ns;
}

void bql_path_on_sample(struct bql_path *path, const struct congestion_sample *sample, uint64_t rate_bps)
{
    path->before_ns = path->now_ns;
    path->now_ns = sample->now_ns;
    path->doubt_ns = sample->doubt_ns;
    if (sample->rtt_min_ns > 0)
        path->rtt_ns = sample->rtt_min_ns;
    if (sample->acked_packets > 0)
        path->packet_bytes = (7 * path->packet_bytes + sample->acked_bytes / sample->acked_packets) / 8;
    path->delay.packets_min = bql_path_telling_packets(path);
    /* Not the acked ones: an ack in several messages tells the delay in the first, most numbers later. Nor
     * since the newest point of the rate: unsure ones are not taken there. */
    uint64_t bytes = sample->delivered_bytes - MIN(sample->delivered_bytes, path->told_bytes);
    path->told_bytes = sample->delivered_bytes;
    note_delays(path, sample, bytes, rate_bps);
    note_loop(path, sample, rate_bps);
    note_marks(path, sample, bytes, rate_bps);
    note_deliveries(path, sample);
    note_jump(path, sample);
    note_nearer(path);
    path->newest_sent_ns = sample->newest_sent_ns;
    note_limit(path, sample);
    try_more_buffer(path);
}

void bql_path_observe_capacity(struct bql_path *path, uint64_t rate_bps)
{
    uint64_t small_ns = MAX(bql_path_target_ns(path, rate_bps) / 8, path_delay_jitter_ns(&path->delay) / 16);
    small_ns += bql_path_kept_jitter_ns(path);
    if (bql_path_says_nothing(path, rate_bps))
        return;
    /* Deliveries measure what the path takes only while there is a queue, and of what the edge does not hold back; else
     * they are a lower bound. */
    if (path_delay_queue_ns(&path->delay) <= small_ns || path->now_ns < path->held_until_ns) {
        path->standing_ns = 0;
        path->capacity_bps = MAX(path->capacity_bps, bql_chance_sent_bps(&path->chance, path->delivered_bps));
        return;
    }
    if (path->standing_ns == 0)
        path->standing_ns = path->delivered_ns;
    uint64_t stood_ns = elapsed_ns(path->delivered_ns, path->standing_ns);
    if (stood_ns < path->rtt_ns / 4)
        return;
    uint64_t delivered_bps = path->delivered_bps;
    if (stood_ns < path->loop_ns)
        delivered_bps =
            path_rate_over(&path->rate, stood_ns, bql_path_telling_packets(path) * path->packet_bytes);
    path->capacity_bps = bql_chance_sent_bps(&path->chance, delivered_bps);
}

/* The least delay of n packets that jitter spreads is more than 4 J/n above the least of all in one case of fifty:
 * where few come or jitter is long, that is more than a small queue. */
static uint64_t little_ns(const struct bql_path *path, uint64_t target_ns)
{
    uint64_t little_ns = muldiv64(target_ns, LITTLE_PPM, BQL_PPM);
    if (path_delay_keeps_order(&path->delay))
        return little_ns;
    uint64_t packets = bytes_within(path->delivered_bps, path->rtt_ns / 8) / path->packet_bytes;
    packets = MAX(packets, (uint64_t)bql_path_telling_packets(path));
    uint64_t unsure_ns = UNSURE_JITTERS * path_delay_jitter_ns(&path->delay) / packets;
    return MAX(little_ns, MIN(unsure_ns, target_ns));
}

void bql_path_view(const struct bql_path *path, const struct congestion_sample *sample, uint64_t rate_bps,
                   bool predicts, struct bql_view *view)
{
    uint64_t queue_ns = path_delay_queue_ns(&path->delay);
    *view = (struct bql_view){.now_ns = path->now_ns,
                              .rtt_ns = path->rtt_ns,
                              .capacity_bps = path->capacity_bps,
                              .queue_ns = queue_ns,
                              .predicted_ns = queue_ns,
                              .newest_sent_ns = path->newest_sent_ns};
    uint64_t at_bps = bql_path_steers_by_bps(path, rate_bps);
    view->target_ns = bql_path_target_ns(path, at_bps);
    view->little_ns = little_ns(path, view->target_ns);
    view->usual_target_ns = bql_path_usual_target_ns(path, at_bps);
    view->newest_ns = queue_ns + elapsed_ns(sample->spread_ns, 2 * path_delay_jitter_ns(&path->delay));
    if (predicts && view->capacity_bps > 0) {
        uint64_t coming_ns = queue_ns + transmit_ns(sample->after_bytes, view->capacity_bps);
        view->predicted_ns = elapsed_ns(coming_ns, elapsed_ns(sample->now_ns, sample->newest_sent_ns));
    }
}

void bql_path_end_train(struct bql_path *path)
{
    path->train_end_ns = path->now_ns;
    path_rate_restart(&path->rate);
}

void bql_path_interrupt(struct bql_path *path, uint64_t now_ns)
{
    path->limited_until_ns = now_ns + 2 * path->rtt_ns;
    path_rate_restart(&path->rate);
}

void bql_path_hold_back(struct bql_path *path)
{
    if (path->delay.late_ns > 0)
        path->held_until_ns = path->now_ns + path->loop_ns;
}

void bql_path_suppose_wait(struct bql_path *path)
{
    path_delay_shift_base(&path->delay, TIME_NEVER);
    path->supposed_ns = path->now_ns;
}

void bql_path_learn_buffer(struct bql_path *path, uint64_t queue_ns)
{
    uint64_t packets_ns = transmit_ns(16 * path->packet_bytes, MAX(path->capacity_bps, BQL_RATE_MIN_BPS));
    if (queue_ns < packets_ns + path_delay_jitter_ns(&path->delay) || queue_ns > path->queue_max_ns)
        return;
    path->queue_max_ns = queue_ns / 2;
    path->queue_max_set_ns = path->now_ns;
    path->queue_max_hold_ns = MIN(MAX(2 * path->queue_max_hold_ns, BUFFER_HOLD_NS), 32 * BUFFER_HOLD_NS);
}
