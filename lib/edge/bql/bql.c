/* bql: a small standing queue at the bottleneck, whatever the round trip, loss and jitter.
 *
 * What it measures, per ack (path.h, chance.h, round.h, heed.h): queue q and the one to come q', jitter J, loss
 * by chance p0, marks, what the path takes C; and from these the queue that it wants, q*.
 *
 * What it does: one phase at a time. Each is a file, a struct and a step that looks at a sample and returns a
 * move (move.h); their headers say what they do and why. This file carries the moves out, and it alone writes
 * phase and rate.
 *
 *     phase     what                             ends, and what follows
 *     TRAIN     20 packets at once               it told: START
 *     START     twice the rate, or more          a queue: TRACK; no more is delivered: CALM; much loss: PARK
 *     TRACK     keeps the queue at q*            a whole RTT with q < 0.4 q*: CALM
 *     CALM      raises the rate                  a queue: TRACK
 *     PARK      a lower rate tells why it loses  told: CALM, or START goes on; a long queue: TRACK
 *     REFRESH   half the rate shows the base     seen, or max(RTT, 200 ms, 8 packets): TRACK
 *     COMPETE   CUBIC's window                   the others are gone, or are its like: TRACK
 *
 * From TRACK, CALM and PARK loss above p0 + 3 sigma + 2 s + 0.3 % leads to PARK and an old base to REFRESH;
 * from TRACK, PARK and REFRESH a queue that others keep leads to COMPETE. A silence ends each of them but
 * TRAIN: TRACK at the rate of before.
 *
 * An outage that is shorter than a silence says nothing of the rate; what is known outlives a step of the path's length
 * (path_step.h, refresh.h).
 *
 * Time limited by the application, port, uplink share or disk freezes C and the rate; a full window does not
 * where a queue shows that it was the rate that filled it. What bursts at that rate lose in a queue lowers it.
 *
 * What the gains were tuned against (tests/edge/lab and scripts/bench transport): one RTT, not half of it, as
 * the time to settle in TRACK: with half, the loop of several edges swings without end. 15 %: ten edges at
 * 20-200 ms. 2.5 RTT: a step from 1 Gbit/s to 200 Mbit/s at 5 BDP. Growth: the step back within 10 RTT, and
 * less than 10 ms of queue at a plan rate 10 % too low. 0.985 and the parked rounds: policers of 20 KB to
 * 2 MB, 0.02 BDP of buffer.
 *
 * Designed for jitter up to RTT/2 where packets overtake, and for a third of the least RTT where order is kept:
 * beyond that starts are less sure. */
#include "base/units.h"
#include "edge/bql/calm.h"
#include "edge/bql/compete.h"
#include "edge/bql/park.h"
#include "edge/bql/refresh.h"
#include "edge/bql/room.h"
#include "edge/bql/start.h"
#include "edge/bql/track.h"
#include "edge/bql/train.h"
#include "edge/gather.h"

#define KNOWN_PPM        995000
#define START_RESTS_RTTS 4       /* what a start leaves in the queue has gone */
#define HOLDS_PPM        900000  /* of the ceiling: parked near it */
#define OUTAGE_RTTS      5       /* an outage is passed over once in so many; each silences two */
#define LIMITED_PPM      1020000 /* of what an application sends, that it isn't limited by the rate */

static const char *const phase_names[] = {
    [BQL_TRAIN] = "train", [BQL_START] = "start",     [BQL_TRACK] = "track",    [BQL_CALM] = "calm",
    [BQL_PARK] = "park",   [BQL_REFRESH] = "refresh", [BQL_COMPETE] = "compete"};
_Static_assert(sizeof(phase_names) / sizeof(phase_names[0]) == BQL_COMPETE + 1, "each phase has a name");

