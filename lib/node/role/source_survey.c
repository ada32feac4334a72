/* Before a plan is used: its own edges, and the lines of who sends to several, of which nothing fresh is known are measured by
 * their senders, side by side, and it is planned anew. A plan knows no better than its paths, and few of them are in it: n - 1
 * measurements a round, of n (n - 1), and at most n lines. What that may take, and how often: probe/rounds.h. A site that does
 * not answer changes nothing: its edge stays as it was. */
#include <stdio.h>
#include <string.h>

#include "node/role/source.h"
#include "node/train/asked.h"
#include "node/train/pairs.h"

/* So many paths to one node, which differ by less than such a part, may share its line. */
#define ALIKE_LEAST 4u
#define ALIKE_PART  5u
/* Such a part of the sites has narrow lines out. */
#define NARROW_PART 4u

_Static_assert(ROUNDS_ANY == PATH_SITE_ANY, "rounds name lines in as the table of paths does");

/* Whose trees follow what is measured; by another metric it would only be known what can't be changed. */
static bool metric_minds(const struct job_spec *spec)
{
    switch ((enum plan_metric)(spec->metric == PLAN_METRIC_DCMST ? spec->dcmst_of : spec->metric)) {
    case PLAN_METRIC_AUTO:
    case PLAN_METRIC_AVB:
    case PLAN_METRIC_AVB_DIRECTED:
    case PLAN_METRIC_LEXICOGRAPHIC:
    case PLAN_METRIC_WIDEST:
        return true;
    case PLAN_METRIC_RTT:
    case PLAN_METRIC_STAR:
    case PLAN_METRIC_DISTANCE:
    case PLAN_METRIC_DCMST:
    case PLAN_METRIC_CHAIN:
    case PLAN_METRIC_GIVEN:
    case PLAN_METRIC_COUNT:
        break;
    }
    return false;
}

/* Between two nodes there is one way only. A stream is not kept waiting unless its operator says so: what it is behind at its
 * start stays its latency. */
static bool wanted(const struct node *node, const struct source *source)
{
    const struct job_spec *spec = &source->spec;
    bool counts = spec->avb_of == PLAN_AVB_ANY || spec->avb_of == PLAN_AVB_MEASURED;
    bool waits = spec->object != PART_OBJECT_STREAM || spec->survey_ns != 0;
    return spec->survey_ns != JOB_SURVEY_OFF && counts && waits && metric_minds(spec) &&
           source->request.node_count > 2 && !node->shutting_down;
}

static bool is_narrow(const struct plan_request *request, uint16_t from, uint16_t to)
{
    const struct plan_path *path = &request->paths[from][to];
    return from != to && source_is_measured(request, from, to) && !plan_path_at_least(path) &&
           path->avb_kbps * UINT64_C(1000) < plan_ends_bps(request, from, to) / 4 * 3;
}

/* A path carries far less than its ends, but so much that a few of them fill a port: its plan rests on ports, which may not be what
 * counts. Of slower ones even as many as a plan has trees do not. */
static bool is_surprised(const struct plan_request *request)
{
    bool any = false;
    for (uint16_t from = 0; from < request->node_count; from++)
        for (uint16_t to = 0; to < request->node_count; to++)
            any |= is_narrow(request, from, to) && request->paths[from][to].avb_kbps * UINT64_C(1000) >=
                                                       plan_ends_bps(request, from, to) / PLAN_TREES_MAX;
    return any;
}

static struct rounds_goal goal_of(const struct node *node, const struct source *source)
{
    const struct plan *plan = &source->plan;
    uint64_t size_bytes = source->request.size_bytes;
    uint64_t flow_ns = muldiv64(size_bytes, 8 * NS_PER_S, MAX(plan->rate_bps, UINT64_C(1)));
    uint64_t delay_ns = plan->delay_us * NS_PER_US;
    return (struct rounds_goal){.size_bytes = size_bytes,
                                .plan_ns = flow_ns + delay_ns,
                                .likely_ns = source_likely_ns(node, source, flow_ns) + delay_ns,
                                .time_ns = source->spec.survey_ns,
                                .surprised = is_surprised(&source->request),
                                .peers = node->peer_count};
}

