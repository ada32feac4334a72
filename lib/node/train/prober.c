#include "node/train/prober.h"

#include <stddef.h>
#include <string.h>

#include "base/check.h"
#include "node/train/in.h"
#include "node/train/prober_goal.h"
#include "node/train/prober_results.h"

#define RETRY_NS         (1 * NS_PER_MS)   /* an estimator whose train could not be sent is asked again */
#define IDLE_NS          (200 * NS_PER_MS) /* nobody is there to be measured: another look */
#define SWALLOWED_PART   4                 /* of a train, packets with one stamp */
#define SLICE_NS         (2500 * NS_PER_MS)
#define LONG_NS          NS_PER_S        /* to wait for a receiver: others have their turn */
#define HOLD_NS_MAX      (60 * NS_PER_S) /* whatever a receiver says */
#define BLIND_NS         (10 * NS_PER_S) /* behind one that told nothing; doubles … */
#define BLIND_DOUBLES    6u              /* … so often */
#define BACKGROUND_PARTS 8               /* of a slice: most of the random pause between two measurements */

/* Of one peer in the background. */
static uint64_t slice_of(const struct node *node)
{
    return node->config.probe.period_ns != 0 ? node->config.probe.period_ns : SLICE_NS;
}

static size_t state_bytes(const struct node_config *config)
{
    return config->probe.estimator == NULL ? 0 : arena_need(config->probe.estimator->bytes);
}

size_t prober_bytes(const struct node_config *config)
{
    return arena_need(sizeof(struct prober)) + state_bytes(config);
}

void prober_init(struct node *node, struct arena *arena, uint64_t now_ns)
{
    struct prober *prober = arena_alloc(arena, sizeof(*prober));
    node->prober = prober;
    prober->peer = prober->kept.peer = PEER_NONE;
    prober->state_bytes = state_bytes(&node->config);
    prober->state = arena_alloc(arena, prober->state_bytes);
    prober->background_ns = TIME_NEVER;
    prober->load_ns[0] = prober->load_ns[1] = now_ns;
    if (node->config.probe.background && kind_of(node) != NULL && !node->config.probe.off)
        prober->background_ns = now_ns + rng_below(&node->rng, slice_of(node));
}

/* ---- whose turn it is ---- */

static bool can_measure(const struct peer *peer)
{
    return peer->state == PEER_UP && !peer->config->probe_off && peer->rtt_min_ns != 0;
}

static void begin_estimator(struct node *node, uint64_t now_ns)
{
    struct prober *prober = node->prober;
    struct estimator_goal goal = prober_goal(node, &node->peers[prober->peer]);
    memset(prober->state, 0, prober->state_bytes);
    prober->testing = false;
    prober->step_ns = now_ns;
    kind_of(node)->start(node->prober->state, &goal, now_ns);
}

static bool wants_test(const struct node *node, uint16_t index, bool again, uint64_t now_ns)
{
    return kind_of(node)->floors && ends_wanted(&node->prober->results[index].ends, again, now_ns);
}

/* One train for the line: for whom it is too much to have more of the same, or the ends tested. */
static bool is_look(const struct prober *prober)
{
    return prober->line.wanted && prober->ask.trains == 1;
}

/* Of the path to `peer`, or of the line by what goes to that peer and others in turn. */
static void begin_trains(struct node *node, uint16_t peer, uint64_t now_ns)
{
    struct prober *prober = node->prober;
    prober->peer = peer;
    prober->trains = 0;
    prober->turned_down = TRAIN_TAKEN;
    prober->ending = prober->alone = false;
    prober->step_ns = prober->hold_ns = now_ns;
    prober->testing = !is_look(prober) && wants_test(node, peer, !prober->asked, now_ns);
    if (!prober->testing)
        begin_estimator(node, now_ns);
}

/* Bit per peer the path to whom is known, alone. */
static uint64_t alone_mask(const struct node *node, uint64_t now_ns)
{
    uint64_t mask = 0;
    for (uint16_t index = 0; index < node->peer_count; index++)
        mask |= (uint64_t)(prober_alone(node, index, now_ns) != NULL) << index;
    return mask;
}

