/* What operators ask for, whichever way it came: the console's words and the socket's JSON (ctl/command.h) become
 * a struct command, and command_run answers it. */
#pragma once

#include <stdbool.h>

#include "app.h"
#include "ctl/command.h"
#include "outgoing.h"

/* The texts are the caller's and stay until command_run returns. */
struct command {
    struct command_words words;
    enum report_form form;
    const char *job;             /* SHOW: only this one; NULL: all */
    const char *text;            /* JOB_RUN: of the job file; NULL: read it from the path */
    const char *input;           /* JOB_RUN: the socket where sluicectl feeds the job's stream; NULL: none */
    const struct caller *caller; /* JOB_RUN: whose job it is; NULL: the operator's at the console */
};

/* One thread's; 2 MiB of text and a message: not for the stack. */
struct command_reply {
    bool ok;
    struct channel_call call;
    char text[CTL_REPLY_BYTES]; /* what to print, or why not: then it may have several lines */
};

void command_run(struct app *app, const struct command *command, struct command_reply *reply);
/* show.c: what the program itself knows. */
void show_counter_help(enum report_form form, char *text, size_t room);
bool show_local(struct app *app, enum ctl_show what, enum report_form form, char *text, size_t room);
