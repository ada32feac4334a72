/* Before a plan is used: its own edges of which nothing fresh is known are measured by their senders, side by side, and it is
 * planned anew. A plan knows no better than its paths, and few of them are in it: n - 1 measurements a round, of n (n - 1). What
 * that may take, and how often: probe/rounds.h. A site that does not answer changes nothing: its edge stays as it was. */
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

/* Of the paths measured so far, as shares of their interfaces in ascending order: `share_ppm` has room for all of a plan's. */
#define SHARES_MAX 256
static unsigned known_shares(const struct plan_request *request, uint32_t *share_ppm)
{
    unsigned count = 0;
    for (uint16_t from = 0; from < request->node_count; from++)
        for (uint16_t to = 0; to < request->node_count; to++) {
            struct plan_known known = plan_path_known(request->avb_of, &request->paths[from][to]);
            uint64_t ends_bps = MIN(request->nodes[from].up_bps, request->nodes[to].down_bps);
            bool at_least = request->paths[from][to].avb_high_kbps == 0;
            uint64_t bps = at_least ? ends_bps : request->paths[from][to].avb_kbps * UINT64_C(1000);
            if (known.basis != PLAN_BASIS_MEASURED || !plan_known_starts(&known) || count == SHARES_MAX)
                continue;
            uint32_t share = (uint32_t)muldiv64(MIN(bps, ends_bps), PLAN_WHOLE_PPM, ends_bps);
            unsigned place = count++;
            for (; place > 0 && share_ppm[place - 1] > share; place--)
                share_ppm[place] = share_ppm[place - 1];
            share_ppm[place] = share;
        }
    return count;
}

/* While rounds follow: like the middle one of those that were measured, so that what is better than most is kept and what is worse
 * is replaced. In the end like one of the lowest quarter: what is known counts more. */
void source_survey_assume(struct job *job)
{
    const struct source_survey *survey = &job->source->survey;
    uint32_t share_ppm[SHARES_MAX];
    if (survey->rounds.count == 0)
        return;
    unsigned count = known_shares(&job->source->request, share_ppm);
    bool last = survey->settled || survey->rounds.count == ROUNDS_MOST;
    if (count > 0)
        job->source->request.assumed_ppm = MAX(share_ppm[last ? count / 4 : count / 2], 1u);
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
                                     .trains = ROUNDS_TRAINS};
    struct err err;
    bool asked = pairs_result(node, edge->from, edge->to)->asked ||
                 pairs_ask(node, edge->from, edge->to, &message, now_ns, &err);
    return asked ? SURVEY_ASKED : SURVEY_OVER;
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
    job->text[0] = '\0';
    return true;
}