/* `ask`: of another node, for which it is; NULL: it is this node's own affair. */
static void begin(struct node *node, uint16_t index, bool asked, const struct asked_path *ask,
                  uint64_t now_ns)
{
    struct prober *prober = node->prober;
    prober->asked = asked;
    prober->for_other = ask != NULL;
    prober->ask = ask != NULL ? *ask : (struct asked_path){.end_ns = TIME_NEVER};
    prober->begun_ns = now_ns;
    prober->begun_bytes = node->train_out->sent_bytes;
    prober->line.wanted = index == PEER_SELF;
    if (prober->line.wanted)
        line_begin(node, &prober->line, prober->ask.bytes, alone_mask(node, now_ns), is_look(prober));
    begin_trains(node, prober->line.wanted ? prober->line.peer : index, now_ns);
}

/* When the ends of that peer's path are to be tested though nobody measures it; TIME_NEVER: not. */
static uint64_t early_test_ns(const struct node *node, uint16_t index, uint64_t now_ns)
{
    const struct ends *ends = &node->prober->results[index].ends;
    bool wanted = node->config.probe.test_early && !node->config.probe.off && !core_has_jobs(node) &&
                  ends->tries < ENDS_TRIES && can_measure(&node->peers[index]) &&
                  wants_test(node, index, false, now_ns);
    return wanted ? MAX(ends->hold_ns, now_ns) : TIME_NEVER;
}

static bool begin_early_test(struct node *node, uint64_t now_ns)
{
    for (uint16_t index = 0; index < node->peer_count; index++)
        if (early_test_ns(node, index, now_ns) <= now_ns) {
            begin(node, index, false, NULL, now_ns);
            node->prober->alone = true;
            return true;
        }
    return false;
}

/* Asked for and there is nobody: that is the answer. */
static void refuse(struct node *node, uint16_t index, uint64_t now_ns)
{
    struct probe_result *result = &node->prober->results[index];
    result->estimate = (struct estimate){.kind = ESTIMATE_REFUSED, .reason = ESTIMATE_NO_ANSWER};
    result->known_ns = now_ns;
    result->count++;
}

/* Whether the background may turn to it now. */
static bool wants_turn(const struct node *node, uint16_t index, uint64_t now_ns)
{
    const struct probe_result *result = &node->prober->results[index];
    bool quiet = !core_has_jobs(node) || result->capacity_bps != 0;
    return can_measure(&node->peers[index]) && quiet && now_ns >= result->hold_ns &&
           !prober_data_tells(node, index, now_ns);
}

/* One of those whose turn has not been since all others' was. */
static uint16_t background_turn(struct node *node, uint64_t now_ns)
{
    struct prober *prober = node->prober;
    uint64_t ready_mask = 0;
    for (uint16_t index = 0; index < node->peer_count; index++)
        ready_mask |= (uint64_t)wants_turn(node, index, now_ns) << index;
    if (ready_mask == 0)
        return PEER_NONE;
    if ((prober->turn_mask & ready_mask) == 0)
        prober->turn_mask = UINT64_MAX;
    uint64_t left_mask = prober->turn_mask & ready_mask;
    for (uint64_t skip = rng_below(&node->rng, (uint64_t)__builtin_popcountll(left_mask)); skip > 0; skip--)
        left_mask &= left_mask - 1;
    uint16_t index = (uint16_t)__builtin_ctzll(left_mask);
    prober->turn_mask &= ~(1ULL << index);
    return index;
}

/* The background would be in the way of what is to begin soon. */
static bool hold_for_others(const struct node *node)
{
    return asked_next_ns(node) != TIME_NEVER;
}

static void choose(struct node *node, uint64_t now_ns)
{
    struct prober *prober = node->prober;
    while (prober->asked_mask != 0) {
        uint16_t index = (uint16_t)__builtin_ctzll(prober->asked_mask);
        prober->asked_mask &= prober->asked_mask - 1;
        if (can_measure(&node->peers[index])) {
            begin(node, index, true, NULL, now_ns);
            return;
        }
        refuse(node, index, now_ns);
    }
    struct asked_path ask;
    if (asked_due(node, now_ns, &ask)) {
        begin(node, ask.to, true, &ask, now_ns);
        return;
    }
    if (begin_early_test(node, now_ns) || now_ns < prober->background_ns)
        return;
    if (hold_for_others(node)) {
        prober->background_ns = asked_last_ns(node);
        return;
    }
    uint16_t index = background_turn(node, now_ns);
    if (index != PEER_NONE)
        begin(node, index, false, NULL, now_ns);
    else
        prober->background_ns = now_ns + IDLE_NS;
}

