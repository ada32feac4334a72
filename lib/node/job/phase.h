/* How far a job has come at this node: one word for source and sites. phase.c has the table of what may
 * follow what, and what ends each phase. */
#pragma once

#include <stdbool.h>

enum job_phase {
    PHASE_FREE,
    /* at the source */
    PHASE_ACCEPTED,
    PHASE_MEASURING,
    PHASE_PLANNING,
    PHASE_SURVEYING, /* the plan's edges that are not known are measured, to plan anew */
    PHASE_DISTRIBUTING,
    /* at a site */
    PHASE_OPENING, /* the disk checks and creates the file */
    PHASE_READY,   /* confirmed */
    /* at both */
    PHASE_RUNNING,
    /* at a site */
    PHASE_FINISHING, /* everything verified: the disk renames */
    PHASE_SERVING,   /* verified, skipped or failed; may still serve children */
    /* at both */
    PHASE_CLOSING, /* disk and ports let go; the source tells its sites */
    PHASE_CLOSED,  /* kept to be shown, until the slot is needed */
    PHASE_COUNT
};

bool phase_may_follow(enum job_phase from, enum job_phase to);
/* The enum job_state that others see; of CLOSING and CLOSED the job's outcome counts instead. */
unsigned phase_state(enum job_phase phase);

/* Data flows: RUNNING to SERVING. */
static inline bool phase_runs(enum job_phase phase)
{
    return phase >= PHASE_RUNNING && phase <= PHASE_SERVING;
}

/* Beyond the phases in which its source measures and plans: trains would be in its way. */
static inline bool phase_is_given(enum job_phase phase)
{
    return phase >= PHASE_DISTRIBUTING;
}

/* Over, or about to be: nothing new begins. */
static inline bool phase_ends(enum job_phase phase)
{
    return phase >= PHASE_CLOSING;
}
