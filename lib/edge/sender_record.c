/* What the sender remembers of its packets: records, what is in flight or lost, the floor. */
#include "edge/sender_internal.h"

#include "base/serial.h"
#include "base/units.h"

/* Two round trips after its departure a packet is given up for good; at least a quarter after the verdict. */
static uint64_t interest_end_ns(const struct sender *sender, uint64_t sent_ns, uint64_t now_ns)
{
    uint64_t turn_ns = sender->rtt.smoothed_ns + sender->reorder.allowance_ns;
    uint64_t end_ns = MIN(now_ns + turn_ns, sent_ns + 2 * turn_ns);
    return MAX(end_ns, now_ns + sender->rtt.smoothed_ns / 4);
}

bool sender_lossy(const struct sender *sender)
{
    return sender->counters.lost_packets * REPEAT_LOSSY > sender->counters.sent_packets;
}

void sender_settle(struct sender *sender, uint64_t number)
{
    const struct sender_record *record = sender_record(sender, number);
    number_bits_clear(&sender->in_flight, number);
    sender->in_flight_packets--;
    sender->in_flight_bytes -= record->wire_bytes;
    sender->repeated_packets -= record->note != SENDER_ONE_COPY;
}

/* The newest copy of what has come by another one is lost: that other one was no repeat too many. */
static void settle_moot(struct sender *sender)
{
    sender->moot_packets -= MIN(sender->moot_packets, (uint64_t)1);
    repeat_budget_give_back(&sender->repeat_budget);
}

void sender_declare_lost(struct sender *sender, uint64_t number, uint64_t now_ns,
                         const struct sender_events *events)
{
    struct sender_record *record = sender_record(sender, number);
    sender_settle(sender, number);
    number_bits_set(&sender->lost, number);
    uint64_t end_ns = interest_end_ns(sender, record->sent_ns, now_ns);
    record->note = (uint32_t)(end_ns / NS_PER_US);
    sender->interest_until_ns = MAX(sender->interest_until_ns, end_ns);
    sender->counters.lost_packets++;
    repeat_budget_on_lost(&sender->repeat_budget, sender_lossy(sender));
    if (events != NULL && !events->on_lost(events->owner, record->content, record->tag))
        settle_moot(sender);
}

/* Whether the lost packet at the floor is still waited for. A window three quarters full cannot afford it. */
static bool lost_of_interest(const struct sender *sender, uint64_t number, uint64_t now_ns)
{
    uint32_t window = sender->window;
    if (sender->next_number - number > window - window / 4)
        return false;
    return serial_distance32(sender_record(sender, number)->note, (uint32_t)(now_ns / NS_PER_US)) > 0;
}

/* The first number from the floor on that is in flight or lost. */
static uint64_t first_open(const struct sender *sender)
{
    uint64_t from = sender->floor;
    while (from < sender->next_number) {
        uint64_t word = *number_bits_word(&sender->in_flight, from) | *number_bits_word(&sender->lost, from);
        word &= ~0ULL << (from % 64);
        uint64_t first = from & ~63ULL;
        if (word != 0)
            return MIN(first + (uint64_t)__builtin_ctzll(word), sender->next_number);
        from = first + 64;
    }
    return sender->next_number;
}

void sender_advance_floor(struct sender *sender, uint64_t now_ns)
{
    for (;;) {
        sender->floor = first_open(sender);
        if (sender->floor == sender->next_number || !number_bits_test(&sender->lost, sender->floor) ||
            lost_of_interest(sender, sender->floor, now_ns))
            return;
        number_bits_clear(&sender->lost, sender->floor);
    }
}
