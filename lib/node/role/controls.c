#include "node/role/controls.h"

#include "node/flow/cap.h"
#include "node/peer/post.h"
#include "node/role/source.h"

static void apply(struct node *node, struct job *job, uint64_t now_ns)
{
    digest_add(&node->digest, (uint64_t)job->id << 32 | job->revision);
    cap_apply(node, job, now_ns);
}

void controls_tell_sites(struct node *node, struct job *job)
{
    struct wire_adjust adjust = {.job = job->id,
                                 .revision = job->revision,
                                 .rate_cap_bps = job->controls.rate_cap_bps,
                                 .priority = job->controls.priority,
                                 .dscp = job->controls.dscp,
                                 .paused = job->controls.paused};
    for (uint16_t index = 0; index < job->source->site_count; index++) {
        struct site *site = &job->source->sites[index];
        if (site->has_part && site->adjusted != job->revision &&
            post(node, site->peer, CONTROL_ADJUST, &adjust))
            site->adjusted = job->revision;
    }
}

void controls_on_message(struct node *node, struct job *job, const struct wire_adjust *adjust,
                         uint64_t now_ns)
{
    if (adjust->revision <= job->revision)
        return;
    job->revision = adjust->revision;
    job->controls = (struct job_controls){.rate_cap_bps = adjust->rate_cap_bps,
                                          .priority = adjust->priority,
                                          .dscp = adjust->dscp,
                                          .paused = adjust->paused != 0};
    apply(node, job, now_ns);
}

bool controls_differ(const struct job_controls *controls)
{
    return controls->rate_cap_bps != 0 || controls->priority != JOB_PRIORITY_NORMAL || controls->dscp != 0 ||
           controls->paused;
}

bool controls_check(const struct job_controls *controls, struct err *err)
{
    if (controls->priority > CONTROL_PRIORITY_MAX || controls->dscp > CONTROL_DSCP_MAX)
        return err_set(err, "priority 0 to %d and DSCP 0 to %d expected", CONTROL_PRIORITY_MAX,
                       CONTROL_DSCP_MAX);
    return controls->rate_cap_bps == 0 || controls->rate_cap_bps >= SEND_RATE_MIN_BPS ||
           err_set(err, "a rate of at least %llu bit/s expected, or none", SEND_RATE_MIN_BPS);
}

uint32_t controls_set(struct node *node, const struct ctl_msg *msg, uint64_t now_ns, struct err *err)
{
    const struct job_controls *wanted = &msg->body.job_set.controls;
    uint8_t changed = msg->body.job_set.changed;
    struct job *job = source_by_name(node, msg->body.job_set.name);
    if (job == NULL)
        err_set(err, "no running job '%s' has its source here", msg->body.job_set.name);
    if (job == NULL || !controls_check(wanted, err))
        return 0;
    if ((changed & JOB_CONTROL_RATE) != 0)
        job->controls.rate_cap_bps = wanted->rate_cap_bps;
    if ((changed & JOB_CONTROL_PRIORITY) != 0)
        job->controls.priority = wanted->priority;
    if ((changed & JOB_CONTROL_DSCP) != 0)
        job->controls.dscp = wanted->dscp;
    if ((changed & JOB_CONTROL_PAUSED) != 0)
        job->controls.paused = wanted->paused;
    job->revision++;
    apply(node, job, now_ns);
    controls_tell_sites(node, job);
    return job->id;
}
