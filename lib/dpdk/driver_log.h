/* What a driver writes on stderr by itself, each time that it fails. */
#pragma once

#include <stdbool.h>

/* For a moment: nothing but what ends the program. To be undone by the same with the value that it returned. */
int driver_log_hush(const char *type);
void driver_log_restore(const char *type, int level);
