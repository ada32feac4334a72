/* Requests and plans as records: fixed fields, then only the nodes, paths and edges that there are. */
#include "plan/plan.h"

#include "base/check.h"
#include "plan/record.h"

/* Worst cases, so that no valid request or plan can outgrow its record. */
#define TREE_BYTES_MAX (4 + 2 + (PLAN_NODES_MAX - 1) * 4)
#define NODE_BYTES     (NAME_BYTES + 4 * 8 + 1)
#define SHARED_BYTES   (NAME_BYTES + 8)
#define REQUEST_BYTES  (4 + 4 + 2 + 2 + 7 + 4 * 8 + 4 + 2)
#define PLAN_FIXED     (4 + 4 + 2 + 2 + 8 + 8 + 8 + 2)
#define KNOWN_BYTES    (1 + 4)
#define PLAN_TREE_MAX  (8 + TREE_BYTES_MAX + (PLAN_NODES_MAX - 1) * (8 + KNOWN_BYTES))
#define LIMIT_BYTES    (1 + 2 + 2)
#define WHY_EDGE_BYTES (1 + LIMIT_BYTES + 3 * 4)
#define WHY_BYTES_MAX                                                                                        \
    (2 + 2 + PLAN_METRIC_COUNT * (1 + 3 * 8 + LIMIT_BYTES) + PLAN_WHY_LIMITS_MAX * (LIMIT_BYTES + 8 + 4) +   \
     1 + PLAN_NODES_MAX * PLAN_NODES_MAX * WHY_EDGE_BYTES)
#define PATH_BYTES_MAX (1 + 4 + 4 + 4 * 4 + 4 + 2 + 2)
#define PATHS_MAX      (PLAN_NODES_MAX * PLAN_NODES_MAX * PATH_BYTES_MAX)
_Static_assert(REQUEST_BYTES + PLAN_NODES_MAX * NODE_BYTES + PATHS_MAX + PLAN_SHARED_MAX * SHARED_BYTES +
                       TREE_BYTES_MAX <=
                   PLAN_REQUEST_BYTES_MAX,
               "the largest request fits its record");
_Static_assert(PLAN_FIXED + PLAN_TREES_MAX * PLAN_TREE_MAX + WHY_BYTES_MAX <= PLAN_BYTES_MAX,
               "the largest plan fits its record");

static void put_tree(struct record_writer *writer, const struct plan_tree *tree)
{
    CHECK(tree->edge_count <= PLAN_NODES_MAX - 1);
    record_put_u32(writer, tree->weight_ppm);
    record_put_u16(writer, tree->edge_count);
    for (uint16_t edge = 0; edge < tree->edge_count; edge++) {
        record_put_u16(writer, tree->edges[edge].from);
        record_put_u16(writer, tree->edges[edge].to);
    }
}

static bool get_tree(struct record_reader *reader, struct plan_tree *tree, uint16_t node_count,
                     struct err *err)
{
    tree->weight_ppm = record_get_u32(reader);
    uint16_t edge_count = record_get_u16(reader);
    if (edge_count > PLAN_NODES_MAX - 1)
        return err_set(err, "a tree of %u edges", edge_count);
    for (uint16_t edge = 0; edge < edge_count; edge++) {
        tree->edges[edge].from = record_get_u16(reader);
        tree->edges[edge].to = record_get_u16(reader);
        if (tree->edges[edge].from >= node_count || tree->edges[edge].to >= node_count)
            return err_set(err, "an edge of a node beyond the %u there are", node_count);
    }
    tree->edge_count = edge_count;
    return true;
}

/* Every byte must have been used: a record of another layout is refused rather than misread. */
static bool reader_finished(const struct record_reader *reader, struct err *err)
{
    if (reader->failed)
        return err_set(err, "record ends early, at %zu bytes", reader->length);
    if (reader->offset != reader->length)
        return err_set(err, "%zu bytes too many", reader->length - reader->offset);
    return true;
}

static bool counts_decoded(uint16_t node_count, uint16_t source, struct err *err)
{
    if (node_count == 0 || node_count > PLAN_NODES_MAX)
        return err_set(err, "%u nodes, expected 1 to %u", node_count, PLAN_NODES_MAX);
    if (source >= node_count)
        return err_set(err, "source %u of %u nodes", source, node_count);
    return true;
}

