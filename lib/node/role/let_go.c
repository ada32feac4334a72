#include "node/role/let_go.h"

#include <stdio.h>

#include "node/flow/edges.h"
#include "node/job/object_kind.h"
#include "node/peer/post.h"
#include "node/role/source.h"

/* ---- at the source ---- */

/* The way to that node of the plan leads over the edge, by some tree: it needs them all. */
static bool is_fed_by(const struct job *job, uint16_t to, uint16_t from, uint16_t child)
{
    const struct plan *plan = &job->source->plan;
    for (uint16_t tree = 0; tree < plan->tree_count; tree++)
        for (int node = to; node > 0; node = plan_parent(&plan->trees[tree], (uint16_t)node))
            if (node == child && plan_parent(&plan->trees[tree], child) == from)
                return true;
    return false;
}

static void cut_off(struct job *job, uint16_t from, uint8_t index, const char *why, uint64_t now_ns)
{
    uint16_t children[CONTROL_CHILDREN_MAX];
    if (index >= source_children(job, from, children))
        return;
    uint16_t child = children[index];
    for (uint16_t to = 1; to < job->source->request.node_count; to++) {
        struct site *site = &job->source->sites[job->source->request_site[to] - 1];
        char text[CONTROL_TEXT_BYTES];
        if (site->ended || !is_fed_by(job, to, from, child))
            continue;
        if (to == child)
            snprintf(text, sizeof(text), "%s", why);
        else
            snprintf(text, sizeof(text), "cut off: %s above it is fed no more: %.180s",
                     source_site_of_node(job, child)->name, why);
        source_site_ended(site, SITE_FAILED, text, now_ns);
    }
}

/* ---- at a site ---- */

static void cut_children(struct node *node, struct job *job, uint16_t parent)
{
    uint8_t lost = trees_fed_by(job, parent);
    for (uint16_t child = 0; child < job->children.count; child++) {
        if (!flow_owes(job, (uint8_t)child) || (job->children.of[child].stripes & lost) == 0)
            continue;
        edges_note_gone(node, job, (uint8_t)child, "cut off: its parent %s is fed no more: %.180s",
                        node->config.name, job->text);
        edges_drop(node, job, job->children.of[child].peer);
    }
}

/* A file that has all of itself needs no parent; one whose own disk failed before still passes on what it gets. */
static bool on_let_go(struct node *node, struct job *job, uint16_t parent, const char *text, uint64_t now_ns)
{
    if (trees_fed_by(job, parent) == 0 || job->object == NULL)
        return false;
    if (phase_ends(job->phase) || (!job->kind->endless && job->phase >= PHASE_FINISHING && !job->disk.lost))
        return true;
    job_fail(node, job, now_ns, "%s", text);
    if (job->kind->on_let_go != NULL)
        job->kind->on_let_go(node, job, parent, text, now_ns);
    else
        cut_children(node, job, parent);
    return true;
}

/* ---- both ---- */

bool let_go_on_message(struct node *node, struct job *job, uint16_t peer,
                       const struct control_let_go *message, uint64_t now_ns)
{
    if (job->source == NULL)
        return on_let_go(node, job, peer, message->text, now_ns);
    const struct site *from = source_site(job, peer);
    uint16_t parent = from == NULL ? PEER_NONE : source_node_of_site(job, from);
    if (parent == PEER_NONE)
        return false;
    if (phase_runs(job->phase))
        cut_off(job, parent, message->fixed.child, message->text, now_ns);
    return true;
}

void let_go_tell(struct node *node, struct job *job, uint64_t now_ns)
{
    for (uint8_t index = 0; index < job->children.count; index++) {
        struct child *child = &job->children.of[index];
        if (!child->untold && !child->source_untold)
            continue;
        struct control_let_go message = {.fixed = {.job = job->id, .child = index}};
        name_copy(message.text, sizeof(message.text), child->why);
        if (child->untold)
            child->untold = !post(node, child->peer, CONTROL_LET_GO, &message);
        if (!child->source_untold)
            continue;
        if (job->source != NULL)
            cut_off(job, 0, index, child->why, now_ns);
        child->source_untold = job->source == NULL && !post(node, job->source_peer, CONTROL_LET_GO, &message);
    }
}
