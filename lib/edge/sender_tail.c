/* What the sender does when acks alone will not settle what is in flight: repeats at the tail, tail probes,
 * and the few packets of a silence. */
#include "base/serial.h"
#include "base/units.h"
#include "edge/sender_internal.h"

#define BACKOFF_MAX 16u
/* Before the waits double and the strategy hears of it: at 30 % loss both ways every second probe fails. */
#define PROBES_AT_ONE_PACE 2u
#define REPEAT_WAIT_MIN_NS NS_PER_MS
#define REPEAT_WAIT_MAX_NS (20 * NS_PER_MS)
#define PPM                1000000ULL
#define LOST_PPM_MIN       10000ULL
#define LOST_PPM_MAX       500000ULL
#define SURELY             16
#define COVER_TRIES        16
#define SILENT_STEP_MAX_NS (10 * NS_PER_MS)

static uint64_t probe_ns(const struct sender *sender)
{
    uint32_t doublings = sender->probe_backoff - MIN(sender->probe_backoff, PROBES_AT_ONE_PACE);
    uint64_t wait_ns = sender->probe_wait_ns << MIN(doublings, BACKOFF_MAX);
    uint64_t wait_max_ns = MAX(SENDER_PROBE_WAIT_MAX_NS, sender->probe_wait_ns);
    return sender->probe_from_ns + MIN(wait_ns, wait_max_ns);
}

/* The owner had no use for a probe, so no ack will ever judge what is in flight. */
static void give_up(struct sender *sender, uint64_t now_ns, const struct sender_events *events)
{
    uint64_t number = sender->floor;
    sender->probe_granted = false;
    for (uint32_t room = SENDER_LOST_PER_ACK_MAX; room > 0; room--) {
        number = number_bits_next_set(&sender->in_flight, number, sender->next_number);
        if (number == sender->next_number)
            return;
        sender_declare_lost(sender, number, now_ns, events);
    }
}

/* False: the owner does not want it any more. Otherwise its verdict is the copy's from now on. */
static bool hand_out(struct sender *sender, struct sender_record *record, const struct sender_events *events)
{
    sender->repeated_packets += record->note == SENDER_ONE_COPY;
    record->note = SENDER_HANDED_OUT;
    return events->on_probe(events->owner, record->content, record->tag);
}

static void ask_probe(struct sender *sender, const struct sender_events *events)
{
    sender->probe_backoff++;
    sender->probe_granted = true;
    sender->counters.tail_probes++;
    uint64_t newest = number_bits_last_set(&sender->in_flight, sender->floor, sender->next_number);
    CHECK(newest < sender->next_number);
    hand_out(sender, sender_record(sender, newest), events);
}

static void probe(struct sender *sender, uint64_t now_ns, const struct sender_events *events)
{
    if (sender->probe_backoff >= PROBES_AT_ONE_PACE)
        sender->congestion.type->on_timeout(&sender->congestion, now_ns);
    sender_apply_rate(sender);
    sender->probe_from_ns = now_ns;
    sender->probe_wait_ns = rtt_timeout_ns(&sender->rtt) + SENDER_ACK_SLACK_NS;
    if (sender->probe_granted)
        give_up(sender, now_ns, events);
    else
        ask_probe(sender, events);
}

/* The owner has nothing new for so long: this is the tail. */
static uint64_t quiet_ns(const struct sender *sender)
{
    uint64_t wait_ns = MAX(sender->rtt.smoothed_ns / 16, REPEAT_WAIT_MIN_NS);
    return MAX(wait_ns, sender->reorder.allowance_ns);
}

/* Between copies of a content: longer than most bursts of loss. */
static uint64_t repeat_wait_ns(const struct sender *sender)
{
    uint64_t wait_ns = MAX(sender->rtt.smoothed_ns / 64, REPEAT_WAIT_MIN_NS);
    return MAX(MIN(wait_ns, REPEAT_WAIT_MAX_NS), sender->reorder.allowance_ns);
}

static uint64_t earned(const struct sender *sender)
{
    return MAX(sender->repeats_fast, sender->repeats_even);
}

void sender_earn_repeats(struct sender *sender, uint32_t share)
{
    /* Small objects need the budget most: its first SENDER_REPEATS_SMALL come fast, as an advance. */
    uint64_t before = earned(sender);
    uint64_t fast = sender->repeats_fast + MAX(share, SENDER_REPEAT_SHARE_SMALL);
    sender->repeats_fast = MIN(fast, (uint64_t)SENDER_REPEATS_SMALL * SENDER_REPEAT);
    sender->repeats_even += share;
    sender->repeat_budget += (int64_t)(earned(sender) - before);
}

