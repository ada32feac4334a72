#include "probe/estimate.h"

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
    return index < 31 ? word_of(flags, 1 << index) : 0;
}
