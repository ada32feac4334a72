/* Sessions begin and end; liveness of a peer.
 *
 * Timers of a peer, all in ns:
 *   hello_due   every hello interval; at once when a session is taken up; to a peer just lost, or that has not shown yet that
 *               it knows the session, HELLO_LOST_NS, later an eighth of the time that it has been so
 *   initiation  while there is no session, or the peer is down: session_shake.c
 *   silence     SILENT_HELLOS of its own intervals, or ours where they are longer, + 1 s without a packet: down, until
 *               it is heard again
 *   probe       while a measurement runs; a first one starts when the peer comes up
 *   watch       one bare probe every hello interval while the peer is up
 *   mtu         one padded probe every thirtieth, where no data shows the same; wider ones where the path is narrow
 *               both less often while data is slow: sparing.h
 *   their own   mail, receiver (acks), sender (tail probes, silence) */
#include "node/peer/session.h"

#include <string.h>

#include "node/peer/measure.h"
#include "node/peer/peer.h"
#include "seal/wipe.h"

#define HELLO_LOST_NS (25 * NS_PER_MS)
#define FIRST_NS      (25 * NS_PER_MS) /* the first initiation leaves within it */
#define SILENT_HELLOS 4
/* Who has not shown himself under a session by then is another one, or dead. */
#define TENTATIVE_NS_MAX (10 * NS_PER_S)

size_t sessions_bytes(void)
{
    return arena_need((SESSIONS_USED + SESSIONS_TENTATIVE) * sizeof(struct session_keys)) +
           SESSIONS_USED * replay_bytes();
}

void sessions_init(struct node *node, struct peer *peer, struct arena *arena, uint64_t now_ns)
{
    struct sessions *sessions = &peer->sessions;
    const struct primitives *primitives = node->config.primitives;
    sessions->keys = arena_alloc(arena, (SESSIONS_USED + SESSIONS_TENTATIVE) * sizeof(struct session_keys));
    for (unsigned place = 0; place < SESSIONS_USED + SESSIONS_TENTATIVE; place++)
        session_keys_init(&sessions->keys[place], primitives);
    for (unsigned place = 0; place < SESSIONS_USED; place++)
        replay_init(&sessions->replay[place], arena);
    sessions->bond_count = peer->config->key_count;
    for (unsigned key = 0; key < sessions->bond_count; key++)
        CHECK(
            bond_make(&sessions->bonds[key], primitives, &node->config.key, peer->config->public_keys[key]));
    sessions->initiation_due_ns = now_ns + rng_below(&node->rng, FIRST_NS + 1);
    sessions->keys_due_ns = TIME_NEVER;
    peer_schedule(node, peer, now_ns);
}

/* Of all peers, with one that is just being made: so one is always free. */
_Static_assert(NODE_PEERS_MAX *(SESSIONS_USED + SESSIONS_TENTATIVE + 2) < NODE_SESSIONS,
               "the table takes all sessions");

uint32_t session_new(struct node *node, const struct peer *peer)
{
    uint32_t drawn;
    core_draw(node, &drawn, sizeof(drawn));
    uint32_t low = drawn % NODE_SESSIONS;
    while (node->session_peer[low] != UINT8_MAX)
        low = (low + 1) % NODE_SESSIONS;
    node->session_peer[low] = (uint8_t)peer->index;
    uint32_t session = drawn / NODE_SESSIONS * NODE_SESSIONS + low;
    return session != 0 ? session : 1u << 31;
}

void session_end(struct node *node, uint32_t *session)
{
    if (*session != 0)
        node->session_peer[*session % NODE_SESSIONS] = UINT8_MAX;
    *session = 0;
}

struct peer *session_peer(const struct node *node, uint32_t session)
{
    uint8_t index = node->session_peer[session % NODE_SESSIONS];
    return index != UINT8_MAX ? &node->peers[index] : NULL;
}

/* ---- beginning and end ---- */

void session_forget_initiation(struct node *node, struct peer *peer)
{
    session_end(node, &peer->sessions.initiation.session);
    noise_wipe(&peer->sessions.initiation.noise);
}

void session_forget(struct node *node, struct peer *peer, unsigned place)
{
    struct sessions *sessions = &peer->sessions;
    if (sessions->used[place].in == 0)
        return;
    session_end(node, &sessions->used[place].in);
    session_keys_forget(&sessions->keys[place]);
}

void session_forget_tentative(struct node *node, struct peer *peer, unsigned index)
{
    struct tentative *tentative = &peer->sessions.tentative[index];
    if (tentative->session.in == 0)
        return;
    session_end(node, &tentative->session.in);
    wipe(tentative, sizeof(*tentative));
    session_keys_forget(&peer->sessions.keys[SESSIONS_USED + index]);
}

