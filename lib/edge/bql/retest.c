#include "edge/bql/retest.h"

#include "base/units.h"
#include "edge/bql/move.h"

#define MUCH_PPM     50000U /* of loss: less costs less than to try it */
#define PACKETS_MIN  8      /* fewer tell nothing */
#define PACKETS_LAST 8
#define LASTS_NS     (200 * NS_PER_MS)
#define PASSED_MAX   2U /* doublings of the wait */
#define PACKETS_TOLD 64

static bool wanted(const struct bql_chance *chance)
{
    return chance->base_ppm > MUCH_PPM;
}

bool bql_retest_due(const struct bql_retest *retest, const struct bql_chance *chance, uint64_t after_ns,
                    uint64_t since_ns)
{
    uint64_t wait_ns = after_ns << MIN(retest->passed, PASSED_MAX);
    return wanted(chance) && since_ns >= wait_ns;
}

uint64_t bql_retest_lasts_ns(const struct bql_path *path, uint64_t rate_bps)
{
    return MAX(LASTS_NS, transmit_ns(PACKETS_LAST * path->packet_bytes, rate_bps / 2));
}

void bql_retest_begin(struct bql_retest *retest)
{
    retest->acked = 0;
    retest->lost = 0;
}

void bql_retest_on_sample(struct bql_retest *retest, const struct congestion_sample *sample)
{
    retest->acked += sample->acked_packets;
    retest->lost += sample->lost_packets;
}

bool bql_retest_told(const struct bql_retest *retest)
{
    return retest->acked + retest->lost >= PACKETS_TOLD;
}

void bql_retest_end(struct bql_retest *retest, struct bql_chance *chance)
{
    uint64_t packets = retest->acked + retest->lost;
    if (!wanted(chance)) {
        retest->passed = 0;
        return;
    }
    if (packets < PACKETS_MIN) {
        retest->passed++;
        return;
    }
    uint32_t loss_ppm = (uint32_t)muldiv64(retest->lost, BQL_PPM, packets);
    loss_ppm += 2 * bql_chance_sigma_ppm(chance, packets);
    retest->passed = loss_ppm < chance->base_ppm ? 0 : retest->passed + 1;
    bql_chance_at_most(chance, loss_ppm);
}
