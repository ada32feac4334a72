/* What operators ask of the planner: a control thread asks, the background thread carries question and answer over the
 * control ring, past the worker and its node. One question at a time; who asks waits QUESTION_WAIT_US at most, and not at all
 * while no planner is attached. */
#pragma once

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

#include "ctl/ctl.h"
#include "dpdk/waiter.h"
#include "shm/shm_control.h"

#define QUESTION_WAIT_US 2000000

struct question {
    pthread_mutex_t askers;
    uint32_t state; /* atomic; question.c */
    struct waiter *carrier;
    bool present;       /* atomic: a planner is attached */
    struct ctl_msg ask; /* of the asker until it is ASKED */
    bool known;         /* of the background thread until it is ANSWERED; so is the text */
    char text[CTL_HISTORY_BYTES];
};

/* carrier: where the background thread waits. */
void question_init(struct question *question, struct waiter *carrier);
/* Control threads: an edge's past as a report. False: text says why there is none. */
bool question_ask_history(struct question *question, const char *from, const char *to, enum report_form form,
                          char *text, size_t room);

/* Background thread, each turn: sends what is asked. False: nothing is. */
bool question_carry(struct question *question, const struct shm_control *control);
/* Background thread: a CTL_HISTORY has come; one that nobody waits for any more is dropped. */
void question_answer(struct question *question, const struct ctl_msg *msg);
