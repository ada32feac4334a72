/* What is not known of paths and lines is guessed to be like what is: into requests, and how much longer a plan may take that rests on
 * such guesses. */
#include "node/peer/path_table.h"
#include "node/role/source.h"
#include "node/train/pairs.h"
#include "probe/gather.h"
#include "probe/joint.h"

/* Of what is available: a train for a line tells of a path to a tenth on either side, a train of its own closer. */
#define ALONE_PART 8u
/* The geometric mean of an eighth, which a train for a line asks of each path at most, and all. */
#define PASSED_PPM 350000u
/* So many slow paths that were found stand for one that passed and is slow all the same. */
#define PASSED_PART 2u
/* A path that a plan is to avoid carries so little that it is in one only where there is no other. */
#define AVOIDED_PPM 1000u
/* A path that carries less is reckoned as if it carried that: no plan takes more than a thousand times as long. */
#define LOWEST_PPM 1000u
/* Shares of ports that differ by no more than such a part are alike. */
#define SHARES_ALIKE_PART 10u
/* What several senders got together beyond one alone: less than that is nothing. */
#define TOGETHER_PART 4u
#define PPB           UINT64_C(1000000000)

uint16_t source_path_site(const struct source *source, uint16_t node)
{
    uint16_t site = source->request_site[node];
    return site == 0 ? PATH_SITE_SELF : (uint16_t)(source->sites[site - 1].peer + 1);
}

bool source_is_measured(const struct plan_request *request, uint16_t from, uint16_t to)
{
    struct plan_known known = plan_path_known(request->avb_of, &request->paths[from][to]);
    return known.basis == PLAN_BASIS_MEASURED && plan_known_starts(&known);
}

/* What has been measured so far, as shares in ascending order. More than RUNS_MAX tell nothing new. */
#define RUNS_MAX 256
struct shares {
    unsigned count, run_count;
    struct share_run {
        uint32_t ppm;
        unsigned times; /* in a row */
    } runs[RUNS_MAX];
};

static void share_add(struct shares *shares, uint64_t bps, uint64_t of_bps, unsigned times)
{
    uint32_t share = (uint32_t)MIN(muldiv64(bps, PLAN_WHOLE_PPM, of_bps), (uint64_t)UINT32_MAX);
    unsigned place = shares->run_count;
    if (shares->run_count == RUNS_MAX || times == 0)
        return;
    shares->count += times;
    for (shares->run_count++; place > 0 && shares->runs[place - 1].ppm > share; place--)
        shares->runs[place] = shares->runs[place - 1];
    shares->runs[place] = (struct share_run){share, times};
}

/* The median while rounds follow, so that what is better than most is kept and what is worse is replaced. In the end the lower
 * quartile, of fewer than four the least: what is known counts more. UINT32_MAX: there is none. */
static uint32_t share_like(const struct shares *shares, bool last)
{
    unsigned left = last ? shares->count / 4 : shares->count / 2;
    for (unsigned run = 0; run < shares->run_count; run++) {
        if (left < shares->runs[run].times)
            return shares->runs[run].ppm;
        left -= shares->runs[run].times;
    }
    return UINT32_MAX;
}

/* Of a path that was measured, or a line; `most_bps` where it is no limit. */
static uint64_t measured_bps(const struct plan_path *path, uint64_t most_bps)
{
    return plan_path_at_least(path) ? most_bps : MIN(path->avb_kbps * UINT64_C(1000), most_bps);
}

/* By a train of its own: one was asked for in a round, or the interval is closer than that of a train for its sender's line. */
static bool is_measured_alone(const struct source *source, uint16_t from, uint16_t to)
{
    const struct plan_path *path = &source->request.paths[from][to];
    uint32_t width_kbps = (uint32_t)excess_of(path->avb_high_kbps, path->avb_low_kbps);
    return plan_path_at_least(path) || width_kbps < path->avb_kbps / ALONE_PART ||
           rounds_has_asked(&source->survey.rounds, source_path_site(source, from),
                            source_path_site(source, to));
}

