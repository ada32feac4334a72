/* See receiver.h. All positions are full packet numbers; bits outside [floor, end) are clear. */
#include "edge/receiver.h"

#include "base/serial.h"
#include "base/units.h"
#include "edge/reorder.h"
#include "edge/rtt.h"

#define HURRIED_PER_RTT   64
#define ROTATIONS_PER_RTT 2
#define REMIND_MAX_NS     (2 * NS_PER_S)

size_t receiver_bytes(uint32_t window_packets)
{
    return number_bits_bytes(window_packets);
}

void receiver_init(struct receiver *receiver, uint32_t window_packets, struct arena *arena)
{
    CHECK(window_packets <= RECEIVER_WINDOW_MAX);
    *receiver = (struct receiver){.window_packets = window_packets,
                                  .ack_due_ns = TIME_NEVER,
                                  .remind_due_ns = TIME_NEVER,
                                  .passed_over = UINT64_MAX};
    number_bits_init(&receiver->seen, window_packets, arena);
    jump_init(&receiver->jump);
    receiver_set_rtt(receiver, RTT_INITIAL_NS);
}

void receiver_reset(struct receiver *receiver)
{
    struct receiver old = *receiver;
    number_bits_clear_range(&old.seen, old.floor, old.end);
    *receiver = (struct receiver){.seen = old.seen,
                                  .window_packets = old.window_packets,
                                  .ack_due_ns = TIME_NEVER,
                                  .remind_due_ns = TIME_NEVER,
                                  .passed_over = UINT64_MAX,
                                  .interval_ns = old.interval_ns,
                                  .rtt_ns = old.rtt_ns,
                                  .counters = old.counters};
    jump_init(&receiver->jump);
}

uint64_t receiver_expand(const struct receiver *receiver, uint32_t low)
{
    return serial_expand32(receiver->end, low);
}

static bool within_window(const struct receiver *receiver, uint64_t a, uint64_t b)
{
    return (a > b ? a - b : b - a) < receiver->window_packets;
}

/* Beyond what a sender that hears from this receiver would number. */
static bool jumps(const struct receiver *receiver, uint64_t number)
{
    return number >= receiver->end + receiver->window_packets;
}

static bool jump_proven(const struct receiver *receiver, uint64_t number)
{
    return receiver->jump_proofs >= RECEIVER_JUMP_PROOFS && number != receiver->jump_number &&
           within_window(receiver, number, receiver->jump_number);
}

enum receiver_verdict receiver_check(const struct receiver *receiver, uint64_t number, uint64_t floor)
{
    floor = MIN(floor, number);
    floor = MAX(receiver->floor, floor);
    if (number < floor)
        return RECEIVER_DUPLICATE;
    if (number - floor >= receiver->window_packets)
        return RECEIVER_BEYOND_WINDOW;
    if (jumps(receiver, number) && !jump_proven(receiver, number))
        return RECEIVER_BEYOND_WINDOW;
    bool seen = number < receiver->end && number_bits_test(&receiver->seen, number);
    return seen ? RECEIVER_DUPLICATE : RECEIVER_NEW;
}

static void advance_floor(struct receiver *receiver, uint64_t floor)
{
    if (floor <= receiver->floor)
        return;
    if (receiver->floor < receiver->end)
        number_bits_clear_range(&receiver->seen, receiver->floor, MIN(floor, receiver->end));
    receiver->floor = floor;
}

/* In stamp units, rounded up. */
static uint32_t wait_stamp(uint64_t wait_ns)
{
    uint64_t units = (wait_ns + WIRE_STAMP_UNIT_NS - 1) / WIRE_STAMP_UNIT_NS;
    return (uint32_t)MIN(units, (uint64_t)INT32_MAX);
}

static void note_new(struct receiver *receiver, uint64_t number, uint32_t stamp, uint32_t wire_bytes,
                     uint64_t now_ns)
{
    number_bits_set(&receiver->seen, number);
    receiver->strays = 0;
    receiver->jump_proofs = 0;
    receiver->counters.packets++;
    receiver->counters.bytes += wire_bytes;
    receiver->delivered_ns = now_ns;
    uint32_t owd = wire_stamp(now_ns) - stamp;
    if (!receiver->owd_known || serial_distance32(owd, receiver->owd_min) < 0) {
        receiver->owd_min = owd;
        receiver->owd_wait_ns = receiver->wait_ns;
    }
    receiver->owd_known = true;
    receiver->newest_wait_ns = receiver->wait_ns;
    jump_on_packet(&receiver->jump, (uint32_t)number, stamp, owd, wait_stamp(receiver->wait_ns));
    if (number >= receiver->end) {
        if (jumps(receiver, number))
            receiver->passed_over = receiver->end;
        receiver->end = number + 1;
        receiver->largest_ns = now_ns;
        receiver->largest_stamp = stamp;
        return;
    }
    receiver->counters.late_packets++;
    int32_t late = serial_distance32(receiver->largest_stamp, stamp);
    if (late > 0) {
        uint32_t late_us = (uint32_t)((uint64_t)late * WIRE_STAMP_UNIT_NS / NS_PER_US);
        receiver->late_peak_us = MAX(receiver->late_peak_us, late_us + 1);
    }
}

