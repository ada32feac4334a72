/* States of a job as operators and programs see them. */
#pragma once

enum job_state {
    JOB_ACCEPTED = 0,
    JOB_MEASURING,
    JOB_PLANNING,
    JOB_DISTRIBUTING,
    JOB_RUNNING,
    JOB_DONE,
    JOB_FAILED,
    JOB_CANCELLED,
    JOB_STATE_COUNT
};

/* What is told of a site beside the words that sites say of themselves (SITE_STATES, wire/control.h): of a job that is
 * over also that job's own word. */
#define SITE_TOLD_NOT_STARTED "not started" /* nothing has come of the job, or nothing can come as yet */
#define SITE_TOLD_PAUSED      "paused"
#define SITE_TOLD_STALLED     "stalled" /* nothing has come for a while */
#define SITE_TOLD_UNKNOWN     "unknown" /* it had everything, and what became of its copy is not known */

const char *job_state_name(unsigned state);  /* "unknown" beyond the last */
const char *site_state_name(unsigned state); /* of enum site_state (wire/control.h) */