/* Of paths, of their interfaces. What a train for its sender's line found is slow, which is why it was found. */
static void share_measured(const struct source *source, struct shares *shares)
{
    const struct plan_request *request = &source->request;
    for (uint16_t from = 0; from < request->node_count; from++)
        for (uint16_t to = 0; to < request->node_count; to++) {
            bool looked = source_is_measured(request, from, from);
            uint64_t most_bps = plan_ends_bps(request, from, to);
            if (from != to && to != request->source && source_is_measured(request, from, to) &&
                (!looked || is_measured_alone(source, from, to)))
                share_add(shares, measured_bps(&request->paths[from][to], most_bps), most_bps, 1);
        }
}

/* Paths that trains for lines went by, and were not found to be slow, count as whole. Where others were found, though, some are
 * slower than whole all the same, but wider than such trains ask for (NOTES.md: random nets). */
static void share_passed(const struct source *source, struct shares *shares)
{
    const struct plan_request *request = &source->request;
    unsigned slow = 0, passed = 0;
    for (uint16_t from = 0; from < request->node_count; from++)
        for (uint16_t to = 0; to < request->node_count; to++) {
            if (from == to || to == request->source || !source_is_measured(request, from, from))
                continue;
            bool measured = source_is_measured(request, from, to);
            passed += !measured;
            uint64_t most_bps = plan_ends_bps(request, from, to);
            bool explained = measured_bps(&request->paths[from][to], most_bps) >= most_bps / 4 * 3;
            slow += measured && !explained && !is_measured_alone(source, from, to);
        }
    unsigned narrow = MIN(slow / PASSED_PART, passed);
    share_add(shares, PASSED_PPM, PLAN_WHOLE_PPM, narrow);
    share_add(shares, PLAN_WHOLE_PPM, PLAN_WHOLE_PPM, passed - narrow);
}

/* As many paths as a tree has edges were measured alone, and none carries nearly what its ends do: what passed is like them. */
static bool enough_and_none_whole(const struct source *source)
{
    const struct plan_request *request = &source->request;
    unsigned alone = 0;
    for (uint16_t from = 0; from < request->node_count; from++)
        for (uint16_t to = 0; to < request->node_count; to++) {
            uint64_t most_bps = plan_ends_bps(request, from, to);
            if (from == to || to == request->source || !source_is_measured(request, from, to) ||
                !is_measured_alone(source, from, to))
                continue;
            if (measured_bps(&request->paths[from][to], most_bps) >= most_bps / 4 * 3)
                return false;
            alone++;
        }
    return alone + 1 >= request->node_count;
}

/* What this job's trains found that may be the line, or all of their paths alike; UINT64_MAX: nothing. */
static uint64_t looked_bps(const struct node *node, const struct source *source, uint16_t sender)
{
    uint16_t site = source_path_site(source, sender);
    const struct pair_result *result = pairs_result(node, site, site);
    bool newest = result->maybe_bps != 0 && result->maybe_ns >= source->survey.rounds.begun_ns;
    return newest ? result->maybe_bps : UINT64_MAX;
}

/* Where nothing else is known, and a look at each sender was held up, at shares of ports that are alike: by lines that are alike, or
 * by paths that are. Paths then carry at least their parts, which are of one size where there are few receivers. If lines held
 * up the trains, trees by such parts are as fast as others; if paths did, the fastest. Lines that are unlike need other trees. */
static void share_undecided(const struct node *node, const struct source *source, struct shares *shares)
{
    const struct plan_request *request = &source->request;
    uint64_t least_ppm = UINT64_MAX, most_ppm = 0;
    if (node->peer_count > JOINT_UNLIKE)
        return;
    for (uint16_t from = 0; from < request->node_count; from++) {
        uint64_t found_bps = looked_bps(node, source, from);
        if (request->nodes[from].leaf)
            continue;
        if (found_bps == UINT64_MAX)
            return;
        uint64_t share_ppm = muldiv64(found_bps, PLAN_WHOLE_PPM, request->nodes[from].up_bps);
        least_ppm = MIN(least_ppm, share_ppm);
        most_ppm = MAX(most_ppm, share_ppm);
    }
    if (most_ppm > 0 && most_ppm - least_ppm <= least_ppm / SHARES_ALIKE_PART)
        share_add(shares, 1, node->peer_count, 1);
}