struct bql {
    /* What samples say. */
    struct bql_path path;
    struct bql_rounds rounds;
    struct bql_room room;
    /* What outlives the phases. */
    struct bql_track track;
    struct bql_ceiling ceiling;
    struct bql_refresh refresh;
    struct bql_contest contest;
    uint64_t competitive_ns;
    uint64_t silenced_bps; /* rate when the path fell silent */
    uint64_t outage_ns;    /* when an outage shorter than a silence was last passed over; 0: never */
    /* Written by set_rate and enter_phase alone. */
    uint64_t rate_bps;
    uint64_t since_ns; /* when the phase began; REFRESH belongs to the one that it interrupts */
    enum bql_phase phase;
    union { /* state of the phase */
        struct bql_train train;
        struct bql_start start;
        struct bql_calm calm;
        struct bql_park park;
        struct bql_compete compete;
    };
};
_Static_assert(sizeof(struct bql) <= CONGESTION_STATE_BYTES, "the state fits its room");

static struct bql *bql_of(struct congestion *congestion)
{
    return (struct bql *)(void *)congestion->state;
}

static void set_rate(struct bql *bql, uint64_t rate_bps)
{
    rate_bps = MAX(rate_bps, BQL_RATE_MIN_BPS);
    bql->rate_bps = MIN(rate_bps, BQL_RATE_MAX_BPS);
}

/* What the queue was when packets got lost; a start has no round yet that would tell. */
static void enter_park(struct bql *bql, const struct bql_loss *loss)
{
    uint64_t rate_bps;
    if (bql->phase == BQL_PARK) {
        rate_bps = bql_park_lower(&bql->park, &bql->ceiling, &bql->path, loss, bql->rate_bps);
    } else {
        bool starting = bql->phase == BQL_START;
        struct bql_start start = starting ? bql->start : (struct bql_start){.train_bps = 0};
        uint64_t capacity_bps = bql->phase == BQL_TRACK ? bql->path.capacity_bps : 0;
        bool alone =
            bql_refresh_alone(&bql->refresh, &bql->path) && bql_ceiling_is_old(&bql->ceiling, &bql->path);
        rate_bps = bql_park_begin(&bql->park, &bql->ceiling, &bql->path, loss, capacity_bps,
                                  starting ? &start : NULL, bql->rate_bps);
        rate_bps = bql_trial_begin(&bql->park.trial, &bql->room, &bql->path, rate_bps);
        bql->park.alone = alone;
    }
    if (bql->phase != BQL_START)
        bql->park.queue_ns = bql_rounds_queue_peak_ns(&bql->rounds);
    set_rate(bql, rate_bps);
}

/* After PARK, which the start was interrupted by. */
static void resume_start(struct bql *bql)
{
    struct bql_start start = bql->park.start;
    bql_start_resume(&start, bql->rate_bps, bql->park.compared.delivered_bps, bql->path.now_ns);
    bql->start = start;
}

/* How fast the rate grew before the queue showed that ends it. */
static uint32_t growth_ppm(const struct bql *bql)
{
    switch (bql->phase) {
    case BQL_START:
        return BQL_GROWTH_MAX_PPM;
    case BQL_CALM:
        return bql->calm.growth_ppm;
    case BQL_REFRESH:
        return bql->track.growth_ppm;
    default:
        return 0;
    }
}

