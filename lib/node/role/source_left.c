/* Who is left out before a job runs: a site that is absent, refuses, restarts, is too slow or can't be reached is named,
 * and the others get the object. */
#include <stdio.h>
#include <string.h>

#include "node/peer/post.h"
#include "node/role/source.h"
#include "store/geometry.h"

#define NARROW_PATIENCE_NS (2 * NS_PER_S) /* a whole measurement, made again where padded probes were lost */

/* What it has confirmed, or opens still, is let go. If the queue is full it hears the same when the job ends. */
static void tell_left_out(struct node *node, const struct job *job, const struct site *site, const char *text)
{
    struct control_close_job close = {.fixed = {.job = job->id, .outcome = CLOSE_FAILED}};
    snprintf(close.text, sizeof(close.text), "left out: %.200s", text);
    if (site->has_part)
        post(node, site->peer, CONTROL_CLOSE_JOB, &close);
}

void source_leave_out(struct node *node, struct job *job, struct site *site, const char *text,
                      uint64_t now_ns)
{
    if (!site->included)
        return;
    tell_left_out(node, job, site, text);
    if (source_drop_relay(job, site, text))
        return;
    site->included = false;
    source_site_ended(site, SITE_FAILED, text, now_ns);
}

bool source_has_receivers(const struct job *job)
{
    for (uint16_t index = 0; index < job->source->site_count; index++)
        if (job->source->sites[index].included && job->source->sites[index].receiver)
            return true;
    return false;
}

/* ---- who can't be reached ---- */

void source_leave_narrow(struct node *node, struct job *job, uint64_t now_ns)
{
    if (core_lived_ns(node) < later_ns(job->phase_ns, NARROW_PATIENCE_NS))
        return;
    for (uint16_t index = 0; index < job->source->site_count; index++) {
        struct site *site = &job->source->sites[index];
        const struct peer *peer = &node->peers[site->peer];
        char text[CONTROL_TEXT_BYTES];
        snprintf(text, sizeof(text), "the path to it carries no packets of %u bytes", MTU_MIN);
        if (!site->measured && peer->state == PEER_UP && rtt_probe_narrow(&peer->probe))
            source_leave_out(node, job, site, text, now_ns);
    }
}

static bool is_narrow(const struct node *node, const struct plan_path *path)
{
    return path->mtu != 0 && geometry_symbol_bytes_for(path->mtu, job_ip_overhead(node)) == 0;
}

void source_forbid_narrow(const struct node *node, struct job *job)
{
    struct plan_request *request = &job->source->request;
    for (uint16_t from = 0; from < request->node_count; from++)
        for (uint16_t to = 0; to < request->node_count; to++)
            if (from != to && is_narrow(node, &request->paths[from][to]))
                request->paths[from][to].rule = PLAN_RULE_FORBIDDEN;
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

static bool may_feed(const struct source *source, uint16_t from, uint16_t to)
{
    const struct plan_request *request = &source->request;
    if (from == to || request->nodes[from].leaf || request->paths[from][to].rule == PLAN_RULE_FORBIDDEN)
        return false;
    return source->spec.metric != PLAN_METRIC_GIVEN ||
           is_given(source, request->nodes[from].name, request->nodes[to].name);
}

static void find_reached(const struct source *source, bool *reached)
{
    uint16_t count = source->request.node_count;
    bool news = true;
    memset(reached, 0, PLAN_NODES_MAX * sizeof(*reached));
    reached[source->request.source] = true;
    while (news) {
        news = false;
        for (uint16_t from = 0; from < count; from++)
            for (uint16_t to = 0; reached[from] && to < count; to++)
                if (!reached[to] && may_feed(source, from, to))
                    news = reached[to] = true;
    }
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
    for (uint16_t from = 0; from < request->node_count; from++) {
        if (from == to || !is_narrow(node, &request->paths[from][to]))
            continue;
        snprintf(text, CONTROL_TEXT_BYTES, "the paths to it carry no packets of %u bytes", MTU_MIN);
        return true;
    }
    return false;
}

bool source_leave_unreached(struct node *node, struct job *job, uint64_t now_ns)
{
    struct source *source = job->source;
    bool reached[PLAN_NODES_MAX], any = false;
    char text[CONTROL_TEXT_BYTES];
    find_reached(source, reached);
    for (uint16_t to = 1; to < source->request.node_count; to++) {
        struct site *site = &source->sites[source->request_site[to] - 1];
        if (reached[to] || !tell_unreached(node, job, to, text))
            continue;
        source_leave_out(node, job, site, text, now_ns);
        any = true;
    }
    return any;
}