void session_expire_tentative(struct node *node, struct peer *peer)
{
    for (unsigned index = 0; index < SESSIONS_TENTATIVE; index++)
        if (elapsed_ns(node->now_ns, peer->sessions.tentative[index].session.made_ns) > TENTATIVE_NS_MAX)
            session_forget_tentative(node, peer, index);
}

/* The edge between the two begins anew. */
static void forget_state(struct node *node, struct peer *peer, uint64_t now_ns)
{
    struct sessions *sessions = &peer->sessions;
    sender_reset(&peer->sender, now_ns);
    receiver_reset(&peer->receiver);
    mail_reset(&peer->mail);
    measure_forget(node, peer->index);
    peer->reply_count = 0;
    for (unsigned place = 0; place < SESSIONS_USED; place++)
        session_forget(node, peer, place);
    CHECK(!peer_is_known(peer)); /* numbers that begin anew come with new keys */
    peer->close_due = false;
    sessions->edge = 0;
    node->counters.peers_reset++;
}

static void come_up(struct node *node, struct peer *peer, uint64_t now_ns)
{
    peer->state = PEER_UP;
    misfit_note_up(peer);
    peer->down_since_ns = 0;
    peer->sessions.initiation_due_ns = TIME_NEVER;
    peer->sessions.keys_due_ns = now_ns;
    session_forget_initiation(node, peer);
    digest_add(&node->digest, 0x7570ULL << 32 | peer->index);
    peer_changed(node, peer);
    mtu_watch_on_up(&peer->mtu, now_ns);
    measure_first(node, peer, now_ns);
}

/* It shows itself no more: whoever has lost the other calls for him. */
static void go_down(struct node *node, struct peer *peer, uint64_t again_ns)
{
    peer->state = PEER_DOWN;
    peer->down_since_ns = core_lived_ns(node);
    peer->sessions.initiation_due_ns = again_ns;
    peer->sessions.initiations = 0;
    peer->hello_due_ns = peer_is_known(peer) ? MIN(peer->hello_due_ns, again_ns) : TIME_NEVER;
    peer_schedule(node, peer, again_ns);
}

bool session_goes_first(const struct node *node, const struct peer *peer)
{
    return strcmp(node->config.name, peer->config->name) < 0;
}

/* Both began at once, and the session in use is the one that both keep: that of the smaller name. */
static bool is_left(const struct node *node, struct peer *peer, const struct session *made)
{
    const struct session *current = peer_session(peer);
    bool crossed = current->in != 0 && current->initiated != made->initiated &&
                   made->made_ns < current->taken_ns &&
                   current->greeting.incarnation == made->greeting.incarnation;
    return crossed && current->initiated == session_goes_first(node, peer);
}

/* Those that were offered before it, or by another start of the peer, are of no use any more; but where the peer goes first, what
 * it began may still cross what this node has begun. */
static void end_others(struct node *node, struct peer *peer, const struct session *made)
{
    bool may_cross = made->initiated && !session_goes_first(node, peer);
    for (unsigned index = 0; index < SESSIONS_TENTATIVE; index++) {
        const struct session *other = &peer->sessions.tentative[index].session;
        bool older = other->made_ns <= made->made_ns && !may_cross;
        if (other->in != 0 && (older || other->greeting.incarnation != made->greeting.incarnation))
            session_forget_tentative(node, peer, index);
    }
    session_forget_initiation(node, peer);
}

/* Nor does the peer wait for any that it began before: what it may still say under one of those is what it said first. */
void session_prove(struct node *node, struct peer *peer, struct session *session)
{
    if (session->proved)
        return;
    session->proved = true;
    session->proved_ns = node->now_ns;
    peer->sessions.keys_due_ns = node->now_ns;
    for (unsigned index = 0; index < SESSIONS_TENTATIVE; index++)
        if (peer->sessions.tentative[index].session.made_ns <= session->taken_ns)
            session_forget_tentative(node, peer, index);
}

uint64_t session_edge(uint64_t own, uint64_t told, const struct session_secrets *secrets)
{
    return own != 0 && own == told ? own : secrets->name | 1;
}

/* The edge that its greetings spoke of is no more: one of the two has begun anew since. */
static bool is_of_the_past(const struct sessions *sessions, const struct session *made,
                           const struct session_secrets *secrets)
{
    return made->edge != sessions->edge && made->edge != session_edge(0, 0, secrets);
}

static void take_greeting(struct peer *peer, const struct wire_greeting *greeting)
{
    sender_set_window_limit(&peer->sender, greeting->window);
    peer->told_interval_ns = (uint64_t)greeting->interval_ms * NS_PER_MS;
    peer->silence_ns = MAX(peer->told_interval_ns, peer->sparing.port_ns) * SILENT_HELLOS + NS_PER_S;
}