/* While rounds follow, the next one finds out what was guessed wrong. The last plan rests on paths that were measured alone, where they
 * are as many as a tree has edges and their lower quartile is half of the ports or more, as beside cross traffic. Where as many were
 * and none is whole, those that passed count in no plan. */
static void share_paths(const struct node *node, const struct source *source, bool last,
                        struct shares *shares)
{
    shares->count = shares->run_count = 0;
    share_measured(source, shares);
    bool enough = shares->count + 1 >= source->request.node_count;
    if (enough_and_none_whole(source) || (last && enough && share_like(shares, last) >= PLAN_WHOLE_PPM / 2))
        return;
    share_passed(source, shares);
    if (shares->count == 0)
        share_undecided(node, source, shares);
}

/* The widest path of the node that was measured; 0: none was. */
static uint64_t widest_bps(const struct plan_request *request, uint16_t node)
{
    uint64_t most_bps = 0;
    for (uint16_t to = 0; to < request->node_count; to++)
        if (to != node && source_is_measured(request, node, to))
            most_bps =
                MAX(most_bps, measured_bps(&request->paths[node][to], plan_ends_bps(request, node, to)));
    return most_bps;
}

static void assume(struct plan_path *line, uint64_t bps)
{
    line->avb_kbps = (uint32_t)MAX(bps / 1000, UINT64_C(1));
    line->avb_low_kbps = line->avb_high_kbps = 0;
}

/* Several senders together got as much as the fastest alone, to a quarter, and less than they sent: that is the line in. */
static void guess_lines_in(struct plan_request *request)
{
    if (request->avb_of == PLAN_AVB_MEASURED)
        return;
    for (uint16_t to = 0; to < request->node_count; to++) {
        struct plan_path *line = &request->lines_in[to];
        uint64_t offered_bps = gather_offered_bps(request->nodes[to].down_bps, request->node_count - 1u);
        uint32_t alone_kbps = 0;
        for (uint16_t from = 0; from < request->node_count; from++)
            if (from != to && source_is_measured(request, from, to))
                alone_kbps = MAX(alone_kbps, request->paths[from][to].avb_kbps);
        if (plan_path_at_least(line) && line->avb_kbps < offered_bps / 1000 &&
            line->avb_kbps < alone_kbps + alone_kbps / TOGETHER_PART &&
            line->avb_kbps > alone_kbps - alone_kbps / TOGETHER_PART)
            assume(line, MAX(line->avb_kbps, alone_kbps) * UINT64_C(1000));
    }
}

/* Lines of which nothing is known are like those that were measured: by the share of their interfaces, and by how much more
 * they carry than one path alone; but for what their own trains found. */
static void guess_lines(const struct node *node, struct source *source, bool last)
{
    struct plan_request *request = &source->request;
    if (request->avb_of == PLAN_AVB_MEASURED) /* a guess is none */
        return;
    struct shares of_interface = {.count = 0}, of_path = {.count = 0}, of_maybe = {.count = 0};
    for (uint16_t sender = 0; sender < request->node_count; sender++) {
        uint64_t up_bps = request->nodes[sender].up_bps, path_bps = widest_bps(request, sender);
        if (!source_is_measured(request, sender, sender)) {
            uint64_t found_bps = looked_bps(node, source, sender);
            if (found_bps != UINT64_MAX)
                share_add(&of_maybe, found_bps, up_bps, 1);
            continue;
        }
        const struct plan_path *line = &request->paths[sender][sender];
        share_add(&of_interface, measured_bps(line, up_bps), up_bps, 1);
        if (path_bps != 0)
            share_add(&of_path,
                      plan_path_at_least(line) ? UINT64_MAX / PLAN_WHOLE_PPM : measured_bps(line, up_bps),
                      path_bps, 1);
    }
    if (of_interface.count == 0)
        of_interface = of_maybe;
    for (uint16_t sender = 0; sender < request->node_count; sender++) {
        struct plan_path *line = &request->paths[sender][sender];
        uint64_t up_bps = request->nodes[sender].up_bps, path_bps = widest_bps(request, sender);
        uint64_t guess_bps = muldiv64(up_bps, share_like(&of_interface, last), PLAN_WHOLE_PPM);
        if (path_bps != 0)
            guess_bps = MIN(guess_bps, muldiv64(path_bps, share_like(&of_path, last), PLAN_WHOLE_PPM));
        uint64_t found_bps = looked_bps(node, source, sender);
        if (found_bps != UINT64_MAX)
            guess_bps = MAX(found_bps, path_bps);
        bool less = found_bps != UINT64_MAX && plan_path_at_least(line) &&
                    line->avb_kbps * UINT64_C(1000) < guess_bps;
        if (guess_bps < up_bps && (less || !plan_path_counts(request->avb_of, line)))
            assume(line, guess_bps);
    }
}

