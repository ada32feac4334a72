#include "base/word.h"

#include <stddef.h>
#include <string.h>

const char *word_of(const struct word *words, int value)
{
    while (words->word != NULL && words->value != value)
        words++;
    return words->word;
}

bool word_find(const struct word *words, const char *text, int *value)
{
    while (words->word != NULL && strcmp(words->word, text) != 0)
        words++;
    *value = words->value;
    return words->word != NULL;
}
