#include "store/stripe.h"

bool stripe_schedule_init(struct stripe_schedule *schedule, const uint8_t *weights, uint32_t count)
{
    uint32_t period = 0;
    if (count == 0 || count > STRIPES_MAX)
        return false;
    for (uint32_t stripe = 0; stripe < count; stripe++) {
        period += weights[stripe];
        if (weights[stripe] == 0)
            return false;
    }
    if (period > STRIPE_PERIOD_MAX)
        return false;
    *schedule = (struct stripe_schedule){.count = (uint8_t)count, .period = (uint8_t)period};
    int32_t behind[STRIPES_MAX] = {0}; /* blocks owed, in units of 1 / period */
    for (uint32_t place = 0; place < period; place++) {
        uint32_t next = 0;
        for (uint32_t stripe = 0; stripe < count; stripe++) {
            behind[stripe] += weights[stripe];
            if (behind[stripe] > behind[next])
                next = stripe;
        }
        behind[next] -= (int32_t)period;
        schedule->of[place] = (uint8_t)next;
    }
    return true;
}
