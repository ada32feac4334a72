/* From measurements to a request for the planner, and from its plan to every site's part. */
#include <string.h>

#include "base/check.h"
#include "node/internal.h"

static uint16_t request_index(const struct plan_request *request, const char *name)
{
    for (uint16_t index = 0; index < request->node_count; index++)
        if (strcmp(request->nodes[index].name, name) == 0)
            return index;
    return UINT16_MAX;
}

/* The operator's tree in the order that plans want: parents before children. Edges to sites left out are
 * dropped. */
static bool order_given(struct job *job, struct err *err)
{
    struct plan_request *request = &job->request;
    bool reached[PLAN_NODES_MAX] = {[0] = true};
    bool progress = true;
    request->given.weight_ppm = 1000000;
    while (progress) {
        progress = false;
        for (uint16_t index = 0; index < job->spec.given_count; index++) {
            uint16_t from = request_index(request, job->spec.given[index][0]);
            uint16_t to = request_index(request, job->spec.given[index][1]);
            if (from == UINT16_MAX || to == UINT16_MAX || !reached[from] || reached[to])
                continue;
            reached[to] = true;
            request->given.edges[request->given.edge_count++] = (struct plan_edge){.from = from, .to = to};
            progress = true;
        }
    }
    for (uint16_t index = 0; index < request->node_count; index++)
        if (request->nodes[index].receiver && !reached[index])
            return err_set(err, "the given tree does not reach %s", request->nodes[index].name);
    return true;
}

static void add_node(struct job *job, const char *name, uint16_t matrix, bool receiver)
{
    struct plan_request *request = &job->request;
    job->request_site[request->node_count] = matrix;
    struct plan_node *node = &request->nodes[request->node_count++];
    name_copy(node->name, sizeof(node->name), name);
    node->up_bps = job->up_bps[matrix];
    node->down_bps = job->down_bps[matrix];
    node->receiver = receiver;
}

bool source_make_request(struct job *job, struct err *err)
{
    struct plan_request *request = &job->request;
    memset(request, 0, sizeof(*request));
    request->job = job->id;
    request->epoch = job->epoch;
    request->metric = job->spec.metric;
    request->trees_max = 1;
    request->children_max = job->spec.children_max;
    request->size_bytes = job->spec.object == PART_OBJECT_STREAM ? 0 : job->geometry.size_bytes;
    request->rate_cap_bps = job->spec.plan_rate_bps;
    add_node(job, job->spec.source, 0, false);
    for (uint16_t index = 0; index < job->site_count; index++)
        if (job->sites[index].included)
            add_node(job, job->sites[index].name, (uint16_t)(index + 1), job->sites[index].receiver);
    for (uint16_t from = 0; from < request->node_count; from++)
        for (uint16_t to = 0; to < request->node_count; to++)
            request->rtt_us[from][to] = job->rtt_us[job->request_site[from]][job->request_site[to]];
    if (request->metric == PLAN_METRIC_GIVEN && !order_given(job, err))
        return false;
    return plan_request_validate(request, err);
}

/* The smallest measured path MTU of the tree's edges gives the symbol size. */
static uint32_t tree_mtu(const struct job *job)
{
    uint32_t mtu = UINT16_MAX;
    const struct plan_tree *tree = &job->plan.trees[0];
    for (uint16_t index = 0; index < tree->edge_count; index++) {
        uint16_t from = job->request_site[tree->edges[index].from];
        uint16_t to = job->request_site[tree->edges[index].to];
        if (job->path_mtu[from][to] != 0)
            mtu = MIN(mtu, (uint32_t)job->path_mtu[from][to]);
    }
    return mtu;
}

static void fill_part(const struct job *job, uint16_t node, struct control_part *part)
{
    const struct plan_request *request = &job->request;
    const struct plan_tree *tree = &job->plan.trees[0];
    *part = job->part;
    int parent = plan_parent(tree, node);
    memset(&part->fixed.parent, 0, sizeof(part->fixed.parent));
    if (parent >= 0)
        name_copy(part->fixed.parent.text, NAME_BYTES, request->nodes[parent].name);
    part->fixed.keep = request->nodes[node].receiver;
    uint16_t children[PLAN_CHILDREN_MAX];
    uint16_t count = plan_children(tree, node, children);
    part->fixed.child_count = (uint8_t)count;
    memset(part->children, 0, sizeof(part->children));
    for (uint16_t index = 0; index < count; index++) {
        name_copy(part->children[index].name.text, NAME_BYTES, request->nodes[children[index]].name);
        part->children[index].rate_bps = plan_edge_rate_bps(&job->plan, 0, children[index]);
    }
}

