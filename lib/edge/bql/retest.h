/* p0 is tried anew now and then, where it is much: half the rate loses as much by chance.
 *
 * An edge among others that overfill a buffer loses its share of whatever it sends, and may have taken that for
 * chance; all of them then send as much more as gets lost, and none finds out by a rate that is lower by a
 * little. At half the rate of one that has much of the path, or of all that refresh together, that loss is gone. */
#pragma once

#include "edge/bql/path.h"

struct bql_retest {
    uint64_t acked, lost; /* packets, while half the rate is sent */
    uint32_t passed;      /* so many in a row lost as much */
};

/* So much is lost by chance, as it seems, that it is worth half the rate for a moment, and it is long after
 * the last one: after_ns, and twice as long for each of two that found nothing. */
bool bql_retest_due(const struct bql_retest *retest, const struct bql_chance *chance, uint64_t after_ns,
                    uint64_t since_ns);
/* How long half the rate is sent for it at most: what p0 is tried by needs no whole round trip. */
uint64_t bql_retest_lasts_ns(const struct bql_path *path, uint64_t rate_bps);
/* Half the rate begins: nothing is counted yet. */
void bql_retest_begin(struct bql_retest *retest);
/* Fates of what was sent at half the rate. */
void bql_retest_on_sample(struct bql_retest *retest, const struct congestion_sample *sample);
/* Enough fates are known to end it. */
bool bql_retest_told(const struct bql_retest *retest);
/* p0 is at most what was lost meanwhile, and 2 sigma of so many packets. */
void bql_retest_end(struct bql_retest *retest, struct bql_chance *chance);
