#include "probe/rotation.h"

#include <string.h>

#include "base/units.h"

#define WHOLE_PPM 1000000u
/* Trains in a row without an answer, to or from a node: fewer are losses. */
#define MISSES_MAX 4

static uint64_t bit(uint16_t node)
{
    return UINT64_C(1) << node;
}

static uint64_t all_nodes(uint16_t count)
{
    return count == ROTATION_NODES_MAX ? UINT64_MAX : bit(count) - 1;
}

/* ---- slots ---- */

uint16_t rotation_group_most(const struct rotation_goal *goal, uint16_t group)
{
    uint64_t rate_bps = goal->group_bps[group], most;
    if (rate_bps == 0 || goal->train_bps == 0)
        return goal->one_per_group ? 1 : UINT16_MAX;
    if (goal->share_ppm != 0)
        rate_bps = muldiv64(rate_bps, goal->share_ppm, WHOLE_PPM);
    most = MIN(rate_bps / goal->train_bps, (uint64_t)UINT16_MAX);
    return goal->one_per_group ? (uint16_t)MIN(most, UINT64_C(1)) : (uint16_t)most;
}

/* The slot of a train that leaves its group: the first that has room there. `left` counts those before it. */
static uint16_t slot_of(const struct rotation_goal *goal, uint16_t from, uint16_t to, uint16_t *left)
{
    uint16_t group = goal->group_of[from];
    return group == goal->group_of[to] ? 0 : left[group]++ / rotation_group_most(goal, group);
}

static uint64_t slot_duration_ns(const struct rotation_goal *goal)
{
    return goal->train_ns + goal->guard_ns;
}

/* Slots of a round in which the pairs of these senders' bits take part. */
static uint16_t round_slots(const struct rotation_goal *goal, const uint64_t *wanted, uint64_t silent,
                            uint16_t round)
{
    uint16_t left[ROTATION_NODES_MAX] = {0}, slots = 0;
    for (uint16_t from = 0; from < goal->node_count; from++) {
        uint16_t to = (from + round) % goal->node_count;
        if ((wanted[from] & bit(to)) == 0 || (silent & (bit(from) | bit(to))) != 0)
            continue;
        uint16_t slot = slot_of(goal, from, to, left);
        slots = MAX(slots, (uint16_t)(slot + 1));
    }
    return slots;
}

static uint64_t pass_duration_ns(const struct rotation_goal *goal, const uint64_t *wanted, uint64_t silent,
                                 uint16_t first_round)
{
    uint64_t slots = 0;
    for (uint16_t round = first_round; round < goal->node_count; round++)
        slots += round_slots(goal, wanted, silent, round);
    return slots * slot_duration_ns(goal);
}

/* ---- before it begins ---- */

static void want_all(uint16_t count, uint64_t *wanted)
{
    for (uint16_t from = 0; from < count; from++)
        wanted[from] = all_nodes(count) & ~bit(from);
}

struct rotation_cost rotation_cost(const struct rotation_goal *goal)
{
    uint64_t wanted[ROTATION_NODES_MAX];
    want_all(goal->node_count, wanted);
    uint32_t others = goal->node_count - 1u, pairs = goal->node_count * others;
    uint64_t sending_ns = goal->passes * pass_duration_ns(goal, wanted, 0, 1);
    uint64_t own_ns = (uint64_t)goal->passes * others * goal->train_ns;
    return (struct rotation_cost){.pairs = pairs,
                                  .trains = pairs * goal->passes,
                                  .bytes = (uint64_t)pairs * goal->passes * goal->train_bytes,
                                  .node_bytes = (uint64_t)others * goal->passes * goal->train_bytes,
                                  .duration_ns = sending_ns + goal->timeout_ns,
                                  .load_ppm = (uint32_t)muldiv64(own_ns, WHOLE_PPM, sending_ns)};
}