static void schedule_ack(struct receiver *receiver, bool idle, uint64_t now_ns)
{
    if (receiver->unacked_packets == 0) {
        receiver->unacked_ns = now_ns;
        uint64_t latest_ns = idle ? now_ns : now_ns + RECEIVER_ACK_DELAY_MAX_NS;
        receiver->ack_due_ns = MIN(receiver->ack_due_ns, latest_ns);
    }
    receiver->unacked_packets++;
    if (receiver->unacked_packets >= RECEIVER_ACK_PACKETS)
        receiver->ack_due_ns = MIN(receiver->ack_due_ns, receiver->unacked_ns + receiver->interval_ns);
}

static void set_reminders(struct receiver *receiver, uint32_t reminders)
{
    receiver->reminders = reminders;
    receiver->remind_due_ns = TIME_NEVER;
    receiver->remind_gap_ns = RECEIVER_ACK_DELAY_MAX_NS;
}

static void note_stray(struct receiver *receiver, uint64_t now_ns)
{
    if (receiver->strays == 0)
        receiver->stray_from_ns = now_ns;
    receiver->strays += receiver->strays < RECEIVER_LOST_SYNC_PACKETS;
}

static void note_beyond(struct receiver *receiver, uint64_t number, uint64_t now_ns)
{
    receiver->counters.beyond_window++;
    note_stray(receiver, now_ns);
    if (!jumps(receiver, number) || (receiver->jump_proofs > 0 && number == receiver->jump_number))
        return;
    bool agrees = receiver->jump_proofs > 0 && within_window(receiver, number, receiver->jump_number);
    receiver->jump_proofs = agrees ? receiver->jump_proofs + 1 : 1;
    receiver->jump_number = number;
    if (receiver->jump_proofs >= RECEIVER_JUMP_PROOFS)
        receiver->strays = 0; /* what follows them is welcome */
}

/* What was received may be sent again by anybody. Of those that a jump passed over the sender alone has any, and each
 * time a new one. */
static void note_duplicate(struct receiver *receiver, uint64_t number, uint64_t now_ns)
{
    receiver->counters.duplicates++;
    if (number < receiver->passed_over || number >= receiver->floor ||
        within_window(receiver, number, receiver->floor))
        return;
    receiver->passed_over = number + 1;
    note_stray(receiver, now_ns);
}

void receiver_on_refused(struct receiver *receiver, enum receiver_verdict verdict, uint64_t number,
                         uint64_t now_ns)
{
    CHECK(verdict != RECEIVER_NEW);
    if (verdict == RECEIVER_DUPLICATE)
        note_duplicate(receiver, number, now_ns);
    else
        note_beyond(receiver, number, now_ns);
}

bool receiver_lost_sync(const struct receiver *receiver, uint64_t now_ns)
{
    return receiver->strays >= RECEIVER_LOST_SYNC_PACKETS &&
           elapsed_ns(now_ns, receiver->stray_from_ns) >= RECEIVER_LOST_SYNC_NS;
}

void receiver_on_packet(struct receiver *receiver, uint64_t number, uint64_t floor, uint32_t stamp,
                        uint32_t wire_bytes, bool congestion_experienced, uint64_t now_ns)
{
    enum receiver_verdict verdict = receiver_check(receiver, number, floor);
    if (verdict != RECEIVER_NEW) {
        receiver_on_refused(receiver, verdict, number, now_ns);
        return;
    }
    bool idle = receiver->end == 0 || elapsed_ns(now_ns, receiver->last_ns) >= RECEIVER_ACK_DELAY_MAX_NS;
    advance_floor(receiver, MIN(floor, number));
    note_new(receiver, number, stamp, wire_bytes, now_ns);
    receiver->ce_count += congestion_experienced;
    receiver->last_ns = now_ns;
    set_reminders(receiver, receiver->end <= RECEIVER_BEGINNING ? RECEIVER_REPETITIONS : 0);
    schedule_ack(receiver, idle, now_ns);
}

