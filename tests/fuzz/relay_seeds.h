/* What became of the jobs of the last run before all fell silent: seeds check that they got through. */
#pragma once

#include <stdint.h>

struct relay_outcome {
    uint32_t jobs, done;
    char text[512]; /* of the last one that is not done */
};
extern struct relay_outcome relay_outcome;