/* What was sent is paid for at the load that the path may have. */
static uint64_t paid_ns(const struct node *node)
{
    const struct prober *prober = node->prober;
    const struct peer *peer = &node->peers[prober->peer];
    uint64_t capacity_bps = prober->results[prober->peer].capacity_bps;
    if (capacity_bps == 0)
        capacity_bps = node->config.ports[peer->port].rate_bps;
    uint64_t load_bps = MAX(muldiv64(capacity_bps, prober_load_ppb(node), 1000000000), 1ULL);
    return prober->begun_ns +
           muldiv64(node->train_out->sent_bytes - prober->begun_bytes, 8 * NS_PER_S, load_bps);
}

/* The background: trains went, nobody turned them down, and nothing is known. What they were of the path is not known either. */
static void hold_blind(struct node *node, uint64_t now_ns)
{
    const struct prober *prober = node->prober;
    struct probe_result *result = &node->prober->results[prober->peer];
    struct estimate estimate = {0};
    kind_of(node)->result(prober->state, now_ns, &estimate);
    bool sent = node->train_out->sent_bytes != prober->begun_bytes;
    if (estimate.kind != ESTIMATE_REFUSED || result->capacity_bps != 0)
        result->blind = 0;
    else if (sent && !prober->asked && prober->turned_down == TRAIN_TAKEN)
        result->hold_ns = now_ns + (BLIND_NS << MIN(result->blind++, BLIND_DOUBLES));
}

/* Of a line by joint trains: whether the path to one of their receivers alone has to tell what they mean. */
static bool goes_on_alone(struct node *node, uint64_t now_ns)
{
    struct prober *prober = node->prober;
    struct line *line = &prober->line;
    kind_of(node)->result(prober->state, now_ns, &line->joint_estimate);
    bool decided = line->joint_estimate.kind != ESTIMATE_VALUE || line->apart || line->agreed ||
                   is_look(prober) || prober_alone(node, line->peer, now_ns) != NULL ||
                   now_ns >= prober->ask.end_ns;
    if (decided)
        return false;
    line->alone = true;
    begin_trains(node, line->peer, now_ns);
    core_schedule(node, now_ns);
    return true;
}

static void finish(struct node *node, uint64_t now_ns)
{
    struct prober *prober = node->prober;
    bool joint = line_is_joint(&prober->line);
    train_out_stop(node);
    if (joint && goes_on_alone(node, now_ns))
        return;
    if (!joint) {
        prober_note_result(node, now_ns);
        hold_blind(node, now_ns);
        prober->results[prober->peer].count++;
        prober->news_mask |= (uint64_t)(prober->results[prober->peer].known_ns != 0) << prober->peer;
    }
    if (prober->for_other)
        prober_answer(node, PROBE_MEASURED, now_ns);
    if (prober->background_ns != TIME_NEVER) {
        uint64_t pause_ns = rng_below(&node->rng, slice_of(node) / BACKGROUND_PARTS);
        prober->background_ns = MAX(now_ns, paid_ns(node)) + pause_ns;
    }
    prober->peer = PEER_NONE;
}

/* ---- one measurement ---- */

/* A joint train is over: those of its receivers that have told are heard. */
static void take_joint(struct node *node, uint64_t now_ns)
{
    struct prober *prober = node->prober;
    const struct estimate *alone[TRAIN_SPRINTS_MAX];
    const struct self_test *test = &prober->results[prober->peer].ends.test;
    struct estimate estimate = {0};
    for (uint16_t receiver = 0; receiver < train_receiver_count(&prober->line.to); receiver++)
        alone[receiver] = prober_alone(node, prober->line.to.peers[receiver], now_ns);
    kind_of(node)->take(prober->state, line_take(node, &prober->line, alone, test), now_ns);
    line_tell_paths(node, &prober->line, alone, now_ns);
    kind_of(node)->result(prober->state, now_ns, &estimate);
    prober->ending |= joint_enough(&estimate);
    prober->step_ns = MIN(prober->step_ns, now_ns);
}

