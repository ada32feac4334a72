/* The log, which is what goes to stderr once the appliance is ready: nobody ever waits for whoever reads it.
 *
 * Guarantee: a line that cannot be written at once (a pipe or socket that is full, a terminal that was stopped) is
 * dropped, and how many were is told with the next one that can. Any thread may print. */
#pragma once

/* From now on stderr is that. Where it can't be made stderr stays as it is. */
void log_begin(void);
