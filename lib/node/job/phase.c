/* What ends each phase. The source:
 *   ACCEPTED      the source file is open, or can't be opened
 *   MEASURING     every site has reported; measure_timeout leaves out those that have not
 *   PLANNING      a valid plan came; plan_timeout, or the planner's refusal
 *                 (source_survey.c: or SURVEYING where that pays)
 *   SURVEYING     all paths asked for have answered, or the round's time is over: PLANNING by what is known then
 *   DISTRIBUTING  every site has confirmed; one that refuses, restarts or is silent for distribute_timeout is left
 *                 out, and the rest is planned anew. A job without receivers fails
 *   RUNNING       every site has ended: verified, skipped or failed. A site that makes no progress for
 *                 stall_timeout, or restarts, has failed; the others go on
 * A site:
 *   OPENING       the disk has answered; its parent restarted
 *   READY         START; twice distribute_timeout, and plan_timeout of a listed source, see check_start;
 *                 its parent restarted
 *   RUNNING       its copy is whole, or can't be had
 *   FINISHING     the disk has answered; finish_timeout. Whatever ends the job meanwhile waits for that
 *   SERVING       CLOSE_JOB
 *   all of them   CLOSE_JOB, which also answers STATUS of a job that is over at its source; the source
 *                 restarted, is silent for stall_timeout, or has acked nothing for twice as long
 * Both:
 *   CLOSING       the disk has answered everything, the ports have let go of the object, and the sites are told
 *                 (a refused part: its source; a site that has let go: its parent); who takes no message is
 *                 waited for until stall_timeout. At the source also: sites whose disks finish have told what
 *                 became of their copies, or nothing for stall_timeout; the manifest is written
 *   CLOSED        another job needs the slot */
#include "node/job/phase.h"

#include <stdint.h>

#include "node/job_state.h"
#include "wire/control.h"

#define TO(phase) (1u << PHASE_##phase)

static const struct phase_rule {
    uint8_t state; /* enum job_state */
    uint16_t next; /* bit per phase */
} rules[PHASE_COUNT] = {
    [PHASE_FREE] = {JOB_ACCEPTED, TO(ACCEPTED) | TO(OPENING)},
    [PHASE_ACCEPTED] = {JOB_ACCEPTED, TO(MEASURING) | TO(CLOSING) | TO(FREE)},
    [PHASE_MEASURING] = {JOB_MEASURING, TO(PLANNING) | TO(CLOSING)},
    [PHASE_PLANNING] = {JOB_PLANNING, TO(PLANNING) | TO(SURVEYING) | TO(DISTRIBUTING) | TO(CLOSING)},
    [PHASE_SURVEYING] = {JOB_MEASURING, TO(PLANNING) | TO(CLOSING)},
    [PHASE_DISTRIBUTING] = {JOB_DISTRIBUTING, TO(PLANNING) | TO(RUNNING) | TO(CLOSING)},
    [PHASE_OPENING] = {JOB_DISTRIBUTING, TO(READY) | TO(CLOSING)},
    [PHASE_READY] = {JOB_DISTRIBUTING, TO(READY) | TO(RUNNING) | TO(CLOSING)},
    [PHASE_RUNNING] = {JOB_RUNNING, TO(FINISHING) | TO(SERVING) | TO(CLOSING)},
    [PHASE_FINISHING] = {JOB_RUNNING, TO(SERVING)},
    [PHASE_SERVING] = {JOB_RUNNING, TO(CLOSING)},
    [PHASE_CLOSING] = {JOB_DONE, TO(CLOSED)},
    [PHASE_CLOSED] = {JOB_DONE, TO(FREE)},
};

bool phase_may_follow(enum job_phase from, enum job_phase to)
{
    return (rules[from].next >> to & 1) != 0;
}

unsigned phase_state(enum job_phase phase)
{
    return rules[phase].state;
}

static const char *const job_state_names[JOB_STATE_COUNT] = {
    [JOB_ACCEPTED] = "accepted", [JOB_MEASURING] = "measuring",
    [JOB_PLANNING] = "planning", [JOB_DISTRIBUTING] = "distributing",
    [JOB_RUNNING] = "running",   [JOB_DONE] = "done",
    [JOB_FAILED] = "failed",     [JOB_CANCELLED] = "cancelled"};

const char *job_state_name(unsigned state)
{
    return state < JOB_STATE_COUNT ? job_state_names[state] : "unknown";
}

const char *site_state_name(unsigned state)
{
    const char *word = word_of(site_state_words, (int)state);
    return word != NULL ? word : "unknown";
}
