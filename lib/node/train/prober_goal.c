#include "node/train/prober_goal.h"

#include "node/peer/path_table.h"
#include "node/train/prober_results.h"

#define LOAD_STEP_NS    (5 * NS_PER_S)
#define QUEUE_BYTES_MAX 250000u
#define JOBS_PART       10
#define JOBS_LOAD_NS    (10 * NS_PER_S)

uint64_t prober_load_ppb(const struct node *node)
{
    return core_has_jobs(node) && !node->prober->asked ? node->config.probe.load_ppb / JOBS_PART
                                                       : node->config.probe.load_ppb;
}

void prober_roll_load(struct node *node, uint64_t now_ns)
{
    struct prober *prober = node->prober;
    if (elapsed_ns(now_ns, prober->load_ns[1]) < LOAD_STEP_NS)
        return;
    prober->load_ns[0] = prober->load_ns[1];
    prober->load_bytes[0] = prober->load_bytes[1];
    prober->load_ns[1] = now_ns;
    prober->load_bytes[1] = node->train_out->sent_bytes;
}

uint64_t prober_load_bps(const struct node *node, uint64_t now_ns)
{
    const struct prober *prober = node->prober;
    uint64_t bytes = node->train_out->sent_bytes - prober->load_bytes[0];
    uint64_t passed_ns = MAX(elapsed_ns(now_ns, prober->load_ns[0]), LOAD_STEP_NS);
    return muldiv64(bytes, 8 * NS_PER_S, passed_ns);
}

bool prober_goes_on(const struct node *node)
{
    uint16_t peers = 0;
    for (uint16_t index = 0; index < node->peer_count; index++)
        peers += !node->config.peers[index].probe_off;
    return node->config.probe.background && !node->prober->asked && peers == 1;
}

/* While this node has jobs, and nobody has asked: what the load gives in a while, of a path that is known. First contacts
 * are bursts of a path's whole rate, and wait. */
static uint64_t bytes_for(const struct node *node, const struct peer *peer)
{
    uint64_t most = node->config.probe.bytes_max;
    if (node->prober->for_other) {
        uint64_t spent = node->train_out->sent_bytes - node->prober->begun_bytes;
        uint64_t left = MAX(excess_of(node->prober->ask.bytes, spent), UINT64_C(1));
        return most != 0 ? MIN(most, left) : left;
    }
    uint64_t capacity_bps = node->prober->results[peer->index].capacity_bps;
    if (!core_has_jobs(node) || node->prober->asked || capacity_bps == 0)
        return most;
    uint64_t bytes = bytes_within(muldiv64(capacity_bps, prober_load_ppb(node), 1000000000), JOBS_LOAD_NS);
    return most != 0 ? MIN(most, bytes) : MAX(bytes, 1ULL);
}

/* Rate and length of the first train follow what the test of the ends showed of the path. */
static void begin_low(struct estimator_goal *goal, const struct ends *ends)
{
    uint64_t seen_bps = ends->seen ? ends->test.path_bps : 0;
    uint64_t top_bps = goal->receiver_bps != 0 ? MIN(goal->receiver_bps, goal->port_bps) : goal->port_bps;
    if (seen_bps == 0 || seen_bps >= top_bps / SELF_TEST_TIMES)
        return;
    goal->receiver_bps = SELF_TEST_TIMES * seen_bps;
    goal->first_packets_max = (uint32_t)(bytes_within(seen_bps, SELF_TEST_FIRST_NS) / goal->wire_bytes) + 1;
}

struct estimator_goal prober_goal(const struct node *node, const struct peer *peer)
{
    const struct node_probe_config *config = &node->config.probe;
    const struct node_port_config *port = &node->config.ports[peer->port];
    struct estimator_goal goal = {
        .port_bps = port->rate_bps,
        .receiver_bps = path_table_site(node->paths, peer->index + 1u)->down_bps,
        .rtt_ns = peer->rtt_min_ns,
        .wire_bytes = MIN(peer->mtu.mtu, port->mtu) + WIRE_OVERHEAD_BYTES,
        .width_ppm = MAX(config->width_ppb / 1000, 1ULL),
        .duration_ns = node->prober->ask.quick ? 0 : config->period_ns,
        .bytes_max = bytes_for(node, peer),
        .queue_bytes_max = QUEUE_BYTES_MAX,
        .sender = node->prober->results[peer->index].sender,
        .receiver = node->prober->results[peer->index].receiver,
        .load_ppm = (uint32_t)MAX(prober_load_ppb(node) / 1000, 1ULL),
        .continuous = prober_goes_on(node),
    };
    begin_low(&goal, &node->prober->results[peer->index].ends);
    if (line_is_joint(&node->prober->line))
        line_goal(node, &node->prober->line, prober_alone(node, peer->index, node->now_ns), &goal);
    return goal;
}
