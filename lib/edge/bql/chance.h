/* Loss by chance: how much of it is usual (p0), and how much rounds swing around that (s).
 *
 * Chance rarely takes more than p0 + 3 sigma + 2 s of so many packets, sigma being what independent losses
 * would vary by; of 96 packets and more 2 s count for at most 10 %. Shares in ppm.
 *
 * In a crowd a full buffer takes its share of whatever one edge sends, as chance does, and its loss grows bit by bit
 * until everyone takes it for chance. So p0 follows only as far as is plausible: a quarter or 5 %, and 3 sigma, above
 * what the start or a much lower rate (park.h) has shown, which falls after p0 by 1/16 of the distance a round. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#define BQL_CHANCE_MEMORY 800U /* 10 % +- 1 % */
/* No path takes more by chance: what loses more is a buffer that others fill as well, which takes its share of
 * whatever is sent, too. */
#define BQL_CHANCE_MAX_PPM 400000U

struct bql_chance {
    uint32_t base_ppm;  /* p0 */
    uint32_t swing_ppm; /* s: mean distance of rounds' loss from p0 */
    uint32_t shown_ppm; /* what the path has shown that chance takes */
    uint32_t known;     /* packets that p0 rests on, where they are few */
};

/* The rate is known, so no start will show anything: anything is plausible until something does. */
void bql_chance_begin_unshown(struct bql_chance *chance);
/* What independent losses at p0 vary by among so many packets; packets > 0. */
uint32_t bql_chance_sigma_ppm(const struct bql_chance *chance, uint64_t packets);
/* Chance rarely takes more than this of so many packets; packets > 0. */
uint32_t bql_chance_likely_ppm(const struct bql_chance *chance, uint64_t packets);
/* Chance may take so much of so many packets; packets > 0. */
bool bql_chance_may_take(uint32_t loss_ppm, uint64_t packets);
/* So much of so many packets is plausible after what the path has shown; packets > 0. */
bool bql_chance_plausible(const struct bql_chance *chance, uint32_t loss_ppm, uint64_t packets);
/* A round in which nothing but chance lost so much of so many packets, > 0. p0 falls at once where less is lost; it
 * rises only where the path is not full (`may_rise`) and that is plausible. */
void bql_chance_on_round(struct bql_chance *chance, uint32_t loss_ppm, uint64_t packets, bool may_rise);
/* The start ends, and p0 is the mean of so many packets: what few of them show is taken for less. 0: it has shown
 * nothing, and p0 stays what a lower rate has proven. */
void bql_chance_on_start(struct bql_chance *chance, uint64_t packets);
/* So many of so many packets were lost, all by chance, on a path where few come: p0 is the mean over the newest
 * BQL_CHANCE_MEMORY of them, at most 20 %; s grows by what independent losses do not explain. */
void bql_chance_on_few(struct bql_chance *chance, uint64_t lost, uint64_t packets);
/* p0 is known in that way: rounds of few packets say nothing better. */
bool bql_chance_told(const struct bql_chance *chance);
/* All of so much was lost by chance, as a lower rate has shown: of few packets that many less than chance
 * adds now and then, for it was a round with much loss that was looked at. */
void bql_chance_on_proof(struct bql_chance *chance, uint32_t loss_ppm, uint64_t packets);
/* p0, as it is now, the path has shown beyond doubt: what is plausible is measured by it. */
void bql_chance_on_shown(struct bql_chance *chance);
/* Chance takes no more than that, as a much lower rate has shown; its swing falls as much. */
void bql_chance_at_most(struct bql_chance *chance, uint32_t loss_ppm);
/* The rate of which so much is delivered, where chance takes what is usual. */
uint64_t bql_chance_sent_bps(const struct bql_chance *chance, uint64_t delivered_bps);
