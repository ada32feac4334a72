#include "node/train/all.h"

#include <string.h>

#include "node/peer/measure.h"
#include "node/peer/post.h"
#include "node/train/asked.h"
#include "node/train/in.h"
#include "node/train/line.h"
#include "node/train/line_in.h"
#include "node/train/out.h"

#define LOOK_NS    (20 * NS_PER_MS) /* while it runs: who is down; while nodes meet: who has told */
#define MEASURE_MS 500u             /* others' round trips, where they are not fresh */
/* Of the width that is asked for: one measurement or two; whose paths are far apart is known then. */
#define COARSE_SHARES 20u
#define PPB           1000000000u
#define PPM           1000000u

_Static_assert(ROTATION_NODES_MAX > NODE_PEERS_MAX, "a place for each peer and the node");

size_t all_bytes(const struct node_config *config)
{
    size_t count = config->peer_count + 1u;
    return arena_need(sizeof(struct all)) + arena_need(count * count * sizeof(struct known));
}

void all_init(struct node *node, struct arena *arena)
{
    size_t count = node->peer_count + 1u;
    node->all = arena_alloc(arena, sizeof(struct all));
    node->all->known = arena_alloc(arena, count * count * sizeof(struct known));
    node->all->next_ns = TIME_NEVER;
}

const char *all_state_word(enum all_state state)
{
    static const char *const words[] = {"none", "meeting", "ready", "running", "over"};
    return words[state];
}

/* ---- before it starts ---- */

static bool is_up(const struct node *node, uint16_t site)
{
    return site == PATH_SITE_SELF || node->peers[site - 1].state == PEER_UP;
}

/* 0: not known. */
static uint64_t rtt_of(const struct node *node, uint16_t from, uint16_t to)
{
    if (from == PATH_SITE_SELF || to == PATH_SITE_SELF)
        return node->peers[MAX(from, to) - 1].rtt_min_ns;
    uint32_t rtt_us = path_table_path(node->paths, from, to, 0, node->now_ns).rtt_us;
    return rtt_us == PLAN_RTT_UNKNOWN ? 0 : rtt_us * NS_PER_US;
}

/* Where nobody has told it is no longer than by way of this node. */
static uint64_t rtt_most(const struct node *node, uint16_t from, uint16_t to)
{
    uint64_t rtt_ns = rtt_of(node, from, to);
    if (rtt_ns == 0 && from != PATH_SITE_SELF && to != PATH_SITE_SELF)
        rtt_ns = rtt_of(node, PATH_SITE_SELF, from) + rtt_of(node, PATH_SITE_SELF, to);
    return rtt_ns;
}

static uint64_t own_port_bps(const struct node *node)
{
    uint64_t rate_bps = 0;
    for (uint16_t port = 0; port < node->config.port_count; port++)
        rate_bps = MAX(rate_bps, node->config.ports[port].rate_bps);
    return rate_bps;
}

static bool has_told(const struct node *node, uint16_t site)
{
    return site == PATH_SITE_SELF || path_table_site(node->paths, site)->up_bps != 0;
}

/* Which shared links all paths of the site cross that cross any: its way out. */
static uint16_t ways_out(const struct node *node, uint16_t from, uint16_t sites)
{
    uint16_t bits = UINT16_MAX;
    bool any = false;
    for (uint16_t to = 0; to < sites; to++) {
        uint16_t shared = to == from ? 0 : path_table_path(node->paths, from, to, 0, node->now_ns).shared;
        any |= shared != 0;
        if (shared != 0)
            bits &= shared;
    }
    return any ? bits : 0;
}

static void set_groups(const struct node *node, struct rotation_goal *goal, const uint16_t *site_of)
{
    uint16_t first_of[PLAN_SHARED_MAX];
    memset(first_of, 0xff, sizeof(first_of));
    for (uint16_t index = 0; index < goal->node_count; index++) {
        uint16_t bits = ways_out(node, site_of[index], (uint16_t)(node->peer_count + 1));
        uint16_t link = bits != 0 ? (uint16_t)__builtin_ctz(bits) : PLAN_SHARED_MAX;
        goal->group_of[index] = index;
        if (link >= node->paths->shared_count)
            continue;
        if (first_of[link] == UINT16_MAX)
            first_of[link] = index;
        goal->group_of[index] = first_of[link];
        /* One train at a time may always go: it finds out how little there is. */
        goal->group_bps[first_of[link]] = MAX(node->paths->shared[link].rate_bps, goal->train_bps);
    }
}

