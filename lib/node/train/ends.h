/* What is known of the ends of a path before the first train measures it: the self-test (probe/self_test.h) of each peer.
 *
 * It costs a round trip and 31 KB, once for as long as a peer keeps its state; in the background once every ENDS_AGE_NS.
 * One that did not come through is tried ENDS_TRIES times, some 20 ms apart; then measurements go on without. So is one that
 * an end may have slept through, and the shortest batch seen counts. */
#pragma once

#include "node/peer/peer.h"
#include "probe/self_test.h"

#define ENDS_TRIES  6u
#define ENDS_AGE_NS (600 * NS_PER_S)

struct ends {
    struct self_test test;
    bool seen;         /* test holds something */
    uint8_t tries;     /* since it was complete */
    uint64_t known_ns; /* complete since then; 0: never */
    uint64_t tried_ns; /* the last one */
    uint64_t hold_ns;  /* none is sent before */
};

/* A test is to come before the next train; `again`: also where the last one is old. */
bool ends_wanted(const struct ends *ends, bool again, uint64_t now_ns);
/* Its train begins. False: it cannot be sent now, which counts as a try. */
bool ends_send(struct node *node, const struct peer *peer, struct ends *ends, uint16_t flags,
               uint64_t now_ns);
/* What came of it. */
void ends_take(struct node *node, const struct peer *peer, struct ends *ends,
               const struct train_record *record, uint64_t now_ns);
/* It was lost; or not taken, and may be after so long. */
void ends_miss(struct node *node, struct ends *ends, uint64_t wait_ns, uint64_t now_ns);
/* The peer has lost its state: it may be another machine. */
void ends_forget(struct ends *ends);