/* A path begins with a byte that says what of it follows, and its rule. */
#define HAS_RTT      0x01
#define HAS_LOSS     0x02
#define HAS_AVB      0x04
#define HAS_MTU      0x08
#define HAS_SHARED   0x10
#define RULE_SHIFT   5
#define RULE_MASK    0x3
#define HAS_DISTANCE 0x80

static uint8_t path_has(const struct plan_path *path)
{
    bool has_avb = (path->avb_kbps | path->avb_low_kbps | path->avb_high_kbps | path->avb_age_s) != 0;
    return (uint8_t)((path->rtt_us != PLAN_RTT_UNKNOWN ? HAS_RTT : 0) | (path->loss_ppm != 0 ? HAS_LOSS : 0) |
                     (has_avb ? HAS_AVB : 0) | (path->mtu != 0 ? HAS_MTU : 0) |
                     (path->shared != 0 ? HAS_SHARED : 0) | (path->distance != 0 ? HAS_DISTANCE : 0) |
                     path->rule << RULE_SHIFT);
}

static void put_path(struct record_writer *writer, const struct plan_path *path)
{
    uint8_t has = path_has(path);
    CHECK(path->rule < PLAN_RULE_COUNT);
    record_put_u8(writer, has);
    if (has & HAS_RTT)
        record_put_u32(writer, path->rtt_us);
    if (has & HAS_LOSS)
        record_put_u32(writer, path->loss_ppm);
    if (has & HAS_AVB) {
        record_put_u32(writer, path->avb_kbps);
        record_put_u32(writer, path->avb_low_kbps);
        record_put_u32(writer, path->avb_high_kbps);
        record_put_u32(writer, path->avb_age_s);
    }
    if (has & HAS_DISTANCE)
        record_put_u32(writer, path->distance);
    if (has & HAS_MTU)
        record_put_u16(writer, path->mtu);
    if (has & HAS_SHARED)
        record_put_u16(writer, path->shared);
}

/* One path has one form only: what is told to follow must say something. */
static bool get_path(struct record_reader *reader, struct plan_path *path, struct err *err)
{
    uint8_t has = record_get_u8(reader);
    path->rule = has >> RULE_SHIFT & RULE_MASK;
    path->rtt_us = has & HAS_RTT ? record_get_u32(reader) : PLAN_RTT_UNKNOWN;
    if (has & HAS_LOSS)
        path->loss_ppm = record_get_u32(reader);
    if (has & HAS_AVB) {
        path->avb_kbps = record_get_u32(reader);
        path->avb_low_kbps = record_get_u32(reader);
        path->avb_high_kbps = record_get_u32(reader);
        path->avb_age_s = record_get_u32(reader);
    }
    if (has & HAS_DISTANCE)
        path->distance = record_get_u32(reader);
    if (has & HAS_MTU)
        path->mtu = record_get_u16(reader);
    if (has & HAS_SHARED)
        path->shared = record_get_u16(reader);
    bool valid = path->rule < PLAN_RULE_COUNT && (reader->failed || has == path_has(path));
    return valid || err_set(err, "a path that says 0x%02x of itself", has);
}

static void put_node(struct record_writer *writer, const struct plan_node *node)
{
    record_put_bytes(writer, node->name, NAME_BYTES);
    record_put_u64(writer, node->up_bps);
    record_put_u64(writer, node->down_bps);
    record_put_u64(writer, node->packets_ps);
    record_put_u64(writer, node->window_bytes);
    record_put_u8(writer, (uint8_t)(node->receiver | node->leaf << 1));
}

static void put_paths(struct record_writer *writer, const struct plan_request *request)
{
    for (uint16_t from = 0; from < request->node_count; from++)
        for (uint16_t to = 0; to < request->node_count; to++)
            put_path(writer, &request->paths[from][to]);
    for (uint16_t to = 0; to < request->node_count; to++)
        put_path(writer, &request->lines_in[to]);
    record_put_u16(writer, request->shared_count);
    for (uint16_t shared = 0; shared < request->shared_count; shared++) {
        record_put_bytes(writer, request->shared[shared].name, NAME_BYTES);
        record_put_u64(writer, request->shared[shared].rate_bps);
    }
}

