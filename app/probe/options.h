/* The command line: each option is declared once, in options.c, by name, kind, place and help. */
#pragma once

#include <stdio.h>

#include "app/probe/pairs.h"

struct options {
    struct run_config run;
    uint64_t runs, seed;
    uint64_t rtt_ns, period_ns, width_ppb, load_ppb;
    bool json, each, help;
    struct pairs_config pairs; /* nodes 0: one path is measured; what it has of `run` follows from that */
};

/* Defaults, then the command line. False: what was wrong has been said on standard error. */
bool options_read(struct options *options, int count, char **arguments);
void options_help(FILE *out);