/* What nothing is known of, once something is. */
void source_guess(const struct node *node, struct job *job)
{
    const struct source_survey *survey = &job->source->survey;
    struct plan_request *request = &job->source->request;
    bool last = survey->guess != GUESS_MEDIAN;
    struct shares shares;
    if (survey->rounds.count == 0)
        return;
    guess_lines(node, job->source, last);
    guess_lines_in(request);
    share_paths(node, job->source, last, &shares);
    if (shares.count > 0)
        request->assumed_ppm =
            survey->guess == GUESS_AVOID ? AVOIDED_PPM : MAX(share_like(&shares, last), 1u);
}

/* Paths of the plan of which nothing fresh is known; *need_ppm: the most that one is to carry, as a share. */
static unsigned unknown_paths(const struct source *source, uint64_t *need_ppm)
{
    const struct plan *plan = &source->plan;
    uint64_t seen[PLAN_NODES_MAX] = {0};
    unsigned count = 0;
    *need_ppm = 0;
    for (uint16_t tree = 0; tree < plan->tree_count; tree++)
        for (uint16_t index = 0; index < plan->trees[tree].edge_count; index++) {
            struct plan_edge edge = plan->trees[tree].edges[index];
            uint64_t rate_bps = plan_edge_rate_bps(plan, tree, edge.to);
            uint64_t share_ppm =
                muldiv64(rate_bps, PLAN_WHOLE_PPM, plan_ends_bps(&source->request, edge.from, edge.to));
            if (plan_known_starts(&plan->into_known[tree][edge.to]))
                continue;
            *need_ppm = MAX(*need_ppm, share_ppm);
            count += (seen[edge.from] >> edge.to & 1) == 0;
            seen[edge.from] |= UINT64_C(1) << edge.to;
        }
    return count;
}

/* The average over independent draws: above_ppb is the chance that all unknown paths drew more than this share, so the difference is
 * the chance that this one is the lowest. The most that one path is to carry stands for all, which errs to the long side. */
uint64_t source_likely_ns(const struct node *node, const struct source *source, uint64_t flow_ns)
{
    struct shares shares;
    uint64_t need_ppm = 0, times_ppm = 0, left_ppb = PPB;
    unsigned unknown = unknown_paths(source, &need_ppm), below = 0;
    share_paths(node, source, source->survey.guess != GUESS_MEDIAN, &shares);
    if (shares.count == 0 || unknown == 0)
        return flow_ns;
    for (unsigned run = 0; run < shares.run_count; run++) {
        uint32_t share_ppm = MAX(shares.runs[run].ppm, LOWEST_PPM);
        uint64_t slower_ppm = muldiv64(need_ppm, PLAN_WHOLE_PPM, share_ppm), above_ppb = PPB;
        below += shares.runs[run].times;
        for (unsigned path = 0; path < unknown; path++)
            above_ppb = above_ppb * (shares.count - below) / shares.count;
        times_ppm += muldiv64(MAX(slower_ppm, (uint64_t)PLAN_WHOLE_PPM), left_ppb - above_ppb, PPB);
        left_ppb = above_ppb;
    }
    return muldiv64(MIN(flow_ns, UINT64_MAX / (PLAN_WHOLE_PPM / LOWEST_PPM)), times_ppm, PLAN_WHOLE_PPM);
}