/* `record`: of a train that never left; NULL: no report of it came. */
static void lose(struct node *node, const struct train_record *record, uint64_t now_ns)
{
    if (node->prober->testing) {
        ends_miss(node, &node->prober->results[node->prober->peer].ends, 0, now_ns);
        return;
    }
    if (record == NULL && line_is_joint(&node->prober->line)) {
        take_joint(node, now_ns);
        return;
    }
    kind_of(node)->take(node->prober->state, record, now_ns);
    node->prober->step_ns = MIN(node->prober->step_ns, now_ns);
}

static bool send(struct node *node, const struct train_shape *shape, uint64_t at_ns, uint64_t now_ns)
{
    struct prober *prober = node->prober;
    struct line *line = &prober->line;
    uint16_t flags = prober->asked ? 0 : WIRE_TRAIN_BACKGROUND;
    if (line_is_joint(line))
        return train_out_idle(node) && line_renew(node, line) &&
               train_out_begin_joint(node, &line->to, shape, flags, at_ns, now_ns);
    return train_out_begin(node, &node->peers[prober->peer], shape, flags, at_ns, now_ns);
}

static void ask_estimator(struct node *node, uint64_t now_ns)
{
    struct prober *prober = node->prober;
    struct train_shape shape = {0};
    uint64_t at_ns = now_ns;
    switch (kind_of(node)->next(node->prober->state, now_ns, &shape, &at_ns)) {
    case ESTIMATOR_TRAIN:
        if (send(node, &shape, at_ns, now_ns)) {
            prober->trains++;
            return;
        }
        kind_of(node)->take(prober->state, NULL,
                            now_ns); /* nothing was sent: the train before was told already */
        prober->step_ns = now_ns + RETRY_NS;
        return;
    case ESTIMATOR_WAIT:
        prober->step_ns = at_ns > now_ns ? at_ns : now_ns + RETRY_NS;
        return;
    case ESTIMATOR_DONE:
        prober->ending = true;
    }
}

/* Nobody waits for a test alone: those who are to be measured come first. */
static void test_ends(struct node *node, uint64_t now_ns)
{
    struct prober *prober = node->prober;
    struct ends *ends = &prober->results[prober->peer].ends;
    uint16_t flags = prober->asked ? 0 : WIRE_TRAIN_BACKGROUND;
    if (!train_out_idle(node))
        return;
    bool wanted = wants_test(node, prober->peer, !prober->asked && !prober->alone, now_ns);
    bool yields = !prober->asked && asked_next_ns(node) <= now_ns;
    if (yields || (prober->alone && (!wanted || now_ns < ends->hold_ns || prober->asked_mask != 0))) {
        prober->peer = PEER_NONE;
        core_schedule(node, now_ns);
    } else if (!wanted) {
        begin_estimator(node, now_ns);
    } else if (now_ns < ends->hold_ns) {
        prober->step_ns = ends->hold_ns;
    } else if (!ends_send(node, &node->peers[prober->peer], ends, flags, now_ns)) {
        ends_miss(node, ends, 0, now_ns);
        prober->step_ns = ends->hold_ns;
    }
}

/* No train goes whose report would come too late for who asked, nor one more than he wants. */
static uint64_t last_train_ns(const struct node *node)
{
    const struct prober *prober = node->prober;
    bool enough = prober->ask.trains != 0 && prober->trains >= prober->ask.trains;
    uint64_t grace_ns = line_is_joint(&prober->line) ? TRAIN_GRACE_JOINT_NS : TRAIN_GRACE_NS;
    if (!prober->for_other)
        return TIME_NEVER;
    return enough ? 0 : elapsed_ns(prober->ask.end_ns, node->peers[prober->peer].rtt_min_ns + grace_ns);
}

/* Something else is to be measured, which does not wait for the background. */
static bool gives_way(const struct node *node, uint64_t now_ns)
{
    const struct prober *prober = node->prober;
    bool asked = prober->asked_mask != 0 && prober_goes_on(node);
    return !prober->asked && (asked || asked_next_ns(node) <= now_ns) && !node->train_out->leaving;
}

