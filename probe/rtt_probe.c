/* Ids are places in a fixed grid: round * (1 + candidates) + step, step 0 being the bare probe. A padded
 * probe that is not needed any more leaves its place empty, so an id always tells what was sent. */
#include "probe/rtt_probe.h"

#include "base/units.h"

const uint16_t rtt_probe_mtus[] = {9000, 1500, 1400, 1280, 0};

_Static_assert(sizeof(rtt_probe_mtus) / sizeof(rtt_probe_mtus[0]) <= RTT_PROBE_CANDIDATES_MAX,
               "the port's own MTU and the table fit the candidates");
_Static_assert(RTT_PROBE_ROUNDS *(1 + RTT_PROBE_CANDIDATES_MAX) <= 64, "one bit per probe");

static uint32_t steps(const struct rtt_probe *probe)
{
    return 1U + probe->candidate_count;
}

/* The IP packet size of the probe at this place; 0: bare. */
static uint32_t place_bytes(const struct rtt_probe *probe, uint32_t place)
{
    uint32_t step = place % steps(probe);
    return step == 0 ? 0 : probe->candidates[step - 1];
}

static void choose_candidates(struct rtt_probe *probe)
{
    uint32_t bare_bytes = WIRE_PROBE_BYTES + probe->ip_overhead;
    probe->candidate_count = 0;
    if (probe->mtu > bare_bytes)
        probe->candidates[probe->candidate_count++] = (uint16_t)MIN(probe->mtu, (uint32_t)UINT16_MAX);
    for (unsigned place = 0; rtt_probe_mtus[place] != 0; place++) {
        uint16_t mtu = rtt_probe_mtus[place];
        if (bare_bytes < mtu && mtu < probe->mtu)
            probe->candidates[probe->candidate_count++] = mtu;
    }
}

void rtt_probe_start(struct rtt_probe *probe, uint32_t mtu, uint32_t ip_overhead, uint64_t duration_ns,
                     uint64_t now_ns)
{
    uint32_t first_id = probe->next_id;
    *probe = (struct rtt_probe){.active = true,
                                .mtu = mtu,
                                .ip_overhead = ip_overhead,
                                .next_ns = now_ns,
                                .next_id = first_id,
                                .first_id = first_id};
    choose_candidates(probe);
    uint32_t places = RTT_PROBE_ROUNDS * steps(probe);
    probe->end_id = first_id + places;
    probe->interval_ns = duration_ns / places;
    probe->end_ns = now_ns + duration_ns + RTT_PROBE_WAIT_NS;
}

/* Passes over padded probes that an answer has made needless; their time passes all the same. */
static void skip_answered(struct rtt_probe *probe)
{
    while (probe->next_id != probe->end_id) {
        uint32_t bytes = place_bytes(probe, probe->next_id - probe->first_id);
        if (bytes == 0 || bytes > probe->mtu_answered)
            return;
        probe->next_id++;
        probe->next_ns += probe->interval_ns;
    }
    probe->next_ns = TIME_NEVER;
}

/* Everything that can still come would not change the result by much: see RTT_PROBE_WAIT_PADDED_NS. */
static void set_end(struct rtt_probe *probe, uint64_t now_ns)
{
    if (probe->next_ns != TIME_NEVER || probe->answered <= RTT_PROBE_ROUNDS / 2)
        return;
    bool mtu_known = probe->candidate_count == 0 || probe->mtu_answered >= probe->candidates[0];
    bool whole = mtu_known && probe->answered == RTT_PROBE_ROUNDS;
    uint64_t wait_ns = whole ? 0 : 4 * probe->smoothed_ns + RTT_PROBE_WAIT_PADDED_NS;
    probe->end_ns = MIN(probe->end_ns, now_ns + wait_ns);
}

bool rtt_probe_next(struct rtt_probe *probe, uint64_t now_ns, struct wire_probe *message)
{
    if (!probe->active || now_ns < probe->next_ns || now_ns >= probe->end_ns)
        return false;
    uint32_t bytes = place_bytes(probe, probe->next_id - probe->first_id);
    uint32_t padding = bytes == 0 ? 0 : bytes - probe->ip_overhead - (uint32_t)WIRE_PROBE_BYTES;
    *message = (struct wire_probe){.id = probe->next_id, .padding = (uint16_t)padding, .t1_ns = now_ns};
    probe->sent += bytes == 0;
    probe->sent_bits |= 1ULL << (probe->next_id - probe->first_id);
    probe->next_id++;
    probe->next_ns = now_ns + probe->interval_ns;
    probe->end_ns = now_ns + probe->interval_ns * (probe->end_id - probe->next_id) + RTT_PROBE_WAIT_NS;
    skip_answered(probe);
    set_end(probe, now_ns);
    return true;
}

static void take_rtt(struct rtt_probe *probe, uint64_t rtt_ns)
{
    bool first = probe->min_ns == 0;
    rtt_ns = MAX(rtt_ns, (uint64_t)1);
    probe->min_ns = first ? rtt_ns : MIN(probe->min_ns, rtt_ns);
    probe->smoothed_ns = first ? rtt_ns : probe->smoothed_ns - probe->smoothed_ns / 8 + rtt_ns / 8;
}

bool rtt_probe_on_reply(struct rtt_probe *probe, const struct wire_probe *reply, uint32_t datagram_bytes,
                        uint64_t t4_ns)
{
    uint32_t place = reply->id - probe->first_id;
    if (!probe->active || place >= probe->next_id - probe->first_id)
        return false;
    if ((probe->sent_bits >> place & 1) == 0 || (probe->answered_bits >> place & 1) != 0)
        return false;
    if (t4_ns >= probe->end_ns || reply->t3_ns < reply->t2_ns || t4_ns < reply->t1_ns)
        return false;
    if (t4_ns - reply->t1_ns < reply->t3_ns - reply->t2_ns)
        return false;
    uint32_t bytes = place_bytes(probe, place);
    uint32_t sent_bytes = bytes == 0 ? (uint32_t)WIRE_PROBE_BYTES : bytes - probe->ip_overhead;
    if (datagram_bytes != sent_bytes || reply->padding != sent_bytes - WIRE_PROBE_BYTES)
        return false;
    probe->answered_bits |= 1ULL << place;
    probe->answered += bytes == 0;
    probe->mtu_answered = MAX(probe->mtu_answered, sent_bytes + probe->ip_overhead);
    take_rtt(probe, (t4_ns - reply->t1_ns) - (reply->t3_ns - reply->t2_ns));
    if (probe->next_ns != TIME_NEVER)
        skip_answered(probe);
    set_end(probe, t4_ns);
    return true;
}

void rtt_probe_on_standstill(struct rtt_probe *probe, uint64_t gap_ns)
{
    if (!probe->active)
        return;
    if (probe->next_ns != TIME_NEVER)
        probe->next_ns += gap_ns;
    probe->end_ns += gap_ns;
}

uint64_t rtt_probe_next_ns(const struct rtt_probe *probe)
{
    if (!probe->active)
        return TIME_NEVER;
    return MIN(probe->next_ns, probe->end_ns);
}

bool rtt_probe_finished(const struct rtt_probe *probe, uint64_t now_ns)
{
    return probe->active && now_ns >= probe->end_ns;
}
