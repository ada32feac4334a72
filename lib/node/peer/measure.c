#include "node/peer/measure.h"

#include <string.h>

#include "ctl/job_spec.h"
#include "node/peer/path_table.h"
#include "node/peer/post.h"

#define FIRST_MEASURE_NS (200 * NS_PER_MS)
#define MTU_TRIES_MAX    3 /* measurements in a row without a padded answer, until that is believed */
/* Behind the measurement's own duration: a path that nothing is lost on, and whose RTT can be measured at all. */
#define ASK_PATIENCE_NS (RTT_PROBE_WAIT_NS + RTT_PROBE_SILENCE_NS)

/* In peer->probe_ns: a peer's very first measurement, for which everybody waits. */
#define PROBE_FIRST       1
#define PROBE_FIRST_AGAIN 2

static void start_probe(struct node *node, struct peer *peer, uint64_t duration_ns, uint64_t now_ns)
{
    rtt_probe_start(&peer->probe, node->config.ports[peer->port].mtu,
                    address_overhead_bytes(peer->config->address.family), duration_ns, now_ns);
    peer->probe_ns = now_ns;
    peer_schedule(node, peer, now_ns);
}

void measure_first(struct node *node, struct peer *peer, uint64_t now_ns)
{
    if (peer->rtt_min_ns != 0 || peer->probe.active)
        return;
    bool never = peer->probe_ns == 0;
    start_probe(node, peer, FIRST_MEASURE_NS, now_ns);
    /* Who has asked before waits for it too: else the peer would be missing. */
    if (never)
        peer->probe_ns = PROBE_FIRST;
}

void measure_on_reply(struct node *node, struct peer *peer)
{
    peer->rtt_min_ns = rtt_watch_min_ns(&peer->watch);
    /* An ack of a message is sent at once: half an RTT is for jitter and hosts. */
    mail_set_timeout(&peer->mail, peer->watch.smoothed_ns + peer->watch.smoothed_ns / 2);
    digest_add(&node->digest, peer->rtt_min_ns);
}

/* Of a path that loses much, every padded probe of a size may be lost: what was known is not given up for that at once. */
static bool is_narrower_by_chance(const struct peer *peer)
{
    uint32_t mtu = rtt_probe_path_mtu(&peer->probe);
    return peer->mtu.wider_intervals != 0 && mtu != 0 && mtu < peer->mtu.mtu &&
           peer->probe.answered < RTT_PROBE_ROUNDS && peer->probe_tries == 0;
}

/* A path that was full or dark for that moment would else count as too narrow for any job from then on. Whoever waits
 * for the measurement waits for this one too. */
static bool try_again(struct node *node, struct peer *peer, uint64_t now_ns)
{
    uint64_t begun_ns = peer->probe_ns;
    bool unpadded = rtt_probe_unpadded(&peer->probe) && peer->probe_tries < MTU_TRIES_MAX - 1;
    if (!unpadded && !is_narrower_by_chance(peer))
        return false;
    start_probe(node, peer, FIRST_MEASURE_NS, now_ns);
    peer->probe_ns = begun_ns;
    peer->probe_tries++;
    return true;
}

static void take_rtt(struct node *node, struct peer *peer, uint64_t now_ns)
{
    rtt_watch_take(&peer->watch, peer->probe.smoothed_ns, now_ns);
    rtt_watch_take(&peer->watch, peer->probe.min_ns, now_ns);
    measure_on_reply(node, peer);
    receiver_set_rtt(&peer->receiver, peer->rtt_min_ns);
    /* Sizes the first flight: else a path longer than the default RTT would stall at the start. */
    sender_set_rtt(&peer->sender, peer->rtt_min_ns);
}