unsigned session_take_up(struct node *node, struct peer *peer, const struct session *made,
                         const struct session_secrets *secrets, uint64_t now_ns)
{
    struct sessions *sessions = &peer->sessions;
    struct session taken = *made;
    if (is_left(node, peer, made) || is_of_the_past(sessions, made, secrets)) {
        session_end(node, &taken.in);
        return 0;
    }
    bool lost = sessions->edge != 0 && sessions->edge != made->edge;
    if (lost)
        forget_state(node, peer, now_ns);
    CHECK((sessions->edge == 0 || sessions->edge == made->edge) && made->control_next == 0);
    end_others(node, peer, made);
    sessions->edge = made->edge;
    unsigned place = peer_is_known(peer) ? !sessions->current : sessions->current;
    session_forget(node, peer, place);
    sessions->initiation_due_ns = TIME_NEVER;
    taken.taken_ns = taken.proved_ns = now_ns;
    taken.proved = !made->initiated;
    taken.course = (struct key_course){
        .updated_ns = now_ns, .opened_ns = now_ns, .from = {[SEAL_DATA] = peer->sender.next_number}};
    sessions->keys_due_ns = now_ns;
    sessions->used[place] = taken;
    sessions->current = (uint8_t)place;
    session_keys_set(&sessions->keys[place], secrets);
    replay_reset(&sessions->replay[place]);
    misfit_note_start(peer, taken.greeting.incarnation);
    peer->incarnation = taken.greeting.incarnation;
    take_greeting(peer, &taken.greeting);
    peer->hello_due_ns = now_ns;
    if (lost)
        peer->state = PEER_DOWN;
    return (lost ? SESSION_LOST : 0) | (session_on_packet(node, peer, now_ns) ? SESSION_CAME_UP : 0);
}

void session_renew(struct node *node, struct peer *peer, uint64_t now_ns)
{
    forget_state(node, peer, now_ns);
    go_down(node, peer, now_ns);
    peer_note_control(node, peer);
}

void session_replace(struct node *node, struct peer *peer, uint64_t now_ns)
{
    for (unsigned place = 0; place < SESSIONS_USED; place++)
        session_forget(node, peer, place);
    peer->close_due = false;
    go_down(node, peer, now_ns);
    peer_note_control(node, peer);
}

void session_revoke(struct node *node, struct peer *peer, uint64_t now_ns)
{
    forget_state(node, peer, now_ns);
    session_forget_initiation(node, peer);
    go_down(node, peer, TIME_NEVER);
    peer_changed(node, peer);
}

void session_on_close(struct node *node, struct peer *peer, uint64_t now_ns)
{
    forget_state(node, peer, now_ns);
    go_down(node, peer, now_ns + node->config.hello_interval_ns);
    peer_changed(node, peer);
}

/* ---- liveness ---- */

bool session_on_packet(struct node *node, struct peer *peer, uint64_t now_ns)
{
    bool comes_up = peer->state == PEER_DOWN;
    if (comes_up)
        come_up(node, peer, now_ns);
    peer->heard_ns = core_lived_ns(node);
    peer_schedule(node, peer, now_ns);
    return comes_up;
}

void session_on_hello(struct node *node, struct peer *peer, const struct wire_hello *hello, uint64_t now_ns)
{
    peer->told_interval_ns = (uint64_t)hello->interval_ms * NS_PER_MS;
    uint64_t interval_ns = MAX(peer->told_interval_ns, peer->sparing.port_ns);
    peer->silence_ns = interval_ns * SILENT_HELLOS + NS_PER_S;
    misfit_note_greeting(peer, core_lived_ns(node));
    peer_schedule(node, peer, now_ns);
}

/* A path that was dark comes back any time; its edges wait for the first hello. */
uint64_t session_hello_interval_ns(const struct node *node, struct peer *peer, uint64_t now_ns)
{
    uint64_t data_bytes = peer->sender.counters.sent_bytes + peer->receiver.counters.bytes;
    uint64_t interval_ns = sparing_look(&peer->sparing, data_bytes, node->config.hello_interval_ns,
                                        peer->told_interval_ns, now_ns);
    const struct session *session = peer_session(peer);
    if (peer->state == PEER_UP && session->proved)
        return interval_ns;
    uint64_t since_ns = peer->state == PEER_UP ? elapsed_ns(now_ns, session->taken_ns)
                                               : elapsed_ns(core_lived_ns(node), peer->down_since_ns);
    return MIN(interval_ns, MAX(since_ns / 8, HELLO_LOST_NS));
}

bool session_fell_silent(struct node *node, struct peer *peer, uint64_t now_ns)
{
    if (peer->state != PEER_UP || core_lived_ns(node) < later_ns(peer->heard_ns, peer->silence_ns))
        return false;
    go_down(node, peer, now_ns + HELLO_LOST_NS);
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