static void enter_phase(struct bql *bql, const struct bql_move *move, const struct bql_view *view)
{
    const struct bql_path *path = &bql->path;
    if (bql->phase == BQL_START && move->phase != BQL_PARK) {
        bql_chance_on_start(&bql->path.chance, bql->start.chance_packets);
        /* What its last trial lost where packets overtake is told late, and of a rate that is no more. */
        if (path->delay.late_ns > 0)
            bql->rounds.restored_ns = path->now_ns + path->delay.late_ns;
    }
    switch (move->phase) {
    case BQL_TRAIN:
        break;
    case BQL_START:
        if (bql->phase == BQL_PARK)
            resume_start(bql);
        break;
    case BQL_TRACK:
        bql->track.growth_ppm = growth_ppm(bql);
        bql_track_begin(&bql->track, !move->unsure, path->now_ns);
        break;
    case BQL_CALM:
        bql_calm_begin(&bql->calm, move->waits ? path->now_ns : 0, move->unsure, path->rtt_ns,
                       path->heed.level_ns > 0 ? bql_path_target_ns(path, bql->rate_bps) : TIME_NEVER);
        if (bql->phase == BQL_TRACK)
            bql_calm_resume(&bql->calm, bql->track.growth_ppm);
        break;
    case BQL_PARK:
        enter_park(bql, &move->loss);
        break;
    case BQL_REFRESH:
        set_rate(bql, bql_refresh_begin(&bql->refresh, &bql->path, view, bql->rate_bps));
        break;
    case BQL_COMPETE:
        bql_refresh_on_contest(&bql->refresh, &bql->path);
        bql_compete_begin(&bql->compete, &bql->contest, path, view, bql->rate_bps);
        break;
    }
    bql->phase = move->phase;
    if (move->phase != BQL_REFRESH)
        bql->since_ns = path->now_ns;
}

static void carry_out(struct bql *bql, const struct bql_move *move, const struct bql_view *view)
{
    if (move->rate_bps > 0)
        set_rate(bql, move->rate_bps);
    if (move->enters)
        enter_phase(bql, move, view);
}

static void publish(struct congestion *congestion, uint64_t rtt_ns)
{
    const struct bql *bql = bql_of(congestion);
    congestion->rate_bps = bql->rate_bps;
    congestion->path_renewed = bql->path.renewed;
    congestion->in_flight_max_bytes = congestion_in_flight_bytes(bql->rate_bps, rtt_ns);
    /* What was on trial is still under way. */
    if (bql->phase == BQL_START)
        congestion->in_flight_max_bytes =
            congestion_in_flight_bytes(MAX(bql->rate_bps, bql->start.tried_bps), rtt_ns);
    congestion->gather_ns = bql_path_target_ns(&bql->path, bql->rate_bps) / GATHER_QUEUE_PART;
    if (bql->phase == BQL_TRAIN) {
        congestion->gather_ns = 0; /* its distances tell the rate */
        congestion->in_flight_max_bytes = bql->train.clears ? 0 : BQL_TRAIN_PACKETS * bql->path.packet_bytes;
    }
    if (bql->phase == BQL_COMPETE && bql->compete.draining_ns == 0)
        congestion->in_flight_max_bytes = bql->compete.window.bytes;
}

static void bql_init(struct congestion *congestion, uint64_t initial_bps, bool known, uint64_t rtt_ns,
                     uint64_t now_ns)
{
    struct bql *bql = bql_of(congestion);
    *bql = (struct bql){.phase = known ? BQL_CALM : BQL_TRAIN};
    bql_path_init(&bql->path, congestion->packet_bytes, rtt_ns, known, now_ns);
    bql_ceiling_init(&bql->ceiling);
    bql_rounds_start(&bql->rounds, &bql->path, now_ns);
    bql_room_init(&bql->room, now_ns);
    if (known) {
        bql_chance_begin_unshown(&bql->path.chance);
        bql_calm_begin(&bql->calm, now_ns, false, 0, TIME_NEVER);
    } else {
        bql->train.rtt_ns = rtt_ns;
    }
    /* The plan's rate was measured with an error: rather a little less. */
    set_rate(bql, known ? muldiv64(initial_bps, KNOWN_PPM, BQL_PPM) : BQL_TRAIN_BPS);
    publish(congestion, rtt_ns);
}

/* ---- rounds of the loss rate ---- */

/* What is lost without excess is chance's; but where the rate grows beyond what the path took and more gets
 * lost, that is not by chance, little as it may be. */