/* The slowest and the fastest port of those that take part, and the longest round trip. */
static void look_at_ports(const struct node *node, struct all *all, uint64_t *slowest_bps,
                          uint64_t *fastest_bps)
{
    uint16_t count = all->goal.rotation.node_count;
    *slowest_bps = *fastest_bps = own_port_bps(node);
    all->rtt_ns = 0;
    for (uint16_t index = 0; index < count; index++) {
        const struct path_site *site = path_table_site(node->paths, all->site_of[index]);
        if (site->up_bps != 0 && all->site_of[index] != PATH_SITE_SELF) {
            *slowest_bps = MIN(*slowest_bps, site->up_bps);
            *slowest_bps = MIN(*slowest_bps, site->down_bps);
            *fastest_bps = MAX(*fastest_bps, site->up_bps);
        }
        for (uint16_t other = 0; other < count; other++)
            if (other != index)
                all->rtt_ns = MAX(all->rtt_ns, rtt_most(node, all->site_of[index], all->site_of[other]));
    }
}

static uint64_t bytes_of_one(const struct node *node)
{
    uint64_t most = node->config.probe.bytes_max;
    return most != 0 ? MIN(most, (uint64_t)ALL_BYTES) : ALL_BYTES;
}

/* A slot holds a test, two trains and their reports; slots follow each other so that a node sends what it may. */
static void set_goal(struct node *node)
{
    struct all *all = node->all;
    uint64_t slowest_bps, fastest_bps, bytes = bytes_of_one(node);
    all->goal = (struct survey_goal){.trains = ALL_TRAINS, .order = all->order, .keep = ALL_KEEP};
    struct rotation_goal *goal = &all->goal.rotation;
    for (uint16_t site = 0; site <= node->peer_count; site++)
        if (is_up(node, site))
            all->site_of[goal->node_count++] = site;
    look_at_ports(node, all, &slowest_bps, &fastest_bps);
    all->lasts_ns = 3 * all->rtt_ns + transmit_ns(bytes, slowest_bps) + ALL_SLACK_NS;
    uint64_t apart_ns = transmit_ns(bytes, MAX(muldiv64(slowest_bps, ALL_LOAD_PPM, PPM), UINT64_C(1)));
    all->lasts_ns = MAX(all->lasts_ns, elapsed_ns(apart_ns, ALL_GUARD_NS)); /* the slot passes anyway */
    all->lasts_ns = MIN(all->lasts_ns, ASKED_LASTS_NS);
    all->lasts_ns = (all->lasts_ns + NS_PER_MS - 1) / NS_PER_MS * NS_PER_MS;
    goal->passes = ALL_PASSES;
    goal->train_ns = all->lasts_ns;
    goal->train_bytes = bytes + ALL_TEST_BYTES;
    goal->train_bps = fastest_bps;
    goal->guard_ns = MAX(elapsed_ns(apart_ns, all->lasts_ns), (uint64_t)ALL_GUARD_NS);
    goal->timeout_ns = PAIRS_REPLY_NS + 2 * all->rtt_ns;
    set_groups(node, goal, all->site_of);
    all->goal.lead_ns = all->rtt_ns / 2 + 2 * LOOK_NS;
    all->goal.port_bps = fastest_bps;
    all->goal.fine_bps = muldiv64(slowest_bps, node->config.probe.width_ppb, PPB);
    all->goal.coarse_bps = COARSE_SHARES * all->goal.fine_bps;
    all->cost = survey_cost(&all->goal);
    if (goal->node_count <= LINE_RECEIVERS_MIN)
        return;
    all->cost.trains += goal->node_count * ALL_TRAINS;
    all->cost.bytes += goal->node_count * goal->train_bytes;
    all->cost.node_bytes += goal->train_bytes;
    all->cost.duration_ns += goal->node_count * (all->lasts_ns + all->goal.lead_ns);
    /* Lines in: each site has one, and sends to as many others' as send to its own. */
    all->cost.trains += goal->node_count * GATHER_SENDERS_MAX;
    all->cost.bytes += goal->node_count * LINE_IN_BYTES;
    all->cost.node_bytes += LINE_IN_BYTES;
    all->cost.duration_ns +=
        (goal->node_count + 1u) * gather_apart_ns(slowest_bps, LINE_IN_BYTES) + all->rtt_ns + PAIRS_REPLY_NS;
}

