#include "probe/estimate.h"

#include <stdio.h>
#include <string.h>

#include "base/units.h"

static const struct word kinds[] = {ESTIMATE_KINDS(WORD_ENTRY){0}};
static const struct word reasons[] = {ESTIMATE_REASONS(WORD_ENTRY){0}};
#define REASON_HELP(constant, value, word, help) {word, help},
static const struct {
    const char *word, *help;
} reason_helps[] = {ESTIMATE_REASONS(REASON_HELP){ESTIMATE_NOT_IN_TIME, ESTIMATE_NOT_IN_TIME_HELP}};
#undef REASON_HELP
static const struct word flags[] = {ESTIMATE_FLAGS(WORD_ENTRY){0}};

const char *estimate_kind_word(unsigned kind)
{
    return word_of(kinds, (int)kind);
}

const char *estimate_reason_word(unsigned reason)
{
    return word_of(reasons, (int)reason);
}

const char *estimate_reason_help(const char *word)
{
    for (size_t row = 0; row < sizeof(reason_helps) / sizeof(reason_helps[0]); row++)
        if (strcmp(reason_helps[row].word, word) == 0)
            return reason_helps[row].help;
    return "";
}

void estimate_clip(struct estimate *estimate, uint64_t most_bps)
{
    if (most_bps == 0)
        return;
    estimate->avail_bps = MIN(estimate->avail_bps, most_bps);
    estimate->low_bps = MIN(estimate->low_bps, most_bps);
    estimate->high_bps = MIN(estimate->high_bps, most_bps);
    estimate->capacity_bps = MIN(estimate->capacity_bps, most_bps);
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
