/* What sluicectl says: answers on the standard output, what went wrong on the standard error.
 *
 * Guarantee with --json: the standard output is one document. What failed before it had one of its own gets
 * {"ok": false, "error": …} in the end, of all that was complained of. */
#pragma once

#include <stdbool.h>

#include <jansson.h>

#include "app/exit_usage.h"

#define EXIT_OK          0
#define EXIT_JOB_FAILED  1
#define EXIT_UNREACHABLE 3
#define EXIT_REFUSED     4
#define EXIT_INCOMPLETE  5 /* some sites have everything, some do not */
#define EXIT_DETACHED    130

/* For what follows. */
void answer_as_json(bool json);
/* To the standard output, with a line end where the text has none. */
void answer_text(const char *text);
void answer_json(const json_t *document);
/* "sluicectl: …" as a line on the standard error. */
void complain(const char *format, ...) __attribute__((format(printf, 1, 2)));
/* The same of what is on the standard error already. */
void answer_keep(const char *complaint);
/* Returns the exit status. */
int answer_end(int status);