static struct bql_move on_quiet_round(struct bql *bql, const struct bql_view *view,
                                      const struct bql_round *round)
{
    struct bql_chance *chance = &bql->path.chance;
    struct bql_move move = bql_stay();
    bool parked = bql->phase == BQL_PARK, calm = bql->phase == BQL_CALM;
    if (parked)
        move = bql_park_on_quiet_round(&bql->park, &bql->ceiling, &bql->path, view, bql->rate_bps);
    bool more = round->loss.loss_ppm > chance->base_ppm;
    bool told = bql_chance_told(chance); /* in another way */
    if (!told && !(calm && more && bql_ceiling_reached(&bql->ceiling, bql->rate_bps)))
        bql_chance_on_round(chance, round->loss.loss_ppm, MAX(round->packets, 1ULL),
                            (parked || calm) && !round->few);
    if (parked)
        bql_park_forgive(&bql->park, &bql->ceiling, chance, round->packets);
    return move;
}

static struct bql_move on_excess_loss(struct bql *bql, const struct bql_loss *loss)
{
    struct bql_move move = bql_to_phase(BQL_PARK);
    move.loss = *loss;
    if (bql->phase == BQL_PARK)
        move = bql_park_on_loss(&bql->park, &bql->ceiling, &bql->path, loss, bql->rate_bps);
    if (move.waits)
        bql->rounds.restored_ns = bql->path.now_ns;
    return move;
}

/* An application that sends less than the rate, as a relay does, sends in bursts at it. What they lose in a queue, and
 * beyond chance, the path does not take; but what it takes is not known, nor what chance does, for no lower rate would
 * show it. So the rate falls bit by bit, until that ends or the edge is limited by it and judged as usual. */
static struct bql_move on_limited_round(struct bql *bql, const struct bql_view *view,
                                        const struct bql_round *round)
{
    bool falls = bql->phase == BQL_TRACK || bql->phase == BQL_CALM;
    bool lasts = bql_rounds_excess_lasts(&bql->rounds, &bql->path, round);
    if (!falls || !lasts || bql->rounds.queue_peak_before_ns < view->target_ns / 4)
        return bql_stay();
    uint64_t enough_bps = bql_chance_sent_bps(&bql->path.chance, round->loss.delivered_bps);
    uint64_t lower_bps = MAX(bql->rate_bps / 10 * 9, muldiv64(enough_bps, LIMITED_PPM, BQL_PPM));
    return bql_at_rate(MIN(lower_bps, bql->rate_bps));
}

static struct bql_move on_round(struct bql *bql, const struct bql_view *view, const struct bql_round *round)
{
    struct bql_rounds *rounds = &bql->rounds;
    if (bql->phase == BQL_START || bql->phase == BQL_TRAIN ||
        (bql->phase == BQL_PARK && bql_trial_goes_on(&bql->park.trial)))
        return bql_stay();
    if (bql->phase == BQL_COMPETE) {
        /* Others who keep most packets marked don't mind marks. */
        bool marked = bql->path.heed.marked && !bql_heed_doubts(&bql->path.heed, view->now_ns);
        return bql_compete_on_round(&bql->compete, &bql->contest, &bql->path, view, round, marked);
    }
    /* What was sent before the phase began has no say in it. */
    uint64_t trips = bql->phase == BQL_TRACK ? 2 : 1;
    uint64_t seen_ns =
        bql->since_ns + trips * view->rtt_ns + bql->path.delay.late_ns + rounds->queue_peak_before_ns;
    if (round->limited)
        return on_limited_round(bql, view, round);
    if ((bql->phase != BQL_CALM && round->start_ns < seen_ns) ||
        round->start_ns < rounds->restored_ns + view->rtt_ns)
        return bql_stay();
    if (bql->phase == BQL_PARK)
        bql->park.rounds++;
    rounds->cautious -= rounds->cautious > 0;
    /* Where few packets make a round, what chance explains is more than what a path drops of three times its rate. */
    bool beyond = bql->phase == BQL_CALM && round->loss.loss_ppm > bql->path.chance.base_ppm &&
                  bql_calm_overshoots(&bql->path, bql->rate_bps);
    /* Where the parked rate lost no more than by chance a burst is over by the next round; what the path takes no more
     * is not. */
    bool burst = bql->phase == BQL_PARK && bql->park.rounds > 1 && !rounds->excess_before;
    bool lasts = bql_rounds_excess_lasts(rounds, &bql->path, round);
    if ((!lasts || burst) && !beyond)
        return on_quiet_round(bql, view, round);
    if (view->now_ns < bql->path.limited_until_ns || bql->phase == BQL_REFRESH)
        return bql_stay();
    return on_excess_loss(bql, &round->loss);
}