static bool get_paths(struct record_reader *reader, struct plan_request *request, struct err *err)
{
    for (uint16_t from = 0; from < request->node_count; from++)
        for (uint16_t to = 0; to < request->node_count; to++)
            if (!get_path(reader, &request->paths[from][to], err))
                return false;
    for (uint16_t to = 0; to < request->node_count; to++)
        if (!get_path(reader, &request->lines_in[to], err))
            return false;
    uint16_t count = record_get_u16(reader);
    if (count > PLAN_SHARED_MAX)
        return err_set(err, "%u shared links, at most %u", count, PLAN_SHARED_MAX);
    for (uint16_t shared = 0; shared < count; shared++) {
        record_get_bytes(reader, request->shared[shared].name, NAME_BYTES);
        request->shared[shared].rate_bps = record_get_u64(reader);
        if (request->shared[shared].name[NAME_BYTES - 1] != '\0')
            return err_set(err, "a shared link's name has no end");
    }
    request->shared_count = count;
    return true;
}

size_t plan_request_encode(const struct plan_request *request, uint8_t *out, size_t room)
{
    CHECK(request->node_count <= PLAN_NODES_MAX && request->shared_count <= PLAN_SHARED_MAX);
    struct record_writer writer = {.out = out, .room = room};
    record_put_u32(&writer, request->job);
    record_put_u32(&writer, request->epoch);
    record_put_u16(&writer, request->node_count);
    record_put_u16(&writer, request->source);
    record_put_u8(&writer, request->metric);
    record_put_u8(&writer, request->trees_max);
    record_put_u8(&writer, request->children_max);
    record_put_u8(&writer, request->dcmst_of);
    record_put_u8(&writer, request->degree);
    record_put_u8(&writer, request->avb_of);
    record_put_u8(&writer, request->ties_random);
    record_put_u64(&writer, request->ties_seed);
    record_put_u64(&writer, request->size_bytes);
    record_put_u64(&writer, request->rate_cap_bps);
    record_put_u64(&writer, request->wanted_bps);
    record_put_u32(&writer, request->assumed_ppm);
    for (uint16_t node = 0; node < request->node_count; node++)
        put_node(&writer, &request->nodes[node]);
    put_paths(&writer, request);
    put_tree(&writer, &request->given);
    return writer.failed ? 0 : writer.length;
}

static bool get_node(struct record_reader *reader, struct plan_node *node, struct err *err)
{
    record_get_bytes(reader, node->name, NAME_BYTES);
    node->up_bps = record_get_u64(reader);
    node->down_bps = record_get_u64(reader);
    node->packets_ps = record_get_u64(reader);
    node->window_bytes = record_get_u64(reader);
    uint8_t flags = record_get_u8(reader);
    if (node->name[NAME_BYTES - 1] != '\0')
        return err_set(err, "a node's name has no end");
    if (flags > 3)
        return err_set(err, "%s: flags of a node are 0 to 3", node->name);
    node->receiver = (flags & 1) != 0;
    node->leaf = (flags & 2) != 0;
    return true;
}

bool plan_request_decode(struct plan_request *request, const uint8_t *in, size_t length, struct err *err)
{
    struct record_reader reader = {.in = in, .length = length};
    memset(request, 0, sizeof(*request));
    request->job = record_get_u32(&reader);
    request->epoch = record_get_u32(&reader);
    request->node_count = record_get_u16(&reader);
    request->source = record_get_u16(&reader);
    request->metric = record_get_u8(&reader);
    request->trees_max = record_get_u8(&reader);
    request->children_max = record_get_u8(&reader);
    request->dcmst_of = record_get_u8(&reader);
    request->degree = record_get_u8(&reader);
    request->avb_of = record_get_u8(&reader);
    uint8_t ties_random = record_get_u8(&reader);
    request->ties_random = ties_random != 0;
    request->ties_seed = record_get_u64(&reader);
    request->size_bytes = record_get_u64(&reader);
    request->rate_cap_bps = record_get_u64(&reader);
    request->wanted_bps = record_get_u64(&reader);
    request->assumed_ppm = record_get_u32(&reader);
    if (ties_random > 1)
        return err_set(err, "ties at random: 0 or 1, not %u", ties_random);
    if (!counts_decoded(request->node_count, request->source, err))
        return false;
    for (uint16_t node = 0; node < request->node_count; node++)
        if (!get_node(&reader, &request->nodes[node], err))
            return false;
    return get_paths(&reader, request, err) && get_tree(&reader, &request->given, request->node_count, err) &&
           reader_finished(&reader, err);
}

