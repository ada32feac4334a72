/* The rows of a trace (lib/sim/trace.h) as a CSV file: sluice-sim --trace FILE. */
#pragma once

#include <stdbool.h>
#include <stdio.h>

#include "sim/scenario.h"
#include "sim/trace.h"

struct trace_file {
    const char *path;
    FILE *out;
    const struct scenario *scenario; /* names */
};

/* Writes the line of names; NULL path: the sink asks for no rows. False: what went wrong is on stderr. */
bool trace_file_open(struct trace_file *file, const char *path, const struct scenario *scenario,
                     struct trace_sink *sink);
/* False: not all of it could be written. */
bool trace_file_close(struct trace_file *file);
