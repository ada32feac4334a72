#include "node/train/ends.h"

#include "node/peer/path_table.h"
#include "node/train/out.h"

#define AGAIN_NS    (20 * NS_PER_MS)  /* behind one that failed; up to twice as long, by chance */
#define AWAY_NS     (500 * NS_PER_US) /* without a turn of the receiver */
#define GIVE_UP_NS  NS_PER_S          /* who does not take one for so long is not waited for */
#define TRY_ANEW_NS (10 * NS_PER_S)   /* behind the last one of all tries */

bool ends_wanted(const struct ends *ends, bool again, uint64_t now_ns)
{
    bool known = ends->known_ns != 0 && !(again && elapsed_ns(now_ns, ends->known_ns) >= ENDS_AGE_NS);
    bool tired = ends->tries >= ENDS_TRIES && elapsed_ns(now_ns, ends->tried_ns) < TRY_ANEW_NS;
    return !known && !tired;
}

/* Rate at which the trains of a measurement come in at most. */
static uint64_t top_bps(const struct node *node, const struct peer *peer)
{
    uint64_t port_bps = node->config.ports[peer->port].rate_bps;
    uint64_t down_bps = path_table_site(node->paths, peer->index + 1u)->down_bps;
    return down_bps != 0 ? MIN(down_bps, port_bps) : port_bps;
}

bool ends_send(struct node *node, const struct peer *peer, struct ends *ends, uint16_t flags, uint64_t now_ns)
{
    const struct node_port_config *port = &node->config.ports[peer->port];
    struct train_shape shape;
    if (ends->tries >= ENDS_TRIES)
        ends->tries = 0;
    ends->tries++;
    ends->tried_ns = now_ns;
    self_test_shape(&shape, port->rate_bps, top_bps(node, peer),
                    MIN(peer->mtu.mtu, port->mtu) + WIRE_OVERHEAD_BYTES);
    return train_out_begin(node, peer, &shape, flags, now_ns, now_ns);
}

static void again(struct node *node, struct ends *ends, uint64_t wait_ns, uint64_t now_ns)
{
    ends->hold_ns = now_ns + MAX(wait_ns, AGAIN_NS + rng_below(&node->rng, AGAIN_NS));
}

void ends_take(struct node *node, const struct peer *peer, struct ends *ends,
               const struct train_record *record, uint64_t now_ns)
{
    struct self_test test;
    if (!self_test_read(&test, record, top_bps(node, peer))) {
        again(node, ends, 0, now_ns);
        return;
    }
    if (test.swallowed && test.receiver.gap_ns > AWAY_NS && ends->tries >= ENDS_TRIES)
        test.receiver.batch = 1; /* away at each try: no batch of its own making */
    if (!ends->seen || !test.swallowed || test.receiver.batch < ends->test.receiver.batch)
        ends->test = test;
    ends->seen = true;
    if (test.swallowed && ends->tries < ENDS_TRIES) {
        again(node, ends, 0, now_ns);
        return;
    }
    ends->known_ns = now_ns;
    ends->tries = 0;
}

void ends_miss(struct node *node, struct ends *ends, uint64_t wait_ns, uint64_t now_ns)
{
    if (wait_ns >= GIVE_UP_NS)
        ends->tries = ENDS_TRIES;
    again(node, ends, MIN(wait_ns, GIVE_UP_NS), now_ns);
}

void ends_forget(struct ends *ends)
{
    *ends = (struct ends){0};
}
