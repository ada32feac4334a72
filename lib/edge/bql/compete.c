#include "edge/bql/compete.h"

#include "base/units.h"

#define CONTEST_NS         (3 * NS_PER_S / 2)
#define CONTEST_QUEUE_NS   (30 * NS_PER_MS) /* fifty edges want 24 */
#define CONTEST_RTTS       15
#define CONTEST_WAITS      4  /* times what packets wait: newcomers may take such a queue for that … */
#define CONTEST_KEPT_TIMES 3  /* … for so many times as long, until they know better */
#define STAYS_PERCENT      85 /* of a queue: it does not fall */
#define GIVES_TENTHS       8  /* of the rate: less is to give way */
#define OWN_PERCENT        85
#define OWN_HOLD_NS        (30 * NS_PER_S)
#define DEAF_FALL_PPM      950000   /* a loss that the others do not mind … */
#define DEAF_RISE_PPM      1030000  /* … and a round without */
#define DEAF_STAYS_PERCENT 55       /* of the queue at the loss: nobody gave way */
#define DEAF_EVENTS        2        /* in a row make it deaf */
#define ALIKE_PACKETS      200ULL   /* of a verdict */
#define ALIKE_PPM          75000ULL /* lost beyond chance: more than CUBIC lets get lost */
#define ALIKE_ASK_NS       (2 * NS_PER_S)
#define ALIKE_ASK_RTTS     20
#define ALIKE_NS           (60 * NS_PER_S)
#define BEGIN_TIMES        16 /* the rate of now: else a crowd whose path slowed begins with what it had */
#define GONE_NS            NS_PER_S /* no queue: nobody is there */
#define GONE_RTTS          10
#define DRAIN_NS           (10 * NS_PER_S) /* it gives way so often, at least … */
#define DRAIN_RTTS         50
#define DRAIN_PPM          300000ULL              /* … by so much */
#define WINDOW_BITS        (8 * NS_PER_S / 5 * 6) /* of a byte: the window limits it, not the rate */
#define DRAIN_AGAIN_RTTS   4                      /* and queues; CUBIC is not back from a loss by then */

/* Where few packets come the receiver's count of a tenth of a second says nothing, and four of them little. */
static uint64_t own_rate_bps(const struct bql_path *path, const struct congestion_sample *sample)
{
    if (bql_path_telling_packets(path) >= PATH_DELAY_PACKETS_MIN)
        return MAX(sample->own_rate_bps, path->delivered_bps);
    return path_rate_over(&path->rate, path->rtt_ns, PATH_DELAY_PACKETS_MIN * path->packet_bytes);
}

void bql_contest_on_sample(struct bql_contest *contest, const struct bql_path *path,
                           const struct congestion_sample *sample)
{
    contest->own_bps = own_rate_bps(path, sample);
    if (elapsed_ns(sample->now_ns, contest->own_most_from_ns) > OWN_HOLD_NS) {
        contest->own_most_before_bps = contest->own_most_now_bps;
        contest->own_most_now_bps = 0;
        contest->own_most_from_ns = sample->now_ns;
    }
    contest->own_most_now_bps = MAX(contest->own_most_now_bps, contest->own_bps);
    contest->own_most_bps = MAX(contest->own_most_now_bps, contest->own_most_before_bps);
}

static void forget_most(struct bql_contest *contest)
{
    contest->own_most_now_bps = contest->own_bps;
    contest->own_most_before_bps = 0;
    contest->own_most_bps = contest->own_bps;
}

