/* The sender's half that reads acks: settles what came, declares what did not, and feeds RTT, delivery rate
 * and the strategy. Runs are laid over the two bit sets word by word, so that numbers settled by earlier acks
 * cost one step per 64, however often they are reported. */

#include "base/serial.h"
#include "base/units.h"
#include "edge/sender_internal.h"

#define LATE_OWD_RTT_PART      8 /* q is the least of so much of an RTT */
#define OWD_NS_MAX             (TWO_CLOCKS_TIME_NS_MAX / 2)
#define RING_LASTS_RTTS        4
#define RING_LASTS_NS          (5 * NS_PER_MS)
#define DELIVERY_WINDOW_MIN_NS NS_PER_MS /* shorter spans would measure the hosts' stalls */

struct ack_turn {
    struct sender *sender;
    const struct sender_events *events;
    uint64_t now_ns;
    uint64_t largest;
    uint64_t largest_sent_ns;
    uint64_t oldest_sent_ns; /* of what was open before */
    uint64_t acked_bytes;
    uint64_t acked_packets, lost_packets;
    bool spurious;       /* something declared lost has come after all */
    uint32_t marks;      /* new Congestion Experienced */
    bool more_delivered; /* the ack is the first to tell of some receipt */
    bool spoilt;         /* … of packets that a hole may have held back */
    uint64_t hole_ns;    /* of holes that it is the first to pass */
    bool owd_told;       /* it tells of delays, be it overtaken by newer ones */
    uint32_t lost_room;  /* declarations left within SENDER_LOST_PER_ACK_MAX */
    bool news;
};

/* So long after the port's count the losses behind it may be declared. */
static uint64_t ring_lasts_ns(const struct sender *sender)
{
    return RING_LASTS_RTTS * (sender->rtt.smoothed_ns + sender->reorder.allowance_ns) + RING_LASTS_NS;
}

/* The full numbers behind the ack's 32-bit ones; false when they were never sent. */
static bool expand_numbers(const struct sender *sender, const struct wire_ack_view *ack, uint64_t *base,
                           uint64_t *largest)
{
    *largest = serial_expand32(sender->next_number, ack->fixed.largest);
    if (*largest >= sender->next_number)
        return false;
    *base = serial_expand32(*largest, ack->fixed.base);
    uint64_t end = *base;
    const uint8_t *runs = ack->runs;
    while (runs < ack->runs + ack->fixed.run_bytes)
        end += wire_run_get(&runs);
    return end <= *largest + 1;
}

/* Once one copy has come, the newest one is moot. */
static void count_copies(struct sender *sender, const struct sender_record *record, bool fresh)
{
    sender->repeated_packets -= record->note != SENDER_ONE_COPY;
    if (record->note != SENDER_ONE_COPY)
        sender->moot_packets += fresh;
    else if (!fresh)
        sender->moot_packets -= MIN(sender->moot_packets, (uint64_t)1);
}

static void on_received(struct ack_turn *turn, uint64_t number, bool was_lost)
{
    struct sender *sender = turn->sender;
    const struct sender_record *record = sender_record(sender, number);
    bool fresh = turn->events->on_acked(turn->events->owner, record->content, record->tag);
    sender->counters.acked_packets++;
    if (was_lost) {
        sender->counters.spurious_repairs++;
        repeat_budget_spend(&sender->repeat_budget);
        turn->spurious = true;
    } else {
        sender->in_flight_packets--;
        sender->in_flight_bytes -= record->wire_bytes;
        count_copies(sender, record, fresh);
        turn->acked_bytes += record->wire_bytes;
        turn->acked_packets++;
    }
}

static void settle_received(struct ack_turn *turn, uint64_t from, uint64_t to)
{
    struct sender *sender = turn->sender;
    while (from < to) {
        uint64_t span = number_bits_span(from, to);
        uint64_t *flying = number_bits_word(&sender->in_flight, from);
        uint64_t *lost = number_bits_word(&sender->lost, from);
        uint64_t lost_here = *lost & span;
        uint64_t open = (*flying & span) | lost_here;
        uint64_t first = from & ~63ULL;
        from = first + 64;
        if (open == 0)
            continue;
        turn->news = true;
        *flying &= ~span;
        *lost &= ~span;
        for (; open != 0; open &= open - 1) {
            int bit = __builtin_ctzll(open);
            on_received(turn, first + (uint64_t)bit, lost_here >> bit & 1);
        }
    }
}

