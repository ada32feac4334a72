#include "probe/profile.h"

#include <math.h>

#include "base/units.h"

#define CONTACT_STEPS 40

static void begin(const struct profile *profile, struct train_shape *shape)
{
    *shape = (struct train_shape){.wire_bytes = profile->wire_bytes};
}

void profile_contact(const struct profile *profile, uint64_t top_bps, uint32_t prime, uint32_t packets,
                     double least, struct train_shape *shape)
{
    begin(profile, shape);
    train_add(shape, prime, profile->port_bps);
    uint32_t sent = 0;
    for (unsigned step = 0; step < CONTACT_STEPS; step++) {
        double rate =
            (double)MIN(top_bps, profile->port_bps) * pow(least, (double)step / (CONTACT_STEPS - 1));
        uint32_t until = packets * (step + 1) / CONTACT_STEPS;
        train_add(shape, until - sent, MAX((uint64_t)rate, SEND_RATE_MIN_BPS));
        sent = until;
    }
}

void profile_around(const struct profile *profile, uint64_t rate_bps, uint32_t prime, uint32_t packets,
                    struct train_shape *shape)
{
    begin(profile, shape);
    train_add(shape, prime, profile->port_bps);
    train_add(shape, packets, MAX(MIN(rate_bps, profile->port_bps), SEND_RATE_MIN_BPS));
}

void profile_flat(const struct profile *profile, uint64_t rate_bps, uint32_t packets,
                  struct train_shape *shape)
{
    profile_around(profile, rate_bps, 0, packets, shape);
}