/* On a path that has lost nothing so far, only what newer packets have overtaken is worth repeating. */
static uint64_t repeat_end(const struct sender *sender)
{
    const struct sender_counters *counters = &sender->counters;
    bool lossy = counters->lost_packets > counters->spurious_repairs || counters->early_repeats > 0;
    return lossy ? sender->next_number : MAX(sender->largest_acked, sender->floor);
}

static uint64_t lost_ppm(const struct sender *sender)
{
    const struct sender_counters *counters = &sender->counters;
    uint64_t ppm = muldiv64(counters->lost_packets, PPM, MAX(counters->sent_packets, (uint64_t)1));
    return MIN(MAX(ppm, LOST_PPM_MIN), LOST_PPM_MAX);
}

/* Further copies after which chance takes none of so many contents entirely, as good as surely. */
static uint32_t copies_wanted(const struct sender *sender, uint64_t contents)
{
    uint64_t ppm = lost_ppm(sender);
    uint32_t copies = 0;
    for (uint64_t risk = contents * SURELY * ppm; risk > PPM; risk = muldiv64(risk, ppm, PPM))
        copies++;
    return MAX(copies, 1U);
}

/* Repeating begins once the budget holds all copies wanted, but those that chance will take: begun earlier it
 * spends on what acks settle meanwhile, and is short for the last ones. */
static bool repeats_pay(const struct sender *sender, uint64_t contents)
{
    uint64_t arriving_ppm = (copies_wanted(sender, contents) + 1) * (PPM - lost_ppm(sender));
    int64_t price = (int64_t)muldiv64(contents * SENDER_REPEAT, arriving_ppm - MIN(arriving_ppm, PPM), PPM);
    /* What chance takes of the copies under way will be given back. */
    int64_t returns = (int64_t)muldiv64(sender->repeated_packets * SENDER_REPEAT, lost_ppm(sender), PPM);
    return sender->repeats_left > 0 ? sender->repeat_budget + returns >= 0
                                    : price + price / 32 <= sender->repeat_budget;
}

/* How many copies are moot is known about: copies that the owner dropped count too. */
static uint64_t open_contents(const struct sender *sender)
{
    uint64_t newest = sender->in_flight_packets - sender->repeated_packets;
    return newest - MIN(newest - newest / 8, sender->moot_packets);
}

static uint64_t repeat_ns(const struct sender *sender)
{
    uint64_t open = open_contents(sender);
    if (!sender->idle || open == 0 || repeat_end(sender) == sender->floor || !repeats_pay(sender, open))
        return TIME_NEVER;
    return MAX(sender->repeat_from_ns, sender->newest_new_ns + quiet_ns(sender));
}

/* False: it was moot. */
static bool repeat_content(struct sender *sender, struct sender_record *record,
                           const struct sender_events *events)
{
    if (!hand_out(sender, record, events)) {
        sender->moot_packets -= MIN(sender->moot_packets, (uint64_t)1);
        return false;
    }
    record->note = SENDER_REPEATED;
    sender->repeat_budget -= SENDER_REPEAT;
    sender->counters.early_repeats++;
    return true;
}

/* Hands out again, once, what left long enough ago that chance rarely strikes both. */
static void repeat(struct sender *sender, uint64_t now_ns, const struct sender_events *events)
{
    uint64_t wait_ns = repeat_wait_ns(sender), open = open_contents(sender);
    sender->repeat_from_ns =
        now_ns + wait_ns + transmit_ns(open * sender->config.packet_bytes_max, sender_rate_bps(sender));
    if (sender->repeats_left == 0)
        sender->repeats_left = copies_wanted(sender, open);
    sender->repeats_left--;
    uint64_t end = repeat_end(sender);
    bool all = true;
    for (uint64_t number = number_bits_next_set(&sender->in_flight, sender->floor, end); number < end;
         number = number_bits_next_set(&sender->in_flight, number + 1, end)) {
        struct sender_record *record = sender_record(sender, number);
        bool young = elapsed_ns(now_ns, record->sent_ns) < wait_ns;
        all &= !young;
        if (record->note == SENDER_ONE_COPY && !young)
            repeat_content(sender, record, events);
    }
    if (all && sender->repeats_left == 0) /* enough, most likely */
        sender->repeat_from_ns += quiet_ns(sender);
}

bool sender_at_tail(const struct sender *sender, uint64_t depart_ns)
{
    return sender->drained && elapsed_ns(depart_ns, sender->newest_new_ns) > repeat_wait_ns(sender);
}

/* Repairs leave in groups, as acks come. The last of a group get their verdict by what leaves later: the next
 * group, or a packet sent for that purpose. */
static uint64_t cover_ns(const struct sender *sender)
{
    if (!sender->idle || sender->covering || sender->covers_left == 0 || open_contents(sender) == 0 ||
        repeat_end(sender) < sender->next_number || sender->repeat_budget < SENDER_REPEAT)
        return TIME_NEVER;
    return sender->newest_sent_ns + quiet_ns(sender) / 2;
}

