/* Sessions and liveness of a peer.
 *
 * Timers of a peer, all in ns:
 *   hello_due   every hello interval, at once when its hello does not echo our session; to a peer just lost
 *               HELLO_LOST_NS, later an eighth of the time that it has been down
 *   silence     SILENT_HELLOS of its own intervals, or ours where they are longer, + 1 s without a packet: down, until
 *               it is heard again
 *   probe       while a measurement runs; a first one starts when the peer comes up
 *   watch       one bare probe every hello interval while the peer is up
 *   mtu         one padded probe every thirtieth, where no data shows the same; wider ones where the path is narrow
 *               both less often while data is slow: sparing.h
 *   their own   mail, receiver (acks), sender (tail probes, silence)
 *
 *   offer       of a session to whoever says to be a new start of the peer: at once, and OFFERS - 1 times more,
 *               HELLO_LOST_NS apart at first, then doubling
 *
 * A new incarnation or session in a hello means that the peer lost its state: its edge starts anew under a
 * new session of ours, so that late packets of the old one are refused, and jobs are told. But anybody can
 * send such a hello: while there is state to lose, one that echoes no session of ours only gets one offered,
 * and all stays as it is until a hello of the same sender comes that echoes it. A session of ours that
 * nothing came under yet stays as it is: both sides renewing theirs in answer to each other, while older
 * hellos are on their way, would never agree. */
#include "node/peer/measure.h"
#include "node/peer/peer.h"

#define HELLO_LOST_NS (25 * NS_PER_MS)
#define SILENT_HELLOS 4
#define OFFERS        4

/* What whoever says this hello is offered. Another, to whose address the offer goes in truth, can't take it
 * up by an offer of his own in answer. */
static uint32_t offer_for(const struct peer *peer, const struct wire_hello *hello)
{
    struct rng rng;
    rng_init(&rng, peer->offer_key ^ hello->incarnation);
    rng_init(&rng, rng_next(&rng) ^ hello->session);
    uint32_t high = (uint32_t)(rng_next(&rng) >> 40) << 8;
    return (high != 0 ? high : 1u << 31) | (peer->session_offered & 0xff);
}

/* Control numbers begin anew with it. */
static void set_session_out(struct peer *peer, uint32_t session)
{
    if (session != peer->session_out)
        peer->control_next = 0;
    peer->session_out = session;
}

static void forget_state(struct node *node, struct peer *peer, uint64_t now_ns)
{
    sender_reset(&peer->sender, now_ns);
    receiver_reset(&peer->receiver);
    mail_reset(&peer->mail);
    replay_reset(&peer->replay);
    measure_forget(node, peer->index);
    peer->reply_count = 0;
    peer_end_session(node, &peer->session_in);
    peer->session_in =
        peer->session_offered != 0 ? peer->session_offered : peer_new_session(node, peer->index);
    peer->session_offered = 0;
    peer->offer_due_ns = TIME_NEVER;
    peer->session_used = false;
    node->counters.peers_reset++;
}

static void come_up(struct node *node, struct peer *peer, uint64_t now_ns)
{
    peer->state = PEER_UP;
    misfit_note_up(peer);
    peer->session_used = true;
    peer->down_since_ns = 0;
    digest_add(&node->digest, 0x7570ULL << 32 | peer->index);
    peer_changed(node, peer);
    mtu_watch_on_up(&peer->mtu, now_ns);
    measure_first(node, peer, now_ns);
}

bool session_on_packet(struct node *node, struct peer *peer, uint64_t now_ns)
{
    bool comes_up = peer->state == PEER_DOWN;
    if (comes_up)
        come_up(node, peer, now_ns);
    peer->session_used = true;
    peer->heard_ns = core_lived_ns(node);
    return comes_up;
}

/* The peer of before, if it is still there, does not take the offer up: to it this is a hello with another
 * session that echoes nothing. Nor is it answered here while it is heard: two could go on like that. */
static enum session_meeting offer_session(struct node *node, struct peer *peer,
                                          const struct wire_hello *hello, uint64_t now_ns)
{
    if (hello->incarnation == peer->incarnation && peer->state == PEER_UP)
        return SESSION_REFUSED;
    if (peer->state == PEER_UP)
        misfit_note_rival(peer, hello->incarnation, core_lived_ns(node));
    if (peer->session_offered == 0) {
        peer->session_offered = peer_new_session(node, peer->index);
        peer->offer_key = node->config.seed ^ (uint64_t)peer->session_offered << 32;
    }
    if (peer->offer_due_ns == TIME_NEVER)
        peer->offers_left = OFFERS;
    peer->session_offered = offer_for(peer, hello);
    peer->offered_to = hello->session;
    peer->offer_due_ns = now_ns;
    peer_schedule(node, peer, now_ns);
    return SESSION_UNPROVED;
}

void session_offer_sent(struct peer *peer, uint64_t now_ns)
{
    peer->offers_left--;
    uint64_t wait_ns = HELLO_LOST_NS << (OFFERS - 1 - peer->offers_left);
    peer->offer_due_ns = peer->offers_left == 0 ? TIME_NEVER : now_ns + wait_ns;
}

