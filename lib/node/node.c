/* A node's life after its start (create.c): tick, deadlines, disk, control records. */
#include "node/node.h"

#include <string.h>

#include "base/check.h"
#include "edge/gather.h"
#include "node/flow/data_rate.h"
#include "node/flow/depart.h"
#include "node/flow/edges.h"
#include "node/flow/feedback.h"
#include "node/peer/measure.h"
#include "node/role/controls.h"
#include "node/role/manifest.h"
#include "node/role/role.h"
#include "node/role/source.h"
#include "node/top.h"
#include "node/train/all.h"
#include "node/train/in.h"
#include "node/train/line_in.h"
#include "node/train/prober.h"

static uint64_t tick_ns(const struct node *node)
{
    return MIN(node->tick_ns, deadlines_next_ns(&node->due));
}

/* Not called for longer than any peer is quiet; or, where hellos are rare, late by so much of others' patience.
 */
static bool stood_still(const struct node *node, uint64_t now_ns)
{
    if (elapsed_ns(now_ns, node->now_ns) >= node->config.hello_interval_ns + NS_PER_S)
        return true;
    return elapsed_ns(now_ns, MAX(node->now_ns, tick_ns(node))) >= node->config.stall_timeout_ns / 2;
}

uint64_t node_enter(struct node *node, uint64_t clock_ns)
{
    if (clock_ns + node->ahead_ns < node->now_ns) {
        node->ahead_ns = node->now_ns - clock_ns;
        node->counters.clock_steps++;
    }
    uint64_t now_ns = clock_ns + node->ahead_ns, gap_ns = now_ns - node->now_ns;
    bool still = stood_still(node, now_ns);
    node->now_ns = now_ns;
    train_in_on_turn(node->train_in, now_ns);
    if (!still)
        return now_ns;
    node->counters.standstills++;
    node->still_ns += gap_ns;
    digest_add(&node->digest, gap_ns);
    for (uint16_t index = 0; index < node->peer_count; index++)
        peer_on_standstill(&node->peers[index], gap_ns);
    node->changed_mask = (1ULL << node->peer_count) - 1;
    return now_ns;
}

/* `given`: of those that have been given to their sites, too. */
static bool jobs_alive(const struct node *node, bool given)
{
    for (uint32_t slot = 0; slot < NODE_JOBS_MAX; slot++) {
        enum job_phase phase = node->jobs[slot].phase;
        if (job_is_known(&node->jobs[slot]) && phase != PHASE_CLOSED && (!given || phase_is_given(phase)))
            return true;
    }
    return false;
}

static void tick_peer(struct node *node, struct peer *peer, uint64_t now_ns)
{
    peer_note_answers(node, peer);
    session_expire_tentative(node, peer);
    bool spent = session_update_tick(node, peer, now_ns);
    if (session_fell_silent(node, peer, now_ns) || spent)
        peer_went_down(node, peer, now_ns);
    measure_tick_peer(node, peer, now_ns);
    if (edges_follow_mtu(node, peer, now_ns))
        feedback_on_narrower(node, peer, now_ns);
    if (peer->state == PEER_UP)
        feedback_tick(node, peer, now_ns);
}

static void tick_measurements(struct node *node, uint64_t now_ns)
{
    uint32_t own_jobs[MEASURE_ASKS_MAX];
    uint16_t count = measure_tick(node, now_ns, own_jobs);
    for (uint16_t index = 0; index < count; index++) {
        struct job *job = job_of_source(node, own_jobs[index]);
        if (job != NULL)
            source_on_own_measurement(node, job, now_ns);
    }
}

/* Trains, and who measures what. */
static void tick_trains(struct node *node, uint64_t now_ns)
{
    struct control_probe_answer answer;
    struct pair_end end;
    train_in_tick(node, now_ns);
    line_in_tick(node, now_ns);
    prober_tick(node, now_ns);
    while (asked_take_own(node, &answer))
        if (pairs_on_answer(node, PEER_SELF, &answer, now_ns, &end))
            all_on_end(node, &end, now_ns);
    while (pairs_give_up(node, now_ns, &end))
        all_on_end(node, &end, now_ns);
    all_tick(node, now_ns);
}

