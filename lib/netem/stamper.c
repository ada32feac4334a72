#include "netem/stamper.h"

#include "base/units.h"
#include "netem/draw.h"

uint64_t netem_stamp(const struct netem_stamping *stamping, uint64_t at_ns, struct rng *rng)
{
    if (stamping->noise_ns != 0) {
        int64_t off_ns = netem_draw_normal_ns(rng, stamping->noise_ns);
        at_ns = off_ns < 0 ? elapsed_ns(at_ns, (uint64_t)-off_ns) : at_ns + (uint64_t)off_ns;
    }
    return stamping->granularity_ns > 1 ? at_ns - at_ns % stamping->granularity_ns : at_ns;
}

uint32_t netem_stamp_batch(const struct netem_stamping *stamping, const uint64_t *at_ns, uint32_t count,
                           uint64_t now_ns, uint64_t *stamp_ns)
{
    uint32_t length = 1, full = MAX(stamping->batch, 1u);
    uint64_t end_ns = later_ns(at_ns[0], full == 1 ? 0 : stamping->batch_ns);
    while (length < MIN(count, full) && at_ns[length] <= end_ns)
        length++;
    *stamp_ns = length == full ? at_ns[length - 1] : end_ns;
    return *stamp_ns <= now_ns ? length : 0;
}

void netem_stamp_all(const struct netem_stamping *stamping, uint64_t *at_ns, uint32_t count, struct rng *rng)
{
    for (uint32_t first = 0; first < count;) {
        uint64_t stamp_ns;
        uint32_t length = netem_stamp_batch(stamping, &at_ns[first], count - first, TIME_NEVER, &stamp_ns);
        for (uint32_t end = first + length; first < end; first++)
            at_ns[first] = netem_stamp(stamping, stamp_ns, rng);
    }
}