void receiver_set_wait(struct receiver *receiver, uint64_t wait_ns)
{
    receiver->wait_ns = wait_ns;
}

void receiver_hurry(struct receiver *receiver)
{
    uint64_t wait_ns = MAX(receiver->rtt_ns / HURRIED_PER_RTT, RECEIVER_ACK_INTERVAL_MIN_NS);
    if (receiver->unacked_packets > 0)
        receiver->ack_due_ns = MIN(receiver->ack_due_ns, receiver->unacked_ns + wait_ns);
}

void receiver_set_rtt(struct receiver *receiver, uint64_t rtt_ns)
{
    receiver->rtt_ns = MAX(rtt_ns, (uint64_t)1);
    uint64_t interval_ns = MAX(rtt_ns / 8, RECEIVER_ACK_INTERVAL_MIN_NS);
    receiver->interval_ns = MIN(interval_ns, RECEIVER_ACK_DELAY_MAX_NS);
}

void receiver_remind(struct receiver *receiver, uint64_t now_ns)
{
    if (receiver->end == 0)
        return;
    set_reminders(receiver, RECEIVER_REMINDERS);
    receiver->ack_due_ns = now_ns;
}

uint64_t receiver_next_ns(const struct receiver *receiver)
{
    return MIN(receiver->ack_due_ns, receiver->remind_due_ns);
}

/* How far before `fresh` the new group starts: over numbers that were too young for the sender's verdict. */
static uint64_t young_numbers(const struct receiver *receiver, uint64_t span_ns)
{
    if (receiver->fresh != receiver->group_end)
        return 0;
    uint64_t late_ns = receiver->late_peak_us * NS_PER_US;
    uint64_t allowance_ns = MAX(late_ns + late_ns / 4, REORDER_MIN_NS);
    /* A quarter more, for packets do not come at even distances. */
    return muldiv64_up(receiver->end - receiver->group_end, allowance_ns + allowance_ns / 4, span_ns);
}

/* A lost ack must not cost half an RTT, the rotation's turn: what the groups before were the first to tell is
 * told again, unless the newest of them had no room for all of its own. */
static void widen_fresh_slice(struct receiver *receiver)
{
    uint64_t oldest = MAX(receiver->fresh_of[RECEIVER_FRESH_GROUPS - 1], receiver->floor);
    if (receiver->fresh == receiver->group_end)
        receiver->fresh_start = MIN(receiver->fresh_start, oldest);
    for (size_t group = RECEIVER_FRESH_GROUPS - 1; group > 0; group--)
        receiver->fresh_of[group] = receiver->fresh_of[group - 1];
    receiver->fresh_of[0] = receiver->fresh;
}

/* The ring of jumps is to span a time, at the rate since the last group. */
static void note_jumps(struct receiver *receiver, uint64_t span_ns)
{
    uint64_t time_ns = MAX(receiver->rtt_ns / 2, RECEIVER_JUMP_SPAN_MIN_NS);
    receiver->jump_peak = jump_read_peak(&receiver->jump);
    jump_set_span(&receiver->jump, muldiv64(receiver->end - receiver->group_end, time_ns, span_ns));
}

static void group_start(struct receiver *receiver, uint64_t now_ns)
{
    uint64_t span_ns = elapsed_ns(now_ns, receiver->group_ns);
    span_ns = MAX(span_ns, (uint64_t)1);
    if (receiver->owd_known) /* else it repeats what the one before told */
        note_jumps(receiver, span_ns);
    uint64_t window = receiver->end - receiver->floor;
    receiver->fresh = MAX(receiver->fresh, receiver->floor);
    uint64_t known = receiver->fresh - receiver->floor;
    receiver->fresh_start = receiver->fresh - MIN(young_numbers(receiver, span_ns), known);
    widen_fresh_slice(receiver);
    uint64_t owed = muldiv64(window, ROTATIONS_PER_RTT * MIN(span_ns, receiver->rtt_ns), receiver->rtt_ns);
    receiver->rotation_left = MIN(receiver->rotation_left + owed, window);
    receiver->stage = RECEIVER_OLDEST;
    receiver->slice = receiver->floor;
    receiver->group_left = RECEIVER_ACKS_PER_TURN_MAX;
    receiver->group_ns = now_ns;
    receiver->group_end = receiver->end;
    receiver->unacked_packets = 0;
    receiver->ack_due_ns = TIME_NEVER;
    receiver->remind_due_ns = TIME_NEVER;
    if (receiver->reminders > 0) {
        receiver->remind_due_ns = now_ns + receiver->remind_gap_ns;
        receiver->remind_gap_ns = MIN(2 * receiver->remind_gap_ns, REMIND_MAX_NS);
        receiver->reminders--;
    }
}

