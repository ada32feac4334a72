/* The log of a program that runs for long, which is what goes to stderr. Any thread may print.
 *
 * Guarantee: every line begins with its time, UTC to the millisecond: "2026-11-27T04:07:38.123Z ". Where stderr leads to
 * the journal, which knows the time itself, a line begins with its priority instead, if it has one (sd-daemon(3)).
 * After log_never_wait nobody ever waits for whoever reads the log: a line that cannot be written at once (a pipe or
 * socket that is full, a terminal that was stopped) is dropped, and how many were is told with the next one that can. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

/* In front of a line's format: its priority. Without one a line is for information. */
#define LOG_ERROR   "<3>"
#define LOG_WARNING "<4>"

#define LOG_TIME_BYTES 32

/* From now on stderr is that, but may wait. Where that can't be made stderr stays as it is. */
void log_begin(void);
void log_never_wait(void);
/* From now on lines go to `fd`, which does not block; negative: where stderr led before. Priorities are left out. */
void log_divert(int fd);

/* What a line begins with at that time, with the blank behind it: seconds and milliseconds since 1970. */
void log_time(char text[LOG_TIME_BYTES], long long seconds, unsigned milliseconds);
/* The same for now, for lines that go elsewhere: "" where the log needs none. */
void log_time_now(char text[LOG_TIME_BYTES]);
