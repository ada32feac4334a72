/* The console on a terminal: rte_cmdline's line editing and history; words are completed and explained (words.h), lines of the
 * log are written above the prompt and what was typed, and nobody stops the appliance by a slip. */
#pragma once

#include "names.h"

/* Until the appliance stops, which the end of the terminal, quit, or a yes brings about. */
void terminal_run(struct names *names);
