#include "probe/rounds.h"

#include <string.h>

#include "probe/gather.h"

#define PPM 1000000u

void rounds_init(struct rounds *rounds)
{
    *rounds = (struct rounds){.count = 0};
}

void rounds_end(struct rounds *rounds)
{
    rounds->edge_count = 0;
}

uint64_t rounds_bytes(const struct rounds_goal *goal)
{
    return goal->time_ns != 0 ? UINT64_MAX : muldiv64(goal->size_bytes, ROUNDS_OBJECT_PPM, PPM);
}

uint64_t rounds_time_ns(const struct rounds_goal *goal)
{
    uint64_t share_ns = muldiv64(goal->plan_ns, ROUNDS_PLAN_PPM, PPM);
    if (goal->time_ns != 0)
        return goal->time_ns;
    return MIN(share_ns, ROUNDS_NS_MOST);
}

bool rounds_has_asked(const struct rounds *rounds, uint16_t from, uint16_t to)
{
    return (rounds->asked[from] >> to & 1) != 0;
}

void rounds_add(struct rounds *rounds, const struct round_edge *edge)
{
    if (rounds_has_asked(rounds, edge->from, edge->to) || rounds->edge_count == ROUNDS_EDGES_MAX)
        return;
    rounds->asked[edge->from] |= UINT64_C(1) << edge->to;
    rounds->edges[rounds->edge_count++] = *edge;
}

static bool is_line(const struct round_edge *edge)
{
    return edge->in || edge->from == edge->to;
}

void rounds_silent(struct rounds *rounds, uint16_t from, uint16_t to)
{
    uint64_t bit = UINT64_C(1) << to;
    if ((rounds->silent[from] & bit) == 0)
        rounds->asked[from] &= ~bit;
    rounds->silent[from] |= bit;
}

/* How many edges of the round share its ports with this one, itself included: of the port that has more. A line in has
 * all senders' to itself, once. */
static unsigned sharing(const struct rounds *rounds, const struct round_edge *edge)
{
    unsigned out = 0, in = edge->in;
    for (uint16_t place = 0; place < rounds->edge_count; place++) {
        out += rounds->edges[place].from == edge->from && !edge->in;
        in += rounds->edges[place].to == edge->to && !is_line(&rounds->edges[place]);
    }
    return MAX(out, in);
}

/* Of what is left for its ports this round's part, half of it for a line, which more depends on, and comes first where
 * there is enough for a look; what that is too little for may take what later rounds would. 0: too little. */
static uint32_t bytes_for(const struct rounds *rounds, const struct round_edge *edge)
{
    uint64_t most = rounds_bytes(&rounds->goal);
    uint64_t came = is_line(edge) && !edge->in ? 0 : rounds->in_bytes[edge->to];
    uint64_t spent = edge->in ? came : MAX(rounds->out_bytes[edge->from], came);
    uint64_t left = excess_of(most, spent);
    bool whole = is_line(edge) && left >= ROUNDS_LOOK_BYTES;
    uint64_t each = whole ? left : left / sharing(rounds, edge);
    uint64_t part = is_line(edge) ? left / 2 : each / (ROUNDS_MOST - rounds->count);
    uint64_t wanted = muldiv64(edge->port_bps, ROUNDS_TRAIN_NS, 8 * NS_PER_S);
    if (each < ROUNDS_BYTES_LEAST + ROUNDS_TEST_BYTES)
        return 0;
    part = MAX(part, (uint64_t)ROUNDS_BYTES_LEAST + ROUNDS_TEST_BYTES) - ROUNDS_TEST_BYTES;
    wanted = MIN(MAX(wanted, (uint64_t)ROUNDS_BYTES_LEAST), (uint64_t)ROUNDS_BYTES_MOST);
    return (uint32_t)MIN(part, wanted);
}

/* A test and two trains take a round trip each, at the rate of the ports. */
static uint64_t needed_ns(const struct round_edge *edge)
{
    return 3 * edge->rtt_ns + transmit_ns(edge->bytes + ROUNDS_TEST_BYTES, edge->port_bps) + ROUNDS_SLACK_NS;
}

/* The asker's line, then edges, then others' lines. */
static unsigned rank_of(const struct round_edge *edge)
{
    return !is_line(edge) ? 1 : edge->asker_ns == 0 ? 0 : 2;
}