static void declare_lost(struct ack_turn *turn, uint64_t number)
{
    const struct sender_record *record = sender_record(turn->sender, number);
    uint32_t note = record->note;
    if (number >= turn->sender->untold_end)
        turn->lost_packets++;
    turn->lost_room--;
    /* Of what was handed out again a newer copy is under way, which will have a verdict of its own. */
    bool alone = note == SENDER_ONE_COPY;
    sender_declare_lost(turn->sender, number, turn->now_ns, alone ? turn->events : NULL);
    if (note == SENDER_REPEATED)
        repeat_budget_give_back(&turn->sender->repeat_budget); /* that copy is the repair due now */
}

/* [from, to) was missing when the newest packet there had left at largest_sent_ns. */
static void judge_missing(struct ack_turn *turn, uint64_t from, uint64_t to)
{
    struct sender *sender = turn->sender;
    for (;;) {
        uint64_t number = number_bits_next_set(&sender->in_flight, from, to);
        if (number == to || turn->lost_room == 0)
            return;
        if (sender_record(sender, number)->sent_ns + sender->reorder.allowance_ns <= turn->largest_sent_ns)
            declare_lost(turn, number);
        from = number + 1;
    }
}

static void walk_runs(struct ack_turn *turn, uint64_t base, const struct wire_ack_view *ack)
{
    const uint8_t *runs = ack->runs;
    const uint8_t *end = ack->runs + ack->fixed.run_bytes;
    uint64_t floor = turn->sender->floor;
    uint64_t number = base;
    for (bool received = true; runs < end; received = !received) {
        uint64_t to = number + wire_run_get(&runs);
        uint64_t from = MAX(number, floor);
        number = to;
        if (from >= to)
            continue;
        if (received)
            settle_received(turn, from, to);
        else
            judge_missing(turn, from, to);
    }
}

/* No packet waited at the receiver for longer than the oldest that is open has been out, whatever the peer
 * says: it tells since when its ring was never empty, which a busy host's may not be for a minute. */
static uint64_t wait_ns(const struct ack_turn *turn, const struct wire_ack *ack)
{
    return MIN((uint64_t)ack->wait * WIRE_STAMP_UNIT_NS, elapsed_ns(turn->now_ns, turn->oldest_sent_ns));
}

/* Where packet and ack may have stood at the two hosts for so long, a longer sample than what is known says as much
 * as is not explained by that. */
static uint64_t sure_rtt_ns(const struct rtt *rtt, uint64_t sample_ns, uint64_t wait_ns)
{
    if (!rtt->sampled || sample_ns <= rtt->smoothed_ns)
        return sample_ns;
    return MAX(rtt->smoothed_ns, elapsed_ns(sample_ns, wait_ns));
}

/* What neighbours differ by, one of which the ack is the first to tell of: it was under way for no longer than what was
 * open before is old. What a peer says beyond that is made up, and would be a queue that the edge allows itself. */
static uint64_t jump_ns(const struct ack_turn *turn, const struct wire_ack *ack)
{
    uint64_t age_ns = elapsed_ns(turn->now_ns, turn->oldest_sent_ns);
    return MIN((uint64_t)ack->jump * WIRE_STAMP_UNIT_NS, age_ns);
}

/* The newest packet is settled first: its RTT counts only when it is newly acked, for its delay is known from
 * its own receipt on, by a clock that did not jump meanwhile. */
static void settle_largest(struct ack_turn *turn, const struct wire_ack_view *ack, uint64_t *rtt_ns)
{
    struct sender *sender = turn->sender;
    turn->largest_sent_ns = sender_record(sender, turn->largest)->sent_ns;
    if (number_bits_test(&sender->in_flight, turn->largest) && turn->largest >= sender->rtt_from &&
        ack->fixed.largest_delay != UINT32_MAX && !two_clocks_stepped(&sender->clocks)) {
        uint64_t age_ns = elapsed_ns(turn->now_ns, turn->largest_sent_ns);
        uint64_t sample_ns = elapsed_ns(age_ns, ack->fixed.largest_delay);
        sample_ns = sure_rtt_ns(&sender->rtt, sample_ns, sender->ack_wait_ns + wait_ns(turn, &ack->fixed));
        *rtt_ns = MAX(sample_ns, (uint64_t)1);
        rtt_on_sample(&sender->rtt, *rtt_ns, turn->now_ns);
    }
    settle_received(turn, turn->largest, turn->largest + 1);
}

