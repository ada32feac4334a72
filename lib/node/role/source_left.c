/* Who is left out before a job runs: a site that is absent, refuses, restarts, is too slow or can't be reached is named,
 * and the others get the object. */
#include <stdio.h>
#include <string.h>

#include "node/peer/post.h"
#include "node/role/source.h"

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
        snprintf(text, sizeof(text), "the path from %s to it carries no packets of %u bytes",
                 node->config.name, MTU_MIN);
        if (!site->measured && peer->state == PEER_UP && rtt_probe_narrow(&peer->probe))
            source_leave_out(node, job, site, text, now_ns);
    }
}
