/* HEED: the queue that a path which marks lets the edge have: a cap of q*, learnt from the marks.
 *
 *     cap = X / rate^2, at most q*, at least 1/128 of that plus J/32
 *     each round of max(RTT, 100 ms), per 100 ms:  X += 2 % sqrt(1 Gbit/s / rate) of it
 *                          or, where any is marked:  X -= 20 % + 30 % x (share marked) of it
 *
 * Marks thus shorten the queue that the rate is steered to, and not the rate: where they mark wrongly they cost
 * little more than that. A queue which marks above a threshold ends up just below it, one that marks by chance
 * where hardly any is marked. Any mark counts, as RFC 3168 asks of who sends ECT(0), as gently as RFC 8511 has
 * it; and the more are marked the more it counts, as in scalable responses (DCTCP, RFC 9331). The two laws need
 * not be told apart, nor can they: one packet in a hundred may be either's.
 *
 * The cap falls so fast with the rate because in a queue that is short compared with the round trip the shares
 * of edges move by (cap - q)/RTT only; and X grows faster where the rate is low, so that edges which see the
 * same marks come to the same rate, whatever each of them takes for its base.
 *
 * Most packets marked although the cap is as low as it gets: the base is too high (others' queue stood when the
 * edge began) or the marks say nothing of this edge. A refresh of full length tells, see refresh.h. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "edge/path_marks.h"

#define BQL_HEED_ROUND_NS 100000000ULL

struct bql_heed {
    struct path_marks marks;
    uint64_t level_ns, level_bps; /* X = level_ns level_bps^2; level_ns 0: nothing was marked */
    bool marked;                  /* the newest round was */
    /* Since when most packets are marked at the least cap; TIME_NEVER: they are not. */
    uint64_t stuck_from_ns;
    uint32_t doubts; /* how often a refresh was asked for since then */
};

/* What the cap lies between: q* without marks, and what noise takes. */
struct bql_heed_span {
    uint64_t least_ns, most_ns;
};

/* Nothing was marked yet. */
void bql_heed_init(struct bql_heed *heed, uint64_t now_ns);
/* A round at this rate. */
void bql_heed_on_round(struct bql_heed *heed, const struct path_marks_round *round, uint64_t rate_bps,
                       const struct bql_heed_span *span, uint64_t now_ns);
/* q* at this rate. */
uint64_t bql_heed_target_ns(const struct bql_heed *heed, uint64_t rate_bps, const struct bql_heed_span *span);
/* It is time to find out why most packets are marked. */
bool bql_heed_doubts(const struct bql_heed *heed, uint64_t now_ns);
/* The edge gives way, from now until until_ns: what leaves in the second half of that tells. */
void bql_heed_try(struct bql_heed *heed, uint64_t now_ns, uint64_t until_ns);