/* Delivery rate over about one RTT, on the receiver's clock, so that the way back has no say. */
static void measure_delivery(struct sender *sender, const struct wire_ack *ack)
{
    int32_t ticks = serial_distance32(ack->delivered_stamp, sender->rate_window_stamp);
    if (!sender->rate_window_open || ticks < 0) {
        sender->rate_window_open = true;
    } else {
        uint64_t span_ns = (uint64_t)ticks * WIRE_STAMP_UNIT_NS;
        if (span_ns < MAX(sender->rtt.smoothed_ns, DELIVERY_WINDOW_MIN_NS))
            return;
        uint64_t bytes = ack->delivered_bytes - sender->rate_window_bytes;
        sender->delivery_rate_bps = muldiv64(MIN(bytes, (uint64_t)1 << 40), 8 * NS_PER_S, span_ns);
    }
    sender->rate_window_bytes = ack->delivered_bytes;
    sender->rate_window_stamp = ack->delivered_stamp;
}

/* The receiver's clock when its count was reached. It ran on about as long as this host's since then,
 * which tells how often the stamp has wrapped. */
static void note_delivered_time(struct sender *sender, uint32_t stamp, uint64_t now_ns)
{
    if (!sender->delivered_known) {
        sender->delivered_ns += NS_PER_S; /* a new session's clock goes on after the old one's */
        sender->delivered_known = true;
    } else {
        uint64_t passed = elapsed_ns(now_ns, sender->delivered_told_ns) / WIRE_STAMP_UNIT_NS;
        int64_t off = serial_distance32(stamp, sender->delivered_stamp + (uint32_t)passed);
        int64_t ticks = (int64_t)passed + (two_clocks_stepped(&sender->clocks) ? 0 : off);
        sender->delivered_ns += ticks > 0 ? (uint64_t)ticks * WIRE_STAMP_UNIT_NS : 0;
    }
    sender->delivered_stamp = stamp;
    sender->delivered_told_ns = now_ns;
}

/* The delay lies between what is told and that less the wait: nearest to the one before. */
static void note_sure_owd(struct sender *sender, uint64_t wait_ns)
{
    int64_t least_ns = sender->owd_ns - (int64_t)wait_ns;
    sender->owd_sure_ns = MIN(MAX(sender->owd_sure_ns, least_ns), sender->owd_ns);
}

/* Of what lay at the receiver for longer than half of a stamp's range nobody knows how long it was under way. */
static bool tells_owd(const struct ack_turn *turn, const struct wire_ack *ack)
{
    return wait_ns(turn, ack) < (uint64_t)INT32_MAX * WIRE_STAMP_UNIT_NS;
}

static void note_owd(struct sender *sender, uint32_t owd)
{
    if (sender->owd_known)
        sender->owd_ns += (int64_t)serial_distance32(owd, sender->owd_raw) * WIRE_STAMP_UNIT_NS;
    /* No path and no clock gets there; a peer that makes figures up may. */
    sender->owd_ns = MAX(MIN(sender->owd_ns, OWD_NS_MAX), -OWD_NS_MAX);
    sender->owd_known = true;
    sender->owd_raw = owd;
}

/* What the ack is the first to tell lies behind the newest number known before. */
static void note_holes(struct ack_turn *turn)
{
    struct sender *sender = turn->sender;
    struct hole hole;
    turn->spoilt = holes_spoil(&sender->holes, sender->any_acked ? sender->largest_acked : 0, turn->largest);
    while (holes_pass(&sender->holes, turn->largest, &hole))
        turn->hole_ns += hole.lasted_ns;
}

/* What the ack's own way says of the two clocks, after the packets' (note_owd). Both differences of stamps wrap,
 * their sum is a true time. */
static void note_clocks(const struct ack_turn *turn, const struct wire_ack_view *ack)
{
    struct sender *sender = turn->sender;
    uint32_t back = wire_stamp(turn->now_ns) - ack->stamp;
    int64_t trip_ns = (int64_t)(int32_t)(ack->fixed.owd_min + back) * WIRE_STAMP_UNIT_NS;
    const struct clock_exchange exchange = {.out_ns = sender->owd_ns,
                                            .back_ns = trip_ns - sender->owd_ns,
                                            .jump_ns = jump_ns(turn, &ack->fixed),
                                            .rtt_ns = rtt_min_ns(&sender->rtt),
                                            .now_ns = turn->now_ns};
    int64_t before_ns = two_clocks_gained_ns(&sender->clocks);
    two_clocks_on_exchange(&sender->clocks, &exchange);
    int64_t gained_ns = two_clocks_gained_ns(&sender->clocks) - before_ns;
    sender->counters.clock_steps += MAX(gained_ns, -gained_ns) > TWO_CLOCKS_COARSE_NS;
}

/* Each ack tells the least delay since the one before: where newer ones overtake it, that would be missing among as
 * many packets as they count, and look like a queue. */
