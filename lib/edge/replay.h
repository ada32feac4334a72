/* Numbers of the control space, which all datagrams but DATA share, and the window that takes each of them once.
 *
 * Every datagram takes a fresh number, resends too, so that no number ever means two texts. What comes again, or so
 * late that REPLAY_WINDOW newer ones have come, is told from what is new before it has any effect. 32 bits travel; the
 * full number is the one nearest to the largest that came (RFC 9000, appendix A.3).
 *
 * Owner: a peer, one for each direction of a session; both begin at 0 with it. Memory: replay_bytes(). Thread: one. */
#pragma once

#include "edge/number_bits.h"

/* A train brings 4,096 numbers at once, acks some 80 a millisecond: what overtakes these is still taken. */
#define REPLAY_WINDOW 32768

struct replay {
    struct number_bits seen; /* of [end - REPLAY_WINDOW, end) */
    uint64_t end;            /* largest number taken + 1; 0: none yet */
};

size_t replay_bytes(void);
void replay_init(struct replay *replay, struct arena *arena);
/* A new session. */
void replay_reset(struct replay *replay);
/* The full number behind the 32 bits on the wire. */
uint64_t replay_expand(const struct replay *replay, uint32_t low);
/* Takes the number: false, and nothing changes, where it was taken before or is older than the window. */
bool replay_take(struct replay *replay, uint64_t number);