/* Joint trains, whose first receiver is down: the others suffice, once the train that was for all is over. */
static bool goes_on_without(struct node *node)
{
    struct prober *prober = node->prober;
    if (!line_is_joint(&prober->line) || prober->testing)
        return false;
    if (!train_out_idle(node))
        return true;
    if (!line_renew(node, &prober->line))
        return false;
    prober->peer = prober->line.to.peers[0];
    return true;
}

static void measure(struct node *node, uint64_t now_ns)
{
    struct prober *prober = node->prober;
    const struct train_record *record;
    while (train_out_give_up(node, now_ns, &record))
        lose(node, record, now_ns);
    if (!can_measure(&node->peers[prober->peer]) && !goes_on_without(node)) {
        if (prober->for_other)
            prober_answer(node, PROBE_DOWN, now_ns);
        if (!prober->alone && !prober->line.wanted)
            refuse(node, prober->peer, now_ns);
        train_out_stop(node);
        prober->peer = PEER_NONE;
        return;
    }
    if (prober->testing && now_ns >= prober->ask.end_ns)
        begin_estimator(node, now_ns); /* which will say that it knows nothing */
    if (prober->testing)
        test_ends(node, now_ns);
    if (prober->testing || prober->peer == PEER_NONE)
        return;
    if (gives_way(node, now_ns) || now_ns >= last_train_ns(node))
        prober->ending = true;
    if (!prober->ending && now_ns >= MAX(prober->step_ns, prober->hold_ns) && train_out_room(node))
        ask_estimator(node, now_ns);
    if ((prober->ending && train_out_idle(node)) || now_ns >= prober->ask.end_ns)
        finish(node, now_ns);
}

void prober_tick(struct node *node, uint64_t now_ns)
{
    struct prober *prober = node->prober;
    if (kind_of(node) == NULL || node->shutting_down)
        return;
    prober_roll_load(node, now_ns);
    if (prober->peer == PEER_NONE)
        choose(node, now_ns);
    if (prober->peer != PEER_NONE)
        measure(node, now_ns);
}

uint64_t prober_next_ns(const struct node *node)
{
    const struct prober *prober = node->prober;
    if (kind_of(node) == NULL || node->shutting_down)
        return TIME_NEVER;
    if (prober->peer == PEER_NONE) {
        uint64_t at_ns = prober->asked_mask != 0 ? node->now_ns : prober->background_ns;
        for (uint16_t index = 0; node->config.probe.test_early && index < node->peer_count; index++)
            at_ns = MIN(at_ns, early_test_ns(node, index, node->now_ns));
        return MIN(at_ns, asked_next_ns(node));
    }
    uint64_t next_ns = MIN(train_out_give_up_ns(node), prober->ask.end_ns);
    if (prober->ending)
        return train_out_idle(node) ? node->now_ns : next_ns;
    next_ns = MIN(next_ns, prober->testing ? TIME_NEVER : last_train_ns(node));
    if (!prober->asked && (prober->testing ? train_out_idle(node) : !node->train_out->leaving))
        next_ns = MIN(next_ns, asked_next_ns(node));
    if (prober->testing ? train_out_idle(node) : train_out_room(node))
        next_ns = MIN(next_ns, MAX(prober->step_ns, prober->hold_ns));
    return next_ns;
}

/* What the ends add to their stamps: for what is measured later, and for the word of how this was. */
static void note_floors(struct probe_result *result, const struct train_record *record)
{
    struct train_floor receiver = record->receiver;
    if (receiver.batch > record->count / SWALLOWED_PART) /* it was away: that is no batch of its own making */
        receiver.batch = result->receiver.batch;
    result->heard = true;
    result->sender = record->sender;
    result->receiver = receiver;
}

/* A self-test has come, or was not taken. */
static void on_test(struct node *node, const struct peer *peer, enum train_news news, uint64_t wait_ns,
                    uint64_t now_ns)
{
    struct prober *prober = node->prober;
    struct probe_result *result = &prober->results[peer->index];
    if (news == TRAIN_REFUSED) {
        node->counters.trains_refused++;
        ends_miss(node, &result->ends, wait_ns, now_ns);
    } else {
        ends_take(node, peer, &result->ends, &node->train_out->record, now_ns);
        result->heard |= result->ends.seen;
        result->sender = result->ends.test.sender;
        result->receiver = result->ends.test.receiver;
    }
    prober->step_ns = now_ns;
    core_schedule(node, now_ns);
}