static bool comes_before(const struct round_edge *one, const struct round_edge *other)
{
    if (rank_of(one) != rank_of(other))
        return rank_of(one) < rank_of(other);
    return needed_ns(one) < needed_ns(other);
}

/* Those that take least come first: as many as there is time for. */
static void sort(struct rounds *rounds)
{
    for (uint16_t next = 1; next < rounds->edge_count; next++) {
        struct round_edge edge = rounds->edges[next];
        uint16_t place = next;
        for (; place > 0 && comes_before(&edge, &rounds->edges[place - 1]); place--)
            rounds->edges[place] = rounds->edges[place - 1];
        rounds->edges[place] = edge;
    }
}

/* What there are bytes and time for stays in the round; a later one may take the rest. A sender measures one path
 * after the other by itself; a receiver takes one train at a time, and those of other senders wait for it. Returns
 * when the last should be known. */
static uint64_t choose(struct rounds *rounds, uint64_t left_ns)
{
    uint64_t free_ns[ROTATION_NODES_MAX] = {0}, ready_ns[ROTATION_NODES_MAX] = {0}, last_ns = 0;
    uint64_t over_ns = 0, line_ns = 0; /* all so far; lines */
    uint16_t kept = 0;
    for (uint16_t place = 0; place < rounds->edge_count; place++) {
        struct round_edge edge = rounds->edges[place];
        bool line = is_line(&edge), left_out = edge.bytes == 0 || edge.look || edge.in;
        edge.trains = ROUNDS_TRAINS;
        edge.wait_ns = line ? over_ns : MAX(free_ns[edge.to], line_ns);
        uint64_t begin_ns = left_out ? 0 : MAX(ready_ns[edge.from], edge.wait_ns);
        uint64_t end_ns = begin_ns + needed_ns(&edge);
        if (left_out || end_ns + edge.asker_ns > left_ns) {
            rounds->asked[edge.from] &= ~(UINT64_C(1) << edge.to);
            continue;
        }
        ready_ns[edge.from] = free_ns[edge.to] = end_ns;
        over_ns = MAX(over_ns, end_ns);
        line_ns = line ? end_ns : line_ns;
        last_ns = MAX(last_ns, end_ns + edge.asker_ns);
        rounds->out_bytes[edge.from] += edge.bytes + ROUNDS_TEST_BYTES;
        if (!line)
            rounds->in_bytes[edge.to] += edge.bytes + ROUNDS_TEST_BYTES;
        rounds->edges[kept++] = edge;
    }
    rounds->edge_count = kept;
    return last_ns;
}

/* What a look's train has beyond its packets in turn, where these are all that they may be. */
static uint32_t look_sprints(const struct rounds *rounds, const struct round_edge *edge)
{
    uint32_t bytes = MIN(rounds->goal.peers, ROUNDS_SPRINTS_MAX) * ROUNDS_SPRINT_BYTES;
    return edge->bytes >= ROUNDS_LOOK_BYTES ? bytes : 0;
}

/* One look at lines, side by side, of those that were added: their trains bear each other, as far as not all come
 * at once. Whose would take longer than most_ns is left out, but the asker's. Returns when the last should be
 * known. */
static uint64_t look(struct rounds *rounds, const struct round_edge *edges, uint16_t count, uint64_t most_ns)
{
    uint64_t wait_ns = 0, last_ns = 0;
    rounds->edge_count = 0;
    for (uint16_t place = 0; place < count; place++) {
        struct round_edge edge = edges[place];
        uint32_t sprints = look_sprints(rounds, &edge);
        edge.bytes = MIN(edge.bytes, ROUNDS_LOOK_BYTES);
        uint64_t train_ns =
            ROUNDS_LOOK_SLOWER * transmit_ns(edge.bytes, edge.port_bps) + transmit_ns(sprints, edge.port_bps);
        edge.bytes += sprints;
        uint64_t end_ns = wait_ns + edge.rtt_ns + edge.asker_ns + train_ns + ROUNDS_SLACK_NS;
        if (!is_line(&edge) || edge.in || edge.bytes == 0 || (end_ns > most_ns && edge.asker_ns != 0))
            continue;
        edge.wait_ns = wait_ns;
        edge.trains = 1;
        wait_ns += train_ns;
        last_ns = MAX(last_ns, end_ns);
        rounds->edges[rounds->edge_count++] = edge;
    }
    return last_ns;
}