static void put_limit(struct record_writer *writer, const struct plan_limit *limit)
{
    record_put_u8(writer, limit->row);
    record_put_u16(writer, limit->node);
    record_put_u16(writer, limit->to);
}

/* Names are looked up by these: nodes are of the plan, and a shared link is one of those that may be. */
static bool get_limit(struct record_reader *reader, struct plan_limit *limit, uint16_t node_count,
                      struct err *err)
{
    limit->row = record_get_u8(reader);
    limit->node = record_get_u16(reader);
    limit->to = record_get_u16(reader);
    uint16_t most = limit->row == PLAN_ROW_SHARED ? PLAN_SHARED_MAX : node_count;
    return (limit->row < PLAN_ROW_COUNT && limit->node < most && limit->to < node_count) ||
           err_set(err, "a limit %u of %u and %u", limit->row, limit->node, limit->to);
}

static void put_why_edges(struct record_writer *writer, const struct plan_why *why, uint16_t node_count)
{
    record_put_u8(writer, why->edges_known);
    for (uint16_t from = 0; why->edges_known && from < node_count; from++)
        for (uint16_t to = 0; to < node_count; to++) {
            const struct plan_why_edge *edge = &why->edges[from][to];
            record_put_u8(writer, edge->verdict);
            put_limit(writer, &edge->limit);
            record_put_u32(writer, edge->kbps);
            record_put_u32(writer, (uint32_t)edge->change_ppm);
            record_put_u32(writer, (uint32_t)edge->delay_us);
        }
}

static void put_why(struct record_writer *writer, const struct plan_why *why, uint16_t node_count)
{
    CHECK(why->metric_count <= PLAN_METRIC_COUNT && why->limit_count <= PLAN_WHY_LIMITS_MAX);
    record_put_u16(writer, why->metric_count);
    for (uint16_t index = 0; index < why->metric_count; index++) {
        const struct plan_why_metric *metric = &why->metrics[index];
        record_put_u8(writer, metric->metric);
        record_put_u64(writer, metric->rate_bps);
        record_put_u64(writer, metric->delay_us);
        record_put_u64(writer, metric->time_us);
        put_limit(writer, &metric->limit);
    }
    record_put_u16(writer, why->limit_count);
    for (uint16_t index = 0; index < why->limit_count; index++) {
        put_limit(writer, &why->limits[index].limit);
        record_put_u64(writer, why->limits[index].raised);
        record_put_u32(writer, why->limits[index].gain_ppm);
    }
    put_why_edges(writer, why, node_count);
}

static bool get_why_edges(struct record_reader *reader, struct plan_why *why, uint16_t node_count,
                          struct err *err)
{
    uint8_t known = record_get_u8(reader);
    if (known > 1)
        return err_set(err, "edges are known or not, not %u", known);
    why->edges_known = known == 1;
    for (uint16_t from = 0; why->edges_known && from < node_count; from++)
        for (uint16_t to = 0; to < node_count; to++) {
            struct plan_why_edge *edge = &why->edges[from][to];
            edge->verdict = record_get_u8(reader);
            if (edge->verdict >= PLAN_EDGE_VERDICT_COUNT)
                return err_set(err, "no verdict has number %u", edge->verdict);
            if (!get_limit(reader, &edge->limit, node_count, err))
                return false;
            edge->kbps = record_get_u32(reader);
            edge->change_ppm = (int32_t)record_get_u32(reader);
            edge->delay_us = (int32_t)record_get_u32(reader);
        }
    return true;
}

static bool get_why(struct record_reader *reader, struct plan_why *why, uint16_t node_count, struct err *err)
{
    uint16_t metrics = record_get_u16(reader);
    if (metrics > PLAN_METRIC_COUNT)
        return err_set(err, "%u metrics", metrics);
    for (; why->metric_count < metrics; why->metric_count++) {
        struct plan_why_metric *metric = &why->metrics[why->metric_count];
        metric->metric = record_get_u8(reader);
        metric->rate_bps = record_get_u64(reader);
        metric->delay_us = record_get_u64(reader);
        metric->time_us = record_get_u64(reader);
        if (metric->metric >= PLAN_METRIC_COUNT)
            return err_set(err, "no metric has number %u", metric->metric);
        if (!get_limit(reader, &metric->limit, node_count, err))
            return false;
    }
    uint16_t limits = record_get_u16(reader);
    if (limits > PLAN_WHY_LIMITS_MAX)
        return err_set(err, "%u limits", limits);
    for (; why->limit_count < limits; why->limit_count++) {
        struct plan_why_limit *limit = &why->limits[why->limit_count];
        if (!get_limit(reader, &limit->limit, node_count, err))
            return false;
        limit->raised = record_get_u64(reader);
        limit->gain_ppm = record_get_u32(reader);
    }
    return get_why_edges(reader, why, node_count, err);
}

