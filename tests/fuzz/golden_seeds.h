/* Seeds from the golden vectors of tests/wire. */
#pragma once

#include <stdbool.h>

#include "fuzz.h"

void golden_seeds(struct seeds *seeds, bool frames);
