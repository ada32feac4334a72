/* Ids are places in the list of what was sent (`steps`), which tells the size that an answer must have. */
#include "probe/rtt_probe.h"

#include "base/units.h"

const uint16_t rtt_probe_mtus[] = {9000, 1500, 1400, 1280, 0};

_Static_assert(sizeof(rtt_probe_mtus) / sizeof(rtt_probe_mtus[0]) <= RTT_PROBE_CANDIDATES_MAX,
               "the port's own MTU and the table fit the candidates");
_Static_assert(RTT_PROBE_PLACES <= 64, "one bit per probe");

/* The IP packet size of the probe at this place; 0: bare. */
static uint32_t place_bytes(const struct rtt_probe *probe, uint32_t place)
{
    uint32_t step = probe->steps[place];
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
                                .interval_ns = duration_ns / RTT_PROBE_ROUNDS,
                                .bare_ns = now_ns,
                                .padded_end_ns = now_ns + duration_ns + RTT_PROBE_WAIT_NS,
                                .next_id = first_id,
                                .first_id = first_id};
    choose_candidates(probe);
    probe->padded_ns = probe->candidate_count == 0 ? TIME_NEVER : now_ns + probe->interval_ns / 2;
    probe->end_ns = probe->padded_end_ns;
}

static bool padded_answered(const struct rtt_probe *probe)
{
    return probe->mtu_answered > WIRE_PROBE_BYTES + probe->ip_overhead;
}

static bool mtu_is_known(const struct rtt_probe *probe)
{
    return probe->candidate_count == 0 || probe->mtu_answered >= probe->candidates[0];
}

/* A size that does not come back although all else does is too long for the path; the less comes back, the less
 * that says. */
static uint32_t tries_wanted(const struct rtt_probe *probe)
{
    uint32_t missing = (uint32_t)(probe->sent - probe->answered);
    return MIN(RTT_PROBE_TRIES_LEAST + missing, (uint32_t)RTT_PROBE_TRIES_MAX);
}

/* Until what was sent then counts as lost. */
static uint64_t overdue_ns(const struct rtt_probe *probe, uint64_t sent_ns)
{
    return sent_ns + probe->round_ns + probe->round_ns / 4 + RTT_PROBE_LATE_NS;
}

static uint32_t candidate_of(const struct rtt_probe *probe)
{
    return probe->smallest_first ? probe->candidate_count - 1u - probe->candidate : probe->candidate;
}

/* The round of padded probes that has begun goes on. The first is of the port's own size alone. */
static bool round_goes_on(const struct rtt_probe *probe)
{
    return probe->tries > 1 && probe->candidate < probe->candidate_count &&
           probe->candidates[candidate_of(probe)] > probe->mtu_answered;
}

/* Before anything has come back there is no second round, since what is overdue is not known. */
static void plan_padded(struct rtt_probe *probe, uint64_t now_ns)
{
    if (mtu_is_known(probe))
        probe->padded_ns = TIME_NEVER;
    else if (round_goes_on(probe))
        probe->padded_ns = MIN(probe->padded_ns, now_ns + probe->interval_ns / 4);
    else if (probe->tries > 0 && (probe->min_ns == 0 || probe->tries >= tries_wanted(probe)))
        probe->padded_ns = TIME_NEVER;
    else if (probe->tries > 0)
        probe->padded_ns = MAX(now_ns, overdue_ns(probe, probe->padded_sent_ns));
    if (probe->tries > 0 && probe->padded_ns >= probe->padded_end_ns)
        probe->padded_ns = TIME_NEVER;
}

/* When what is missing would not change the result any more. */
static void plan_end(struct rtt_probe *probe, uint64_t now_ns)
{
    uint64_t last_ns = probe->bare_ns != TIME_NEVER ? probe->bare_ns : probe->bare_sent_ns;
    bool all_sent = probe->bare_ns == TIME_NEVER && probe->padded_ns == TIME_NEVER;
    if (!all_sent || probe->min_ns == 0) {
        uint64_t padded_ns = probe->padded_ns != TIME_NEVER ? probe->padded_ns : 0;
        uint64_t left_ns = probe->interval_ns * (uint64_t)(RTT_PROBE_ROUNDS - probe->sent);
        probe->end_ns = MAX(last_ns + left_ns, padded_ns) + RTT_PROBE_SILENCE_NS;
        return;
    }
    uint64_t end_ns = overdue_ns(probe, last_ns);
    if (mtu_is_known(probe) && probe->answered == RTT_PROBE_ROUNDS)
        end_ns = now_ns;
    else if (!mtu_is_known(probe))
        end_ns = MAX(end_ns, overdue_ns(probe, probe->padded_sent_ns));
    probe->end_ns = MAX(now_ns, end_ns);
}