bool rotation_init(struct rotation *rotation, const struct rotation_goal *goal, uint64_t now_ns,
                   struct err *err)
{
    if (goal->node_count < 2 || goal->node_count > ROTATION_NODES_MAX)
        return err_set(err, "%u nodes, expected 2 to %u", goal->node_count, ROTATION_NODES_MAX);
    if (goal->passes == 0 || goal->train_ns == 0)
        return err_set(err, "no pass, or trains that take no time");
    for (uint16_t node = 0; node < goal->node_count; node++) {
        if (goal->group_of[node] >= goal->node_count)
            return err_set(err, "node %u is of group %u", node, goal->group_of[node]);
        if (rotation_group_most(goal, goal->group_of[node]) == 0)
            return err_set(err, "one train alone takes more of the way out of group %u than it may",
                           goal->group_of[node]);
    }
    memset(rotation, 0, sizeof(*rotation));
    rotation->goal = *goal;
    rotation->slot_ns = now_ns;
    want_all(goal->node_count, rotation->wanted);
    return true;
}

void rotation_want(struct rotation *rotation, uint16_t from, uint64_t to_bits)
{
    CHECK(from < rotation->goal.node_count);
    rotation->wanted[from] = to_bits & all_nodes(rotation->goal.node_count) & ~bit(from);
}

void rotation_leave_out(struct rotation *rotation, uint16_t node)
{
    CHECK(node < rotation->goal.node_count);
    rotation->silent |= bit(node);
}

/* ---- while it runs ---- */

static bool skipped(const struct rotation *rotation, uint16_t from, uint16_t to)
{
    return (rotation->silent & (bit(from) | bit(to))) != 0;
}

/* Who sends in the round, by slots: the first that are left to each group's way out come first. In every pass another
 * node is the first, so that a pass cut short leaves out others than the last one did. */
static void list_round(struct rotation *rotation)
{
    const struct rotation_goal *goal = &rotation->goal;
    uint16_t left[ROTATION_NODES_MAX] = {0}, slots = 0;
    uint8_t slot_by_from[ROTATION_NODES_MAX];
    for (uint16_t place = 0; place < goal->node_count; place++) {
        uint16_t from = (place + rotation->pass) % goal->node_count;
        uint16_t to = (from + rotation->round) % goal->node_count;
        slot_by_from[from] = UINT8_MAX;
        if ((rotation->wanted[from] & bit(to)) == 0 || skipped(rotation, from, to))
            continue;
        slot_by_from[from] = (uint8_t)slot_of(goal, from, to, left);
        slots = MAX(slots, (uint16_t)(slot_by_from[from] + 1));
    }
    rotation->count = rotation->at = rotation->slot = 0;
    for (uint16_t slot = 0; slot < slots; slot++)
        for (uint16_t from = 0; from < goal->node_count; from++)
            if (slot_by_from[from] == slot) {
                rotation->trains[rotation->count].from = (uint8_t)from;
                rotation->trains[rotation->count].to = (uint8_t)((from + rotation->round) % goal->node_count);
                rotation->trains[rotation->count++].slot = (uint8_t)slot;
            }
}

/* The running slot is over, if it was used. */
static void end_slot(struct rotation *rotation)
{
    if (rotation->slot_used)
        rotation->slot_ns += slot_duration_ns(&rotation->goal);
    rotation->slot_used = false;
}

static bool awaits_answers(const struct rotation *rotation)
{
    for (uint16_t from = 0; from < rotation->goal.node_count; from++)
        for (uint16_t to = 0; to < rotation->goal.node_count; to++)
            if (rotation->open[from][to] != 0 && !skipped(rotation, from, to))
                return true;
    return false;
}

/* The next of the running round that is still to go. */
static bool give_train(struct rotation *rotation, uint64_t now_ns, struct rotation_train *train)
{
    for (; rotation->at < rotation->count; rotation->at++) {
        uint16_t from = rotation->trains[rotation->at].from, to = rotation->trains[rotation->at].to;
        if (rotation->trains[rotation->at].slot != rotation->slot) {
            end_slot(rotation);
            rotation->slot = rotation->trains[rotation->at].slot;
        }
        if (skipped(rotation, from, to))
            continue;
        if (!rotation->slot_used)
            rotation->slot_ns = MAX(rotation->slot_ns, now_ns);
        rotation->slot_used = true;
        rotation->open[from][to]++;
        rotation->sent++;
        rotation->at++;
        *train = (struct rotation_train){from, to, rotation->pass, rotation->slot_ns};
        return true;
    }
    return false;
}

