/* What the paths of a request are good for, and what that means for a plan: one path's trouble is one site's. */
#include <stdio.h>
#include <string.h>

#include "node/role/source.h"
#include "store/geometry.h"

/* ---- what paths are good for ---- */

/* In ascending order. */
enum path_trust {
    PATH_SILENT,   /* no probe has come back: nothing is known of it */
    PATH_NARROW,   /* it carries no symbol */
    PATH_DOUBTFUL, /* small probes have come back, nothing of what data needs has: unknown is not wide */
    PATH_SOUND
};

/* A padded probe goes both ways, so what one end knows counts where the other knows nothing. */
static bool is_narrow(const struct node *node, const struct plan_path *there, const struct plan_path *back)
{
    uint32_t mtu = there->mtu != 0 ? there->mtu : back->mtu;
    return mtu != 0 && geometry_symbol_bytes_for(mtu, job_ip_overhead(node)) == 0;
}

static enum path_trust trust_of(const struct node *node, const struct plan_request *request, uint16_t from,
                                uint16_t to)
{
    const struct plan_path *there = &request->paths[from][to], *back = &request->paths[to][from];
    if (there->rtt_us == PLAN_RTT_UNKNOWN && back->rtt_us == PLAN_RTT_UNKNOWN)
        return PATH_SILENT;
    if (is_narrow(node, there, back))
        return PATH_NARROW;
    return there->mtu == 0 && back->mtu == 0 ? PATH_DOUBTFUL : PATH_SOUND;
}

static bool is_given(const struct source *source, const char *from, const char *to)
{
    for (uint16_t index = 0; index < source->spec.given_count; index++)
        if (strcmp(source->spec.given[index][0], from) == 0 && strcmp(source->spec.given[index][1], to) == 0)
            return true;
    return false;
}

/* Who feeds it in the given tree; NULL: the tree does not name it. */
static const char *given_parent(const struct source *source, const char *name)
{
    for (uint16_t index = 0; index < source->spec.given_count; index++)
        if (strcmp(source->spec.given[index][1], name) == 0)
            return source->spec.given[index][0];
    return NULL;
}

/* The operator, with pins, and the metric let it. */
static bool may_feed(const struct source *source, const struct plan_pins *pins, uint16_t from, uint16_t to)
{
    const struct plan_request *request = &source->request;
    if (from == to || !plan_edge_allowed(request, pins, from, to))
        return false;
    if (source->spec.metric == PLAN_METRIC_STAR)
        return from == request->source;
    return source->spec.metric != PLAN_METRIC_GIVEN ||
           is_given(source, request->nodes[from].name, request->nodes[to].name);
}

/* By paths of that trust, or a better one. */
static void find_reached(const struct node *node, const struct source *source, enum path_trust least,
                         bool *reached)
{
    struct plan_pins pins = plan_pins(&source->request);
    uint16_t count = source->request.node_count;
    bool news = true;
    memset(reached, 0, PLAN_NODES_MAX * sizeof(*reached));
    reached[source->request.source] = true;
    while (news) {
        news = false;
        for (uint16_t from = 0; from < count; from++)
            for (uint16_t to = 0; reached[from] && to < count; to++)
                if (!reached[to] && may_feed(source, &pins, from, to) &&
                    trust_of(node, &source->request, from, to) >= least)
                    news = reached[to] = true;
    }
}

static const char *trouble_of(enum path_trust trust)
{
    static const char *const words[] = {[PATH_SILENT] = "answers no probe",
                                        [PATH_NARROW] = "carries no packets of",
                                        [PATH_DOUBTFUL] = "has carried no packet of"};
    return words[trust];
}

/* The first path to it that is of no use, by name; false: all of them are sound. */
static bool tell_path(const struct node *node, const struct job *job, uint16_t to, char *text)
{
    const struct plan_request *request = &job->source->request;
    const char *only = given_parent(job->source, request->nodes[to].name);
    for (uint16_t from = 0; from < request->node_count; from++) {
        enum path_trust trust = from == to ? PATH_SOUND : trust_of(node, request, from, to);
        if (trust == PATH_SOUND || (only != NULL && strcmp(only, request->nodes[from].name) != 0))
            continue;
        char size[32] = "";
        if (trust != PATH_SILENT)
            snprintf(size, sizeof(size), " %u bytes", MTU_MIN);
        snprintf(text, CONTROL_TEXT_BYTES, "the path from %s to it %s%s", request->nodes[from].name,
                 trouble_of(trust), size);
        return true;
    }
    return false;
}

