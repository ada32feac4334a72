#include "probe/mtu_watch.h"

#include "base/units.h"
#include "probe/rtt_probe.h"

#define SIZE_STEP        16 /* of data packets: a full one may be shorter than the path's MTU by less */
#define PROOF_LATE_NS    (100 * NS_PER_MS)
#define DOUBT_GAP_NS     NS_PER_S
#define DOUBT_GAP_NS_MAX (16 * NS_PER_S)

/* Larger sizes than the path's that the port can send: the one in turn; 0: there is none. */
static uint32_t wider_bytes(const struct mtu_watch *watch, uint32_t turn)
{
    uint32_t sizes[RTT_PROBE_CANDIDATES_MAX], count = 0;
    if (watch->port_mtu > watch->mtu)
        sizes[count++] = watch->port_mtu;
    for (unsigned place = 0; rtt_probe_mtus[place] != 0; place++)
        if (rtt_probe_mtus[place] > watch->mtu && rtt_probe_mtus[place] < watch->port_mtu)
            sizes[count++] = rtt_probe_mtus[place];
    return count == 0 ? 0 : sizes[turn % count];
}

static void set_mtu(struct mtu_watch *watch, uint32_t mtu, uint64_t now_ns)
{
    watch->mtu = mtu;
    watch->known = true;
    watch->proven_ns = now_ns;
    watch->tries = 0;
    watch->unproven = false;
    watch->lost = 0;
    watch->asked_ns = 0;
}

static void plan_wider(struct mtu_watch *watch, uint64_t interval_ns, uint64_t now_ns)
{
    bool wider = wider_bytes(watch, 0) != 0;
    watch->wider_ns = wider ? now_ns + watch->wider_intervals * interval_ns : TIME_NEVER;
}

void mtu_watch_init(struct mtu_watch *watch, uint32_t port_mtu, uint32_t ip_overhead)
{
    *watch = (struct mtu_watch){.port_mtu = port_mtu,
                                .ip_overhead = ip_overhead,
                                .mtu = port_mtu,
                                .proof_ns = TIME_NEVER,
                                .wider_ns = TIME_NEVER,
                                .doubt_gap_ns = DOUBT_GAP_NS};
}

void mtu_watch_on_up(struct mtu_watch *watch, uint64_t now_ns)
{
    watch->tries = 0;
    watch->lost = 0;
    if (watch->proven_ns == 0)
        return; /* a measurement begins, too */
    watch->proven_ns = 0;
    watch->proof_ns = now_ns;
}

void mtu_watch_take(struct mtu_watch *watch, uint32_t mtu, uint64_t interval_ns, uint64_t now_ns)
{
    if (mtu == 0) {
        watch->known = false;
        return;
    }
    bool other = mtu != watch->mtu || watch->wider_intervals == 0;
    set_mtu(watch, mtu, now_ns);
    watch->proof_ns = now_ns + MTU_WATCH_PROOF * interval_ns;
    if (other)
        watch->wider_intervals = MTU_WATCH_WIDER_LEAST;
    plan_wider(watch, interval_ns, now_ns);
}

void mtu_watch_ask(struct mtu_watch *watch, uint64_t now_ns)
{
    if (watch->asked_ns != 0)
        return;
    watch->asked_ns = now_ns;
    watch->proven_ns = 0;
    watch->proof_ns = now_ns;
    watch->tries = 0;
}

void mtu_watch_give_up(struct mtu_watch *watch)
{
    watch->asked_ns = 0;
}

static void make_probe(struct mtu_watch *watch, uint32_t ip_bytes, uint64_t now_ns,
                       struct wire_probe *message)
{
    uint32_t padding = ip_bytes - MIN(ip_bytes, watch->ip_overhead + (uint32_t)WIRE_PROBE_BYTES);
    watch->sent[watch->next_id % MTU_WATCH_SENT] = (uint16_t)ip_bytes;
    *message = (struct wire_probe){
        .id = watch->next_id++ | MTU_WATCH_ID_BIT, .padding = (uint16_t)padding, .t1_ns = now_ns};
}

/* Proven by data or by an answer since; or not at all, often enough: then what doubts have to wait for is over. */
static bool proof_is_needed(struct mtu_watch *watch, uint64_t interval_ns, uint64_t now_ns)
{
    uint64_t proven_until_ns = watch->proven_ns + MTU_WATCH_PROOF * interval_ns;
    if (watch->proven_ns != 0 && now_ns < proven_until_ns) {
        watch->proof_ns = proven_until_ns;
        watch->tries = 0;
        return false;
    }
    if (watch->tries < MTU_WATCH_TRIES)
        return true;
    watch->proof_ns = now_ns + MTU_WATCH_PROOF * interval_ns;
    watch->unproven = true;
    watch->tries = 0;
    return false;
}