bool all_reckon(struct node *node, bool order, uint64_t now_ns, struct err *err)
{
    struct all *all = node->all;
    uint16_t up = 0;
    if (node->config.probe.off)
        return err_set(err, "this node measures no paths: probe, in its node file, is off");
    if (all->state == ALL_RUNNING)
        return err_set(err, "all pairs are being measured: probe stop ends that");
    for (uint16_t peer = 0; peer < node->peer_count; peer++)
        up += node->peers[peer].state == PEER_UP;
    if (up == 0)
        return err_set(err, "no peer is up");
    all->state = ALL_MEETING;
    all->order = order;
    all->stopped = false;
    all->asked_mask = 0;
    all->met_ns = now_ns + ALL_MEET_NS;
    all->next_ns = now_ns;
    core_schedule(node, now_ns);
    return true;
}

/* Those up that have not told, or of whose distances nothing is known. */
static bool is_missing(const struct node *node, uint16_t site)
{
    bool missing = !has_told(node, site);
    for (uint16_t to = 1; to <= node->peer_count; to++)
        missing |= to != site && is_up(node, to) && rtt_of(node, site, to) == 0;
    return missing;
}

static void meet(struct node *node, uint64_t now_ns)
{
    struct all *all = node->all;
    struct wire_measure measure = {.duration_ms = MEASURE_MS, .age_ms = ALL_FRESH_NS / NS_PER_MS};
    bool missing = false;
    for (uint16_t peer = 0; peer < node->peer_count; peer++) {
        bool up = node->peers[peer].state == PEER_UP;
        if (!up || !is_missing(node, (uint16_t)(peer + 1)))
            continue;
        missing = true;
        if ((all->asked_mask >> peer & 1) == 0 && measure_ask_peer(node, peer, &measure))
            all->asked_mask |= UINT64_C(1) << peer;
    }
    all->next_ns = now_ns + LOOK_NS;
    if (missing && now_ns < all->met_ns)
        return;
    set_goal(node);
    all->state = all->goal.rotation.node_count < 2 ? ALL_IDLE : ALL_READY;
    all->next_ns = TIME_NEVER;
}

/* ---- while it runs ---- */

bool all_start(struct node *node, uint64_t now_ns, struct err *err)
{
    struct all *all = node->all;
    if (all->state == ALL_RUNNING)
        return err_set(err, "all pairs are being measured already");
    if (all->state != ALL_READY)
        return err_set(err, "what it costs is not estimated yet: probe all");
    if (!survey_begin(&all->survey, &all->goal, all->known, now_ns, err))
        return false;
    all->state = ALL_RUNNING;
    all->line = 0;
    all->line_mask = all->in_mask = 0;
    all->next_ns = now_ns;
    core_schedule(node, now_ns);
    return true;
}

bool all_stop(struct node *node, uint64_t now_ns, struct err *err)
{
    struct all *all = node->all;
    if (all->state != ALL_RUNNING)
        return err_set(err, "all pairs are not being measured");
    survey_stop(&all->survey, now_ns);
    all->state = ALL_OVER;
    all->stopped = true;
    all->next_ns = TIME_NEVER;
    return true;
}

/* ROTATION_NODES_MAX: it takes no part. */
static uint16_t index_of(const struct all *all, uint16_t site)
{
    for (uint16_t index = 0; index < all->goal.rotation.node_count; index++)
        if (all->site_of[index] == site)
            return index;
    return ROTATION_NODES_MAX;
}

static enum survey_answer verdict_of(const struct pair_result *result)
{
    switch ((enum probe_answer)result->answer) {
    case PROBE_MEASURED:
        return estimate_says(&result->estimate) ? SURVEY_ESTIMATE : SURVEY_NOTHING;
    case PROBE_OFF:
    case PROBE_UNKNOWN:
    case PROBE_JOBS:
        return SURVEY_REFUSED;
    case PROBE_DOWN:
    case PROBE_BUSY:
    case PROBE_OVER_BUDGET:
        return SURVEY_NOTHING;
    case PROBE_NO_REPLY:
    case PROBE_LOST:
        break;
    }
    return SURVEY_SILENT;
}

static void count_line(struct all *all, const struct pair_result *result)
{
    bool measured = result->answer == PROBE_MEASURED;
    all->survey.trains += measured ? result->estimate.trains + result->estimate.discarded : 0;
    all->survey.bytes += measured ? result->estimate.bytes : 0;
}

void all_on_end(struct node *node, const struct pair_end *end, uint64_t now_ns)
{
    struct all *all = node->all;
    bool in = end->from == PATH_SITE_ANY;
    uint16_t from = index_of(all, in ? end->to : end->from), to = index_of(all, end->to);
    if (all->state != ALL_RUNNING || from == ROTATION_NODES_MAX || to == ROTATION_NODES_MAX)
        return;
    uint64_t *line_mask = in ? &all->in_mask : &all->line_mask;
    if (from == to && (*line_mask >> from & 1) != 0) {
        *line_mask &= ~(UINT64_C(1) << from);
        count_line(all, end->result);
    }
    bool measured = end->result->answer == PROBE_MEASURED;
    if (!in)
        survey_take(&all->survey, from, to, verdict_of(end->result), measured ? &end->result->estimate : NULL,
                    now_ns);
    all->next_ns = now_ns;
    core_schedule(node, now_ns);
}

