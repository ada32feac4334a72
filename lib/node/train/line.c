#include "node/train/line.h"

#include <string.h>

#include "base/check.h"
#include "node/peer/path_table.h"
#include "node/train/out.h"

uint16_t line_receivers(const struct node *node, uint16_t *peers, uint16_t most)
{
    uint64_t far_ns[TRAIN_SPRINTS_MAX];
    uint16_t count = 0;
    CHECK(most <= TRAIN_SPRINTS_MAX);
    for (uint16_t index = 0; index < node->peer_count; index++) {
        const struct peer *peer = &node->peers[index];
        if (peer->state != PEER_UP || peer->config->probe_off || peer->rtt_min_ns == 0)
            continue;
        bool near = peer->rtt_min_ns <= LINE_NEAR_NS;
        uint64_t key_ns = peer->rtt_min_ns + (near ? TIME_NEVER / 2 : 0);
        uint16_t place = count;
        for (; place > 0 && far_ns[place - 1] > key_ns; place--)
            if (place < most) {
                far_ns[place] = far_ns[place - 1];
                peers[place] = peers[place - 1];
            }
        if (place == most)
            continue;
        far_ns[place] = key_ns;
        peers[place] = index;
        count = MIN((uint16_t)(count + 1), most);
    }
    while (count > LINE_RECEIVERS_MIN && far_ns[count - 1] > TIME_NEVER / 2)
        count--;
    return count;
}

bool line_hindrance(const struct node *node, struct err *err)
{
    uint16_t peers[TRAIN_RECEIVERS_MAX];
    if (node->config.port_count > 1) {
        err_set(err, "%s has several ports, each with a line of its own", node->config.name);
        return true;
    }
    if (line_receivers(node, peers, TRAIN_RECEIVERS_MAX) < LINE_RECEIVERS_MIN) {
        err_set(err, "%s has fewer than two peers that trains may go to", node->config.name);
        return true;
    }
    return false;
}

/* Unlike parts decide by themselves, but take more receivers, and of the widest path more; where a path is known that decides. */
static void share_out(struct train_receivers *to, uint64_t known_mask)
{
    bool known = false;
    for (uint16_t receiver = 0; receiver < to->count; receiver++)
        known |= (known_mask >> to->peers[receiver] & 1) != 0;
    to->halves = !known && to->count > JOINT_UNLIKE;
}

/* A look has sprints, to all that it has bytes for beyond the packets in turn. */
static void add_sprints(const struct node *node, struct train_receivers *to, uint64_t bytes)
{
    uint64_t limit = node->config.probe.bytes_max != 0 ? node->config.probe.bytes_max : UINT64_MAX;
    uint64_t packets = MIN(bytes, limit) / (node->config.ports[0].mtu + WIRE_OVERHEAD_BYTES);
    uint64_t most =
        MIN(excess_of(packets, LINE_TURNS_PACKETS) / LINE_SPRINT_PACKETS, (uint64_t)TRAIN_SPRINTS_MAX);
    uint64_t sprint_ns = transmit_ns(LINE_SPRINT_PACKETS * (node->config.ports[0].mtu + WIRE_OVERHEAD_BYTES),
                                     node->config.ports[0].rate_bps);
    if (most < to->count || most * sprint_ns > LINE_SPRINTS_NS_MAX)
        return;
    to->sprint = LINE_SPRINT_PACKETS;
    to->sprint_count = line_receivers(node, to->peers, (uint16_t)most);
}

void line_begin(const struct node *node, struct line *line, uint64_t bytes, uint64_t known_mask, bool look)
{
    uint64_t packets = bytes / (node->config.ports[0].mtu + WIRE_OVERHEAD_BYTES);
    uint64_t most = MAX(packets / LINE_PACKETS_LEAST, (uint64_t)LINE_RECEIVERS_MIN);
    line->wanted = true;
    line->alone = line->apart = line->agreed = line->few = line->trickled = line->rough = false;
    line->to = (struct train_receivers){.count = 0};
    line->to.count = (uint16_t)MIN(line_receivers(node, line->to.peers, TRAIN_RECEIVERS_MAX), most);
    line->peer = line->to.peers[0];
    line->turns = line->to.count;
    line->joint_estimate = line->part_estimate = (struct estimate){0};
    share_out(&line->to, known_mask);
    memset(line->sprints, 0, sizeof(line->sprints));
    if (look)
        add_sprints(node, &line->to, bytes);
}