/* An RTT counts, whatever else of the path is not known yet. */
static void finish_probe(struct node *node, struct peer *peer, uint64_t now_ns)
{
    bool answered = peer->probe.min_ns != 0;
    peer->probe.active = false;
    if (answered)
        take_rtt(node, peer, now_ns);
    if (answered && try_again(node, peer, now_ns))
        return;
    mtu_watch_give_up(&peer->mtu);
    if (!answered)
        return;
    peer->probe_tries = 0;
    mtu_watch_take(&peer->mtu, rtt_probe_path_mtu(&peer->probe), peer->sparing.interval_ns, now_ns);
}

/* Whoever waits for a proof waits for the measurement that comes of it; else nobody does: a slow path is often quiet. */
static void settle_doubt(struct node *node, struct peer *peer, uint64_t now_ns)
{
    if (peer->probe.active || peer->state != PEER_UP ||
        !mtu_watch_doubts(&peer->mtu, now_ns >= peer_doubt_ns(peer), peer_quiet_ns(peer), now_ns))
        return;
    uint64_t asked_ns = peer->mtu.asked_ns;
    start_probe(node, peer, FIRST_MEASURE_NS, now_ns);
    peer->probe_ns = asked_ns != 0 ? asked_ns : TIME_NEVER;
}

void measure_tick_peer(struct node *node, struct peer *peer, uint64_t now_ns)
{
    if (peer->probe.active && rtt_probe_finished(&peer->probe, now_ns))
        finish_probe(node, peer, now_ns);
    settle_doubt(node, peer, now_ns);
}

static bool is_fresh(const struct peer *peer, uint64_t age_ns, uint64_t now_ns)
{
    return age_ns > 0 && !rtt_probe_narrow(&peer->probe) && rtt_watch_fresh(&peer->watch, age_ns, now_ns);
}

static void prove_mtu(struct node *node, struct peer *peer, uint64_t now_ns)
{
    mtu_watch_ask(&peer->mtu, now_ns);
    peer_schedule(node, peer, now_ns);
}

static uint64_t duration_of(const struct wire_measure *wanted)
{
    return MIN(wanted->duration_ms * NS_PER_MS, JOB_MEASURE_NS_MAX);
}

static void start_measuring(struct node *node, const struct wire_measure *wanted, uint64_t now_ns)
{
    uint64_t duration_ns = duration_of(wanted);
    uint64_t age_ns = wanted->age_ms * NS_PER_MS;
    for (uint16_t index = 0; index < node->peer_count; index++) {
        struct peer *peer = &node->peers[index];
        if (peer->state != PEER_UP)
            continue;
        bool fresh = is_fresh(peer, age_ns, now_ns);
        if (fresh && mtu_watch_fresh(&peer->mtu, age_ns, now_ns))
            continue;
        if (peer->probe.active)
            peer->probe_ns = MIN(peer->probe_ns, now_ns); /* one that nobody has waited for */
        if (fresh && !peer->probe.active) {
            prove_mtu(node, peer, now_ns);
        } else if (!peer->probe.active) {
            start_probe(node, peer, duration_ns, now_ns);
        } else if (age_ns == 0 && peer->probe_ns == PROBE_FIRST) {
            start_probe(node, peer, duration_ns, now_ns); /* as long as wanted, once */
            peer->probe_ns = PROBE_FIRST_AGAIN;
        }
    }
}

static struct measure_asks *asks_of(struct node *node, uint16_t asker)
{
    return asker == PEER_SELF ? &node->measure->own : &node->measure->of_peer[asker];
}

/* It is answered, or not worth an answer. */
static void drop(struct measure_asks *asks, uint16_t place)
{
    asks->count--;
    for (; place < asks->count; place++) {
        asks->jobs[place] = asks->jobs[place + 1];
        asks->asked_ns[place] = asks->asked_ns[place + 1];
        asks->until_ns[place] = asks->until_ns[place + 1];
        asks->peers[place] = asks->peers[place + 1];
    }
}

/* Each measurement sends probes to all peers. */
static bool may_begin(struct measure_asks *asks, uint16_t asker, uint64_t now_ns)
{
    if (asker != PEER_SELF && asks->begun_ns != 0 && now_ns < later_ns(asks->begun_ns, MEASURE_AGAIN_NS))
        return false;
    asks->begun_ns = MAX(now_ns, UINT64_C(1));
    return true;
}