static void keep(struct prober *prober, const struct train_record *record)
{
    struct kept_train *kept = &prober->kept;
    if (!prober->asked || prober->for_other ||
        (kept->peer == prober->peer && record->marks != 0 && kept->train.record.marks == 0))
        return;
    kept->peer = prober->peer;
    memcpy(&kept->train.record, record,
           offsetof(struct train_record, samples) + record->count * sizeof(record->samples[0]));
}

void prober_on_message(struct node *node, const struct peer *peer, const struct control_train_report *report,
                       uint64_t now_ns)
{
    struct prober *prober = node->prober;
    bool joint = line_is_joint(&prober->line) && !prober->testing;
    if (prober->peer == PEER_NONE || (prober->peer != peer->index && !joint))
        return;
    uint64_t wait_ns = MIN(report->fixed.wait_ms * NS_PER_MS, HOLD_NS_MAX);
    enum train_news news = train_out_on_message(node, peer, report);
    bool off = news == TRAIN_REFUSED && report->fixed.answer == TRAIN_OFF && prober->for_other;
    if (news == TRAIN_REFUSED)
        prober->turned_down = report->fixed.answer;
    if (news != TRAIN_NONE && prober->testing) {
        on_test(node, peer, news, wait_ns, now_ns);
        if (off)
            begin_estimator(node, now_ns);
        prober->ending |= off;
        return;
    }
    if (news == TRAIN_RECORDED && joint) {
        take_joint(node, now_ns);
        core_schedule(node, now_ns);
        return;
    }
    switch (news) {
    case TRAIN_NONE:
        return;
    case TRAIN_RECORDED:
        self_test_apply(&prober->results[prober->peer].ends.test, &node->train_out->record);
        note_floors(&prober->results[prober->peer], &node->train_out->record);
        keep(prober, &node->train_out->record);
        kind_of(node)->take(node->prober->state, &node->train_out->record, now_ns);
        prober->step_ns = now_ns;
        prober_note_result(node, now_ns);
        break;
    case TRAIN_REFUSED:
        node->counters.trains_refused++;
        lose(node, NULL, now_ns);
        if (train_out_withdraw(node)) /* it would be refused too */
            lose(node, NULL, now_ns);
        prober->hold_ns = now_ns + wait_ns;
        prober->ending |= off;
        if (!prober->asked && wait_ns >= LONG_NS) {
            prober->results[prober->peer].hold_ns = prober->hold_ns;
            prober->ending = true;
        }
        break;
    }
    core_schedule(node, now_ns);
}

void prober_forget(struct node *node, uint16_t peer)
{
    struct prober *prober = node->prober;
    ends_forget(&prober->results[peer].ends);
    /* Its next asks may bear the same numbers: an answer to this one would be taken for one to those. */
    if (prober->peer != PEER_NONE && prober->for_other && prober->ask.asker == peer) {
        prober->ask.asker = PEER_NONE;
        prober->ask.end_ns = node->now_ns;
        core_schedule(node, node->now_ns);
    }
}

bool prober_ask(struct node *node, const char *name, uint64_t now_ns, struct err *err)
{
    uint16_t index = peer_find(node, name);
    if (node->config.probe.off || kind_of(node) == NULL)
        return err_set(err,
                       "this node measures no paths: probe, in its node file, is off or has no estimator");
    if (index == PEER_SELF || index == PEER_NONE)
        return err_set(err, "there is no peer '%s'", name);
    if (node->peers[index].config->probe_off)
        return err_set(err, "the path to '%s' is not to be measured: its entry says probe: off", name);
    if (node->peers[index].state != PEER_UP)
        return err_set(err, "'%s' is down", name);
    node->prober->asked_mask |= 1ULL << index;
    if (node->prober->kept.peer == index)
        node->prober->kept.peer = PEER_NONE;
    core_schedule(node, now_ns);
    return true;
}
