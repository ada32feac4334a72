/* The command line. */
#pragma once

#include <stdbool.h>

enum options_action { OPTIONS_RUN, OPTIONS_CHECK, OPTIONS_HELP_CONFIG, OPTIONS_HELP };

struct options {
    enum options_action action;
    const char *config_path;
    const char *name; /* NULL: as the file or the host says */
    bool console;
    int extra_count; /* after "--": for the EAL */
    char **extra;
};

/* False: wrong usage; said on stderr. */
bool options_parse(struct options *options, int argc, char **argv);
void options_print_help(void);
