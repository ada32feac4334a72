#include "options.h"

#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { OPTION_CHECK = 256, OPTION_HELP_CONFIG };

void options_print_help(void)
{
    printf("sluice -c NODE.yaml [-n NAME] [-i] [-- EAL OPTIONS]\n"
           "  -c, --config FILE   the node file; $SLUICE_CONFIG if not given\n"
           "  -n, --name NAME     of this node; else what the file says, else the host's name\n"
           "  -i, --interactive   console on the terminal; commands line by line when it is not one\n"
           "      --check-config  check the file, the memory need and this machine, then exit\n"
           "      --help-config   all keys of the node file\n"
           "      --version           release and commit\n"
           "  -h, --help          this text\n"
           "Exit status: 0 stopped as asked, 1 failed, 2 wrong usage or configuration.\n");
}

bool options_parse(struct options *options, int argc, char **argv)
{
    static const struct option long_options[] = {
        {"config", required_argument, NULL, 'c'},
        {"name", required_argument, NULL, 'n'},
        {"interactive", no_argument, NULL, 'i'},
        {"check-config", no_argument, NULL, OPTION_CHECK},
        {"help-config", no_argument, NULL, OPTION_HELP_CONFIG},
        {"help", no_argument, NULL, 'h'},
        {NULL, 0, NULL, 0},
    };
    *options = (struct options){.config_path = getenv("SLUICE_CONFIG")};
    int letter;
    while ((letter = getopt_long(argc, argv, "+c:n:ih", long_options, NULL)) != -1) {
        if (letter == 'c')
            options->config_path = optarg;
        else if (letter == 'n')
            options->name = optarg;
        else if (letter == 'i')
            options->console = true;
        else if (letter == OPTION_CHECK)
            options->action = OPTIONS_CHECK;
        else if (letter == OPTION_HELP_CONFIG)
            options->action = OPTIONS_HELP_CONFIG;
        else if (letter == 'h')
            options->action = OPTIONS_HELP;
        else
            return false;
    }
    bool separated = optind > 0 && strcmp(argv[optind - 1], "--") == 0;
    if (optind < argc && !separated) {
        fprintf(stderr, "sluice: '%s' is not an option; EAL options follow after --\n", argv[optind]);
        return false;
    }
    options->extra_count = argc - optind;
    options->extra = argv + optind;
    bool needs_file = options->action == OPTIONS_RUN || options->action == OPTIONS_CHECK;
    if (needs_file && options->config_path == NULL) {
        fprintf(stderr, "sluice: which node? -c NODE.yaml expected\n");
        return false;
    }
    return true;
}