static void note_late_owd(struct ack_turn *turn, const struct wire_ack *ack)
{
    struct sender *sender = turn->sender;
    int32_t age = serial_distance32(sender->delivered_stamp, ack->delivered_stamp);
    uint64_t recent_ns = sender->rtt.smoothed_ns / LATE_OWD_RTT_PART;
    if (!sender->owd_known || !tells_owd(turn, ack) || age < 0 ||
        (uint64_t)age * WIRE_STAMP_UNIT_NS > recent_ns)
        return;
    note_owd(sender, ack->owd_min);
    note_sure_owd(sender, wait_ns(turn, ack));
    turn->owd_told = true;
}

/* Acks overtake each other: counts, credit and cause are taken from the newest only. */
static void note_counts(struct ack_turn *turn, const struct wire_ack_view *view)
{
    struct sender *sender = turn->sender;
    const struct wire_ack *ack = &view->fixed;
    if (ack->delivered_bytes < sender->delivered_bytes ||
        (sender->any_acked && turn->largest < sender->largest_acked)) {
        sender->counters.stale_acks++;
        note_late_owd(turn, ack);
        return;
    }
    turn->more_delivered = ack->delivered_bytes > sender->delivered_bytes;
    if (!sender->owd_known)
        two_clocks_forget(&sender->clocks);
    if (turn->more_delivered && tells_owd(turn, ack)) {
        note_owd(sender, ack->owd_min);
        note_clocks(turn, view);
        note_sure_owd(sender, wait_ns(turn, ack));
        turn->owd_told = true;
    }
    if (turn->more_delivered) {
        note_holes(turn);
        sender->counters.peer_pauses += wait_ns(turn, ack) >= HOLES_MIN_NS;
    }
    if (turn->more_delivered || !sender->delivered_known)
        note_delivered_time(sender, ack->delivered_stamp, turn->now_ns);
    sender->counters.peer_missed +=
        ring_loss_on_ack(&sender->ring_loss, ack->missed, wait_ns(turn, ack), sender->in_flight_packets,
                         ring_lasts_ns(sender), turn->now_ns);
    sender->delivered_bytes = ack->delivered_bytes;
    sender->credit_end = turn->largest + 1 + ack->credit;
    sender->receiver_limit = ack->limited_by < EDGE_LIMIT_COUNT ? ack->limited_by : EDGE_LIMIT_none;
    if (turn->largest >= sender->floor)
        sender->largest_sent_ns = sender_record(sender, turn->largest)->sent_ns;
    sender->largest_acked = turn->largest;
    sender->any_acked = true;
    measure_delivery(sender, ack);
    turn->marks = ack->ce_count - sender->ce_count;
    sender->ce_count = ack->ce_count;
    /* A peer may say anything; no ack is the first to tell of more than a window. */
    sender->counters.marked_packets += MIN(turn->marks, sender->window);
}

/* What left after the newest packet known to have come is in flight, and packets are of about one size. */
static uint64_t after_bytes(const struct sender *sender)
{
    uint64_t after = sender->next_number - 1 - sender->largest_acked;
    if (!sender->any_acked || after >= sender->in_flight_packets)
        return sender->in_flight_bytes;
    return muldiv64(sender->in_flight_bytes, after, sender->in_flight_packets);
}

/* How much longer the newest packet was under way than the quickest that the ack speaks of. */
static uint64_t spread_ns(const struct ack_turn *turn, const struct wire_ack *ack)
{
    uint32_t owd = ack->delivered_stamp - wire_stamp(turn->sender->largest_sent_ns);
    int32_t spread = serial_distance32(owd, ack->owd_min);
    return spread > 0 ? elapsed_ns((uint64_t)spread * WIRE_STAMP_UNIT_NS, wait_ns(turn, ack)) : 0;
}

static enum edge_limit limited_by(const struct sender *sender)
{
    if (sender->limited != EDGE_LIMIT_none)
        return sender->limited;
    return sender->rate_cap_bps < sender->congestion.rate_bps ? EDGE_LIMIT_cap : EDGE_LIMIT_congestion;
}

/* What the receiver's ring lost is not lost on the path. */
static uint64_t settle_ring(const struct ack_turn *turn)
{
    struct sender *sender = turn->sender;
    struct ring_lost found = ring_loss_judge(&sender->ring_loss, turn->acked_packets + turn->lost_packets,
                                             turn->lost_packets, ring_lasts_ns(sender), turn->now_ns);
    sender->counters.ring_lost += found.all;
    return found.forgiven;
}

