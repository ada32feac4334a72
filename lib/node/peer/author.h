/* Whose key has made an initiation that came from a peer's address and fits none of the peer's keys: found out seldom, and
 * only so that people are told (misfit.h).
 *
 * Whoever sends under that address may name any key as its own. So a site is named only where the handshake also proves that
 * its author, or the author of what it is a copy of, has that site's private key. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

struct node;
struct peer;

/* It costs as much as a handshake, and is to be paid as one; more seldom than AUTHOR_NS it is not due. What needs nothing to
 * be computed is noted by this. */
bool author_is_wanted(const struct node *node, struct peer *peer, const uint8_t *datagram);
void author_find(struct node *node, struct peer *peer, const uint8_t *datagram);
