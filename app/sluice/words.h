/* Words at the console: which of them may go on with a line, and what is wrong with a line that is none. Commands are those of
 * ctl/commands.def; the names of peers, jobs and files come from whoever knows them. No IO. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#define WORDS_MAX       256
#define WORD_BYTES      512
#define WORD_HELP_BYTES 240

struct word_choice {
    char word[WORD_BYTES];
    char help[WORD_HELP_BYTES];
    bool open; /* more of the same word may follow: a folder */
};

struct word_choices {
    unsigned count;
    bool closed;                /* nothing but one of them may stand there */
    bool complete;              /* the line may end there */
    size_t typed;               /* so many bytes at the line's end is each of them begun with */
    char hint[WORD_HELP_BYTES]; /* what is wanted there, where it is no fixed word; or empty */
    struct word_choice of[WORDS_MAX];
};

enum word_kind { WORD_PEER, WORD_NODE, WORD_JOB, WORD_KEY, WORD_FILE };

/* Adds those names of the kind that begin so (word_add looks). */
typedef void word_names(void *argument, enum word_kind kind, const char *begins,
                        struct word_choices *choices);

/* A choice, if it begins so and is not there yet; what there is no room for is left out. */
void word_add(struct word_choices *choices, const char *begins, const char *word, const char *help,
              bool open);
/* All that may stand where the line ends. */
void words_find(struct word_choices *choices, const char *line, word_names *names, void *argument);
/* What can be added to the line by what all choices have in common, the blank behind a single one included; returns its
 * bytes, 0: nothing. */
size_t words_common(const struct word_choices *choices, char *text, size_t room);
/* Choice `index` as a line; false: there are not so many. The hint is the last. */
bool words_row(const struct word_choices *choices, unsigned index, char *text, size_t room);
/* Why the line is no command: the first word that is none, what may stand there, and what was probably meant.
 * False: its words are good. `choices` is room to work in. */
bool words_wrong(const char *line, word_names *names, void *argument, struct word_choices *choices,
                 char *text, size_t room);