static const char *base_name(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash == NULL ? path : slash + 1;
}

/* What the disk found where the job's path leads. */
static void fill_directory(const struct disk_open *open, struct wire_part *fixed)
{
    if (open->object != PART_OBJECT_DIRECTORY)
        return;
    fixed->object = PART_OBJECT_DIRECTORY;
    fixed->tree = open->tree;
    fixed->index_bytes = open->index_bytes;
    fixed->index_hash = open->index_hash;
}

/* What all parts have in common. */
static bool fill_manifest(const struct node *node, struct job *job, struct err *err)
{
    const struct job_spec *spec = &job->spec;
    struct wire_part *fixed = &job->part.fixed;
    uint32_t symbol_bytes = geometry_symbol_bytes_for(tree_mtu(job), job_ip_overhead(node));
    if (symbol_bytes == 0)
        return err_set(err, "a path of the tree is too narrow: MTU %u", tree_mtu(job));
    uint32_t block_symbols = geometry_block_symbols_for(symbol_bytes);
    bool stream = spec->object == PART_OBJECT_STREAM;
    memset(&job->part, 0, sizeof(job->part));
    if (stream)
        stream_fill_part(spec, symbol_bytes, block_symbols, fixed);
    uint64_t bytes =
        stream ? stream_window_bytes(fixed, symbol_bytes, block_symbols) : job->geometry.size_bytes;
    if (!geometry_init(&job->geometry, bytes, symbol_bytes, block_symbols, err))
        return false;
    fixed->job = job->id;
    fixed->epoch = job->epoch;
    name_copy(fixed->source.text, NAME_BYTES, node->config.name);
    name_copy(fixed->directory.text, NAME_BYTES, spec->directory);
    name_copy(fixed->job_name.text, NAME_BYTES, spec->name);
    fixed->object = spec->object;
    fixed->size_bytes = stream ? 0 : job->geometry.size_bytes;
    fixed->modified_ns = job->modified_ns;
    fixed->symbol_bytes = symbol_bytes;
    fixed->block_symbols = block_symbols;
    fixed->hash = spec->hash;
    fixed->durable = spec->durable;
    fixed->exists = spec->exists;
    fixed->congestion = spec->congestion;
    if (stream && !stream_check_paths(job, fixed, err))
        return false;
    fixed->start_bps = spec->start_bps;
    fill_directory(&job->open, fixed);
    const char *file = spec->target[0] != '\0' ? spec->target : base_name(spec->file);
    if (!path_stays_below(file) || !name_copy(job->part.file, sizeof(job->part.file), file))
        return err_set(err, "'%.100s' is no file name for the sites: give one with 'as:'", file);
    return true;
}

bool source_distribute(struct node *node, struct job *job, struct err *err)
{
    if (job->plan.tree_count != 1)
        return err_set(err, "the plan has %u trees, this node sends one", job->plan.tree_count);
    if (!fill_manifest(node, job, err))
        return false;
    struct control_part own;
    fill_part(job, 0, &own);
    struct control_part manifest = job->part;
    job->part = own;
    if (!job_install(node, job, err) || !job_open_object(node, job, err))
        return false;
    job->part = manifest;
    for (uint16_t index = 1; index < job->request.node_count; index++) {
        struct control_part part;
        fill_part(job, index, &part);
        uint8_t body[WIRE_MESSAGE_BODY_MAX];
        size_t length = control_part_encode(body, &part);
        if (length == 0)
            return err_set(err, "the part of %s does not fit one message", job->request.nodes[index].name);
        struct site *site = &job->sites[job->request_site[index] - 1];
        if (!peer_send(node, site->peer, CONTROL_PART, body, length))
            return err_set(err, "the message queue to %s is full", site->name);
        site->has_part = true;
    }
    job->part = own;
    adjust_tell_sites(node, job);
    return true;
}
