/* Repeats at the tail: what is in flight goes out again before its verdict, as often as the budget pays for;
 * and packets by which the last ones get their verdict. */
#include "edge/sender_internal.h"

#include "base/units.h"

#define REPEAT_WAIT_MIN_NS NS_PER_MS
#define REPEAT_WAIT_MAX_NS (20 * NS_PER_MS)
#define PPM                1000000ULL
#define LOST_PPM_MIN       10000ULL
#define LOST_PPM_MAX       500000ULL
#define SURELY             64
#define COVER_TRIES        16

bool sender_hand_out(struct sender *sender, struct sender_record *record, const struct sender_events *events)
{
    sender->repeated_packets += record->note == SENDER_ONE_COPY;
    record->note = SENDER_HANDED_OUT;
    return events->on_probe(events->owner, record->content, record->tag);
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
    int64_t price = (int64_t)muldiv64(contents * REPEAT_PACKET, arriving_ppm - MIN(arriving_ppm, PPM), PPM);
    /* What chance takes of the copies under way will be given back. */
    int64_t returns = (int64_t)muldiv64(sender->repeated_packets * REPEAT_PACKET, lost_ppm(sender), PPM);
    return sender->repeats_left > 0 ? sender->repeat_budget.left + returns >= 0
                                    : price + price / 32 <= sender->repeat_budget.left;
}

/* How many copies are moot is known about: copies that the owner dropped count too. */
static uint64_t open_contents(const struct sender *sender)
{
    uint64_t newest = sender->in_flight_packets - sender->repeated_packets;
    return newest - MIN(newest - newest / 8, sender->moot_packets);
}

uint64_t sender_repeat_ns(const struct sender *sender)
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
    if (!sender_hand_out(sender, record, events)) {
        sender->moot_packets -= MIN(sender->moot_packets, (uint64_t)1);
        return false;
    }
    record->note = SENDER_REPEATED;
    repeat_budget_spend(&sender->repeat_budget);
    sender->counters.early_repeats++;
    return true;
}

void sender_repeat_contents(struct sender *sender, uint64_t now_ns, const struct sender_events *events)
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
uint64_t sender_cover_ns(const struct sender *sender)
{
    if (!sender->idle || sender->covering || sender->covers_left == 0 || open_contents(sender) == 0 ||
        repeat_end(sender) < sender->next_number || sender->repeat_budget.left < REPEAT_PACKET)
        return TIME_NEVER;
    return sender->newest_sent_ns + quiet_ns(sender) / 2;
}

void sender_cover_newest(struct sender *sender, const struct sender_events *events)
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