static void cover(struct sender *sender, const struct sender_events *events)
{
    uint64_t end = sender->next_number;
    for (uint32_t tries = COVER_TRIES; tries > 0 && !sender->covering; tries--) {
        uint64_t newest = number_bits_last_set(&sender->in_flight, sender->floor, end);
        if (newest == end)
            break;
        struct sender_record *record = sender_record(sender, newest);
        sender->covering = record->note == SENDER_ONE_COPY && repeat_content(sender, record, events);
        end = newest;
    }
    if (!sender->covering)
        sender->covers_left = 0;
}

static uint64_t silence_ns(const struct sender *sender)
{
    uint64_t wait_ns = MAX(SENDER_SILENCE_RTTS * sender->rtt.smoothed_ns, SENDER_SILENCE_MIN_NS);
    return sender->quiet_from_ns + wait_ns;
}

uint64_t sender_silent_ns(const struct sender *sender)
{
    uint64_t rate_bps = MAX(sender->pacer.rate_bps / SENDER_SILENCE_DIVISOR, (uint64_t)1);
    uint64_t step_ns = transmit_ns(sender->config.packet_bytes_max, rate_bps);
    uint64_t rtt_ns = sender->rtt.smoothed_ns;
    step_ns = MIN(step_ns, MAX(rtt_ns, SILENT_STEP_MAX_NS));
    return sender->newest_sent_ns + MAX(step_ns, rtt_ns / 4);
}

static void tell_silence(struct sender *sender, bool silent, uint64_t now_ns)
{
    const struct congestion_type *type = sender->congestion.type;
    sender->silent = silent;
    if (type->on_silence != NULL)
        type->on_silence(&sender->congestion, silent, now_ns);
    sender_apply_rate(sender);
}

static void begin_silence(struct sender *sender, uint64_t now_ns)
{
    sender->counters.silences++;
    sender->rtt_from = sender->next_number;
    sender->probe_from_ns = now_ns;
    tell_silence(sender, true, now_ns);
}

void sender_end_silence(struct sender *sender, uint64_t now_ns)
{
    if (!sender->silent)
        return;
    sender->untold_end = sender->next_number;
    sender->rtt_from = sender->next_number;
    tell_silence(sender, false, now_ns);
}

/* Gives the owner something to send: the newest in flight, or the oldest where the window is full. What it
 * sends may be something else. */
static void probe_silently(struct sender *sender, uint64_t now_ns, const struct sender_events *events)
{
    uint64_t since_ns = MAX(sender->newest_sent_ns, silence_ns(sender));
    sender->probe_from_ns = now_ns;
    if (elapsed_ns(now_ns, since_ns) > rtt_timeout_ns(&sender->rtt) + SENDER_ACK_SLACK_NS) {
        give_up(sender, now_ns, events);
    } else if (sender->next_number - sender->floor + 1 >= sender->window) {
        sender_declare_lost(sender, sender->floor, now_ns, events);
        sender_advance_floor(sender, now_ns);
    } else if (!sender->probe_granted) {
        ask_probe(sender, events);
    }
}

/* In a silence: after the newest packet, and after the newest attempt. */
static uint64_t silent_probe_ns(const struct sender *sender)
{
    uint64_t step_ns = sender_silent_ns(sender) - sender->newest_sent_ns;
    return MAX(sender->newest_sent_ns, sender->probe_from_ns) + step_ns;
}

uint64_t sender_next_ns(const struct sender *sender)
{
    if (sender->in_flight_packets == 0)
        return sender->floor == sender->next_number ? TIME_NEVER : sender->interest_until_ns;
    if (sender->silent)
        return silent_probe_ns(sender);
    uint64_t next_ns = MIN(probe_ns(sender), silence_ns(sender));
    next_ns = MIN(next_ns, cover_ns(sender));
    return MIN(next_ns, repeat_ns(sender));
}

void sender_on_tick(struct sender *sender, uint64_t now_ns, const struct sender_events *events)
{
    if (now_ns < sender_next_ns(sender))
        return;
    if (sender->in_flight_packets == 0) {
        number_bits_clear_range(&sender->lost, sender->floor, sender->next_number);
        sender->floor = sender->next_number;
        return;
    }
    sender_advance_floor(sender, now_ns);
    if (sender->silent)
        probe_silently(sender, now_ns, events);
    else if (now_ns >= silence_ns(sender))
        begin_silence(sender, now_ns);
    else if (now_ns >= probe_ns(sender))
        probe(sender, now_ns, events);
    else if (now_ns >= repeat_ns(sender))
        repeat(sender, now_ns, events);
    else
        cover(sender, events);
}
