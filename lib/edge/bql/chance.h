/* Loss by chance: how much of it is usual (p0), and how much rounds swing around that (s).
 *
 * Chance rarely takes more than p0 + 3 sigma + 2 s of so many packets, sigma being what independent losses
 * would vary by. Shares in ppm. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

struct bql_chance {
    uint32_t base_ppm;  /* p0 */
    uint32_t swing_ppm; /* s: mean distance of rounds' loss from p0 */
};

/* What independent losses at p0 vary by among so many packets; packets > 0. */
uint32_t bql_chance_sigma_ppm(const struct bql_chance *chance, uint64_t packets);
/* Chance rarely takes more than this of so many packets; packets > 0. */
uint32_t bql_chance_likely_ppm(const struct bql_chance *chance, uint64_t packets);
/* A round in which nothing but chance lost so much. p0 falls at once where less is lost; it rises only where
 * the path is not full (`may_rise`). */
void bql_chance_on_round(struct bql_chance *chance, uint32_t loss_ppm, bool may_rise);
/* All of so much was lost by chance, as a lower rate has shown: of few packets that many less than chance
 * adds now and then, for it was a round with much loss that was looked at. */
void bql_chance_on_proof(struct bql_chance *chance, uint32_t loss_ppm, uint64_t packets);
/* The rate of which so much is delivered, where chance takes what is usual. */
uint64_t bql_chance_sent_bps(const struct bql_chance *chance, uint64_t delivered_bps);