bool line_renew(const struct node *node, struct line *line)
{
    struct train_receivers *to = &line->to;
    uint16_t kept = 0, kept_in_turn = 0;
    for (uint16_t receiver = 0; receiver < train_receiver_count(to); receiver++) {
        if (node->peers[to->peers[receiver]].state != PEER_UP)
            continue;
        kept_in_turn += receiver < to->count;
        to->peers[kept++] = to->peers[receiver];
    }
    to->halves &= kept_in_turn == to->count || kept_in_turn > JOINT_UNLIKE;
    to->count = kept_in_turn;
    to->sprint_count = to->sprint != 0 ? kept : 0;
    return kept_in_turn >= LINE_RECEIVERS_MIN;
}

bool line_is_joint(const struct line *line)
{
    return line->wanted && !line->alone;
}

/* What the receivers' ports take together, of halves no more than twice the first one's; or, as far as one path is known, or seen
 * to be slow, so many of that. */
void line_goal(const struct node *node, const struct line *line, const struct estimate *alone,
               struct estimator_goal *goal)
{
    const struct train_receivers *to = &line->to;
    uint64_t sum_bps = 0, first_bps = 0, seen_bps = goal->first_packets_max != 0 ? goal->receiver_bps : 0;
    if (alone != NULL && alone->kind == ESTIMATE_VALUE)
        seen_bps = alone->avail_bps;
    for (uint16_t receiver = 0; receiver < to->count; receiver++) {
        uint64_t told_bps = path_table_site(node->paths, to->peers[receiver] + 1u)->down_bps;
        uint64_t down_bps = told_bps != 0 ? MIN(told_bps, goal->port_bps) : goal->port_bps;
        first_bps = receiver == 0 ? down_bps : first_bps;
        sum_bps += down_bps;
    }
    if (seen_bps != 0)
        sum_bps = MIN(sum_bps, to->count * seen_bps);
    if (to->halves)
        sum_bps = MIN(sum_bps, 2 * first_bps);
    goal->receiver_bps = MIN(sum_bps, goal->port_bps);
    goal->first_packets_max *= to->count;
    if (to->sprint != 0)
        goal->bytes_max =
            MAX(excess_of(goal->bytes_max, (uint64_t)to->sprint * to->sprint_count * goal->wire_bytes),
                UINT64_C(1));
}

const struct estimate *line_sprint(const struct line *line, uint16_t peer)
{
    for (uint16_t receiver = 0; receiver < line->to.sprint_count; receiver++)
        if (line->to.peers[receiver] == peer && line->sprints[receiver].kind != ESTIMATE_NONE)
            return &line->sprints[receiver];
    return NULL;
}

static void take_sprints(struct node *node, struct line *line, const struct self_test *test)
{
    for (uint16_t receiver = 0; receiver < line->to.sprint_count; receiver++) {
        line->sprints[receiver].kind = ESTIMATE_NONE;
        if (train_out_sprint(node, receiver) == NULL)
            continue;
        self_test_apply(test, &node->train_out->record);
        joint_sprint(&node->train_out->record, &line->sprints[receiver]);
    }
}

