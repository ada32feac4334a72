/* What operators ask for, whichever way it came: the console's words and the socket's JSON become a struct
 * command, and command_run answers it. */
#pragma once

#include <stdbool.h>

#include "app.h"
#include "outgoing.h"

#define COMMAND_WORD(name, help) #name "#"
#define COMMAND_SHOW_WORDS       CTL_SHOWS(COMMAND_WORD)

#define COMMAND(id, first, second, argument, help) COMMAND_##id,
enum command_kind {
#include "commands.def"
    COMMAND_COUNT
};
#undef COMMAND

struct command_row {
    const char *first, *second, *argument, *help;
};
extern const struct command_row command_rows[COMMAND_COUNT];

struct command {
    enum command_kind kind;
    enum ctl_show what;
    enum report_form form;
    char name[NAME_BYTES]; /* a job */
    char path[PATH_BYTES]; /* absolute */
    uint8_t changed;       /* JOB_PAUSE, JOB_SET: enum job_control bits of what is in `controls` */
    struct job_controls controls;
    char input[PATH_BYTES];      /* JOB_RUN: the socket where sluicectl feeds the job's stream; "": none */
    const char *text;            /* of the job file; NULL: read it from path */
    const struct caller *caller; /* JOB_RUN: whose job it is; NULL: the operator's at the console */
};

/* One thread's; 256 KiB of text and a message: not for the stack. */
struct command_reply {
    bool ok;
    struct channel_call call;
    char text[CTL_REPLY_BYTES]; /* what to print, or why not: then it may have several lines */
};

void command_run(struct app *app, const struct command *command, struct command_reply *reply);
/* From words as typed: false and reply->text when they are no command. `line` is changed. */
bool command_parse(struct command *command, char *line, struct command_reply *reply);
/* Key and value of `job set`; false and reply->text when they do not fit. */
bool command_set(struct command *command, const char *key, const char *value, struct command_reply *reply);
/* The console's and the socket's help text. */
void command_help(char *text, size_t room);

/* show.c: what the program itself knows. */
void show_counter_help(char *text, size_t room);
bool show_local(struct app *app, enum ctl_show what, enum report_form form, char *text, size_t room);
