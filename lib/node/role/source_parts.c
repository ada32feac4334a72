#include <string.h>

#include "node/kind/file.h"
#include "node/kind/stream.h"
#include "node/peer/post.h"
#include "node/role/controls.h"
#include "node/role/source.h"
#include "seal/wipe.h"

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
    struct plan_request *request = &job->source->request;
    bool reached[PLAN_NODES_MAX] = {[0] = true};
    bool progress = true;
    request->given.weight_ppm = PLAN_WHOLE_PPM;
    while (progress) {
        progress = false;
        for (uint16_t index = 0; index < job->source->spec.given_count; index++) {
            uint16_t from = request_index(request, job->source->spec.given[index][0]);
            uint16_t to = request_index(request, job->source->spec.given[index][1]);
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

static void add_node(struct job *job, const char *name, uint16_t site, bool receiver)
{
    struct plan_request *request = &job->source->request;
    job->source->request_site[request->node_count] = site;
    struct plan_node *node = &request->nodes[request->node_count++];
    name_copy(node->name, sizeof(node->name), name);
    node->receiver = receiver;
}

static bool takes_part(const struct source *source, const char *name)
{
    for (uint16_t index = 0; index < source->site_count; index++)
        if (strcmp(source->sites[index].name, name) == 0)
            return true;
    return strcmp(source->spec.source, name) == 0;
}

/* What the operator says of nodes and edges; of sites that were left out it says nothing any more. */
static bool add_rules(struct job *job, struct err *err)
{
    const struct job_spec *spec = &job->source->spec;
    struct plan_request *request = &job->source->request;
    for (uint16_t index = 0; index < spec->leaf_count; index++) {
        uint16_t node = request_index(request, spec->leaves[index]);
        if (!takes_part(job->source, spec->leaves[index]))
            return err_set(err, "plan.leaf: %s takes no part in the job", spec->leaves[index]);
        if (node != UINT16_MAX)
            request->nodes[node].leaf = true;
    }
    for (uint16_t index = 0; index < spec->rule_count; index++) {
        const struct job_rule *rule = &spec->rules[index];
        const char *key = rule->rule == PLAN_RULE_PINNED ? "pin" : "forbid";
        uint16_t ends[2];
        for (unsigned end = 0; end < 2; end++) {
            if (!takes_part(job->source, rule->edge[end]))
                return err_set(err, "plan.%s: %s takes no part in the job", key, rule->edge[end]);
            ends[end] = request_index(request, rule->edge[end]);
        }
        if (ends[0] != UINT16_MAX && ends[1] != UINT16_MAX)
            request->paths[ends[0]][ends[1]].rule = rule->rule;
    }
    return true;
}

/* How the trees are to be found. */
static void add_wishes(const struct job_spec *spec, struct plan_request *request)
{
    request->metric = spec->metric;
    request->trees_max = spec->trees;
    request->children_max = spec->children_max;
    request->dcmst_of = spec->dcmst_of;
    request->degree = spec->degree;
    request->avb_of = spec->avb_of;
    request->ties_random = spec->ties.random;
    request->ties_seed = spec->ties.seed;
}

/* The sites that take part, and what is known of the paths between them. */
static void begin_request(const struct node *node, struct job *job, uint64_t now_ns)
{
    struct plan_request *request = &job->source->request;
    plan_request_init(request);
    request->job = job->id;
    request->epoch = job->epoch;
    add_wishes(&job->source->spec, request);
    uint8_t most = job->source->trees_most;
    if (most != 0 && (request->trees_max == 0 || request->trees_max > most))
        request->trees_max = most;
    request->size_bytes = job->source->spec.object == PART_OBJECT_STREAM ? 0 : job->geometry.size_bytes;
    request->rate_cap_bps = job->source->spec.plan_rate_bps;
    request->wanted_bps =
        job->controls.rate_cap_bps; /* later orders may want more: the plan carries what it can */
    add_node(job, job->source->spec.source, 0, false);
    for (uint16_t index = 0; index < job->source->site_count; index++)
        if (job->source->sites[index].included)
            add_node(job, job->source->sites[index].name, (uint16_t)(index + 1),
                     job->source->sites[index].receiver);
    source_fill_request(node, job, now_ns);
}

bool source_make_request(struct node *node, struct job *job, uint64_t now_ns, struct err *err)
{
    struct plan_request *request = &job->source->request;
    do {
        begin_request(node, job, now_ns);
        source_guess(node, job);
        if (!add_rules(job, err))
            return false;
        source_forbid_narrow(node, job);
    } while (source_leave_unreached(node, job, now_ns));
    source_avoid_doubtful(node, job);
    if (request->metric == PLAN_METRIC_GIVEN && !order_given(job, err))
        return false;
    return plan_request_validate(request, err);
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

/* The window outlasts a round trip of every edge of the tree. */
static bool check_tree(const struct job *job, const struct wire_part *part, const struct plan_tree *tree,
                       struct err *err)
{
    const struct source *source = job->source;
    for (uint16_t index = 0; index < tree->edge_count; index++) {
        uint16_t from = tree->edges[index].from, to = tree->edges[index].to;
        uint32_t rtt_us = source->request.paths[from][to].rtt_us;
        uint64_t held_ns;
        if (rtt_us == UINT32_MAX ||
            stream_outlasts(part, job->controls.rate_cap_bps, rtt_us * NS_PER_US, &held_ns))
            continue;
        return err_set(err, "a window of %llu ms is shorter than the RTT from %s to %s, %u ms",
                       (unsigned long long)(held_ns / NS_PER_MS), source->request.nodes[from].name,
                       source->request.nodes[to].name, (unsigned)((rtt_us + 999) / 1000));
    }
    return true;
}

static bool check_paths(const struct job *job, const struct wire_part *part, struct err *err)
{
    for (uint16_t tree = 0; tree < job->source->plan.tree_count; tree++)
        if (!check_tree(job, part, &job->source->plan.trees[tree], err))
            return false;
    return true;
}

/* What the sites are to do with the object, by the job's specification. */
static void fill_wishes(const struct job *job, struct wire_part *fixed)
{
    const struct job_spec *spec = &job->source->spec;
    name_copy(fixed->directory.text, NAME_BYTES, spec->directory);
    name_copy(fixed->job_name.text, NAME_BYTES, spec->name);
    fixed->object = spec->object;
    fixed->hash = spec->hash;
    fixed->durable = spec->durable;
    fixed->exists = spec->exists;
    fixed->congestion = spec->congestion;
    fixed->start_bps = spec->start_bps;
}

/* The name under which the sites keep it. */
static bool fill_file(struct job *job, struct err *err)
{
    const struct job_spec *spec = &job->source->spec;
    const char *file = spec->target[0] != '\0' ? spec->target : base_name(spec->file);
    return (path_stays_below(file) && name_copy(job->part.file, sizeof(job->part.file), file)) ||
           err_set(err, "'%.100s' is no file name for the sites: give one with 'as:'", file);
}

/* What all parts have in common. */
static bool fill_common(const struct node *node, struct job *job, struct err *err)
{
    struct wire_part *fixed = &job->part.fixed;
    uint32_t mtu = source_trees_mtu(job);
    uint64_t size_bytes = job->geometry.size_bytes;
    memset(&job->part, 0, sizeof(job->part));
    fixed->symbol_bytes = geometry_symbol_bytes_for(mtu, job_ip_overhead(node));
    if (fixed->symbol_bytes == 0)
        return err_set(err, "a path of the tree is too narrow: MTU %u", mtu);
    fixed->block_symbols = geometry_block_symbols_for(fixed->symbol_bytes);
    fixed->job = job->id;
    fixed->epoch = job->epoch;
    fixed->stripes = (uint8_t)job->source->plan.tree_count;
    fixed->modified_ns = job->source->modified_ns;
    fixed->mode = job->disk.open.mode;
    name_copy(fixed->source.text, NAME_BYTES, node->config.name);
    fill_wishes(job, fixed);
    if (job->kind->endless) {
        stream_fill_part(&job->source->spec, fixed->symbol_bytes, fixed->block_symbols, fixed);
        if (!check_paths(job, fixed, err))
            return false;
        size_bytes = stream_window_bytes(fixed);
    } else {
        fixed->size_bytes = size_bytes;
    }
    fill_directory(&job->disk.open, fixed);
    return geometry_init(&job->geometry, size_bytes, fixed->symbol_bytes, fixed->block_symbols, err) &&
           fill_file(job, err);
}

static bool send_part(struct node *node, struct job *job, uint16_t index, struct err *err)
{
    struct source *source = job->source;
    struct control_part part = job->part;
    part.fixed.keep = source->request.nodes[index].receiver;
    if (!post_fits(CONTROL_PART, &part))
        return err_set(err, "the part of %s does not fit one message", source->request.nodes[index].name);
    struct site *site = &source->sites[source->request_site[index] - 1];
    memcpy(part.fixed.secret.bytes, job->secret->bytes, sizeof(part.fixed.secret.bytes));
    bool told = post(node, site->peer, CONTROL_PART, &part);
    wipe(&part.fixed.secret, sizeof(part.fixed.secret));
    site->has_part = site->has_part || told;
    for (uint8_t stripe = 0; stripe < part.fixed.stripes && told; stripe++) {
        struct control_tree tree;
        source_fill_tree(job, stripe, index, &tree);
        told = post(node, site->peer, CONTROL_TREE, &tree);
    }
    return told || err_set(err, "the message queue to %s is full", site->name);
}

bool source_distribute(struct node *node, struct job *job, struct err *err)
{
    struct source *source = job->source;
    if (!fill_common(node, job, err))
        return false;
    struct control_tree own[CONTROL_STRIPES_MAX];
    for (uint8_t stripe = 0; stripe < job->part.fixed.stripes; stripe++)
        source_fill_tree(job, stripe, 0, &own[stripe]);
    bool endless = job->kind->endless;
    if (!trees_install(node, job, own, err) || !job_open_object(node, job, !endless, endless, err))
        return false;
    for (uint16_t index = 1; index < source->request.node_count; index++)
        if (source->sites[source->request_site[index] - 1].included && !send_part(node, job, index, err))
            return false;
    controls_tell_sites(node, job);
    return true;
}