static uint64_t trains_next_ns(const struct node *node)
{
    uint64_t trains_ns = MIN(train_in_next_ns(node), line_in_next_ns(node));
    trains_ns = MIN(trains_ns, prober_next_ns(node));
    uint64_t pairs_ns = MIN(pairs_next_ns(node), all_next_ns(node));
    return node->asked->own_count > 0 ? node->now_ns : MIN(trains_ns, pairs_ns);
}

static void tick_jobs(struct node *node, uint64_t now_ns)
{
    for (uint32_t slot = 0; slot < NODE_JOBS_MAX; slot++)
        if (job_is_known(&node->jobs[slot]))
            role_tick(node, &node->jobs[slot], now_ns);
    data_rate_look(node, now_ns);
    node->jobs_tick_ns = jobs_alive(node, false) ? now_ns + JOB_TICK_NS : TIME_NEVER;
    node->jobs_given = jobs_alive(node, true);
}

void node_tick(struct node *node, uint64_t now_ns)
{
    now_ns = node_enter(node, now_ns);
    if (now_ns < tick_ns(node))
        return;
    /* Nothing has happened to the others since their deadlines were found. */
    uint64_t peers = deadlines_take(&node->due, now_ns) | node->changed_mask | node->short_mask;
    for (uint64_t left = peers; left != 0; left &= left - 1)
        tick_peer(node, &node->peers[__builtin_ctzll(left)], now_ns);
    flow_wake_all(node);
    tick_measurements(node, now_ns);
    if (now_ns >= node->jobs_tick_ns)
        tick_jobs(node, now_ns);
    tick_trains(node, now_ns);
    uint64_t jobs_ns = MIN(node->jobs_tick_ns, node->measure->next_ns);
    node->tick_ns = MIN(jobs_ns, trains_next_ns(node));
    peers |= deadlines_take(&node->due, now_ns) | node->changed_mask;
    node->changed_mask = 0;
    for (uint64_t left = peers; left != 0; left &= left - 1) {
        struct peer *peer = &node->peers[__builtin_ctzll(left)];
        if (peer_control_due(node, peer, now_ns))
            peer_note_control(node, peer);
        peer_reschedule(node, peer);
    }
}

/* While no planner is there, nobody may come for requests: they wait for one to attach. */
static bool plan_request_due(const struct node *node)
{
    return node->planner_attached && node->plan_requests_due != 0;
}

static uint64_t next_ns(const struct node *node)
{
    for (uint16_t port = 0; port < node->config.port_count; port++)
        if (node->ports[port].control_mask != 0)
            return node->now_ns;
    bool news = node->planner_attached && (node->prober->news_mask != 0 || node->pairs->news_count != 0);
    if (disk_queue_ready(&node->disk_queue) || plan_request_due(node) || news)
        return node->now_ns;
    uint64_t data_ns = node->shutting_down ? TIME_NEVER : MIN(depart_next_ns(node), train_out_next_ns(node));
    return MAX(MIN(tick_ns(node), data_ns), node->now_ns);
}

uint64_t node_next_ns(const struct node *node)
{
    uint64_t at_ns = next_ns(node);
    return at_ns == TIME_NEVER ? TIME_NEVER : elapsed_ns(at_ns, node->ahead_ns);
}

uint64_t node_gather_ns(const struct node *node)
{
    if (train_out_next_ns(node) != TIME_NEVER || train_in_next_ns(node) != TIME_NEVER)
        return 0;
    uint64_t gather_ns = depart_gather_ns(node);
    for (uint16_t port = 0; port < node->config.port_count; port++)
        gather_ns = MIN(gather_ns, gather_at_ns(node->ports[port].in_rate_bps));
    return gather_ns;
}

void node_shutdown(struct node *node, uint64_t now_ns)
{
    node->shutting_down = true;
    for (uint16_t index = 0; index < node->peer_count; index++)
        if (peer_is_known(&node->peers[index]))
            session_say_farewell(node, &node->peers[index], WIRE_CLOSE_SHUTDOWN);
    for (uint16_t index = 0; index < node->peer_count; index++)
        peer_schedule(node, &node->peers[index], now_ns);
    core_schedule(node, now_ns);
}

