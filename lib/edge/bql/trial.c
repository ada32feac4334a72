#include "edge/bql/trial.h"

#include "base/units.h"
#include "edge/bql/move.h"

#define TRIAL_RTTS 4

uint64_t bql_trial_begin(struct bql_trial *trial, const struct bql_room *room, const struct bql_path *path,
                         uint64_t rate_bps)
{
    uint64_t safe_bps = bql_room_safe_bps(room);
    *trial = (struct bql_trial){.told = 0};
    if (safe_bps == 0 || !bql_path_is_sparse(path) || bql_chance_told(&path->chance))
        return rate_bps;
    rate_bps = MAX(MIN(rate_bps, safe_bps), BQL_RATE_MIN_BPS);
    trial->told = room->told + BQL_TRIAL_PACKETS;
    trial->end_ns = path->now_ns + TRIAL_RTTS * path->rtt_ns +
                    transmit_ns(2 * BQL_TRIAL_PACKETS * path->packet_bytes, rate_bps);
    return rate_bps;
}

bool bql_trial_goes_on(const struct bql_trial *trial)
{
    return trial->told > 0;
}

bool bql_trial_ends(struct bql_trial *trial, const struct bql_room *room, uint64_t now_ns)
{
    if (!bql_trial_goes_on(trial) || (room->told < trial->told && now_ns < trial->end_ns))
        return false;
    trial->told = 0;
    return true;
}