bool mtu_watch_next(struct mtu_watch *watch, uint64_t interval_ns, uint64_t rtt_ns, uint64_t now_ns,
                    struct wire_probe *message)
{
    if (now_ns >= watch->proof_ns && proof_is_needed(watch, interval_ns, now_ns)) {
        watch->tries++;
        watch->proof_ns = now_ns + 2 * rtt_ns + PROOF_LATE_NS;
        make_probe(watch, watch->mtu, now_ns, message);
        return true;
    }
    if (now_ns < watch->wider_ns)
        return false;
    uint32_t ip_bytes = wider_bytes(watch, watch->wider_turn++);
    watch->wider_intervals =
        (uint16_t)MIN(watch->wider_intervals + watch->wider_intervals / 2, MTU_WATCH_WIDER_MOST);
    plan_wider(watch, interval_ns, now_ns);
    if (ip_bytes != 0)
        make_probe(watch, ip_bytes, now_ns, message);
    return ip_bytes != 0;
}

uint64_t mtu_watch_next_ns(const struct mtu_watch *watch)
{
    return MIN(watch->proof_ns, watch->wider_ns);
}

bool mtu_watch_on_reply(struct mtu_watch *watch, const struct wire_probe *reply, uint32_t datagram_bytes,
                        uint64_t now_ns)
{
    uint32_t back = watch->next_id - 1 - (reply->id & ~MTU_WATCH_ID_BIT);
    uint32_t ip_bytes = datagram_bytes + watch->ip_overhead;
    if ((reply->id & (MTU_WATCH_ID_BIT | MTU_WATCH_ID_BIT << 1)) != MTU_WATCH_ID_BIT ||
        back >= MIN(watch->next_id, (uint32_t)MTU_WATCH_SENT))
        return false;
    uint16_t *sent = &watch->sent[(watch->next_id - 1 - back) % MTU_WATCH_SENT];
    if (*sent == 0 || *sent != ip_bytes)
        return false;
    *sent = 0;
    if (ip_bytes >= watch->mtu)
        set_mtu(watch, ip_bytes, now_ns);
    return true;
}

void mtu_watch_on_acked(struct mtu_watch *watch, uint32_t ip_bytes, uint64_t now_ns)
{
    if (ip_bytes >= watch->lost_bytes)
        watch->lost = 0;
    if (ip_bytes + SIZE_STEP <= watch->mtu)
        return;
    watch->known = true;
    watch->proven_ns = now_ns;
    watch->asked_ns = 0;
    watch->doubt_gap_ns = DOUBT_GAP_NS;
}

void mtu_watch_on_lost(struct mtu_watch *watch, uint32_t ip_bytes, uint64_t now_ns)
{
    watch->lost_bytes = watch->lost == 0 ? ip_bytes : MIN(watch->lost_bytes, ip_bytes);
    watch->lost_ns = watch->lost == 0 ? now_ns : watch->lost_ns;
    watch->lost += watch->lost < MTU_WATCH_LOST;
}

bool mtu_watch_doubts(struct mtu_watch *watch, bool quiet, uint64_t wait_ns, uint64_t now_ns)
{
    bool lost = watch->lost >= MTU_WATCH_LOST && elapsed_ns(now_ns, watch->lost_ns) >= wait_ns;
    bool asked = watch->asked_ns != 0 && watch->unproven;
    if ((!quiet && !lost && !watch->unproven) || (now_ns < watch->doubt_from_ns && !asked))
        return false;
    watch->lost = 0;
    watch->unproven = false;
    watch->doubt_from_ns = now_ns + watch->doubt_gap_ns;
    watch->doubt_gap_ns = MIN(2 * watch->doubt_gap_ns, DOUBT_GAP_NS_MAX);
    return true;
}

uint32_t mtu_watch_known(const struct mtu_watch *watch)
{
    return watch->known ? watch->mtu : 0;
}

bool mtu_watch_fresh(const struct mtu_watch *watch, uint64_t age_ns, uint64_t now_ns)
{
    return watch->proven_ns != 0 && elapsed_ns(now_ns, watch->proven_ns) <= age_ns;
}
