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
    return MIN(MAX(share_ns, ROUNDS_NS_LEAST), ROUNDS_NS_MOST);
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

/* False: not all edges can be paid for; in a first round that ends it, later ones go on without those. */
static bool pay(struct rounds *rounds)
{
    uint16_t kept = 0;
    for (uint16_t place = 0; place < rounds->edge_count; place++)
        rounds->edges[place].bytes = bytes_for(rounds, &rounds->edges[place]);
    for (uint16_t place = 0; place < rounds->edge_count; place++) {
        const struct round_edge *edge = &rounds->edges[place];
        if (edge->bytes != 0)
            rounds->edges[kept++] = *edge;
        else if (rounds->count == 0)
            return false;
    }
    rounds->edge_count = kept;
    for (uint16_t place = 0; place < kept; place++) {
        const struct round_edge *edge = &rounds->edges[place];
        rounds->out_bytes[edge->from] += edge->bytes + ROUNDS_TEST_BYTES;
        rounds->in_bytes[edge->to] += edge->bytes + ROUNDS_TEST_BYTES;
    }
    return kept > 0;
}

/* A test and two trains take a round trip each, at the rate of the ports. */
static uint64_t needed_ns(const struct round_edge *edge)
{
    return 3 * edge->rtt_ns + transmit_ns(edge->bytes + ROUNDS_TEST_BYTES, edge->port_bps) + ROUNDS_SLACK_NS;
}

/* A sender measures one path after the other by itself; a receiver takes one train at a time, and those of other
 * senders wait for it. Returns when the last should be known. */
static uint64_t schedule(struct rounds *rounds)
{
    uint64_t free_ns[ROTATION_NODES_MAX] = {0}, ready_ns[ROTATION_NODES_MAX] = {0}, last_ns = 0;
    for (uint16_t place = 0; place < rounds->edge_count; place++) {
        struct round_edge *edge = &rounds->edges[place];
        edge->wait_ns = free_ns[edge->to];
        uint64_t end_ns = MAX(ready_ns[edge->from], edge->wait_ns) + needed_ns(edge);
        ready_ns[edge->from] = free_ns[edge->to] = end_ns;
        last_ns = MAX(last_ns, end_ns + edge->asker_ns);
    }
    return last_ns;
}

bool rounds_begin(struct rounds *rounds, const struct rounds_goal *goal, uint64_t now_ns)
{
    if (rounds->count == 0) {
        rounds->goal = *goal;
        rounds->begun_ns = now_ns;
    }
    uint64_t passed_ns = elapsed_ns(now_ns, rounds->begun_ns), most_ns = rounds_time_ns(&rounds->goal);
    if (rounds->over || rounds->count == ROUNDS_MOST || !pay(rounds)) {
        rounds->over = true;
        return false;
    }
    uint64_t needs_ns = schedule(rounds), left_ns = elapsed_ns(most_ns, passed_ns);
    if (needs_ns > left_ns) {
        rounds->over = true;
        return false;
    }
    rounds->count++;
    rounds->end_ns = now_ns + MIN(left_ns, ROUNDS_PATIENCE * needs_ns);
    return true;
}
