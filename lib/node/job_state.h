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

const char *job_state_name(unsigned state);  /* "unknown" beyond the last */
const char *site_state_name(unsigned state); /* of enum site_state (wire/control.h) */
