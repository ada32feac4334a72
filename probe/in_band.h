/* What data that is sent anyway tells of a path: the rate at which it was delivered, and what held it at
 * that.
 *
 * Where congestion control held it for IN_BAND_CONGESTED_PPM of the window at least, the path carries just
 * that: ESTIMATE_VALUE, the mean of the last windows in a row that were so, with the interval that their
 * differences leave, and never narrower than IN_BAND_LEAST_SHARE on either side, since control wobbles
 * around what there is. Where anything else held it (the application, a cap, memory, a disk) it carries at
 * least that. Costs no byte; flag IN_BAND.
 *
 * Several edges that meet in one queue each see their own share of it alone. Sans-IO; a struct of zeroes
 * begins anew. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "probe/estimate.h"

#define IN_BAND_CONGESTED_PPM 800000u
#define IN_BAND_LEAST_SHARE   0.03
#define IN_BAND_FIRST_SHARE   0.10       /* of a single window, which has nothing to differ from */
#define IN_BAND_WINDOWS       8          /* that go into a mean */
#define IN_BAND_WINDOW_NS     100000000u /* shorter ones say nothing: a rate is that of bursts then */

struct in_band_window {
    uint64_t from_ns, until_ns;
    uint64_t delivered_bytes; /* on the wire, acknowledged in the window */
    uint32_t congested_ppm;   /* of the window, held by congestion control */
    uint64_t loss_ppm;
};

struct in_band {
    uint32_t count; /* congested windows in a row, so far */
    uint64_t rates_bps[IN_BAND_WINDOWS];
    uint64_t first_ns[IN_BAND_WINDOWS]; /* begins of those windows */
};

/* False: the window says nothing. */
bool in_band_take(struct in_band *in_band, const struct in_band_window *window, struct estimate *estimate);