static void feed_strategy(const struct ack_turn *turn, uint64_t rtt_ns, const struct wire_ack *ack)
{
    struct sender *sender = turn->sender;
    uint64_t ring_lost = settle_ring(turn);
    /* What left before a silence ended may have stood still on the way. */
    if (turn->largest < sender->untold_end) {
        sender->rate_window_open = false;
        return;
    }
    /* What differs from packet to packet because the receiver's clock jumped is not the path's. */
    bool torn = turn->spoilt || two_clocks_stepped(&sender->clocks);
    const struct congestion_sample sample = {
        .now_ns = turn->now_ns,
        .rtt_ns = rtt_ns,
        .rtt_min_ns = rtt_min_ns(&sender->rtt),
        .rtt_smoothed_ns = sender->rtt.smoothed_ns,
        .owd_ns = sender->owd_sure_ns - two_clocks_gained_ns(&sender->clocks),
        .owd_known = turn->owd_told,
        .doubt_ns = two_clocks_doubt_ns(&sender->clocks),
        .jump_ns = torn ? 0 : jump_ns(turn, ack),
        .late_ns = (uint64_t)ack->late_us * NS_PER_US,
        .spread_ns = torn ? 0 : spread_ns(turn, ack),
        .wait_ns = wait_ns(turn, ack),
        .hole_ns = turn->hole_ns,
        .before_hole = turn->spoilt,
        .delivered_bytes = sender->delivered_bytes,
        .delivered_ns = sender->delivered_ns,
        .acked_bytes = turn->acked_bytes,
        .acked_packets = turn->acked_packets,
        .lost_packets = turn->lost_packets - ring_lost,
        .ring_lost = ring_lost,
        .newest_sent_ns = sender->largest_sent_ns,
        .oldest_sent_ns = turn->oldest_sent_ns,
        .after_bytes = after_bytes(sender),
        .ce_count = turn->marks,
        .own_rate_bps = ack->own_rate_kbps * 1000ULL,
        .limited = limited_by(sender),
    };
    sender->congestion.type->on_ack(&sender->congestion, &sample);
    if (sender->congestion.path_renewed)
        rtt_forget_least(&sender->rtt);
    sender->limited = EDGE_LIMIT_none;
    sender_apply_rate(sender);
    sender_look(sender, &sample);
}

/* With the newest packet acked nothing will overtake what is missing: only a probe's ack can judge it. */
static void restart_probe_timer(struct sender *sender, const struct ack_turn *turn, bool newest_before)
{
    if (turn->news) {
        sender->probe_backoff = 0;
        sender->probe_granted = false;
    }
    if (newest_before && !number_bits_test(&sender->in_flight, sender->next_number - 1)) {
        sender->probe_from_ns = turn->now_ns;
        sender->probe_wait_ns = sender->reorder.allowance_ns + 2 * NS_PER_MS;
    }
}

bool sender_on_ack(struct sender *sender, const struct wire_ack_view *ack, uint64_t now_ns,
                   const struct sender_events *events)
{
    struct ack_turn turn = {
        .sender = sender, .events = events, .now_ns = now_ns, .lost_room = SENDER_LOST_PER_ACK_MAX};
    uint64_t base;
    if (!expand_numbers(sender, ack, &base, &turn.largest)) {
        sender->impossible_acks += sender->impossible_acks < SENDER_LOST_SYNC_ACKS;
        return false;
    }
    sender->impossible_acks = 0;
    turn.oldest_sent_ns =
        sender->floor < sender->next_number ? sender_record(sender, sender->floor)->sent_ns : now_ns;
    uint64_t rtt_ns = 0;
    bool newest_open = number_bits_test(&sender->in_flight, sender->next_number - 1);
    sender->counters.acks++;
    note_counts(&turn, ack);
    sender_end_silence(sender, now_ns);
    sender->quiet_from_ns = now_ns;
    /* Below the floor everything is settled: such an ack has nothing to say about packets. */
    if (turn.largest >= sender->floor) {
        settle_largest(&turn, ack, &rtt_ns);
        reorder_on_ack(&sender->reorder, ack->fixed.late_us * NS_PER_US, turn.largest_sent_ns,
                       sender->rtt.smoothed_ns, now_ns);
        walk_runs(&turn, base, ack);
        if (turn.spurious)
            reorder_on_spurious(&sender->reorder, sender->rtt.smoothed_ns);
        restart_probe_timer(sender, &turn, newest_open);
    }
    sender_advance_floor(sender, now_ns);
    feed_strategy(&turn, rtt_ns, &ack->fixed);
    return true;
}

bool sender_lost_sync(const struct sender *sender)
{
    return sender->silent && sender->impossible_acks >= SENDER_LOST_SYNC_ACKS;
}
