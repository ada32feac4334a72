/* Self-test of both ends of a path: a train of small packets, hardly any load, that shows what the ends add
 * to their stamps before one is sent that measures the path.
 *
 * It has three parts. Packets back to back: spacings in a queue are all alike, so that what they differ by
 * is the noise of stamps (its deviation by the median, which a few cross packets do not move). Packets as
 * far apart as the largest ones of a real train would be: those that come with one stamp all the same are a
 * batch. Packets far apart: an end that stands still shows. Delays that keep the order (jitter) are no
 * noise: noise of such a size makes stamps fall.
 *
 * The spacings of a queue tell the path's rate, roughly: to about half where stamps are exact, and nothing
 * where packets come in batches. Error of noise_ns: some 15 % (64 packets). Batches longer than half of the
 * second part are told as seen: there may have been more. Times in ns. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "probe/record.h"

#define SELF_TEST_BYTES  144u /* on the wire, of each packet */
#define SELF_TEST_FAST   64u
#define SELF_TEST_SPACED 128u
#define SELF_TEST_SPARSE 24u

struct self_test {
    struct train_floor sender, receiver;
    bool swallowed; /* so much came with one stamp that an end may just have been away */
    uint64_t
        path_bps; /* by the spacings of its queue, at which stamps tell no more than that it is slow; 0: not told */
};

/* What a measurement may begin with on a path that the test showed as slow: its rate, and the packets of a train. */
#define SELF_TEST_TIMES    4
#define SELF_TEST_FIRST_NS 100000000ULL /* of the path's time, that the first train takes */

/* The train: port_bps of the sender, top_bps at which real trains come in at most, wire_bytes of their packets. */
void self_test_shape(struct train_shape *shape, uint64_t port_bps, uint64_t top_bps, uint32_t wire_bytes);
/* What came of it, top_bps as above. False: too little came to tell. */
bool self_test_read(struct self_test *test, const struct train_record *record, uint64_t top_bps);
/* A later train's record, as its receiver tells it, with what is known of its ends. */
void self_test_apply(const struct self_test *test, struct train_record *record);