bool bql_contest_found(struct bql_contest *contest, const struct bql_path *path, const struct bql_view *view)
{
    /* A rate that has given way has a long target, of its own making: what counts is that of the most of late. */
    uint64_t most_target_ns = bql_path_usual_target_ns(path, contest->own_most_bps);
    uint64_t long_ns = MAX(most_target_ns, view->usual_target_ns) * 5 / 2;
    long_ns = MIN(long_ns, CONTEST_QUEUE_NS + 2 * path_delay_jitter_ns(&path->delay));
    /* Of a slow path even that is long; and packets that wait for their predecessors look like more of a queue. */
    long_ns = MAX(long_ns, most_target_ns * 3 / 2 + bql_path_waiting_ns(path));
    /* Among its like, each with a few packets, it finds the queue that they all want. */
    if (bql_path_is_sparse(path) && view->now_ns < contest->alike_until_ns)
        long_ns = MAX(long_ns, view->target_ns * 3 / 2);
    bool stays = view->queue_ns > long_ns && view->queue_ns > contest->queue_ns / 100 * STAYS_PERCENT &&
                 contest->queue_ns > 0;
    if (!stays)
        contest->queue_ns = view->queue_ns;
    /* While it has more than its balance with that queue it still gives way. */
    if (!stays || contest->own_bps < contest->given_bps / 10 * GIVES_TENTHS) {
        contest->since_ns = view->now_ns;
        contest->given_bps = contest->own_bps;
    }
    uint64_t wait_ns = MAX(CONTEST_NS, CONTEST_RTTS * view->rtt_ns);
    bool newcomers = view->queue_ns <= CONTEST_WAITS * bql_path_waiting_ns(path);
    wait_ns *= newcomers ? CONTEST_KEPT_TIMES : 1;
    return elapsed_ns(view->now_ns, contest->since_ns) > wait_ns &&
           contest->own_bps < contest->own_most_bps / 100 * OWN_PERCENT;
}

void bql_contest_over(struct bql_contest *contest)
{
    contest->queue_ns = 0;
}

static uint64_t drain_wait_ns(const struct bql_view *view)
{
    return MAX(DRAIN_NS, DRAIN_RTTS * view->rtt_ns);
}

void bql_compete_begin(struct bql_compete *compete, const struct bql_contest *contest,
                       const struct bql_path *path, const struct bql_view *view, uint64_t rate_bps)
{
    rate_bps = MAX(rate_bps, MIN(contest->own_most_bps / 2, BEGIN_TIMES * rate_bps));
    *compete = (struct bql_compete){.drain_due_ns = view->now_ns + drain_wait_ns(view),
                                    .asked_ns = view->now_ns,
                                    .empty_from_ns = view->now_ns};
    cubic_init(&compete->window, bytes_within(rate_bps, view->rtt_ns + view->queue_ns), path->packet_bytes,
               view->now_ns);
}

/* How long the queue would take to run dry if it were the edge's own, one or two round trips. */
static uint64_t drain_lasts_ns(const struct bql_compete *compete, const struct bql_view *view)
{
    uint64_t dry_ns = muldiv64(compete->drain_queue_ns, BQL_PPM, DRAIN_PPM);
    return MIN(MAX(dry_ns, view->rtt_ns), 2 * view->rtt_ns);
}

/* Now and then it gives way for a moment: where the queue falls as if the edge had it for its own, and does so
 * again soon after, the others are gone. Once may have been their answer to a loss. */
static struct bql_move drain(struct bql_compete *compete, const struct bql_view *view)
{
    uint64_t lasts_ns = drain_lasts_ns(compete, view);
    compete->drain_least_ns = MIN(compete->drain_least_ns, view->queue_ns);
    if (view->newest_sent_ns < compete->draining_ns + lasts_ns)
        return bql_stay();
    uint64_t hoped_ns = MIN(muldiv64(lasts_ns, DRAIN_PPM, BQL_PPM), compete->drain_queue_ns);
    bool fell = elapsed_ns(compete->drain_queue_ns, compete->drain_least_ns) > hoped_ns / 10 * 7;
    bool again = fell && compete->drain_fell;
    compete->draining_ns = 0;
    compete->drain_fell = fell;
    compete->drain_due_ns = fell ? view->now_ns + DRAIN_AGAIN_RTTS * (view->rtt_ns + view->queue_ns)
                                 : view->now_ns + drain_wait_ns(view);
    return again ? bql_to_phase(BQL_TRACK) : bql_stay();
}

/* Edges that compete with each other give way at the same moment, to see that they are all there is, if the buffer's
 * overflow tells them when. */
static bool overflows_when_nearly_due(struct bql_compete *compete, const struct bql_view *view,
                                      const struct congestion_sample *sample)
{
    compete->queue_peak_ns = MAX(compete->queue_peak_ns, view->queue_ns);
    bool full = sample->lost_packets > 0 && view->queue_ns > compete->queue_peak_ns / 10 * 9;
    bool nearly_due = !compete->drain_fell && compete->drain_due_ns < view->now_ns + drain_wait_ns(view) / 2;
    return full && nearly_due;
}

