/* What an operator may change while a job runs: rate cap, priority, DSCP, pause. The source has the truth
 * under a revision number, every site a copy. ADJUST carries all of them, so the newest one alone counts. */
#pragma once

#include "base/err.h"
#include "ctl/ctl.h"
#include "node/job/job.h"

/* Values that a site would take. */
bool controls_check(const struct job_controls *controls, struct err *err);
/* The id of the job that was changed; 0: err. */
uint32_t controls_set(struct node *node, const struct ctl_msg *msg, uint64_t now_ns, struct err *err);
/* As a site. */
void controls_on_message(struct node *node, struct job *job, const struct wire_adjust *adjust,
                         uint64_t now_ns);
bool controls_differ(const struct job_controls *controls); /* from what a site begins with */
/* To the sites that have their part and do not know the newest controls. */
void controls_tell_sites(struct node *node, struct job *job);