void measure_ask(struct node *node, uint16_t asker, const struct wire_measure *wanted, uint64_t now_ns)
{
    struct measure_asks *asks = asks_of(node, asker);
    for (uint16_t index = 0; index < asks->count; index++)
        if (asks->jobs[index] == wanted->job)
            return;
    if (asks->count == MEASURE_ASKS_MAX) {
        node->counters.messages_refused++;
        drop(asks, 0);
    }
    asks->jobs[asks->count] = wanted->job;
    asks->asked_ns[asks->count] = now_ns;
    uint64_t patience_ns = MIN(ASK_PATIENCE_NS, node->config.measure_timeout_ns / 2);
    asks->until_ns[asks->count] = core_lived_ns(node) + duration_of(wanted) + patience_ns;
    asks->peers[asks->count] = UINT64_MAX;
    asks->count++;
    if (asker != PEER_SELF)
        node->measure->asking_mask |= 1ULL << asker;
    if (may_begin(asks, asker, now_ns))
        start_measuring(node, wanted, now_ns);
    core_schedule(node, now_ns);
}

void measure_wait_for(struct node *node, uint32_t job, uint64_t peers)
{
    struct measure_asks *own = &node->measure->own;
    for (uint16_t place = 0; place < own->count; place++)
        if (own->jobs[place] == job)
            own->peers[place] = peers;
}

bool measure_ask_peer(struct node *node, uint16_t peer, const struct wire_measure *wanted)
{
    if (!post(node, peer, CONTROL_MEASURE, wanted))
        return false;
    node->measure->asked_mask |= 1ULL << peer;
    return true;
}

bool measure_was_asked(const struct node *node, uint16_t peer)
{
    return (node->measure->asked_mask >> peer & 1) != 0;
}

void measure_forget(struct node *node, uint16_t peer)
{
    node->measure->asked_mask &= ~(1ULL << peer);
    node->measure->of_peer[peer].count = 0;
}

static void measured(const struct peer *peer, uint64_t now_ns, struct wire_measured *entry)
{
    memset(entry, 0, sizeof(*entry));
    name_copy(entry->peer.text, sizeof(entry->peer.text), peer->config->name);
    bool known = peer->state == PEER_UP && rtt_watch_fresh(&peer->watch, JOB_MEASURE_AGE_NS_MAX, now_ns);
    entry->rtt_min_us = known ? (uint32_t)MAX(peer->rtt_min_ns / NS_PER_US, 1ULL) : UINT32_MAX;
    entry->rtt_smoothed_us = known ? (uint32_t)(peer->watch.smoothed_ns / NS_PER_US) : UINT32_MAX;
    entry->answered = peer->state == PEER_UP ? peer->probe.answered : 0;
    entry->sent = peer->probe.sent;
    entry->mtu = (uint16_t)mtu_watch_known(&peer->mtu);
}

bool measure_report(const struct node *node, uint32_t job, uint64_t now_ns, uint16_t *next,
                    struct control_measurement *report)
{
    memset(report, 0, sizeof(*report));
    report->fixed.job = job;
    report->fixed.total = node->peer_count;
    report->fixed.up_bps = node->config.ports[0].rate_bps;
    report->fixed.down_bps = node->config.ports[0].down_bps;
    report->fixed.packets_ps = node->config.packets_ps;
    report->fixed.window_bytes = node->config.buffer_bytes;
    report->fixed.leaf = node->config.leaf;
    while (*next < node->peer_count && report->fixed.count < CONTROL_MEASUREMENTS_MAX)
        measured(&node->peers[(*next)++], now_ns, &report->peers[report->fixed.count++]);
    return *next < node->peer_count;
}