static void add_edge(const struct node *node, struct source *source, struct plan_edge edge)
{
    const struct plan_request *request = &source->request;
    uint32_t rtt_us = request->paths[edge.from][edge.to].rtt_us;
    uint16_t from = source_path_site(source, edge.from);
    struct round_edge one = {.from = from,
                             .to = source_path_site(source, edge.to),
                             .rtt_ns = rtt_us == PLAN_RTT_UNKNOWN ? 0 : rtt_us * NS_PER_US,
                             .asker_ns = from == PATH_SITE_SELF ? 0 : node->peers[from - 1].rtt_min_ns,
                             .port_bps =
                                 MIN(request->nodes[edge.from].up_bps, request->nodes[edge.to].down_bps)};
    rounds_add(&source->survey.rounds, &one);
}

/* Of the paths out of a node, or into it. */
static uint64_t longest_rtt_ns(const struct plan_request *request, uint16_t node, bool in)
{
    uint64_t longest_us = 0;
    for (uint16_t other = 0; other < request->node_count; other++) {
        uint32_t rtt_us = in ? request->paths[other][node].rtt_us : request->paths[node][other].rtt_us;
        if (other != node && rtt_us != PLAN_RTT_UNKNOWN)
            longest_us = MAX(longest_us, (uint64_t)rtt_us);
    }
    return longest_us * NS_PER_US;
}

/* The line of a node that sends to several: one train more than its paths, which alone don't tell what they share. */
static void add_line(const struct node *node, struct source *source, uint16_t sender, bool look)
{
    const struct plan_request *request = &source->request;
    uint16_t site = source_path_site(source, sender);
    struct round_edge one = {.from = site,
                             .to = site,
                             .rtt_ns = longest_rtt_ns(request, sender, false),
                             .asker_ns = site == PATH_SITE_SELF ? 0 : node->peers[site - 1].rtt_min_ns,
                             .port_bps = request->nodes[sender].up_bps,
                             .look = look};
    rounds_add(&source->survey.rounds, &one);
}

/* Lines out are found to be narrow, or may be, of a part of the sites: then lines in may be, too. */
static bool found_narrow(const struct plan_request *request)
{
    unsigned narrow = 0;
    for (uint16_t node = 0; node < request->node_count; node++) {
        const struct plan_path *line = &request->paths[node][node];
        if (plan_path_limits(request->avb_of, line) &&
            line->avb_kbps * UINT64_C(1000) < request->nodes[node].up_bps / 2)
            narrow++;
    }
    return narrow >= 2 && narrow >= request->node_count / NARROW_PART;
}

/* Several paths to that node were measured, and nearly all carry as much, less than the ends allow: as if they shared its line. */
static bool are_alike(const struct plan_request *request, uint16_t to)
{
    unsigned count = 0, most = 0;
    for (uint16_t from = 0; from < request->node_count; from++) {
        unsigned near = 0;
        uint32_t own_kbps = request->paths[from][to].avb_kbps;
        if (!is_narrow(request, from, to))
            continue;
        count++;
        for (uint16_t other = 0; other < request->node_count; other++) {
            uint32_t kbps = request->paths[other][to].avb_kbps;
            uint32_t less_kbps = MIN(own_kbps, kbps), more_kbps = MAX(own_kbps, kbps);
            near += is_narrow(request, other, to) && more_kbps - less_kbps <= own_kbps / ALIKE_PART;
        }
        most = MAX(most, near);
    }
    return most >= MIN(ALIKE_LEAST, request->node_count - 2u) && most >= count - count / 4;
}

