#include "edge/repeat_budget.h"

#include "base/units.h"

static uint64_t earned(const struct repeat_budget *budget)
{
    return MAX(budget->fast, budget->even);
}

static void earn(struct repeat_budget *budget, uint32_t share)
{
    uint64_t before = earned(budget);
    uint64_t fast = budget->fast + MAX(share, REPEAT_SHARE_FAST);
    budget->fast = MIN(fast, (uint64_t)SENDER_REPEATS_SMALL * REPEAT_PACKET);
    budget->even += share;
    budget->left += (int64_t)(earned(budget) - before);
}

void repeat_budget_on_new(struct repeat_budget *budget, bool lossy)
{
    earn(budget, lossy ? REPEAT_SHARE_LOSSY : REPEAT_SHARE);
}

void repeat_budget_on_lost(struct repeat_budget *budget, bool lossy)
{
    earn(budget, lossy ? REPEAT_SHARE_LOSSY_LOST : REPEAT_SHARE_LOST);
}

void repeat_budget_on_idle(struct repeat_budget *budget)
{
    budget->fast = budget->even = 0;
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