enum session_meeting session_on_hello(struct node *node, struct peer *peer, const struct wire_hello *hello,
                                      uint64_t now_ns)
{
    bool taken_up = peer->session_offered != 0 && hello->echo_session == offer_for(peer, hello);
    bool proved = taken_up || hello->echo_session == peer->session_in;
    if (!taken_up && hello->incarnation == peer->incarnation && hello->session == peer->session_out)
        return SESSION_MET;
    bool had_state = peer->known && peer->session_used;
    if (had_state && !proved)
        return offer_session(node, peer, hello, now_ns);
    if (taken_up)
        peer->session_offered = hello->echo_session;
    else
        peer_end_session(node, &peer->session_offered);
    peer->known = true;
    misfit_note_start(peer, hello->incarnation);
    peer->incarnation = hello->incarnation;
    set_session_out(peer, hello->session);
    peer->state = PEER_DOWN;
    peer->down_since_ns = core_lived_ns(node);
    peer->hello_due_ns = now_ns;
    if (!had_state && !taken_up)
        return SESSION_MET;
    forget_state(node, peer, now_ns);
    return SESSION_LOST;
}

bool session_take_hello(struct peer *peer, const struct wire_hello *hello, uint32_t number, uint64_t now_ns)
{
    bool is_ours = peer->known && hello->echo_session == peer->session_in &&
                   hello->session == peer->session_out && hello->incarnation == peer->incarnation;
    return !is_ours || replay_take(&peer->replay, replay_expand(&peer->replay, number), now_ns);
}

bool session_greet(struct node *node, struct peer *peer, const struct wire_hello *hello, uint64_t now_ns)
{
    bool echoed = hello->echo_session == peer->session_in;
    /* One that echoes nothing may be an old one that somebody sends again. */
    if (echoed || peer->state == PEER_DOWN)
        peer->heard_ns = core_lived_ns(node);
    misfit_note_greeting(peer, core_lived_ns(node));
    sender_set_window_limit(&peer->sender, hello->window);
    peer->told_interval_ns = (uint64_t)hello->interval_ms * NS_PER_MS;
    uint64_t interval_ns = MAX(peer->told_interval_ns, peer->sparing.port_ns);
    peer->silence_ns = interval_ns * SILENT_HELLOS + NS_PER_S;
    if (!echoed)
        peer->hello_due_ns = now_ns;
    bool comes_up = echoed && peer->state == PEER_DOWN;
    if (comes_up)
        come_up(node, peer, now_ns);
    peer_schedule(node, peer, now_ns);
    return comes_up;
}

void session_renew(struct node *node, struct peer *peer, uint64_t now_ns)
{
    peer_end_session(node, &peer->session_offered);
    peer->state = PEER_DOWN;
    peer->down_since_ns = core_lived_ns(node);
    peer->hello_due_ns = now_ns;
    forget_state(node, peer, now_ns);
    peer_note_control(node, peer);
    peer_schedule(node, peer, now_ns);
}

bool session_on_close(struct node *node, struct peer *peer, const struct wire_close *close, uint64_t now_ns)
{
    if (!peer->known || close->incarnation != peer->incarnation)
        return false;
    peer_end_session(node, &peer->session_offered);
    peer->state = PEER_DOWN;
    peer->down_since_ns = core_lived_ns(node);
    peer->known = false;
    set_session_out(peer, 0);
    peer->incarnation = 0;
    forget_state(node, peer, now_ns);
    peer_changed(node, peer);
    return true;
}

/* A path that was dark comes back any time; its edges wait for the first hello. */
uint64_t session_hello_interval_ns(const struct node *node, struct peer *peer, uint64_t now_ns)
{
    uint64_t data_bytes = peer->sender.counters.sent_bytes + peer->receiver.counters.bytes;
    uint64_t interval_ns = sparing_look(&peer->sparing, data_bytes, node->config.hello_interval_ns,
                                        peer->told_interval_ns, now_ns);
    if (peer->state == PEER_UP || !peer->known)
        return interval_ns;
    uint64_t lost_ns = MAX(elapsed_ns(core_lived_ns(node), peer->down_since_ns) / 8, HELLO_LOST_NS);
    return MIN(interval_ns, lost_ns);
}

bool session_fell_silent(struct node *node, struct peer *peer, uint64_t now_ns)
{
    if (peer->state != PEER_UP || core_lived_ns(node) < later_ns(peer->heard_ns, peer->silence_ns))
        return false;
    peer->state = PEER_DOWN;
    peer->down_since_ns = core_lived_ns(node);
    peer->hello_due_ns = MIN(peer->hello_due_ns, now_ns + HELLO_LOST_NS);
    node->counters.peers_lost++;
    digest_add(&node->digest, 0x646e ^ (uint64_t)peer->index << 32);
    return true;
}

void session_say_farewell(struct node *node, struct peer *peer, enum wire_close_reason reason)
{
    peer->close_due = true;
    peer->close_reason = (uint8_t)reason;
    peer_note_control(node, peer);
}