static void group_finish(struct receiver *receiver, uint64_t now_ns)
{
    receiver->group_left = 0;
    receiver->late_peak_us -= receiver->owd_known ? (receiver->late_peak_us + 63) / 64 : 0;
    receiver->owd_known = false;
    if (receiver->fresh < receiver->end || receiver->rotation_left > 0) {
        uint64_t soon_ns = MAX(receiver->interval_ns / 8, RECEIVER_ACK_INTERVAL_MIN_NS);
        receiver->ack_due_ns = MIN(receiver->ack_due_ns, now_ns + soon_ns);
    }
}

/* Sets the slice where the rotation goes on; false when it owes nothing. */
static bool start_rotation(struct receiver *receiver)
{
    uint64_t from = receiver->oldest_end;
    uint64_t to = receiver->fresh_start;
    if (from >= to) {
        receiver->rotation_left = 0;
        return false;
    }
    receiver->rotation_left = MIN(receiver->rotation_left, to - from);
    receiver->stage = RECEIVER_ROTATION;
    receiver->slice = receiver->rotation >= from && receiver->rotation < to ? receiver->rotation : from;
    return receiver->rotation_left > 0;
}

/* Where the slice under way ends at the latest. */
static uint64_t slice_stop(const struct receiver *receiver)
{
    if (receiver->stage == RECEIVER_ROTATION)
        return MIN(receiver->fresh_start, receiver->slice + receiver->rotation_left);
    return receiver->end;
}

/* A message reached so far: chooses what the next one of the group is about. False: the group is done. */
static bool next_slice(struct receiver *receiver, uint64_t reached)
{
    switch (receiver->stage) {
    case RECEIVER_OLDEST:
        receiver->oldest_end = reached;
        receiver->fresh = MAX(receiver->fresh, reached);
        if (reached == receiver->end) {
            receiver->rotation_left = 0;
            return false;
        }
        receiver->stage = RECEIVER_FRESH;
        receiver->slice = MAX(receiver->fresh_start, reached);
        break;
    case RECEIVER_FRESH:
        receiver->fresh = MAX(receiver->fresh, reached);
        receiver->slice = reached;
        break;
    case RECEIVER_ROTATION:
        receiver->rotation_left -= reached - receiver->slice;
        receiver->rotation = reached;
        return start_rotation(receiver);
    }
    return receiver->slice < receiver->end || start_rotation(receiver);
}

/* Writes the runs of [from, to) as far as they fit; returns where they end. */
static uint64_t put_runs(const struct receiver *receiver, uint64_t from, uint64_t to, uint8_t *runs,
                         uint16_t *bytes)
{
    size_t used = 0;
    while (from < to && used + 2 * WIRE_RUN_BYTES_MAX <= WIRE_ACK_RUNS_MAX) {
        uint64_t missing = number_bits_next_clear(&receiver->seen, from, to);
        used += wire_run_put(runs + used, (uint32_t)(missing - from));
        from = missing;
        if (from == to)
            break;
        from = number_bits_next_set(&receiver->seen, missing, to);
        used += wire_run_put(runs + used, (uint32_t)(from - missing));
    }
    *bytes = (uint16_t)used;
    return from;
}

bool receiver_ack(struct receiver *receiver, struct wire_ack *ack, uint8_t *runs, uint64_t now_ns)
{
    if (receiver->group_left == 0) {
        if (now_ns < receiver_next_ns(receiver))
            return false;
        group_start(receiver, now_ns);
    }
    *ack = (struct wire_ack){
        .base = (uint32_t)receiver->slice,
        .largest = (uint32_t)(receiver->end - 1),
        .largest_delay = (uint32_t)MIN(elapsed_ns(now_ns, receiver->largest_ns), (uint64_t)UINT32_MAX),
        .delivered_bytes = receiver->counters.bytes,
        .delivered_stamp = wire_stamp(receiver->delivered_ns),
        .owd_min = receiver->owd_min,
        .jump = receiver->jump_peak,
        .late_us = receiver->late_peak_us,
        .wait = wait_stamp(MAX(receiver->newest_wait_ns, receiver->owd_wait_ns)),
        .ce_count = receiver->ce_count,
    };
    uint64_t reached = put_runs(receiver, receiver->slice, slice_stop(receiver), runs, &ack->run_bytes);
    receiver->counters.acks++;
    receiver->group_left--;
    if (!next_slice(receiver, reached) || receiver->group_left == 0)
        group_finish(receiver, now_ns);
    return true;
}
