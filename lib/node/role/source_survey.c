/* Before a plan is used: its own edges, and the lines of who sends to several, of which nothing fresh is known are measured by
 * their senders, side by side, and it is planned anew. A plan knows no better than its paths, and few of them are in it: n - 1
 * measurements a round, of n (n - 1), and at most n lines. What that may take, and how often: probe/rounds.h. A site that does
 * not answer changes nothing: its edge stays as it was. */
#include <stdio.h>
#include <string.h>

#include "node/role/source.h"
#include "node/train/asked.h"
#include "node/train/pairs.h"

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

static uint16_t path_site(const struct source *source, uint16_t node)
{
    uint16_t site = source->request_site[node];
    return site == 0 ? PATH_SITE_SELF : (uint16_t)(source->sites[site - 1].peer + 1);
}

static struct rounds_goal goal_of(const struct source *source)
{
    const struct plan *plan = &source->plan;
    uint64_t size_bytes = source->request.size_bytes;
    uint64_t flow_ns = muldiv64(size_bytes, 8 * NS_PER_S, MAX(plan->rate_bps, UINT64_C(1)));
    return (struct rounds_goal){.size_bytes = size_bytes,
                                .plan_ns = flow_ns + plan->delay_us * NS_PER_US,
                                .time_ns = source->spec.survey_ns};
}

static void add_edge(const struct node *node, struct source *source, struct plan_edge edge)
{
    const struct plan_request *request = &source->request;
    uint32_t rtt_us = request->paths[edge.from][edge.to].rtt_us;
    uint16_t from = path_site(source, edge.from);
    struct round_edge one = {.from = from,
                             .to = path_site(source, edge.to),
                             .rtt_ns = rtt_us == PLAN_RTT_UNKNOWN ? 0 : rtt_us * NS_PER_US,
                             .asker_ns = from == PATH_SITE_SELF ? 0 : node->peers[from - 1].rtt_min_ns,
                             .port_bps =
                                 MIN(request->nodes[edge.from].up_bps, request->nodes[edge.to].down_bps)};
    rounds_add(&source->survey.rounds, &one);
}

/* The line of a node that sends to several: one train more than its paths, which alone don't tell what they share. */
static void add_line(const struct node *node, struct source *source, uint16_t sender, bool look)
{
    const struct plan_request *request = &source->request;
    uint16_t site = path_site(source, sender);
    struct round_edge one = {.from = site,
                             .to = site,
                             .asker_ns = site == PATH_SITE_SELF ? 0 : node->peers[site - 1].rtt_min_ns,
                             .port_bps = request->nodes[sender].up_bps,
                             .look = look};
    for (uint16_t to = 0; to < request->node_count; to++)
        if (to != sender && request->paths[sender][to].rtt_us != PLAN_RTT_UNKNOWN)
            one.rtt_ns = MAX(one.rtt_ns, request->paths[sender][to].rtt_us * NS_PER_US);
    rounds_add(&source->survey.rounds, &one);
}

static bool is_measured(const struct plan_request *request, uint16_t from, uint16_t to)
{
    struct plan_known known = plan_path_known(request->avb_of, &request->paths[from][to]);
    return known.basis == PLAN_BASIS_MEASURED && plan_known_starts(&known);
}

/* Of whom the plan has send to several what the line carries is not known: theirs are to be measured, too; a first look is at
 * all that may send. */
static bool add_lines(const struct node *node, struct source *source)
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
        if (source->request.nodes[sender].leaf || is_measured(&source->request, sender, sender))
            continue;
        any |= several;
        if (several || (source->survey.rounds.count == 0 && source->survey.hoped))
            add_line(node, source, sender, !several);
    }
    return any;
}

#define ALONE_PART 8u /* of what is available: intervals of a measurement by itself are narrower */

/* What has been measured so far, as shares in ascending order. */
#define SHARES_MAX 256
struct shares {
    unsigned count;
    uint32_t ppm[SHARES_MAX];
};

static void share_add(struct shares *shares, uint64_t bps, uint64_t of_bps)
{
    uint32_t share = (uint32_t)MIN(muldiv64(bps, PLAN_WHOLE_PPM, of_bps), (uint64_t)UINT32_MAX);
    unsigned place = shares->count;
    if (shares->count == SHARES_MAX)
        return;
    for (shares->count++; place > 0 && shares->ppm[place - 1] > share; place--)
        shares->ppm[place] = shares->ppm[place - 1];
    shares->ppm[place] = share;
}

/* While rounds follow the middle one, so that what is better than most is kept and what is worse is replaced. In the end one of
 * the lowest quarter: what is known counts more. UINT32_MAX: there is none. */
static uint32_t share_like(const struct shares *shares, bool last)
{
    return shares->count == 0 ? UINT32_MAX : shares->ppm[last ? shares->count / 4 : shares->count / 2];
}

/* Of a path that was measured, or a line; `most_bps` where it is no limit. */
static uint64_t measured_bps(const struct plan_path *path, uint64_t most_bps)
{
    return plan_path_at_least(path) ? most_bps : MIN(path->avb_kbps * UINT64_C(1000), most_bps);
}

static uint64_t ends_bps(const struct plan_request *request, uint16_t from, uint16_t to)
{
    return MIN(request->nodes[from].up_bps, request->nodes[to].down_bps);
}

/* By a train of its own: for this job, or so well that no train for its sender's line did, which tells to a tenth at best. Beside
 * cross traffic an interval is as wide as that. */
