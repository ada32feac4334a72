#include "edge/repeat_budget.h"

#include "base/units.h"

/* What the first packets earned fades as the object turns out to be one of many round trips. */
static uint64_t fast_left(const struct repeat_budget *budget)
{
    uint64_t full = REPEAT_FAST_TRIPS * budget->trip_packets, fades = full / 2;
    uint64_t beyond = budget->new_packets - MIN(budget->new_packets, full);
    return beyond == 0 ? budget->fast : muldiv64(budget->fast, fades - MIN(beyond, fades), MAX(fades, 1ULL));
}

static uint64_t earned(const struct repeat_budget *budget)
{
    uint64_t least = MAX(fast_left(budget), budget->trip);
    return MAX(least, budget->even);
}

static void earn(struct repeat_budget *budget, uint32_t share, uint32_t trip_share)
{
    uint64_t fast = budget->fast + MAX(share, REPEAT_SHARE_FAST);
    budget->fast = MIN(fast, (uint64_t)SENDER_REPEATS_SMALL * REPEAT_PACKET);
    budget->trip += trip_share;
    budget->even += share;
    uint64_t now = earned(budget);
    budget->left += (int64_t)now - (int64_t)budget->counted;
    budget->counted = now;
}

void repeat_budget_set_trip(struct repeat_budget *budget, uint64_t packets)
{
    budget->trip_packets = packets;
}

void repeat_budget_on_new(struct repeat_budget *budget, bool lossy)
{
    bool counts = budget->trip_new < budget->trip_packets;
    budget->trip_new += counts;
    budget->new_packets++;
    earn(budget, lossy ? REPEAT_SHARE_LOSSY : REPEAT_SHARE, counts ? REPEAT_SHARE_TRIP : 0);
}

void repeat_budget_on_lost(struct repeat_budget *budget, bool lossy)
{
    bool counts = (budget->trip_lost + 1) * REPEAT_TRIP_LOSSY <= budget->trip_new;
    budget->trip_lost += counts;
    earn(budget, lossy ? REPEAT_SHARE_LOSSY_LOST : REPEAT_SHARE_LOST, counts ? REPEAT_SHARE_TRIP_LOST : 0);
}

void repeat_budget_on_idle(struct repeat_budget *budget)
{
    budget->fast = budget->trip = budget->even = budget->counted = 0;
    budget->trip_new = budget->trip_lost = budget->new_packets = 0;
    budget->left = MIN(budget->left, 0);
}

void repeat_budget_spend(struct repeat_budget *budget)
{
    budget->left -= REPEAT_PACKET;
}

void repeat_budget_give_back(struct repeat_budget *budget)
{
    budget->left += REPEAT_PACKET;
}