/* The look is what the round has: all else that was added may be in a later one. */
static void keep_look(struct rounds *rounds, const struct round_edge *edges, uint16_t count)
{
    for (uint16_t place = 0; place < count; place++)
        rounds->asked[edges[place].from] &= ~(UINT64_C(1) << edges[place].to);
    for (uint16_t place = 0; place < rounds->edge_count; place++) {
        const struct round_edge *edge = &rounds->edges[place];
        rounds->asked[edge->from] |= UINT64_C(1) << edge->to;
        rounds->out_bytes[edge->from] += edge->bytes;
    }
}

static uint16_t lines_of(const struct round_edge *edges, uint16_t count)
{
    uint16_t lines = 0;
    for (uint16_t place = 0; place < count; place++)
        lines += is_line(&edges[place]) && !edges[place].in && edges[place].bytes != 0;
    return lines;
}

bool rounds_may_look(const struct rounds *rounds, const struct rounds_goal *goal)
{
    return !rounds->looked &&
           (rounds->count == 0 || goal->surprised || goal->likely_ns > ROUNDS_LOOK_TIMES * goal->plan_ns);
}

/* A look at all lines, where that does not take long; else what fits; where nothing does, a look all the same,
 * since what the plan takes is not known. Without the asker's line no look is worth its time. Returns what it
 * needs; *left_ns: what it may take; late_ns: what a look that is a later round may. */
static uint64_t choose_or_look(struct rounds *rounds, uint64_t late_ns, uint64_t *left_ns)
{
    struct round_edge edges[ROUNDS_EDGES_MAX];
    uint16_t count = rounds->edge_count;
    memcpy(edges, rounds->edges, count * sizeof(edges[0]));
    bool first = rounds->count == 0;
    bool may_look =
        rounds_may_look(rounds, &rounds->goal) && count > 0 && rank_of(&edges[0]) == 0 && edges[0].bytes != 0;
    uint64_t plan_ns = rounds->goal.plan_ns;
    uint64_t soon_ns =
        first ? MIN(*left_ns, muldiv64(plan_ns, ROUNDS_LOOK_PPM, PPM)) : MAX(*left_ns, late_ns);
    uint64_t looks_ns = may_look ? look(rounds, edges, count, soon_ns) : 0;
    if (!may_look || looks_ns > soon_ns || rounds->edge_count < lines_of(edges, count)) {
        memcpy(rounds->edges, edges, count * sizeof(edges[0]));
        rounds->edge_count = count;
        uint64_t needs_ns = choose(rounds, *left_ns);
        if (rounds->edge_count > 0 || !may_look || !first || rounds->goal.time_ns != 0)
            return needs_ns;
        looks_ns = look(rounds, edges, count, muldiv64(plan_ns, ROUNDS_LOOK_PPM_MOST, PPM));
    }
    keep_look(rounds, edges, count);
    rounds->looked = true;
    *left_ns = looks_ns + looks_ns / ROUNDS_LOOK_MORE;
    return looks_ns;
}

/* One look at lines in, side by side, of those that were added, as far as they go into most_ns. Senders' parts are
 * alike, whoever is asked. Returns when the last should be known; 0: there is none. */