/* ---- hooks ---- */

/* A start learns p0 by itself. */
static enum bql_room_use room_use(const struct bql *bql)
{
    if (bql->phase == BQL_START)
        return BQL_ROOM_NONE;
    bool tries = bql->phase == BQL_PARK && bql_trial_goes_on(&bql->park.trial);
    return tries ? BQL_ROOM_RATE : BQL_ROOM_QUEUE;
}

/* Nothing came for a while although the edge sent; not so often that nothing would tell of the path. Beside others a
 * pause may be theirs. */
static bool is_outage(const struct bql *bql, const struct congestion_sample *sample)
{
    bool sent = sample->limited == EDGE_LIMIT_congestion || sample->limited == EDGE_LIMIT_window ||
                sample->limited == EDGE_LIMIT_cap;
    bool seldom = elapsed_ns(sample->now_ns, bql->outage_ns) > OUTAGE_RTTS * bql->path.rtt_ns;
    return bql->path.step.paused && sent && seldom && bql_refresh_is_uncrowded(&bql->refresh, &bql->path);
}

/* A path that becomes longer, or falls silent for a moment: on a path of few packets all of it is chance, the edge's
 * own start fills a queue as fast, and beside those that fill the buffer there is nothing to see. True: there was an
 * outage. */
static bool step_or_outage(struct bql *bql, const struct congestion_sample *sample)
{
    struct path_step *step = &bql->path.step;
    bool starts = bql->phase == BQL_TRAIN || bql->phase == BQL_START;
    bool telling = !bql_path_is_sparse(&bql->path) && bql->phase != BQL_COMPETE;
    if (starts)
        path_step_rest(step, sample->now_ns + START_RESTS_RTTS * sample->rtt_smoothed_ns);
    else if (!telling && step->since_ns == 0)
        path_step_rest(step, step->rests_ns);
    uint64_t rate_bps = bql->phase == BQL_REFRESH ? bql->refresh.before_bps : bql->rate_bps;
    bql_path_look_for_step(&bql->path, sample, rate_bps);
    return telling && !starts && is_outage(bql, sample);
}

/* What an outage lost and delivered says nothing of any rate. */
static void pass_outage(struct bql *bql)
{
    bql_path_interrupt(&bql->path, bql->path.now_ns);
    bql_rounds_start(&bql->rounds, &bql->path, bql->path.now_ns);
    bql->rounds.restored_ns = bql->path.now_ns;
    bql->outage_ns = bql->path.now_ns;
}

static void note_sample(struct bql *bql, const struct congestion_sample *sample)
{
    bool outage = step_or_outage(bql, sample);
    bql_path_on_sample(&bql->path, sample, bql->rate_bps);
    /* Edges of a crowd, which refresh together, keep their balance by what they leave each other. */
    if (bql->phase == BQL_REFRESH && bql_refresh_alone(&bql->refresh, &bql->path))
        bql_path_hold_back(&bql->path);
    bql_rounds_on_sample(&bql->rounds, &bql->path, sample);
    if (outage)
        pass_outage(bql);
    if (bql->phase != BQL_TRAIN && bql->phase != BQL_COMPETE)
        bql_room_on_sample(&bql->room, &bql->path, sample, bql->rate_bps, room_use(bql));
    bql_contest_on_sample(&bql->contest, &bql->path, sample);
    if (bql->phase == BQL_START)
        bql_start_on_sample(&bql->start, &bql->path, sample);
    if (bql->phase != BQL_TRAIN)
        bql_path_observe_capacity(&bql->path, bql->rate_bps);
}