struct bql_move bql_compete_step(struct bql_compete *compete, const struct bql_path *path,
                                 const struct bql_view *view, const struct congestion_sample *sample)
{
    if (compete->draining_ns > 0)
        return drain(compete, view);
    if (view->queue_ns > view->little_ns)
        compete->empty_from_ns = view->now_ns;
    if (elapsed_ns(view->now_ns, compete->empty_from_ns) > MAX(GONE_NS, GONE_RTTS * view->rtt_ns))
        return bql_to_phase(BQL_TRACK);
    uint64_t rtt_ns = view->rtt_ns + view->queue_ns;
    compete->deaf_least_ns = MIN(compete->deaf_least_ns, view->queue_ns);
    cubic_on_acked(&compete->window, sample->acked_bytes, rtt_ns, view->now_ns);
    if (view->now_ns < compete->drain_due_ns && !overflows_when_nearly_due(compete, view, sample))
        return bql_at_rate(muldiv64(compete->window.bytes, WINDOW_BITS, rtt_ns));
    compete->draining_ns = view->now_ns;
    compete->queue_peak_ns = 0;
    compete->drain_queue_ns = view->queue_ns;
    compete->drain_least_ns = view->queue_ns;
    uint64_t sent_bps = bql_chance_sent_bps(&path->chance, path->delivered_bps);
    return bql_at_rate(muldiv64(sent_bps, BQL_PPM - DRAIN_PPM, BQL_PPM));
}

/* CUBIC keeps its losses small; edges that compete with each other only go on, deaf to them. */
static bool among_alike(struct bql_compete *compete, const struct bql_path *path,
                        const struct bql_round *round)
{
    compete->packets += round->packets;
    /* The share is rounded down: one of seven is 0.999999. */
    compete->lost += (round->packets * round->loss.loss_ppm + BQL_PPM / 2) / BQL_PPM;
    bool lasted =
        elapsed_ns(path->now_ns, compete->asked_ns) >= MAX(ALIKE_ASK_NS, ALIKE_ASK_RTTS * path->rtt_ns);
    if (compete->packets < ALIKE_PACKETS || !(lasted || bql_path_is_sparse(path)))
        return false;
    compete->asked_ns = path->now_ns;
    bool much = compete->lost * BQL_PPM > compete->packets * (path->chance.base_ppm + ALIKE_PPM);
    compete->packets = 0;
    compete->lost = 0;
    return much;
}

/* Where the queue stays full after losses the others don't care for them (BBR): then neither does the edge,
 * much; but for so much loss the edge itself is to blame as well. */
static void heed_loss(struct bql_compete *compete, const struct bql_view *view, bool lossy, bool drowns)
{
    uint64_t rtt_ns = view->rtt_ns + view->queue_ns;
    if (compete->deaf_from_ns > 0 && elapsed_ns(view->now_ns, compete->deaf_from_ns) > 3 * rtt_ns) {
        bool stays = compete->deaf_least_ns > compete->deaf_queue_ns / 100 * DEAF_STAYS_PERCENT;
        compete->deaf_events = stays ? MIN(compete->deaf_events + 1, 2U * DEAF_EVENTS) : 0;
        compete->deaf_from_ns = 0;
    }
    bool deaf = compete->deaf_events >= DEAF_EVENTS && !drowns;
    if (lossy && compete->deaf_from_ns == 0) {
        compete->deaf_from_ns = view->now_ns;
        compete->deaf_queue_ns = view->queue_ns;
        compete->deaf_least_ns = view->queue_ns;
    }
    if (lossy && !deaf)
        cubic_on_loss(&compete->window, rtt_ns, view->now_ns);
    else if (deaf)
        cubic_init(&compete->window,
                   muldiv64(compete->window.bytes, lossy ? DEAF_FALL_PPM : DEAF_RISE_PPM, BQL_PPM),
                   compete->window.packet_bytes, view->now_ns);
}

struct bql_move bql_compete_on_round(struct bql_compete *compete, struct bql_contest *contest,
                                     const struct bql_path *path, const struct bql_view *view,
                                     const struct bql_round *round, bool marked)
{
    heed_loss(compete, view, round->unlikely || marked, round->plain);
    if (!among_alike(compete, path, round))
        return bql_stay();
    contest->alike_until_ns = view->now_ns + ALIKE_NS;
    contest->since_ns = view->now_ns;
    forget_most(contest);
    return bql_to_phase_at(BQL_TRACK, muldiv64(path->delivered_bps, BQL_PPM - DRAIN_PPM, BQL_PPM));
}