static uint32_t take_bare(struct rtt_probe *probe, uint64_t now_ns)
{
    probe->sent++;
    probe->bare_sent_ns = now_ns;
    probe->bare_ns = probe->sent == RTT_PROBE_ROUNDS ? TIME_NEVER : now_ns + probe->interval_ns;
    return 0;
}

/* Returns 1 + the candidate. */
static uint32_t take_padded(struct rtt_probe *probe, uint64_t now_ns)
{
    if (!round_goes_on(probe)) {
        probe->tries++;
        probe->candidate = 0;
        probe->smallest_first = probe->tries > 1 && probe->tries % 2 == 1 && !padded_answered(probe);
    }
    uint32_t candidate = candidate_of(probe);
    probe->candidate++;
    probe->padded_sent_ns = now_ns;
    probe->padded_ns = TIME_NEVER;
    return 1 + candidate;
}

bool rtt_probe_next(struct rtt_probe *probe, uint64_t now_ns, struct wire_probe *message)
{
    if (!probe->active || now_ns >= probe->end_ns)
        return false;
    if (now_ns < probe->bare_ns && now_ns < probe->padded_ns)
        return false;
    uint32_t place = probe->next_id - probe->first_id;
    uint32_t step = now_ns >= probe->bare_ns ? take_bare(probe, now_ns) : take_padded(probe, now_ns);
    probe->steps[place] = (uint8_t)step;
    uint32_t bytes = place_bytes(probe, place);
    uint32_t padding = bytes == 0 ? 0 : bytes - probe->ip_overhead - (uint32_t)WIRE_PROBE_BYTES;
    *message = (struct wire_probe){.id = probe->next_id++, .padding = (uint16_t)padding, .t1_ns = now_ns};
    plan_padded(probe, now_ns);
    plan_end(probe, now_ns);
    return true;
}

static void take_rtt(struct rtt_probe *probe, uint64_t rtt_ns, uint64_t round_ns)
{
    bool first = probe->min_ns == 0;
    probe->round_ns = first ? round_ns : probe->round_ns - probe->round_ns / 8 + round_ns / 8;
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
    if ((probe->answered_bits >> place & 1) != 0)
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
    uint64_t round_ns = t4_ns - reply->t1_ns;
    take_rtt(probe, round_ns - (reply->t3_ns - reply->t2_ns), round_ns);
    plan_padded(probe, t4_ns);
    plan_end(probe, t4_ns);
    return true;
}

void rtt_probe_on_standstill(struct rtt_probe *probe, uint64_t gap_ns)
{
    if (!probe->active)
        return;
    probe->bare_ns = probe->bare_ns == TIME_NEVER ? TIME_NEVER : probe->bare_ns + gap_ns;
    probe->padded_ns = probe->padded_ns == TIME_NEVER ? TIME_NEVER : probe->padded_ns + gap_ns;
    probe->bare_sent_ns += gap_ns;
    probe->padded_sent_ns += gap_ns;
    probe->padded_end_ns += gap_ns;
    probe->end_ns += gap_ns;
}

uint32_t rtt_probe_path_mtu(const struct rtt_probe *probe)
{
    bool tried = probe->answered > RTT_PROBE_ROUNDS / 2 && probe->tries >= tries_wanted(probe);
    return padded_answered(probe) || tried ? probe->mtu_answered : 0;
}

uint64_t rtt_probe_next_ns(const struct rtt_probe *probe)
{
    if (!probe->active)
        return TIME_NEVER;
    uint64_t send_ns = MIN(probe->bare_ns, probe->padded_ns);
    return MIN(send_ns, probe->end_ns);
}

bool rtt_probe_narrow(const struct rtt_probe *probe)
{
    uint32_t bare_bytes = (uint32_t)WIRE_PROBE_BYTES + probe->ip_overhead;
    return probe->candidate_count > 0 && rtt_probe_path_mtu(probe) == bare_bytes;
}

bool rtt_probe_unpadded(const struct rtt_probe *probe)
{
    return probe->candidate_count > 0 && probe->min_ns != 0 && !padded_answered(probe);
}

bool rtt_probe_finished(const struct rtt_probe *probe, uint64_t now_ns)
{
    return probe->active && now_ns >= probe->end_ns;
}