uint16_t node_disk(struct node *node, struct disk_request *requests, uint16_t room, uint64_t now_ns)
{
    (void)now_ns;
    return disk_queue_pop(&node->disk_queue, requests, room);
}

void node_disk_done(struct node *node, const struct disk_reply *replies, uint16_t count, uint64_t now_ns)
{
    now_ns = node_enter(node, now_ns);
    for (uint16_t index = 0; index < count; index++) {
        const struct disk_reply *reply = &replies[index];
        job_disks_move(node, disk_queue_done(&node->disk_queue, reply));
        if (reply->op == DISK_MANIFEST) {
            digest_add(&node->digest, (uint64_t)reply->op << 56 ^ reply->cookie ^ reply->status);
            manifest_on_disk(node, reply);
            continue;
        }
        CHECK(reply->handle < NODE_JOBS_MAX);
        struct job *job = &node->jobs[reply->handle];
        CHECK(job_is_known(job) && job->disk.outstanding > 0);
        digest_add(&node->digest, (uint64_t)reply->op << 56 ^ reply->cookie ^ reply->status);
        role_on_disk(node, job, reply, now_ns);
    }
    if (count > 0) {
        core_wake_jobs(node, now_ns);
        core_schedule(node, now_ns);
    }
}

/* From here it is this node's own measurement; from elsewhere its sender's. */
static bool probe(struct node *node, const struct ctl_msg *msg, uint64_t now_ns, struct err *err)
{
    const char *from = msg->body.probe.peer, *to = msg->body.probe.to;
    if (to[0] == '\0')
        return prober_ask(node, from, now_ns, err);
    if (peer_find(node, from) == PEER_SELF)
        return prober_ask(node, to, now_ns, err);
    return pairs_ask_by_name(node, from, to, now_ns, err);
}

static bool probe_all(struct node *node, const struct ctl_msg *msg, uint64_t now_ns, struct err *err)
{
    switch ((enum ctl_all)msg->body.probe_all.what) {
    case CTL_ALL_RECKON:
        return all_reckon(node, msg->body.probe_all.order, now_ns, err);
    case CTL_ALL_START:
        return all_start(node, now_ns, err);
    case CTL_ALL_STOP:
        return all_stop(node, now_ns, err);
    }
    return err_set(err, "no such request about all pairs");
}

/* All that is open is asked of it, again where another one was asked. */
static void planner_came(struct node *node)
{
    node->planner_attached = true;
    node->planner_news[0] = '\0';
    for (uint32_t slot = 0; slot < NODE_JOBS_MAX; slot++)
        if (job_is_known(&node->jobs[slot]) && node->jobs[slot].source != NULL &&
            node->jobs[slot].phase == PHASE_PLANNING)
            node->plan_requests_due |= 1u << slot;
}

/* Or why there is none. */
static void take_plan(struct node *node, const struct ctl_msg *msg, uint64_t now_ns)
{
    bool made = msg->type == CTL_PLAN;
    struct job *job = job_of_source(node, made ? msg->body.plan.job : msg->body.plan_failed.job);
    if (job != NULL && made)
        source_on_plan(node, job, &msg->body.plan, now_ns);
    else if (job != NULL && msg->body.plan_failed.epoch == job->epoch)
        source_on_plan_failed(node, job, msg->body.plan_failed.text, now_ns);
}

