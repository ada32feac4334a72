/* The rate given, never changed. */
#include "base/units.h"
#include "edge/congestion.h"

static void set_in_flight_max(struct congestion *congestion, uint64_t rtt_ns)
{
    congestion->in_flight_max_bytes = congestion_in_flight_bytes(congestion->rate_bps, rtt_ns);
    congestion->gather_ns = 1; /* 8 packets: nothing is known of the path's buffer */
}

static void fixed_init(struct congestion *congestion, uint64_t initial_bps, bool known, uint64_t rtt_ns,
                       uint64_t now_ns)
{
    (void)known;
    (void)now_ns;
    congestion->rate_bps = initial_bps;
    set_in_flight_max(congestion, rtt_ns);
}

static void fixed_on_ack(struct congestion *congestion, const struct congestion_sample *sample)
{
    set_in_flight_max(congestion, sample->rtt_smoothed_ns);
}

static void fixed_on_timeout(struct congestion *congestion, uint64_t now_ns)
{
    (void)congestion;
    (void)now_ns;
}

const struct congestion_type congestion_fixed_type = {
    .name = "fixed", .init = fixed_init, .on_ack = fixed_on_ack, .on_timeout = fixed_on_timeout};