enum rotation_step rotation_next(struct rotation *rotation, uint64_t now_ns, struct rotation_train *train)
{
    while (rotation->pass < rotation->goal.passes) {
        if (give_train(rotation, now_ns, train))
            return ROTATION_TRAIN;
        end_slot(rotation);
        if (++rotation->round < rotation->goal.node_count) {
            list_round(rotation);
            continue;
        }
        rotation->round = rotation->count = rotation->at = 0;
        if (++rotation->pass < rotation->goal.passes)
            return ROTATION_PASS;
    }
    *train = (struct rotation_train){.at_ns = TIME_NEVER};
    return awaits_answers(rotation) ? ROTATION_WAIT : ROTATION_DONE;
}

static void on_miss(struct rotation *rotation, uint16_t node)
{
    if (rotation->misses[node] < MISSES_MAX)
        rotation->misses[node]++;
    if (rotation->misses[node] == MISSES_MAX)
        rotation->silent |= bit(node);
}

void rotation_take(struct rotation *rotation, uint16_t from, uint16_t to, bool answered)
{
    CHECK(from < rotation->goal.node_count && to < rotation->goal.node_count && rotation->open[from][to] > 0);
    rotation->open[from][to]--;
    if (answered) {
        rotation->answered++;
        rotation->answers[from][to]++;
        rotation->silent &= ~(bit(from) | bit(to));
        rotation->misses[from] = rotation->misses[to] = 0;
        return;
    }
    rotation->missed++;
    /* With a silent one at its end nothing is said of the other. */
    bool from_silent = (rotation->silent & bit(from)) != 0, to_silent = (rotation->silent & bit(to)) != 0;
    if (!to_silent)
        on_miss(rotation, from);
    if (!from_silent)
        on_miss(rotation, to);
}

struct rotation_progress rotation_progress(const struct rotation *rotation)
{
    const struct rotation_goal *goal = &rotation->goal;
    struct rotation_progress progress = {.sent = rotation->sent,
                                         .answered = rotation->answered,
                                         .missed = rotation->missed,
                                         .bytes = rotation->sent * goal->train_bytes,
                                         .silent = rotation->silent};
    uint32_t passes_left = goal->passes - rotation->pass;
    for (uint16_t from = 0; from < goal->node_count; from++)
        for (uint16_t to = 0; to < goal->node_count; to++) {
            bool wanted = (rotation->wanted[from] & bit(to)) != 0 && !skipped(rotation, from, to);
            progress.pairs += wanted;
            progress.pairs_answered += rotation->answers[from][to] > 0;
        }
    progress.trains = progress.sent;
    if (passes_left > 0) {
        uint64_t whole_ns = pass_duration_ns(goal, rotation->wanted, rotation->silent, 1);
        progress.left_ns =
            (passes_left - 1) * whole_ns +
            pass_duration_ns(goal, rotation->wanted, rotation->silent, (uint16_t)(rotation->round + 1));
        progress.trains += (passes_left - 1) * progress.pairs;
        for (uint16_t round = (uint16_t)(rotation->round + 1); round < goal->node_count; round++)
            for (uint16_t from = 0; from < goal->node_count; from++)
                progress.trains += (rotation->wanted[from] & bit((from + round) % goal->node_count)) != 0 &&
                                   !skipped(rotation, from, (from + round) % goal->node_count);
        progress.trains += (uint32_t)(rotation->count - rotation->at);
    }
    progress.left_ns += passes_left > 0 || awaits_answers(rotation) ? goal->timeout_ns : 0;
    return progress;
}
