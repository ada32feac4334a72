/* A node without keys, which nobody gets who has not asked for it (node.insecure: benchmark), and nobody who has it keeps
 * forgetting: the log says so each minute, and each answer to `show` begins with it. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/report.h"

/* Says it where that is due, at once and then each minute; true: it was. *due_ns: 0 at first. */
bool insecure_remind(const char *name, uint64_t *due_ns, uint64_t now_ns);
/* Puts it before a report: as text a line, as JSON a value. False: there was no room, and nothing was changed. */
bool insecure_mark(enum report_form form, char *text, size_t room);