/* What interrupts phases. */
static void look_beyond_phase(struct bql *bql, struct bql_view *view, const struct congestion_sample *sample)
{
    struct bql_round round;
    if (bql_rounds_end(&bql->rounds, &bql->path, &round)) {
        struct bql_move move = on_round(bql, view, &round);
        carry_out(bql, &move, view);
    }
    struct bql_move renewed =
        bql_refresh_judge(&bql->refresh, &bql->path, view, sample, bql->phase == BQL_REFRESH);
    carry_out(bql, &renewed, view);
    if (renewed.enters)
        bql_path_view(&bql->path, sample, bql->rate_bps, true, view);
    bool due = bql_refresh_due(&bql->refresh, &bql->path, &bql->rounds, view, bql->rate_bps);
    if (due && (bql->phase == BQL_TRACK || bql->phase == BQL_CALM || bql->phase == BQL_PARK)) {
        struct bql_move move = bql_to_phase(BQL_REFRESH);
        carry_out(bql, &move, view);
    }
    bool contested = bql_contest_found(&bql->contest, &bql->path, view);
    if (contested && (bql->phase == BQL_TRACK || bql->phase == BQL_PARK || bql->phase == BQL_REFRESH)) {
        struct bql_move move = bql_to_phase(BQL_COMPETE);
        carry_out(bql, &move, view);
    }
}

static struct bql_move train_step(struct bql *bql, const struct congestion_sample *sample)
{
    struct bql_train_verdict verdict = bql_train_on_sample(&bql->train, &bql->path, sample);
    if (!verdict.known)
        return bql_stay();
    bql_path_end_train(&bql->path);
    struct bql_move first = bql_start_begin(&bql->start, &bql->path, verdict);
    return bql_to_phase_at(BQL_START, first.rate_bps);
}

static struct bql_move park_step(struct bql *bql, const struct bql_view *view)
{
    struct bql_trial *trial = &bql->park.trial;
    if (bql_park_was_chance(&bql->park, &bql->path.chance)) {
        bql->rounds.restored_ns = view->now_ns;
        bql->rounds.cautious = 0;
        return bql_park_release(&bql->park, &bql->ceiling, bql->rate_bps);
    }
    if (!bql_trial_goes_on(trial))
        return bql_park_step(&bql->park, &bql->ceiling, &bql->path, view);
    bql->since_ns = view->now_ns; /* parking proper begins behind it */
    bool ends = bql_trial_ends(trial, &bql->room, view->now_ns);
    return ends ? bql_at_rate(muldiv64(bql->ceiling.bps, BQL_PARK_PPM, BQL_PPM)) : bql_stay();
}

static struct bql_move compete_step(struct bql *bql, const struct bql_view *view,
                                    const struct congestion_sample *sample)
{
    bql->competitive_ns += elapsed_ns(view->now_ns, bql->path.before_ns);
    struct bql_move move = bql_compete_step(&bql->compete, &bql->path, view, sample);
    if (move.enters)
        bql_contest_over(&bql->contest);
    return move;
}

static struct bql_move step(struct bql *bql, const struct bql_view *view,
                            const struct congestion_sample *sample)
{
    switch (bql->phase) {
    case BQL_TRAIN:
        return train_step(bql, sample);
    case BQL_START:
        return bql_start_step(&bql->start, &bql->path, view);
    case BQL_TRACK:
        return bql_track_step(&bql->track, &bql->path, view, bql->rate_bps);
    case BQL_CALM:
        return bql_calm_step(&bql->calm, &bql->ceiling, &bql->rounds, &bql->path, view, bql->rate_bps);
    case BQL_PARK:
        return park_step(bql, view);
    case BQL_REFRESH:
        return bql_refresh_step(&bql->refresh, &bql->path, view);
    case BQL_COMPETE:
        return compete_step(bql, view, sample);
    }
    return bql_stay();
}

