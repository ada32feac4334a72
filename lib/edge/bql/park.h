/* PARK: more gets lost than by chance, without a long queue: a lower rate will tell why.
 *
 * 0.985 C, and 0.9 of the rate while loss stays. A round without: 0.985 of what was delivered is the rate,
 * for 10 rounds, twice as many each time it turns out to be the same again (a policer), up to 5 s. Loss
 * that stays is chance when deliveries fell as much as the rate; loss that goes was the buffer's: from then
 * on q* is at most half of the queue at which it came. p0 does not rise while the rate grows from there
 * (CALM). Of one edge of a crowd a slightly lower rate shows nothing. So a loss that is not plausible
 * (chance.h) is chance only where it stays for max(min(4.5 s, 75 RTT), 45 RTT), until all of a crowd have
 * gone lower, and at less than half of the rate compared with. Meanwhile the rate falls to 1/16 of that of
 * before at least; after the proof it doubles once, and CALM raises it. A slightly lower rate is enough
 * where a round trip has less than 16 packets, whose rounds swing by more than is plausible, and where
 * nothing has shown others for long, neither C nor a loss (a radio link that fades). Where rounds swing
 * more than chance does (bursts), and from the second parked round on where the one before lost no more than by
 * chance, it takes two in a row that lose so much. */
#pragma once

#include "edge/bql/move.h"
#include "edge/bql/path.h"
#include "edge/bql/round.h"
#include "edge/bql/start.h"
#include "edge/bql/trial.h"

/* What parking has taught of the most that the path takes. Outlives the phase. */
struct bql_ceiling {
    uint64_t bps;         /* what it was thought to take when it parked last; 0: nothing known */
    uint64_t parked_ns;   /* when that was, or it went lower */
    uint64_t settled_bps; /* … without losses, the last time */
    uint32_t rounds;      /* until the rate may grow again */
};

struct bql_park {
    uint32_t rounds;     /* since it began, or went lower */
    uint64_t began_ns;   /* when it began, lower or not */
    uint64_t before_bps; /* rate before */
    /* The round that others are compared with; one that lost less than 3/4 of it takes its place. delivered_bps 0: none
     * yet. */
    struct bql_loss compared;
    uint32_t first_loss_ppm; /* of the round that led to parking first */
    uint64_t first_packets;  /* … of so many packets */
    uint64_t first_bps;      /* deliveries in the first lossy round after parking; 0: none yet */
    struct bql_trial trial;  /* it begins with */
    uint64_t queue_ns;       /* at the loss that led to it */
    bool alone;              /* the path was its own for long, so that any lower rate tells */
    bool starting;           /* the start goes on where the loss was by chance … */
    struct bql_start start;  /* … from here */
};

/* Nothing is known. */
void bql_ceiling_init(struct bql_ceiling *ceiling);
/* Between a quarter and 9/8 of the ceiling (3/2 where it was found at the same rate before), within 5 s + 20 RTT of the
 * loss that set it: CALM goes slowly. */
bool bql_ceiling_near(const struct bql_ceiling *ceiling, const struct bql_view *view, uint64_t rate_bps);
/* A rate about that of the ceiling or above: what gets lost there is not by chance, little as it may be. */
bool bql_ceiling_reached(const struct bql_ceiling *ceiling, uint64_t rate_bps);

/* Nothing was lost that led here for max(10 s, 20 RTT), or ever. */
bool bql_ceiling_is_old(const struct bql_ceiling *ceiling, const struct bql_path *path);

/* Parks, at the rate returned. capacity_bps: what the path takes, where a queue shows it; 0: deliveries tell.
 * start: interrupted by it; NULL: none. */
uint64_t bql_park_begin(struct bql_park *park, struct bql_ceiling *ceiling, struct bql_path *path,
                        const struct bql_loss *loss, uint64_t capacity_bps, const struct bql_start *start,
                        uint64_t rate_bps);
/* Loss stays: goes lower, to the rate returned. */
uint64_t bql_park_lower(struct bql_park *park, struct bql_ceiling *ceiling, struct bql_path *path,
                        const struct bql_loss *loss, uint64_t rate_bps);
/* Ends when it has told enough, or a queue says that it was that. */
struct bql_move bql_park_step(struct bql_park *park, const struct bql_ceiling *ceiling,
                              const struct bql_path *path, const struct bql_view *view);
/* A round without excess loss. */
struct bql_move bql_park_on_quiet_round(struct bql_park *park, struct bql_ceiling *ceiling,
                                        struct bql_path *path, const struct bql_view *view,
                                        uint64_t rate_bps);
/* … and nothing but what chance takes now and then, at this rate too, led here: that is long enough. */
void bql_park_forgive(const struct bql_park *park, struct bql_ceiling *ceiling,
                      const struct bql_chance *chance, uint64_t packets);
/* What was learnt of chance meanwhile, on a path of few packets (room.h), explains the loss that led here … */
bool bql_park_was_chance(const struct bql_park *park, const struct bql_chance *chance);
/* … so the rate of before is taken up again. */
struct bql_move bql_park_release(const struct bql_park *park, struct bql_ceiling *ceiling, uint64_t rate_bps);
/* A round with excess loss: by chance, as it turns out, or a reason to go lower. */
struct bql_move bql_park_on_loss(struct bql_park *park, struct bql_ceiling *ceiling, struct bql_path *path,
                                 const struct bql_loss *loss, uint64_t rate_bps);
