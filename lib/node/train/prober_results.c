/* The prober's results: what estimators and data say, for the table of paths, the planner and show. */
#include "node/train/prober_results.h"

#include "base/check.h"
#include "node/peer/measure.h"
#include "node/peer/path_table.h"
#include "node/peer/post.h"

#define DATA_RESULT_NS (10 * NS_PER_S)
#define ALONE_NS       (60 * NS_PER_S) /* for so long a path's own value says what held up a joint train */

static void tell_table(struct node *node, uint16_t peer, const struct estimate *estimate, uint64_t now_ns)
{
    path_table_set_estimate(node->paths, PATH_SITE_SELF, (uint16_t)(peer + 1), estimate, now_ns);
}

/* The slower of the path's two ports, as far as they are known. */
static uint64_t ports_bps(const struct node *node, uint16_t peer)
{
    uint64_t own_bps = node->config.ports[node->peers[peer].port].rate_bps;
    uint64_t other_bps = path_table_site(node->paths, peer + 1u)->down_bps;
    return other_bps != 0 ? MIN(own_bps, other_bps) : own_bps;
}

/* "At least" of less than what is known: the first train of a measurement that goes on, or whose others were lost. */
static bool says_less(const struct node *node, const struct estimate *estimate, uint64_t now_ns)
{
    const struct prober *prober = node->prober;
    struct estimate known = known_at(&prober->known[prober->peer], now_ns);
    return !prober->asked && estimate->kind == ESTIMATE_AT_LEAST && estimate->low_bps < known.low_bps;
}

/* An estimate that says nothing does not take the place of one that did. */
void prober_note_result(struct node *node, uint64_t now_ns)
{
    struct probe_result *result = &node->prober->results[node->prober->peer];
    struct estimate estimate = {0};
    kind_of(node)->result(node->prober->state, now_ns, &estimate);
    estimate_clip(&estimate, ports_bps(node, node->prober->peer));
    if (estimate.kind == ESTIMATE_NONE || says_less(node, &estimate, now_ns))
        return;
    if (estimate.capacity_bps != 0)
        result->capacity_bps = estimate.capacity_bps;
    if (result->heard)
        estimate.stamp_kind = MIN(result->sender.stamp_kind, result->receiver.stamp_kind);
    result->estimate = estimate;
    result->known_ns = now_ns;
    known_take(&node->prober->known[node->prober->peer], &estimate, now_ns);
    tell_table(node, node->prober->peer, &estimate, now_ns);
    digest_add(&node->digest, estimate.avail_bps ^ (uint64_t)estimate.kind << 56);
}

void prober_take_data(struct node *node, uint16_t peer, const struct estimate *estimate, uint64_t now_ns)
{
    struct known *known = &node->prober->known[peer];
    struct estimate told = *estimate;
    estimate_clip(&told, ports_bps(node, peer));
    if (!known_take(known, &told, now_ns))
        return;
    struct estimate now = known_at(known, now_ns);
    struct prober *prober = node->prober;
    tell_table(node, peer, &now, now_ns);
    digest_add(&node->digest, now.avail_bps ^ (uint64_t)now.kind << 56);
    if (prober->data_told_ns[peer] != 0 && elapsed_ns(now_ns, prober->data_told_ns[peer]) < DATA_RESULT_NS)
        return;
    prober->data_told_ns[peer] = now_ns;
    prober->results[peer].estimate = now;
    prober->results[peer].known_ns = now_ns;
    prober->news_mask |= UINT64_C(1) << peer;
}

/* A job's data says of late what a train could find out. */
bool prober_data_tells(const struct node *node, uint16_t peer, uint64_t now_ns)
{
    const struct known *known = &node->prober->known[peer];
    uint64_t port_bps = node->config.ports[node->peers[peer].port].rate_bps;
    struct estimate now = known_at(known, now_ns);
    uint64_t whole_bps = now.capacity_bps != 0 ? now.capacity_bps : now.avail_bps;
    uint64_t half_bps = muldiv64(whole_bps, node->config.probe.width_ppb, 1000000000);
    return known_data_tells(known, half_bps, port_bps, now_ns);
}

const struct probe_result *prober_result(const struct node *node, uint16_t peer)
{
    CHECK(peer < node->peer_count);
    return &node->prober->results[peer];
}

uint16_t prober_take_news(struct node *node)
{
    struct prober *prober = node->prober;
    if (prober->news_mask == 0)
        return PEER_NONE;
    uint16_t peer = (uint16_t)__builtin_ctzll(prober->news_mask);
    prober->news_mask &= prober->news_mask - 1;
    return peer;
}

bool prober_is_busy(const struct node *node, uint16_t peer)
{
    const struct prober *prober = node->prober;
    return (prober->asked_mask >> peer & 1) != 0 || (prober->peer == peer && !prober->alone);
}

const struct estimate *prober_alone(const struct node *node, uint16_t peer, uint64_t now_ns)
{
    const struct probe_result *result = &node->prober->results[peer];
    bool fresh = result->known_ns != 0 && elapsed_ns(now_ns, result->known_ns) <= ALONE_NS;
    return fresh && estimate_says(&result->estimate) ? &result->estimate : NULL;
}

/* By joint trains, and by the path alone of one of their receivers. */
static void tell_line(struct node *node, uint64_t now_ns, struct estimate *estimate)
{
    const struct prober *prober = node->prober;
    const struct line *line = &prober->line;
    uint64_t port_bps = node->config.ports[node->peers[line->peer].port].rate_bps;
    const struct estimate *alone = prober_alone(node, line->peer, now_ns);
    line_tell(line, alone != NULL ? alone : line_sprint(line, line->peer), port_bps, estimate);
}

/* For another node: what the estimator says, or why it can say nothing. */
void prober_answer(struct node *node, enum probe_answer word, uint64_t now_ns)
{
    const struct prober *prober = node->prober;
    const struct probe_result *result = &prober->results[prober->peer];
    struct asked_end end = {.answer = word,
                            .turned_down = prober->turned_down,
                            .spent_bytes = node->train_out->sent_bytes - prober->begun_bytes};
    if (word == PROBE_MEASURED && prober->line.wanted) {
        tell_line(node, now_ns, &end.estimate);
        path_table_set_estimate(node->paths, PATH_SITE_SELF, PATH_SITE_SELF, &end.estimate, now_ns);
        if (prober->ask.asker < node->peer_count && post_has_ample_room(node, prober->ask.asker))
            measure_report_available(node, prober->ask.asker, now_ns);
    } else if (word == PROBE_MEASURED)
        kind_of(node)->result(prober->state, now_ns, &end.estimate);
    if (result->heard)
        end.estimate.stamp_kind = MIN(result->sender.stamp_kind, result->receiver.stamp_kind);
    asked_end(node, &prober->ask, &end, now_ns);
}
