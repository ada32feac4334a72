/* What another program says on its stderr, as lines of this one's log: text comes in pieces, whole lines go out.
 *
 * Guarantee: a line begins with "sluice-planner: ", and has neither control characters nor a line end; what that
 * program put in front itself (a priority, its time, its name) is gone, so that nothing it says can pass for another
 * line of the log. At most SAID_PER_S lines a second go out; how many did not is told later in one more. What does not
 * fit a line is left out. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "base/units.h"

#define SAID_LINE_BYTES 512
#define SAID_PER_S      20

/* Zero: nothing was said. */
struct said {
    char bytes[SAID_LINE_BYTES]; /* of the line that is not whole yet */
    size_t length;
    uint64_t second_ns;        /* when the running second began */
    unsigned told, suppressed; /* of it */
};

/* The next line of *text, which moves on behind it; NULL or its end: nothing has come. False: no line is whole. Also
 * to be called now and then while nothing comes. */
bool said_next(struct said *said, const char **text, uint64_t now_ns, char line[SAID_LINE_BYTES]);
/* It says no more: what has no end is a line. False: nothing is left. */
bool said_end(struct said *said, uint64_t now_ns, char line[SAID_LINE_BYTES]);
