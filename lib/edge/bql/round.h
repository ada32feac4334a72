/* Rounds of the loss rate: the packets whose fate became known within a round trip or more. */
#pragma once

#include "edge/bql/move.h"
#include "edge/bql/path.h"

struct bql_rounds {
    uint64_t start_ns;
    uint64_t acked, lost; /* packets */
    uint64_t delivered_ns, delivered_bytes;
    uint64_t queue_peak_ns, queue_peak_before_ns; /* of this round and the one before */
    bool limited;                                 /* by something else since the round began */
    bool excess_before;                           /* the round before lost more than chance takes */
    uint32_t cautious;                            /* rounds to end before the rate is raised again */
    uint64_t restored_ns; /* when a rate of before was taken up again: an RTT of it tells nothing */
};

/* What a round has shown. */
struct bql_round {
    uint64_t start_ns;
    uint64_t packets;
    struct bql_loss loss;
    bool limited;  /* by something else than the rate: it says nothing */
    bool few;      /* packets */
    bool unlikely; /* loss: more than chance takes */
    bool excess;   /* … by more than a little */
    bool plain;    /* … by so much that few packets tell */
};

/* A round begins; what was counted so far is forgotten. */
void bql_rounds_start(struct bql_rounds *rounds, const struct bql_path *path, uint64_t now_ns);
/* Adds the sample, which the path has seen before, to the round under way. */
void bql_rounds_on_sample(struct bql_rounds *rounds, const struct bql_path *path,
                          const struct congestion_sample *sample);
/* Ends the round where it tells enough, deliveries included or after 8 RTT and 0.5 s, and begins the next
 * one. False: it goes on. */
bool bql_rounds_end(struct bql_rounds *rounds, const struct bql_path *path, struct bql_round *round);
/* The longest queue of this round and the one before. */
uint64_t bql_rounds_queue_peak_ns(const struct bql_rounds *rounds);
/* Whether a round with excess loss shows that the rate is too high, not chance that strikes in bursts: there
 * one round says little, but a full buffer goes on losing. Where it does not, the rate waits for the next. */
bool bql_rounds_excess_lasts(struct bql_rounds *rounds, const struct bql_path *path,
                             const struct bql_round *round);
