/* The result of a run as text for people. */
#pragma once

#include "sim/result.h"

void summary_print(const struct sim_result *result, const struct scenario *scenario, FILE *out);
