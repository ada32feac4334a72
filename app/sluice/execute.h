/* A line of the console becomes a command, and is run. */
#pragma once

#include "names.h"

/* The answer, or what is wrong with the line, is the names' reply. Empty lines and those that begin with # do nothing. */
void execute_line(struct names *names, const char *line);
/* The command of the line, if it is one without arguments; else COMMAND_COUNT. */
enum command_kind execute_peek(const char *line);
