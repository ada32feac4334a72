#include "edge/bql/chance.h"

#include "base/units.h"
#include "edge/bql/move.h"
#include "edge/roots.h"

#define LEAP_PPM       50000U /* above what was shown: plausible, or a quarter of it */
#define SHOWN_ROUNDS   16
#define SWING_PPM      100000U /* explains no more … */
#define SWING_PACKETS  96      /* … but of rounds of fewer */
#define FEW_PACKETS    200
#define TOLD_PACKETS   (FEW_PACKETS / 2)
#define FEW_PPM_MAX    200000ULL
#define UNSURE_PACKETS 16 /* as if so many more had come, all of them */

static uint32_t sigma_ppm(uint64_t usual_ppm, uint64_t packets)
{
    return (uint32_t)square_root(usual_ppm * (BQL_PPM - usual_ppm) / packets);
}

void bql_chance_begin_unshown(struct bql_chance *chance)
{
    *chance = (struct bql_chance){.shown_ppm = BQL_CHANCE_MAX_PPM};
}

uint32_t bql_chance_sigma_ppm(const struct bql_chance *chance, uint64_t packets)
{
    return sigma_ppm(MAX(chance->base_ppm, (uint32_t)(BQL_PPM / packets)), packets);
}

uint32_t bql_chance_likely_ppm(const struct bql_chance *chance, uint64_t packets)
{
    uint32_t swing_ppm = 2 * chance->swing_ppm;
    if (packets >= SWING_PACKETS)
        swing_ppm = MIN(swing_ppm, SWING_PPM);
    return chance->base_ppm + 3 * bql_chance_sigma_ppm(chance, packets) + swing_ppm;
}

bool bql_chance_plausible(const struct bql_chance *chance, uint32_t loss_ppm, uint64_t packets)
{
    uint32_t leap_ppm = MAX(LEAP_PPM, chance->shown_ppm / 4);
    return loss_ppm <= chance->shown_ppm + leap_ppm + 3 * sigma_ppm(chance->shown_ppm, packets);
}

bool bql_chance_may_take(uint32_t loss_ppm, uint64_t packets)
{
    return loss_ppm <= BQL_CHANCE_MAX_PPM + 3 * sigma_ppm(BQL_CHANCE_MAX_PPM, packets);
}

void bql_chance_on_round(struct bql_chance *chance, uint32_t loss_ppm, uint64_t packets, bool may_rise)
{
    bool more = loss_ppm > chance->base_ppm;
    int32_t off_ppm = (int32_t)loss_ppm - (int32_t)chance->base_ppm;
    uint32_t swing_ppm = (uint32_t)(more ? off_ppm : -off_ppm);
    chance->swing_ppm += ((int32_t)swing_ppm - (int32_t)chance->swing_ppm) / 8;
    if (!more || (may_rise && bql_chance_plausible(chance, loss_ppm, packets)))
        chance->base_ppm = (uint32_t)((int32_t)chance->base_ppm + off_ppm / 4);
    chance->base_ppm = MIN(chance->base_ppm, BQL_CHANCE_MAX_PPM);
    if (chance->base_ppm < chance->shown_ppm)
        chance->shown_ppm -= (chance->shown_ppm - chance->base_ppm) / SHOWN_ROUNDS;
}

void bql_chance_on_start(struct bql_chance *chance, uint64_t packets)
{
    if (packets > 0 && packets < FEW_PACKETS)
        chance->base_ppm = (uint32_t)(chance->base_ppm * packets / (packets + UNSURE_PACKETS));
    chance->known = (uint32_t)MIN(packets, (uint64_t)BQL_CHANCE_MEMORY);
    bql_chance_on_shown(chance);
}

void bql_chance_on_few(struct bql_chance *chance, uint64_t lost, uint64_t packets)
{
    uint64_t all = MIN(chance->known + packets, (uint64_t)BQL_CHANCE_MEMORY);
    uint64_t before = all - MIN(packets, all);
    uint64_t loss_ppm = muldiv64(lost, BQL_PPM, packets);
    uint64_t off_ppm = excess_of(loss_ppm, chance->base_ppm) + excess_of(chance->base_ppm, loss_ppm);
    uint64_t more_ppm =
        chance->known == 0 ? 0 : excess_of(off_ppm, 2 * bql_chance_sigma_ppm(chance, packets));
    chance->swing_ppm += ((int32_t)more_ppm - (int32_t)chance->swing_ppm) / 8;
    uint64_t base_ppm = (before * chance->base_ppm + (all - before) * loss_ppm) / all;
    chance->base_ppm = (uint32_t)MIN(base_ppm, FEW_PPM_MAX);
    chance->known = (uint32_t)all;
}

bool bql_chance_told(const struct bql_chance *chance)
{
    return chance->known >= TOLD_PACKETS;
}

void bql_chance_on_proof(struct bql_chance *chance, uint32_t loss_ppm, uint64_t packets)
{
    if (packets < FEW_PACKETS)
        loss_ppm -= MIN(loss_ppm, sigma_ppm(loss_ppm, MAX(packets, 1ULL)));
    uint32_t swing_ppm = (uint32_t)excess_of(loss_ppm, chance->base_ppm) / 2;
    chance->swing_ppm = MAX(chance->swing_ppm, swing_ppm);
    chance->base_ppm = MIN(loss_ppm, BQL_CHANCE_MAX_PPM);
}

void bql_chance_on_shown(struct bql_chance *chance)
{
    chance->shown_ppm = chance->base_ppm;
}

void bql_chance_at_most(struct bql_chance *chance, uint32_t loss_ppm)
{
    if (loss_ppm >= chance->base_ppm)
        return;
    chance->swing_ppm = (uint32_t)muldiv64(chance->swing_ppm, loss_ppm, chance->base_ppm);
    chance->base_ppm = loss_ppm;
    chance->shown_ppm = MIN(chance->shown_ppm, loss_ppm);
}

uint64_t bql_chance_sent_bps(const struct bql_chance *chance, uint64_t delivered_bps)
{
    return muldiv64(delivered_bps, BQL_PPM, BQL_PPM - chance->base_ppm);
}