static bool ask_sender(struct node *node, uint16_t from, uint16_t to, uint64_t at_ns, uint64_t now_ns)
{
    uint16_t site = path_measurer(from, to);
    uint64_t way_ns = site == PATH_SITE_SELF ? 0 : node->peers[site - 1].rtt_min_ns / 2;
    struct wire_probe_ask message = {.wait_us = (uint32_t)(elapsed_ns(at_ns, now_ns + way_ns) / NS_PER_US),
                                     .lasts_ms = (uint32_t)(node->all->lasts_ns / NS_PER_MS),
                                     .bytes = (uint32_t)bytes_of_one(node),
                                     .trains = ALL_TRAINS};
    struct err err;
    return pairs_ask(node, from, to, &message, now_ns, &err);
}

static void ask(struct node *node, const struct rotation_train *turn, uint64_t now_ns)
{
    struct all *all = node->all;
    if (!ask_sender(node, all->site_of[turn->from], all->site_of[turn->to], turn->at_ns, now_ns))
        survey_take(&all->survey, turn->from, turn->to, SURVEY_NOTHING, NULL, now_ns);
}

/* Bit of the site at `index`, or 0: its line can't be measured. */
static uint64_t ask_line(struct node *node, uint16_t index, bool in, uint64_t at_ns, uint64_t now_ns)
{
    uint16_t site = node->all->site_of[index];
    bool silent = (node->all->survey.rotation.silent >> index & 1) != 0;
    bool asked =
        !silent && is_up(node, site) && ask_sender(node, in ? PATH_SITE_ANY : site, site, at_ns, now_ns);
    return (uint64_t)asked << index;
}

/* Of a site that has not told, as of this node. */
static uint64_t port_in_bps(const struct node *node, uint16_t site)
{
    uint64_t told_bps = path_table_site(node->paths, site)->down_bps;
    return told_bps != 0 ? told_bps : core_port_in_bps(&node->config.ports[0]);
}

/* When paths are known, the lines that they share are asked for: out, few at a time, then in, all of them together, each
 * to begin half a train after the one before ends. False: none is left. */
static bool ask_lines(struct node *node, uint64_t now_ns)
{
    struct all *all = node->all;
    uint16_t count = all->goal.rotation.node_count, lines = count > LINE_RECEIVERS_MIN ? count : 0;
    while (all->line < lines && __builtin_popcountll(all->line_mask) < ALL_LINES) {
        all->line_mask |= ask_line(node, all->line, false, now_ns, now_ns);
        all->line++;
    }
    if (all->line == lines && all->line_mask == 0) {
        uint64_t at_ns = now_ns;
        for (uint16_t index = 0; index < lines; index++) {
            all->in_mask |= ask_line(node, index, true, at_ns, now_ns);
            at_ns += gather_apart_ns(port_in_bps(node, all->site_of[index]), LINE_IN_BYTES);
        }
        all->line++;
    }
    return (all->line_mask | all->in_mask) != 0;
}

static void run(struct node *node, uint64_t now_ns)
{
    struct all *all = node->all;
    struct rotation_train turn;
    enum survey_step step;
    for (uint16_t index = 0; index < all->goal.rotation.node_count; index++)
        if (!is_up(node, all->site_of[index]))
            survey_leave_out(&all->survey, index);
    while ((step = survey_next(&all->survey, now_ns, &turn)) == SURVEY_ASK)
        ask(node, &turn, now_ns);
    all->next_ns = MIN(turn.at_ns, now_ns + LOOK_NS);
    if (step == SURVEY_DONE && !ask_lines(node, now_ns)) {
        all->state = ALL_OVER;
        all->survey.ended_ns = now_ns;
        all->next_ns = TIME_NEVER;
    }
}

void all_tick(struct node *node, uint64_t now_ns)
{
    struct all *all = node->all;
    if (now_ns < all->next_ns || node->shutting_down)
        return;
    if (all->state == ALL_MEETING)
        meet(node, now_ns);
    else if (all->state == ALL_RUNNING)
        run(node, now_ns);
}

uint64_t all_next_ns(const struct node *node)
{
    return node->shutting_down ? TIME_NEVER : node->all->next_ns;
}