int node_ctl(struct node *node, const struct ctl_msg *msg, struct ctl_reply *reply, uint64_t now_ns)
{
    now_ns = node_enter(node, now_ns);
    reply->ok = true;
    reply->length = reply->job = 0;
    switch (msg->type) {
    case CTL_SHOW:
        reply->ok = show_answer(node, msg, reply, now_ns);
        break;
    case CTL_JOB_RUN:
        reply->ok = (reply->job = source_run(node, &msg->body.job_run, now_ns, &reply->err)) != 0;
        break;
    case CTL_JOB_CANCEL:
        reply->ok = (reply->job = source_cancel(node, msg->body.job_cancel.name, now_ns, &reply->err)) != 0;
        break;
    case CTL_JOB_SET:
        reply->ok = (reply->job = controls_set(node, msg, now_ns, &reply->err)) != 0;
        break;
    case CTL_PATHS:
        source_take_told(node, &msg->body.paths, now_ns);
        break;
    case CTL_PROBE:
        reply->ok = probe(node, msg, now_ns, &reply->err);
        break;
    case CTL_PROBE_ALL:
        reply->ok = probe_all(node, msg, now_ns, &reply->err);
        break;
    case CTL_TRAIN:
        reply->ok = show_train(node, msg->body.probe.peer, reply);
        break;
    case CTL_PLANNER_HELLO:
        planner_came(node);
        break;
    case CTL_PLANNER_GONE:
        node->planner_attached = false;
        node->planner_gone_ns = MAX(core_lived_ns(node), UINT64_C(1));
        break;
    case CTL_PLANNER_NEWS:
        name_copy(node->planner_news, sizeof(node->planner_news), msg->body.planner_news.text);
        break;
    case CTL_KEYS:
        peers_take_keys(node, msg->body.keys, now_ns);
        break;
    case CTL_PLAN:
    case CTL_PLAN_FAILED:
        take_plan(node, msg, now_ns);
        break;
    case CTL_PLAN_REQUEST:
    case CTL_ESTIMATE:
    case CTL_HISTORY_ASK:
    case CTL_HISTORY:
    case CTL_TYPE_COUNT:
        reply->ok = err_set(&reply->err, "not a record for a node");
        break;
    }
    core_wake_jobs(node, now_ns);
    core_schedule(node, now_ns);
    return reply->ok ? 0 : -1;
}

/* The same of a path that another node has measured. */
static bool pair_next(struct node *node, struct ctl_msg *msg)
{
    uint16_t from, to;
    const struct pair_result *result = pairs_take_news(node, &from, &to);
    if (result == NULL)
        return false;
    struct ctl_estimate *record = &msg->body.estimate;
    msg->type = CTL_ESTIMATE;
    msg->correlation = 0;
    *record = (struct ctl_estimate){.age_ns = elapsed_ns(node->now_ns, result->estimate.until_ns),
                                    .rtt_ns = result->rtt_ns,
                                    .estimate = result->estimate};
    name_copy(record->from, sizeof(record->from), pairs_site_name(node, from));
    name_copy(record->to, sizeof(record->to), pairs_site_name(node, to));
    return true;
}

/* What was measured is kept by the planner, if there is one when the measurement ends. */
static bool estimate_next(struct node *node, struct ctl_msg *msg)
{
    uint16_t peer = node->planner_attached ? prober_take_news(node) : PEER_NONE;
    if (peer == PEER_NONE)
        return node->planner_attached && pair_next(node, msg);
    const struct probe_result *result = prober_result(node, peer);
    struct ctl_estimate *record = &msg->body.estimate;
    msg->type = CTL_ESTIMATE;
    msg->correlation = 0;
    /* One that was refused has no window. */
    uint64_t until_ns = result->estimate.until_ns != 0 ? result->estimate.until_ns : result->known_ns;
    *record = (struct ctl_estimate){.age_ns = elapsed_ns(node->now_ns, until_ns),
                                    .rtt_ns = node->peers[peer].rtt_min_ns,
                                    .estimate = result->estimate};
    name_copy(record->from, sizeof(record->from), node->config.name);
    name_copy(record->to, sizeof(record->to), node->config.peers[peer].name);
    return true;
}

bool node_ctl_next(struct node *node, struct ctl_msg *msg)
{
    if (!plan_request_due(node))
        return estimate_next(node, msg);
    uint32_t slot = (uint32_t)__builtin_ctz(node->plan_requests_due);
    node->plan_requests_due &= ~(1u << slot);
    const struct job *job = &node->jobs[slot];
    CHECK(job->phase == PHASE_PLANNING);
    msg->type = CTL_PLAN_REQUEST;
    msg->correlation = (uint64_t)job->id << 32 | job->epoch;
    msg->body.plan_request = job->source->request;
    return true;
}

bool node_wants_planner(const struct node *node)
{
    return node->plans_open != 0;
}

uint64_t node_digest(const struct node *node)
{
    return node->digest.value;
}