static uint64_t look_in(struct rounds *rounds, uint64_t most_ns)
{
    struct round_edge edges[ROUNDS_EDGES_MAX];
    uint16_t count = rounds->edge_count, kept = 0;
    uint64_t wait_ns = 0, last_ns = 0, sum_bytes = 0;
    memcpy(edges, rounds->edges, count * sizeof(edges[0]));
    for (uint16_t place = 0; place < count; place++) {
        struct round_edge edge = edges[place];
        edge.bytes = MIN(edge.bytes, ROUNDS_LOOK_BYTES);
        uint64_t train_ns = gather_train_ns(edge.port_bps, edge.bytes);
        uint64_t lasts_ns = train_ns + GATHER_SENDERS_MAX * train_ns / GATHER_STEPS;
        uint64_t end_ns = wait_ns + edge.asker_ns + edge.rtt_ns + lasts_ns + ROUNDS_IN_SLACK_NS;
        if (!edge.in || edge.bytes == 0 || end_ns > most_ns)
            continue;
        edge.wait_ns = wait_ns;
        edge.trains = 1;
        wait_ns += gather_apart_ns(edge.port_bps, edge.bytes);
        last_ns = MAX(last_ns, end_ns);
        sum_bytes += edge.bytes;
        rounds->in_bytes[edge.to] += edge.bytes;
        rounds->edges[kept++] = edge;
    }
    if (kept == 0) {
        memcpy(rounds->edges, edges, count * sizeof(edges[0]));
        return 0;
    }
    for (uint16_t site = 0; site < ROTATION_NODES_MAX; site++)
        rounds->out_bytes[site] += sum_bytes / kept;
    for (uint16_t place = 0; place < count; place++)
        rounds->asked[edges[place].from] &= ~(UINT64_C(1) << edges[place].to);
    for (uint16_t place = 0; place < kept; place++)
        rounds->asked[ROUNDS_ANY] |= UINT64_C(1) << rounds->edges[place].to;
    rounds->edge_count = kept;
    return last_ns;
}

/* What the next round may take. */
static uint64_t time_left_ns(const struct rounds *rounds, uint64_t now_ns)
{
    const struct rounds_goal *goal = &rounds->goal;
    uint64_t passed_ns = elapsed_ns(now_ns, rounds->begun_ns);
    uint64_t left_ns = excess_of(rounds_time_ns(goal), passed_ns);
    uint64_t worth_ns = excess_of(goal->likely_ns, goal->plan_ns) / ROUNDS_WORTH_PART;
    uint64_t most_ns = excess_of(MIN(goal->plan_ns, ROUNDS_NS_MOST), passed_ns);
    return goal->time_ns != 0 ? left_ns : MAX(left_ns, MIN(worth_ns, most_ns));
}

/* The same of a look at lines in. */
static uint64_t time_for_lines_in_ns(const struct rounds *rounds, uint64_t left_ns, uint64_t now_ns)
{
    const struct rounds_goal *goal = &rounds->goal;
    uint64_t most_ns = MIN(muldiv64(goal->plan_ns, ROUNDS_IN_PPM, PPM), ROUNDS_NS_MOST);
    return goal->time_ns != 0 ? left_ns
                              : MAX(left_ns, excess_of(most_ns, elapsed_ns(now_ns, rounds->begun_ns)));
}

/* The same of a look that is a later round. */
static uint64_t time_for_late_look_ns(const struct rounds *rounds, uint64_t now_ns)
{
    const struct rounds_goal *goal = &rounds->goal;
    uint64_t most_ns = MIN(muldiv64(goal->plan_ns, ROUNDS_LOOK_PPM_LATE, PPM), ROUNDS_NS_MOST);
    bool may = goal->surprised && goal->time_ns == 0;
    return may ? excess_of(most_ns, elapsed_ns(now_ns, rounds->begun_ns)) : 0;
}

bool rounds_begin(struct rounds *rounds, const struct rounds_goal *goal, uint64_t now_ns)
{
    rounds->goal = *goal;
    if (rounds->count == 0)
        rounds->begun_ns = now_ns;
    uint64_t left_ns = time_left_ns(rounds, now_ns);
    if (rounds->over || rounds->count == ROUNDS_MOST)
        rounds->edge_count = 0;
    for (uint16_t place = 0; place < rounds->edge_count; place++)
        rounds->edges[place].bytes = bytes_for(rounds, &rounds->edges[place]);
    sort(rounds);
    uint64_t needs_ns = rounds->looked_in || rounds->edge_count == 0
                            ? 0
                            : look_in(rounds, time_for_lines_in_ns(rounds, left_ns, now_ns));
    if (needs_ns > 0) {
        rounds->looked_in = true;
        left_ns = needs_ns + needs_ns / ROUNDS_LOOK_MORE;
    } else {
        needs_ns = choose_or_look(rounds, time_for_late_look_ns(rounds, now_ns), &left_ns);
    }
    if (rounds->edge_count == 0) {
        rounds->over = true;
        return false;
    }
    rounds->count++;
    rounds->end_ns = now_ns + MIN(left_ns, ROUNDS_PATIENCE * needs_ns);
    return true;
}