const struct train_record *line_take(struct node *node, struct line *line,
                                     const struct estimate *const *alone, const struct self_test *test)
{
    const struct joint_part *part = NULL;
    uint32_t liked_mask = 0;
    take_sprints(node, line, test);
    joint_begin(&line->joint);
    for (uint16_t receiver = 0; receiver < line->to.count; receiver++) {
        const struct estimate *own =
            alone[receiver] != NULL ? alone[receiver] : line_sprint(line, line->to.peers[receiver]);
        liked_mask |= (uint32_t)(own != NULL) << receiver;
        if (train_out_part(node, receiver) == NULL)
            continue;
        self_test_apply(test, &node->train_out->record);
        joint_take(&line->joint, receiver, own, &node->train_out->record);
    }
    enum joint_word word = joint_choose(&line->joint, liked_mask, &part);
    joint_judge_sprints(&line->joint, line->sprints, line->to.sprint_count);
    if (word == JOINT_SILENT) {
        line->trickled |= joint_trickle(&line->joint, &line->part_estimate);
        return NULL;
    }
    /* What next to nothing came of is no lower end. */
    bool trickled = word == JOINT_APART && joint_trickle(&line->joint, &line->part_estimate);
    line->trickled |= trickled;
    line->apart |= word == JOINT_APART && !trickled;
    line->agreed |= word == JOINT_AGREED;
    struct estimate drowned;
    line->few = word == JOINT_ALIKE && 2 * line->joint.near_count < line->joint.came_count &&
                !joint_trickle(&line->joint, &drowned);
    line->rough |= part->rough;
    line->peer = line->to.peers[part->receiver];
    line->turns = part->turns;
    if (!trickled && !joint_line(&line->joint, &line->part_estimate))
        line->part_estimate.kind = ESTIMATE_NONE;
    train_out_part(node, part->receiver);
    self_test_apply(test, &node->train_out->record);
    return &node->train_out->record;
}

void line_tell(const struct line *line, const struct estimate *alone, uint64_t port_bps,
               struct estimate *estimate)
{
    bool roughly = line->rough || line->trickled || !estimate_says(&line->joint_estimate);
    *estimate =
        roughly && line->part_estimate.kind == ESTIMATE_VALUE ? line->part_estimate : line->joint_estimate;
    /* A train to a line that is not far narrower than the port loses little of it, but to other traffic's bursts; and a line
     * that looks as wide as it may be narrow is such traffic. */
    bool wide = excess_of(estimate->high_bps, estimate->low_bps) > estimate->avail_bps / LINE_WIDE_PART;
    bool bursts = roughly ? estimate->avail_bps > port_bps / LINE_ROUGH_PART : wide;
    if (bursts && estimate->kind == ESTIMATE_VALUE) {
        estimate->kind = ESTIMATE_REFUSED;
        estimate->reason = ESTIMATE_UNSTEADY;
    }
    if (line->apart)
        joint_at_least(estimate);
    else if (!line->agreed && estimate->kind == ESTIMATE_VALUE)
        joint_judge(estimate, line->turns, line->trickled ? NULL : alone);
    /* What few agree on may be paths that are alike by chance. */
    if (line->few && estimate->kind == ESTIMATE_REFUSED)
        estimate->avail_bps = estimate->low_bps = estimate->high_bps = 0;
    /* As wide as the port: what was held up met other traffic of a moment there, which single paths tell better. */
    if (estimate->capacity_bps / LINE_PORT_PARTS >= port_bps / (LINE_PORT_PARTS + 1))
        joint_at_least(estimate);
    estimate_clip(estimate, port_bps);
}

static void tell_path(struct node *node, uint16_t peer, struct estimate estimate, uint64_t now_ns)
{
    estimate_clip(&estimate, node->config.ports[node->peers[peer].port].rate_bps);
    if (estimate.low_bps >= 1000)
        path_table_set_estimate(node->paths, PATH_SITE_SELF, peer + 1u, &estimate, now_ns);
}

void line_tell_paths(struct node *node, const struct line *line, const struct estimate *const *alone,
                     uint64_t now_ns)
{
    const struct train_receivers *to = &line->to;
    struct estimate estimate;
    for (uint16_t place = 0; place < line->joint.count; place++) {
        uint16_t receiver = line->joint.parts[place].receiver;
        bool better = alone[receiver] != NULL || line_sprint(line, to->peers[receiver]) != NULL;
        if (!better && joint_path(&line->joint, place, &estimate))
            tell_path(node, to->peers[receiver], estimate, now_ns);
    }
    for (uint16_t receiver = 0; receiver < to->sprint_count; receiver++)
        if (alone[receiver] == NULL && line_sprint(line, to->peers[receiver]) != NULL)
            tell_path(node, to->peers[receiver], line->sprints[receiver], now_ns);
}
