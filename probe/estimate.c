#include "probe/estimate.h"

#include <stdio.h>

static const struct word kinds[] = {ESTIMATE_KINDS(WORD_ENTRY){0}};
static const struct word reasons[] = {ESTIMATE_REASONS(WORD_ENTRY){0}};
static const struct word flags[] = {ESTIMATE_FLAGS(WORD_ENTRY){0}};

const char *estimate_kind_word(unsigned kind)
{
    return word_of(kinds, (int)kind);
}

const char *estimate_reason_word(unsigned reason)
{
    return word_of(reasons, (int)reason);
}

const char *estimate_flag_word(unsigned index)
{
    return index < 31 ? word_of(flags, 1 << index) : NULL;
}

void estimate_flags_text(uint32_t set, char text[ESTIMATE_FLAGS_BYTES])
{
    const char *word;
    size_t length = 0;
    text[0] = '\0';
    for (unsigned index = 0; (word = estimate_flag_word(index)) != NULL; index++)
        if ((set >> index & 1) != 0 && length < ESTIMATE_FLAGS_BYTES)
            length += (size_t)snprintf(text + length, ESTIMATE_FLAGS_BYTES - length, "%s%s",
                                       length > 0 ? " " : "", word);
}
