/* What an end of the path adds to its stamps: noise, granularity and batches (netem/stamper.h), and a clock of its own. */
#pragma once

#include "netem/stamper.h"
#include "probe/record.h"

struct stamps_config {
    struct netem_stamping stamping;
    int64_t skew_ppb;       /* its clock runs so much faster */
    uint64_t offset_ns;     /* and was ahead at 0 by this */
    uint64_t step_every_ns; /* so often it jumps … ; 0: it does not */
    int64_t step_ns;        /* … by so much */
};

/* What a self-test of that end would find. */
struct train_floor stamps_floor(const struct stamps_config *config);
/* What its clock says at that time. */
uint64_t stamps_clock_ns(const struct stamps_config *config, uint64_t at_ns);