/* ---- what a request does with them ---- */

void source_forbid_narrow(const struct node *node, struct job *job)
{
    struct plan_request *request = &job->source->request;
    for (uint16_t from = 0; from < request->node_count; from++)
        for (uint16_t to = 0; to < request->node_count; to++)
            if (from != to && is_narrow(node, &request->paths[from][to], &request->paths[to][from]))
                request->paths[from][to].rule = PLAN_RULE_FORBIDDEN;
}

/* Why a node of the request can't be reached; false: for nothing that paths or sites left out have to do with. */
static bool tell_unreached(const struct node *node, const struct job *job, uint16_t to, char *text)
{
    const struct source *source = job->source;
    const struct plan_request *request = &source->request;
    const char *parent = given_parent(source, request->nodes[to].name);
    for (uint16_t index = 0;
         source->spec.metric == PLAN_METRIC_GIVEN && parent != NULL && index < source->site_count; index++) {
        if (source->sites[index].included || strcmp(source->sites[index].name, parent) != 0)
            continue;
        snprintf(text, CONTROL_TEXT_BYTES, "the given tree feeds it by %s, which was left out", parent);
        return true;
    }
    return tell_path(node, job, to, text);
}

bool source_leave_unreached(struct node *node, struct job *job, uint64_t now_ns)
{
    struct source *source = job->source;
    bool reached[PLAN_NODES_MAX], any = false;
    char text[CONTROL_TEXT_BYTES];
    find_reached(node, source, PATH_DOUBTFUL, reached);
    for (uint16_t to = 1; to < source->request.node_count; to++) {
        struct site *site = &source->sites[source->request_site[to] - 1];
        if (reached[to] || !tell_unreached(node, job, to, text))
            continue;
        source_leave_out(node, job, site, text, now_ns);
        any = true;
    }
    return any;
}

/* Edges by their own, and what would have a node that is fed soundly hang below one that is not. */
void source_avoid_doubtful(const struct node *node, struct job *job)
{
    struct plan_request *request = &job->source->request;
    bool sound[PLAN_NODES_MAX];
    job->source->doubts_avoided = false;
    if (job->source->doubts_taken || request->metric == PLAN_METRIC_GIVEN)
        return;
    find_reached(node, job->source, PATH_SOUND, sound);
    for (uint16_t from = 0; from < request->node_count; from++)
        for (uint16_t to = 0; to < request->node_count; to++) {
            bool doubtful = from != to && sound[to] &&
                            (!sound[from] || trust_of(node, request, from, to) == PATH_DOUBTFUL);
            if (!doubtful || request->paths[from][to].rule != PLAN_RULE_NONE)
                continue;
            request->paths[from][to].rule = PLAN_RULE_FORBIDDEN;
            job->source->doubts_avoided = true;
        }
}

/* Of the sites whose paths are of no use in part, the one that has most of these. */
static struct site *most_troubled(const struct node *node, const struct job *job, uint16_t *to)
{
    struct source *source = job->source;
    struct site *found = NULL;
    unsigned most = 0;
    for (uint16_t index = 1; index < source->request.node_count; index++) {
        unsigned troubles = 0;
        for (uint16_t from = 0; from < source->request.node_count; from++)
            troubles += from != index && trust_of(node, &source->request, from, index) != PATH_SOUND ? 1 : 0;
        if (troubles <= most)
            continue;
        most = troubles;
        found = &source->sites[source->request_site[index] - 1];
        *to = index;
    }
    return found;
}

struct site *source_troubled_site(const struct node *node, struct job *job, char text[CONTROL_TEXT_BYTES])
{
    uint16_t to = 0;
    struct site *site = most_troubled(node, job, &to);
    return site != NULL && tell_path(node, job, to, text) ? site : NULL;
}

bool source_tell_doubt(const struct node *node, const struct job *job, const struct site *site,
                       char text[CONTROL_TEXT_BYTES])
{
    const struct plan *plan = &job->source->plan;
    uint16_t to = source_node_of_site(job, site);
    for (uint16_t tree = 0; to != PEER_NONE && tree < plan->tree_count; tree++) {
        int from = plan_parent(&plan->trees[tree], to);
        if (from < 0 || trust_of(node, &job->source->request, (uint16_t)from, to) != PATH_DOUBTFUL)
            continue;
        snprintf(text, CONTROL_TEXT_BYTES, "the path from %s has carried no packet of %u bytes",
                 job->source->request.nodes[from].name, MTU_MIN);
        return true;
    }
    return false;
}
