/* The places that clients of the control socket take, and who gives up his when all are taken: connections
 * stay open between requests, so those that wait for nothing could keep everybody out.
 *
 * Guarantee: a new client always gets a seat. When none is free it is that of the user who would then have
 * most, and among his the one that has been idle longest; so nobody can drive other users out while he has
 * more seats than they. Times in ns of a clock that does not run backwards. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#define SEATS_MAX 16

struct seat {
    bool taken;
    uint32_t user; /* uid */
    uint64_t used_ns;
};

struct seats {
    struct seat places[SEATS_MAX];
};

/* The seat for a new client of that user: a free one, or one whose client must leave first. */
int seat_for(const struct seats *seats, uint32_t user);
/* Of all that are taken; -1: none is. */
int seat_longest_idle(const struct seats *seats);
void seat_take(struct seats *seats, int index, uint32_t user, uint64_t now_ns);
/* Something came from its client. */
void seat_used(struct seats *seats, int index, uint64_t now_ns);
void seat_leave(struct seats *seats, int index);
