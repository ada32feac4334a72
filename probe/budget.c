#include "probe/budget.h"

#include "base/units.h"

#define SLICE_NS (BUDGET_WINDOW_NS / BUDGET_SLICES)

void budget_init(struct budget *budget, uint64_t bytes_max, uint32_t load_ppm)
{
    *budget = (struct budget){.bytes_max = bytes_max, .load_ppm = load_ppm};
}

void budget_spend(struct budget *budget, uint64_t bytes, uint64_t now_ns)
{
    uint64_t slice = now_ns / SLICE_NS;
    if (slice > budget->slice + BUDGET_SLICES)
        budget->slice = slice - BUDGET_SLICES - 1;
    while (budget->slice < slice)
        budget->slices[++budget->slice % (BUDGET_SLICES + 1)] = 0;
    budget->slices[slice % (BUDGET_SLICES + 1)] += bytes;
    budget->bytes += bytes;
}

void budget_return(struct budget *budget, uint64_t bytes, uint64_t spent_ns)
{
    uint64_t slice = spent_ns / SLICE_NS;
    budget->bytes -= MIN(budget->bytes, bytes);
    if (slice > budget->slice || slice + BUDGET_SLICES < budget->slice)
        return;
    uint64_t *spent = &budget->slices[slice % (BUDGET_SLICES + 1)];
    *spent -= MIN(*spent, bytes);
}

uint64_t budget_left(const struct budget *budget)
{
    return budget->bytes_max == 0 ? UINT64_MAX : elapsed_ns(budget->bytes_max, budget->bytes);
}

uint64_t budget_when(const struct budget *budget, uint64_t bytes, double capacity_bps, uint64_t now_ns)
{
    if (bytes > budget_left(budget))
        return TIME_NEVER;
    if (budget->load_ppm == 0 || capacity_bps <= 0)
        return now_ns;
    double allowed = capacity_bps / 8e6 * budget->load_ppm * (BUDGET_WINDOW_NS / NS_PER_S);
    if ((double)bytes > allowed)
        return TIME_NEVER;
    uint64_t within = bytes;
    for (uint64_t slice = MAX(budget->slice, now_ns / SLICE_NS), age = 0;
         age <= BUDGET_SLICES && age <= slice; age++) {
        if (slice - age <= budget->slice && slice - age + BUDGET_SLICES >= budget->slice)
            within += budget->slices[(slice - age) % (BUDGET_SLICES + 1)];
        if ((double)within > allowed) /* not before this slice lies behind the window */
            return MAX(now_ns, (slice - age + BUDGET_SLICES + 1) * SLICE_NS);
    }
    return now_ns;
}