void measure_report_available(struct node *node, uint16_t asker, uint64_t now_ns)
{
    struct control_available report = {0};
    for (uint16_t site = 0; site <= node->paths->count; site++) {
        struct wire_available_peer *entry = &report.peers[report.fixed.count];
        bool in = site == node->paths->count, own = in || site == PATH_SITE_SELF;
        if (path_table_available(node->paths, in ? PATH_SITE_ANY : PATH_SITE_SELF, in ? PATH_SITE_SELF : site,
                                 now_ns, entry)) {
            name_copy(entry->peer.text, sizeof(entry->peer.text),
                      own ? node->config.name : node->config.peers[site - 1].name);
            entry->line_in = in;
            entry->high_kbps = entry->high_kbps == 0 ? UINT32_MAX : entry->high_kbps;
            report.fixed.count++;
        }
        if (report.fixed.count == CONTROL_AVAILABLES_MAX || (in && report.fixed.count > 0)) {
            post(node, asker, CONTROL_AVAILABLE, &report);
            report = (struct control_available){0};
        }
    }
}

/* All messages of a report, or none for now. */
static bool report_to(struct node *node, uint16_t asker, uint32_t job, uint64_t now_ns)
{
    if (post_room(node, asker) < node->peer_count / CONTROL_MEASUREMENTS_MAX + 1u)
        return false;
    if (post_has_ample_room(node, asker))
        measure_report_available(node, asker, now_ns);
    struct control_measurement report;
    uint16_t next = 0;
    bool more = true;
    while (more) {
        more = measure_report(node, job, now_ns, &next, &report);
        post(node, asker, CONTROL_MEASUREMENT, &report);
    }
    return true;
}

static void due_by(struct node *node, uint64_t at_ns)
{
    node->measure->next_ns = MIN(node->measure->next_ns, at_ns);
}

/* The ask is still worth waiting for: a measurement, or a proof of the path's MTU, is under way that has begun by
 * then, and there is time left. */
static bool is_waiting(struct node *node, const struct measure_asks *asks, uint16_t place, uint64_t now_ns)
{
    uint64_t asked_ns = asks->asked_ns[place], lived_ns = core_lived_ns(node);
    if (lived_ns >= asks->until_ns[place])
        return false;
    due_by(node, now_ns + (asks->until_ns[place] - lived_ns));
    for (uint64_t left = asks->peers[place]; left != 0; left &= left - 1) {
        uint16_t index = (uint16_t)__builtin_ctzll(left);
        if (index >= node->peer_count)
            break;
        const struct peer *peer = &node->peers[index];
        if (peer->probe.active && peer->probe_ns <= asked_ns)
            return true;
        if (peer->state == PEER_UP && peer->mtu.asked_ns != 0 && peer->mtu.asked_ns <= asked_ns)
            return true;
    }
    return false;
}

static void answer_peer(struct node *node, uint16_t peer, struct measure_asks *asks, uint64_t now_ns)
{
    if (peer_is_lost(node, &node->peers[peer]) || peer_is_deaf(node, &node->peers[peer]))
        asks->count = 0;
    while (asks->count > 0 && !is_waiting(node, asks, 0, now_ns)) {
        if (!report_to(node, peer, asks->jobs[0], now_ns)) {
            due_by(node, now_ns + JOB_TICK_NS);
            return;
        }
        drop(asks, 0);
    }
}

uint16_t measure_tick(struct node *node, uint64_t now_ns, uint32_t own_jobs[MEASURE_ASKS_MAX])
{
    node->measure->next_ns = TIME_NEVER;
    for (uint64_t left = node->measure->asking_mask; left != 0; left &= left - 1) {
        uint16_t peer = (uint16_t)__builtin_ctzll(left);
        answer_peer(node, peer, &node->measure->of_peer[peer], now_ns);
        if (node->measure->of_peer[peer].count == 0)
            node->measure->asking_mask &= ~(1ULL << peer);
    }
    struct measure_asks *own = &node->measure->own;
    uint16_t count = 0;
    for (uint16_t place = own->count; place-- > 0;)
        if (!is_waiting(node, own, place, now_ns)) {
            own_jobs[count++] = own->jobs[place];
            drop(own, place);
        }
    return count;
}
