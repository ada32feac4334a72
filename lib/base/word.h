/* Words for the values of an enum. A list is declared once, as rows ROW(CONSTANT, value, "word", …) of a macro;
 * the enum, the table of words, files, reports and tests all come from it. */
#pragma once

#include <stdbool.h>

struct word {
    const char *word; /* NULL: end of the table */
    int value;
};

#define WORD_CONSTANT(constant, value, ...)    constant = value,
#define WORD_ENTRY(constant, value, word, ...) {word, constant},

/* The first word of the value, NULL when it has none: then it is no value of the enum. */
const char *word_of(const struct word *words, int value);
