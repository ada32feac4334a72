#include "base/word.h"

#include <stddef.h>

const char *word_of(const struct word *words, int value)
{
    while (words->word != NULL && words->value != value)
        words++;
    return words->word;
}
