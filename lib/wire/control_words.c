/* The words of control.h as tables. */
#include "wire/control.h"

#define END                                                                                                  \
    {                                                                                                        \
        NULL, 0                                                                                              \
    }

const struct word control_kind_words[] = {CONTROL_KINDS(WORD_ENTRY) END};
const struct word part_hash_words[] = {PART_HASHES(WORD_ENTRY) END};
const struct word part_durable_words[] = {PART_DURABLES(WORD_ENTRY) END};
const struct word part_exists_words[] = {PART_EXISTS(WORD_ENTRY) END};
const struct word part_object_words[] = {PART_OBJECTS(WORD_ENTRY) END};
const struct word part_congestion_words[] = {PART_CONGESTIONS(WORD_ENTRY) END};
const struct word part_slow_words[] = {PART_SLOWS(WORD_ENTRY) END};
const struct word site_state_words[] = {SITE_STATES(WORD_ENTRY) END};
const struct word confirm_answer_words[] = {CONFIRM_ANSWERS(WORD_ENTRY) END};
const struct word close_outcome_words[] = {CLOSE_OUTCOMES(WORD_ENTRY) END};
const struct word train_answer_words[] = {TRAIN_ANSWERS(WORD_ENTRY) END};
const struct word probe_answer_words[] = {PROBE_ANSWERS(WORD_ENTRY) END};