/* The lines in of which nothing is known, where there is a reason to ask. */
static void add_lines_in(const struct node *node, struct source *source)
{
    const struct plan_request *request = &source->request;
    unsigned alike = 0;
    if (source->survey.rounds.looked_in)
        return;
    for (uint16_t to = 0; to < request->node_count; to++)
        alike += are_alike(request, to);
    bool narrow = alike >= 2 || found_narrow(request);
    for (uint16_t to = 0; to < request->node_count; to++) {
        uint16_t site = source_path_site(source, to);
        struct round_edge one = {.from = ROUNDS_ANY,
                                 .to = site,
                                 .rtt_ns = longest_rtt_ns(request, to, true),
                                 .asker_ns = site == PATH_SITE_SELF ? 0 : node->peers[site - 1].rtt_min_ns,
                                 .port_bps = request->nodes[to].down_bps,
                                 .in = true};
        if (to == request->source || request->lines_in[to].avb_kbps != 0 ||
            !(narrow || are_alike(request, to)))
            continue;
        rounds_add(&source->survey.rounds, &one);
    }
}

/* Of whom the plan has send to several what the line carries is not known: theirs are to be measured, too; a look is at
 * all that may send. */
static bool add_lines(const struct node *node, struct source *source, const struct rounds_goal *goal)
{
    const struct plan *plan = &source->plan;
    uint64_t to_mask[PLAN_NODES_MAX] = {0};
    bool any = false;
    for (uint16_t tree = 0; tree < plan->tree_count; tree++)
        for (uint16_t index = 0; index < plan->trees[tree].edge_count; index++) {
            struct plan_edge edge = plan->trees[tree].edges[index];
            to_mask[edge.from] |= UINT64_C(1) << edge.to;
        }
    for (uint16_t sender = 0; sender < plan->node_count; sender++) {
        bool several = __builtin_popcountll(to_mask[sender]) >= 2;
        if (source->request.nodes[sender].leaf || source_is_measured(&source->request, sender, sender))
            continue;
        any |= several;
        if (several || (rounds_may_look(&source->survey.rounds, goal) && source->survey.hoped))
            add_line(node, source, sender, !several);
    }
    return any;
}

/* The plan is likely to take so much longer than it says that one without its unknown paths is worth a try. */
static bool is_risky(const struct rounds_goal *goal)
{
    return goal->likely_ns > goal->plan_ns + goal->plan_ns / 2;
}

/* No round follows. A plan that hopes is replaced by one on low guesses; where that is risky, one that avoids unknown paths is tried,
 * and the likelier of both is used. */
static enum survey_next settle(struct source_survey *survey, const struct rounds_goal *goal)
{
    if (survey->rounds.count == 0 || !survey->hoped)
        return SURVEY_NEEDLESS;
    switch (survey->guess) {
    case GUESS_MEDIAN:
        survey->guess = GUESS_LOW;
        return SURVEY_PLAN_ANEW;
    case GUESS_LOW:
        if (!is_risky(goal))
            return SURVEY_NEEDLESS;
        survey->guess = GUESS_AVOID;
        survey->low_ns = goal->likely_ns;
        return SURVEY_PLAN_ANEW;
    case GUESS_AVOID:
        if (goal->likely_ns <= survey->low_ns)
            return SURVEY_NEEDLESS;
        survey->guess = GUESS_LOW_AGAIN;
        return SURVEY_PLAN_ANEW;
    case GUESS_LOW_AGAIN:
        break;
    }
    return SURVEY_NEEDLESS;
}

bool source_survey_falls_back(struct job *job)
{
    struct source_survey *survey = &job->source->survey;
    bool tried = survey->guess == GUESS_AVOID;
    if (tried)
        survey->guess = GUESS_LOW_AGAIN;
    return tried;
}

