#include "probe/rounds.h"

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

void rounds_add(struct rounds *rounds, const struct round_edge *edge)
{
    if ((rounds->asked[edge->from] >> edge->to & 1) != 0 || rounds->edge_count == ROUNDS_EDGES_MAX)
        return;
    rounds->asked[edge->from] |= UINT64_C(1) << edge->to;
    rounds->edges[rounds->edge_count++] = *edge;
}

/* How many edges of the round share its ports with this one, itself included: of the port that has more. */
static unsigned sharing(const struct rounds *rounds, const struct round_edge *edge)
{
    unsigned out = 0, in = 0;
    for (uint16_t place = 0; place < rounds->edge_count; place++) {
        out += rounds->edges[place].from == edge->from;
        in += rounds->edges[place].to == edge->to;
    }
    return MAX(out, in);
}

/* Of what is left for its ports this round's part; what that is too little for may take what later rounds would. 0: too
 * little. */
static uint32_t bytes_for(const struct rounds *rounds, const struct round_edge *edge)
{
    uint64_t most = rounds_bytes(&rounds->goal);
    uint64_t spent = MAX(rounds->out_bytes[edge->from], rounds->in_bytes[edge->to]);
    uint64_t each = (most - MIN(spent, most)) / sharing(rounds, edge);
    uint64_t part = each / (ROUNDS_MOST - rounds->count);
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

/* Those that take least come first: as many as there is time for. */
static void sort(struct rounds *rounds)
{
    for (uint16_t next = 1; next < rounds->edge_count; next++) {
        struct round_edge edge = rounds->edges[next];
        uint16_t place = next;
        for (; place > 0 && needed_ns(&rounds->edges[place - 1]) > needed_ns(&edge); place--)
            rounds->edges[place] = rounds->edges[place - 1];
        rounds->edges[place] = edge;
    }
}

/* What there are bytes and time for stays in the round; a later one may take the rest. A sender measures one path
 * after the other by itself; a receiver takes one train at a time, and those of other senders wait for it. Returns when
 * the last should be known. */
static uint64_t choose(struct rounds *rounds, uint64_t left_ns)
{
    uint64_t free_ns[ROTATION_NODES_MAX] = {0}, ready_ns[ROTATION_NODES_MAX] = {0}, last_ns = 0;
    uint16_t kept = 0;
    for (uint16_t place = 0; place < rounds->edge_count; place++) {
        struct round_edge edge = rounds->edges[place];
        edge.wait_ns = free_ns[edge.to];
        uint64_t end_ns = MAX(ready_ns[edge.from], edge.wait_ns) + needed_ns(&edge);
        if (edge.bytes == 0 || end_ns + edge.asker_ns > left_ns) {
            rounds->asked[edge.from] &= ~(UINT64_C(1) << edge.to);
            continue;
        }
        ready_ns[edge.from] = free_ns[edge.to] = end_ns;
        last_ns = MAX(last_ns, end_ns + edge.asker_ns);
        rounds->out_bytes[edge.from] += edge.bytes + ROUNDS_TEST_BYTES;
        rounds->in_bytes[edge.to] += edge.bytes + ROUNDS_TEST_BYTES;
        rounds->edges[kept++] = edge;
    }
    rounds->edge_count = kept;
    return last_ns;
}

bool rounds_begin(struct rounds *rounds, const struct rounds_goal *goal, uint64_t now_ns)
{
    rounds->goal = *goal;
    if (rounds->count == 0)
        rounds->begun_ns = now_ns;
    uint64_t passed_ns = elapsed_ns(now_ns, rounds->begun_ns), most_ns = rounds_time_ns(goal);
    uint64_t left_ns = elapsed_ns(most_ns, passed_ns), needs_ns = 0;
    if (rounds->over || rounds->count == ROUNDS_MOST)
        rounds->edge_count = 0;
    for (uint16_t place = 0; place < rounds->edge_count; place++)
        rounds->edges[place].bytes = bytes_for(rounds, &rounds->edges[place]);
    sort(rounds);
    needs_ns = choose(rounds, left_ns);
    if (rounds->edge_count == 0) {
        rounds->over = true;
        return false;
    }
    rounds->count++;
    rounds->end_ns = now_ns + MIN(left_ns, ROUNDS_PATIENCE * needs_ns);
    return true;
}