static void bql_on_ack(struct congestion *congestion, const struct congestion_sample *sample)
{
    struct bql *bql = bql_of(congestion);
    struct bql_view view;
    note_sample(bql, sample);
    bql_path_view(&bql->path, sample, bql->rate_bps, bql->phase == BQL_TRACK, &view);
    bql->path.renewed = false;
    look_beyond_phase(bql, &view, sample);
    bool calm = bql->phase == BQL_CALM;
    struct bql_move move = step(bql, &view, sample);
    carry_out(bql, &move, &view);
    /* A queue shows: TRACK answers at once. */
    if (calm && bql->phase == BQL_TRACK) {
        bql_path_view(&bql->path, sample, bql->rate_bps, true, &view);
        move = step(bql, &view, sample);
        carry_out(bql, &move, &view);
    }
    publish(congestion, sample->rtt_smoothed_ns);
}

static void bql_on_timeout(struct congestion *congestion, uint64_t now_ns)
{
    struct bql *bql = bql_of(congestion);
    bql->rounds.limited = true;
    bql_path_interrupt(&bql->path, now_ns);
}

/* Nothing is known of the path while it is silent, so what was known before holds again after it. */
static void bql_on_silence(struct congestion *congestion, bool silent, uint64_t now_ns)
{
    struct bql *bql = bql_of(congestion);
    if (silent) {
        bql->silenced_bps = bql->phase == BQL_REFRESH ? bql->refresh.before_bps : bql->rate_bps;
        return;
    }
    bql->path.now_ns = now_ns;
    bql_path_interrupt(&bql->path, now_ns);
    bql_rounds_start(&bql->rounds, &bql->path, now_ns);
    set_rate(bql, bql->silenced_bps);
    if (bql->phase == BQL_TRAIN) {
        bql_train_await(&bql->train, bql->path.rate.bytes);
    } else {
        struct bql_move move = bql_to_phase(BQL_TRACK);
        enter_phase(bql, &move, NULL);
    }
    publish(congestion, bql->path.rtt_ns);
}

static enum congestion_duty duty_of(const struct bql *bql)
{
    if (bql->phase == BQL_TRAIN || bql->phase == BQL_START)
        return CONGESTION_STARTS;
    if (bql->phase == BQL_COMPETE)
        return CONGESTION_CONTENDS;
    bool holds = bql->phase == BQL_PARK && bql->rate_bps >= muldiv64(bql->ceiling.bps, HOLDS_PPM, BQL_PPM);
    return holds ? CONGESTION_HOLDS : CONGESTION_OWES_RATE;
}

static void bql_view(const struct congestion *congestion, struct congestion_view *view)
{
    const struct bql *bql = (const struct bql *)(const void *)congestion->state;
    uint64_t at_bps = bql_path_steers_by_bps(&bql->path, bql->rate_bps);
    *view = (struct congestion_view){.phase = phase_names[bql->phase],
                                     .duty = duty_of(bql),
                                     .capacity_bps = bql->path.capacity_bps,
                                     .queue_ns = path_delay_queue_ns(&bql->path.delay),
                                     .target_ns = bql_path_target_ns(&bql->path, at_bps),
                                     .base_old = bql_refresh_is_overdue(&bql->path),
                                     .jitter_ns = path_delay_jitter_ns(&bql->path.delay),
                                     .buffer_ns = bql->path.queue_max_ns,
                                     .competitive_ns = bql->competitive_ns,
                                     .base_loss_ppm = bql->path.chance.base_ppm};
}

const struct congestion_type congestion_bql_type = {.name = "bql",
                                                    .init = bql_init,
                                                    .on_ack = bql_on_ack,
                                                    .on_timeout = bql_on_timeout,
                                                    .on_silence = bql_on_silence,
                                                    .view = bql_view};
