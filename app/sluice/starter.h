/* The starter: a process of its own that starts sluice-planner when it is asked to, and tells what becomes of it.
 *
 * Guarantee: it is forked before the EAL is there, so that neither it nor a planner has anything of the appliance: no
 * device, memory or socket, but the one pair that both talk over. A planner gets the rights of its user and can't get
 * others (no_new_privs), has no descriptors but /dev/null and a pipe to the starter for what it says, and ends with the
 * starter; the starter ends with the appliance, however that ends. It starts one planner at a time.
 *
 * One thread at a time has the appliance's end. Nothing here waits but starter_begin and starter_end. */
#pragma once

#include <stdbool.h>
#include <sys/types.h>

#include "base/err.h"
#include "base/name.h"

#define STARTER_NEWS_BYTES 1024

struct starter_config {
    char ring[PATH_BYTES]; /* of the planner: --ring */
    bool other_user;       /* than the appliance's: user and group count */
    char user_name[64];
    uid_t user;
    gid_t group;
};

struct starter {
    int socket;    /* -1: there is none, or it is gone */
    pid_t process; /* 0: none */
};

enum starter_kind {
    STARTER_STARTED = 1, /* the planner runs */
    STARTER_ENDED,       /* it does not any more, or could not be started; the text says why */
    STARTER_SAID,        /* a piece of what the planner says, raw but for bytes of zero */
    STARTER_GONE         /* the starter itself: there is no further news */
};

/* What the appliance asks, a byte each. */
#define STARTER_ASK  's'
#define STARTER_KILL 'k'

struct starter_news {
    enum starter_kind kind;
    pid_t process; /* STARTED */
    char text[STARTER_NEWS_BYTES];
};

/* The user by its name; "": the appliance's own. False: there is none. */
bool starter_user(struct starter_config *config, const char *name, struct err *err);
/* Before the EAL and before any thread. False: also where this process may not give the planner its user's rights. */
bool starter_begin(struct starter *starter, const struct starter_config *config, struct err *err);
/* A planner is wanted; with one that runs nothing happens. */
void starter_ask(const struct starter *starter);
/* The planner that runs is to be killed; its end is news. */
void starter_kill(const struct starter *starter);
/* What happened; false: nothing new. */
bool starter_take(struct starter *starter, struct starter_news *news);
/* Planner and starter are gone afterwards; a starter that hangs is killed after some seconds. */
void starter_end(struct starter *starter);

/* ---- starter_process.c ---- */
/* What the starter does; never returns. */
void starter_run(int socket, const struct starter_config *config) __attribute__((noreturn));