/* What the plan says of the edge that enters the node. */
static void put_into(struct record_writer *writer, const struct plan *plan, uint16_t tree, uint16_t to)
{
    record_put_u64(writer, plan->into_rate_bps[tree][to]);
    record_put_u8(writer, plan->into_known[tree][to].basis);
    record_put_u32(writer, plan->into_known[tree][to].age_s);
}

size_t plan_encode(const struct plan *plan, uint8_t *out, size_t room)
{
    CHECK(plan->tree_count <= PLAN_TREES_MAX);
    struct record_writer writer = {.out = out, .room = room};
    record_put_u32(&writer, plan->job);
    record_put_u32(&writer, plan->epoch);
    record_put_u16(&writer, plan->node_count);
    record_put_u16(&writer, plan->source);
    record_put_u64(&writer, plan->rate_bps);
    record_put_u64(&writer, plan->bound_bps);
    record_put_u64(&writer, plan->delay_us);
    record_put_u16(&writer, plan->tree_count);
    for (uint16_t tree = 0; tree < plan->tree_count; tree++) {
        record_put_u64(&writer, plan->edge_rate_bps[tree]);
        put_tree(&writer, &plan->trees[tree]);
        for (uint16_t edge = 0; edge < plan->trees[tree].edge_count; edge++)
            put_into(&writer, plan, tree, plan->trees[tree].edges[edge].to);
    }
    put_why(&writer, &plan->why, plan->node_count);
    return writer.failed ? 0 : writer.length;
}

/* One form for each: what was not measured has no age. */
static bool get_known(struct record_reader *reader, struct plan_known *known, struct err *err)
{
    known->basis = record_get_u8(reader);
    known->age_s = record_get_u32(reader);
    if (known->basis >= PLAN_BASIS_COUNT)
        return err_set(err, "an edge is known in way %u, there are %u", known->basis, PLAN_BASIS_COUNT);
    return known->basis == PLAN_BASIS_MEASURED || known->age_s == 0 ||
           err_set(err, "an edge that was not measured has an age");
}

/* They are kept by the node that the edge enters, so there can be one such edge only. */
static bool get_into(struct record_reader *reader, struct plan *plan, uint16_t tree, struct err *err)
{
    uint64_t entered = 0;
    for (uint16_t edge = 0; edge < plan->trees[tree].edge_count; edge++) {
        uint16_t to = plan->trees[tree].edges[edge].to;
        if ((entered >> to & 1) != 0)
            return err_set(err, "two edges enter node %u", to);
        entered |= UINT64_C(1) << to;
        plan->into_rate_bps[tree][to] = record_get_u64(reader);
        if (!get_known(reader, &plan->into_known[tree][to], err))
            return false;
    }
    return true;
}

bool plan_decode(struct plan *plan, const uint8_t *in, size_t length, struct err *err)
{
    struct record_reader reader = {.in = in, .length = length};
    memset(plan, 0, sizeof(*plan));
    plan->job = record_get_u32(&reader);
    plan->epoch = record_get_u32(&reader);
    plan->node_count = record_get_u16(&reader);
    plan->source = record_get_u16(&reader);
    plan->rate_bps = record_get_u64(&reader);
    plan->bound_bps = record_get_u64(&reader);
    plan->delay_us = record_get_u64(&reader);
    plan->tree_count = record_get_u16(&reader);
    if (!counts_decoded(plan->node_count, plan->source, err))
        return false;
    if (plan->tree_count > PLAN_TREES_MAX)
        return err_set(err, "%u trees, at most %u", plan->tree_count, PLAN_TREES_MAX);
    for (uint16_t tree = 0; tree < plan->tree_count; tree++) {
        plan->edge_rate_bps[tree] = record_get_u64(&reader);
        if (!get_tree(&reader, &plan->trees[tree], plan->node_count, err))
            return false;
        if (!get_into(&reader, plan, tree, err))
            return false;
    }
    if (!get_why(&reader, &plan->why, plan->node_count, err))
        return false;
    return reader_finished(&reader, err);
}