static bool is_measured_alone(const struct source *source, uint16_t from, uint16_t to)
{
    const struct plan_path *path = &source->request.paths[from][to];
    uint32_t width_kbps = (uint32_t)excess_of(path->avb_high_kbps, path->avb_low_kbps);
    return plan_path_at_least(path) || width_kbps < path->avb_kbps / ALONE_PART ||
           rounds_has_asked(&source->survey.rounds, path_site(source, from), path_site(source, to));
}

/* Of paths, of their interfaces. What a train for its sender's line found is slow, which is why it was found. */
static void share_measured(const struct source *source, struct shares *shares)
{
    const struct plan_request *request = &source->request;
    for (uint16_t from = 0; from < request->node_count; from++)
        for (uint16_t to = 0; to < request->node_count; to++) {
            bool looked = is_measured(request, from, from);
            uint64_t most_bps = ends_bps(request, from, to);
            if (from != to && is_measured(request, from, to) &&
                (!looked || is_measured_alone(source, from, to)))
                share_add(shares, measured_bps(&request->paths[from][to], most_bps), most_bps);
        }
}

/* Paths that trains for lines went by, and were not found to be slow, count as whole. */
static void share_passed(const struct plan_request *request, struct shares *shares)
{
    for (uint16_t from = 0; from < request->node_count; from++)
        for (uint16_t to = 0; to < request->node_count; to++)
            if (from != to && is_measured(request, from, from) && !is_measured(request, from, to))
                share_add(shares, 1, 1);
}

/* While rounds follow, the next one finds out how far that is true. The last plan rests on what was measured alone, where that is
 * as much as a tree has edges and shows what cross traffic leaves. Less than half is a slow path, and another may be none. */
static void share_paths(const struct source *source, bool last, struct shares *shares)
{
    shares->count = 0;
    share_measured(source, shares);
    bool enough = shares->count + 1 >= source->request.node_count;
    if (!last || !enough || share_like(shares, last) < PLAN_WHOLE_PPM / 2)
        share_passed(&source->request, shares);
}

/* The widest path of the node that was measured; 0: none was. */
static uint64_t widest_bps(const struct plan_request *request, uint16_t node)
{
    uint64_t most_bps = 0;
    for (uint16_t to = 0; to < request->node_count; to++)
        if (to != node && is_measured(request, node, to))
            most_bps = MAX(most_bps, measured_bps(&request->paths[node][to], ends_bps(request, node, to)));
    return most_bps;
}

/* Lines of which nothing is known are like those that were measured: by the share of their interfaces, and by how much more
 * they carry than one path alone. */
static void guess_lines(struct plan_request *request, bool last)
{
    if (request->avb_of == PLAN_AVB_MEASURED) /* a guess is none */
        return;
    struct shares of_interface = {.count = 0}, of_path = {.count = 0};
    for (uint16_t node = 0; node < request->node_count; node++) {
        uint64_t up_bps = request->nodes[node].up_bps, path_bps = widest_bps(request, node);
        if (!is_measured(request, node, node))
            continue;
        const struct plan_path *line = &request->paths[node][node];
        share_add(&of_interface, measured_bps(line, up_bps), up_bps);
        if (path_bps != 0)
            share_add(&of_path,
                      plan_path_at_least(line) ? UINT64_MAX / PLAN_WHOLE_PPM : measured_bps(line, up_bps),
                      path_bps);
    }
    for (uint16_t node = 0; node < request->node_count; node++) {
        struct plan_path *line = &request->paths[node][node];
        uint64_t up_bps = request->nodes[node].up_bps, path_bps = widest_bps(request, node);
        uint64_t guess_bps = muldiv64(up_bps, share_like(&of_interface, last), PLAN_WHOLE_PPM);
        if (path_bps != 0)
            guess_bps = MIN(guess_bps, muldiv64(path_bps, share_like(&of_path, last), PLAN_WHOLE_PPM));
        if (guess_bps < up_bps && !plan_path_counts(request->avb_of, line)) {
            line->avb_kbps = (uint32_t)MAX(guess_bps / 1000, UINT64_C(1));
            line->avb_low_kbps = line->avb_high_kbps = 0;
        }
    }
}

/* What nothing is known of, once something is. */
void source_survey_assume(struct job *job)
{
    const struct source_survey *survey = &job->source->survey;
    struct plan_request *request = &job->source->request;
    bool last = survey->settled || survey->rounds.count == ROUNDS_MOST;
    struct shares shares;
    if (survey->rounds.count == 0)
        return;
    share_paths(job->source, last, &shares);
    if (shares.count > 0)
        request->assumed_ppm = MAX(share_like(&shares, last), 1u);
    guess_lines(request, last);
}

/* No round follows this plan. Where it rests on what was only hoped for there is another, by what is known. */
static enum survey_next settle(struct source_survey *survey)
{
    bool hoped = survey->rounds.count > 0 && survey->rounds.count < ROUNDS_MOST && survey->hoped;
    if (!hoped || survey->settled)
        return SURVEY_NEEDLESS;
    survey->settled = true;
    return SURVEY_PLAN_ANEW;
}

enum survey_next source_survey_begin(struct node *node, struct job *job, uint64_t now_ns)
{
    struct source *source = job->source;
    struct source_survey *survey = &source->survey;
    const struct plan *plan = &source->plan;
    struct rounds_goal goal = goal_of(source);
    if (!wanted(node, source) || survey->settled)
        return SURVEY_NEEDLESS;
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
    survey->hoped |= add_lines(node, source);
    if (!rounds_begin(&survey->rounds, &goal, now_ns))
        return settle(survey);
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
        open += survey->rounds.edges[place].from == from && survey->steps[place] == SURVEY_ASKED;
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
        if (*step == SURVEY_WAITS && open_of(survey, edge->from) < ASKED_OF_ONE_MAX)
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
