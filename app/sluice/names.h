/* The names that a word at the console may be: of peers, jobs, keys of jobs, files. Asks the worker, and reads folders: for the
 * console's thread. */
#pragma once

#include "command.h"
#include "words.h"

struct names {
    struct app *app;
    struct command_reply *reply; /* room for what the worker answers */
};

/* The word_names of words.h; argument: a struct names. */
void names_add(void *argument, enum word_kind kind, const char *begins, struct word_choices *choices);
/* Jobs that have not ended. */
unsigned names_jobs_running(const struct names *names);