enum survey_next source_survey_begin(struct node *node, struct job *job, uint64_t now_ns)
{
    struct source *source = job->source;
    struct source_survey *survey = &source->survey;
    const struct plan *plan = &source->plan;
    struct rounds_goal goal = goal_of(node, source);
    if (!wanted(node, source))
        return SURVEY_NEEDLESS;
    if (survey->guess != GUESS_MEDIAN)
        return settle(survey, &goal);
    rounds_end(&survey->rounds);
    survey->hoped = false;
    for (uint16_t tree = 0; tree < plan->tree_count; tree++)
        for (uint16_t index = 0; index < plan->trees[tree].edge_count; index++) {
            struct plan_edge edge = plan->trees[tree].edges[index];
            if (plan_known_starts(&plan->into_known[tree][edge.to]))
                continue;
            survey->hoped = true;
            add_edge(node, source, edge);
        }
    survey->hoped |= add_lines(node, source, &goal);
    add_lines_in(node, source);
    if (!rounds_begin(&survey->rounds, &goal, now_ns))
        return settle(survey, &goal);
    memset(survey->steps, 0, sizeof(survey->steps));
    snprintf(job->text, sizeof(job->text), "measuring %u path%s, round %u", survey->rounds.edge_count,
             survey->rounds.edge_count == 1 ? "" : "s", survey->rounds.count);
    source_enter(node, job, PHASE_SURVEYING, TIME_NEVER);
    return SURVEY_BEGUN;
}

static unsigned open_of(const struct source_survey *survey, uint16_t from)
{
    unsigned open = 0;
    for (uint16_t place = 0; place < survey->rounds.edge_count; place++)
        open += path_measurer(survey->rounds.edges[place].from, survey->rounds.edges[place].to) == from &&
                survey->steps[place] == SURVEY_ASKED;
    return open;
}

/* Who measures that path already, for another job or an operator, is waited for. */
static uint8_t ask(struct node *node, const struct rounds *rounds, const struct round_edge *edge,
                   uint64_t now_ns)
{
    uint64_t lasts_ns = elapsed_ns(rounds->end_ns, now_ns + edge->wait_ns + edge->asker_ns);
    struct wire_probe_ask message = {.wait_us = (uint32_t)(edge->wait_ns / NS_PER_US),
                                     .lasts_ms = (uint32_t)MAX(lasts_ns / NS_PER_MS, UINT64_C(1)),
                                     .bytes = edge->bytes,
                                     .trains = edge->trains};
    struct err err;
    bool asked = pairs_result(node, edge->from, edge->to)->asked ||
                 pairs_ask(node, edge->from, edge->to, &message, now_ns, &err);
    return asked ? SURVEY_ASKED : SURVEY_OVER;
}

/* A measurement that told nothing, though another one might. */
static bool is_silent(const struct pair_result *result)
{
    if (result->answer == PROBE_MEASURED)
        return !estimate_says(&result->estimate);
    return result->asked || result->answer == PROBE_BUSY || result->answer == PROBE_NO_REPLY;
}

static void note_silent(const struct node *node, struct source_survey *survey)
{
    for (uint16_t place = 0; place < survey->rounds.edge_count; place++) {
        const struct round_edge *edge = &survey->rounds.edges[place];
        if (is_silent(pairs_result(node, edge->from, edge->to)))
            rounds_silent(&survey->rounds, edge->from, edge->to);
    }
}

bool source_survey_over(struct node *node, struct job *job, uint64_t now_ns)
{
    struct source_survey *survey = &job->source->survey;
    bool over = true;
    for (uint16_t place = 0; place < survey->rounds.edge_count; place++) {
        const struct round_edge *edge = &survey->rounds.edges[place];
        uint8_t *step = &survey->steps[place];
        if (*step == SURVEY_WAITS && open_of(survey, path_measurer(edge->from, edge->to)) < ASKED_OF_ONE_MAX)
            *step = ask(node, &survey->rounds, edge, now_ns);
        if (*step == SURVEY_ASKED && !pairs_result(node, edge->from, edge->to)->asked)
            *step = SURVEY_OVER;
        over = over && *step == SURVEY_OVER;
    }
    if (!over && now_ns < survey->rounds.end_ns)
        return false;
    note_silent(node, survey);
    job->text[0] = '\0';
    return true;
}
