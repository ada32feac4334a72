#include "question.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define TURN_US 500

/* IDLE → ASKED by the asker, → SENT → ANSWERED by the background thread, → IDLE by the asker: also when it has waited long
 * enough, so that an answer finds another state than SENT, or another number. While the background thread reads the question or
 * writes the answer it is HELD, and no asker lets go of it. */
enum { IDLE = 0, ASKED, SENT, ANSWERED, HELD };

static uint32_t state_of(const struct question *question)
{
    return __atomic_load_n(&question->state, __ATOMIC_ACQUIRE);
}

static bool move(struct question *question, uint32_t from, uint32_t to)
{
    return __atomic_compare_exchange_n(&question->state, &from, to, false, __ATOMIC_ACQ_REL,
                                       __ATOMIC_ACQUIRE);
}

void question_init(struct question *question, struct waiter *carrier)
{
    memset(question, 0, sizeof(*question));
    question->carrier = carrier;
    pthread_mutex_init(&question->askers, NULL);
}

static bool refuse(const char *why, char *text, size_t room)
{
    snprintf(text, room, "%s", why);
    return false;
}

/* With the question put. */
static bool wait_answer(struct question *question, char *text, size_t room)
{
    for (unsigned waited_us = 0; waited_us < QUESTION_WAIT_US; waited_us += TURN_US) {
        if (state_of(question) == ANSWERED)
            break;
        usleep(TURN_US);
    }
    while (state_of(question) != ANSWERED) {
        if (move(question, ASKED, IDLE) || move(question, SENT, IDLE))
            return refuse("the planner does not answer", text, room);
        usleep(TURN_US);
    }
    bool known = question->known;
    snprintf(text, room, "%s", question->text);
    move(question, ANSWERED, IDLE);
    return known;
}

bool question_ask_history(struct question *question, const char *from, const char *to, enum report_form form,
                          char *text, size_t room)
{
    if (!name_valid(from) || !name_valid(to))
        return refuse("show history takes the names of two nodes", text, room);
    if (!__atomic_load_n(&question->present, __ATOMIC_RELAXED))
        return refuse("the planner keeps the history, and none is attached", text, room);
    pthread_mutex_lock(&question->askers);
    question->ask.type = CTL_HISTORY_ASK;
    question->ask.correlation++;
    question->ask.body.history_ask.form = form;
    memset(question->ask.body.history_ask.from, 0, 2 * NAME_BYTES);
    name_copy(question->ask.body.history_ask.from, NAME_BYTES, from);
    name_copy(question->ask.body.history_ask.to, NAME_BYTES, to);
    move(question, IDLE, ASKED);
    waiter_wake(question->carrier);
    bool known = wait_answer(question, text, room);
    pthread_mutex_unlock(&question->askers);
    return known;
}

bool question_carry(struct question *question, const struct shm_control *control)
{
    __atomic_store_n(&question->present, control->present, __ATOMIC_RELAXED);
    if (!control->present || !move(question, ASKED, HELD))
        return false;
    move(question, HELD, shm_control_send(control->ring, &question->ask) ? SENT : ASKED);
    return true;
}

void question_answer(struct question *question, const struct ctl_msg *msg)
{
    if (!move(question, SENT, HELD))
        return;
    bool ours = msg->correlation == question->ask.correlation;
    if (ours) {
        question->known = msg->body.history.known;
        memcpy(question->text, msg->body.history.text, sizeof(question->text));
    }
    move(question, HELD, ours ? ANSWERED : SENT);
}
