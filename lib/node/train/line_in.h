/* This node's line in, by which all of its paths come: it asks several peers for one train each, to come beside each other,
 * and reads them by its own clock (probe/gather.h). And its part in that of others: a train at the time that one asks for.
 *
 * The asked ones wait for what their round trip is shorter than the longest, and each for a step more than the one
 * before, so that trains begin and end one after the other. One line in is measured at a time; parts are sent
 * within the budget of what is sent for others (asked.h), and nobody tells what became of them. */
#pragma once

#include "base/arena.h"
#include "node/packet.h"
#include "node/peer/peer.h"
#include "probe/gather.h"
#include "wire/control.h"

#define LINE_IN_PARTS_MAX   16              /* that wait to be sent */
#define LINE_IN_OF_ONE_MAX  2               /* … to one peer */
#define LINE_IN_BYTES       400000u         /* of all trains together, at most */
#define LINE_IN_WAIT_NS_MAX (10 * NS_PER_S) /* longer waits are cut to that: what waits keeps others off */

/* A train that waits for its time. */
struct line_in_part {
    uint16_t peer;
    uint64_t begin_ns;
    uint64_t rate_bps;
    uint32_t packets;
};

struct line_in {
    bool open;
    bool begun;     /* peers were asked */
    uint16_t asker; /* PEER_SELF: this node; PEER_NONE: who has lost its state */
    uint32_t id;    /* of the asker */
    uint64_t bytes; /* of all trains: at most, and once they were asked for, of so many: */
    uint32_t asked_trains;
    uint64_t begin_ns, end_ns;
    uint16_t count; /* of senders */
    uint16_t peers[GATHER_SENDERS_MAX];
    struct gather gather;
    uint16_t part_count;
    struct line_in_part parts[LINE_IN_PARTS_MAX];
};

/* Its own line is to be measured, or a part is wanted: what can't be done is answered at once, or when its time has come,
 * and a part not at all. */
void line_in_take(struct node *node, uint16_t asker, const struct wire_probe_ask *ask, uint64_t now_ns);
/* Parts whose time has come; its own line. */
void line_in_tick(struct node *node, uint64_t now_ns);
uint64_t line_in_next_ns(const struct node *node); /* when that is due; TIME_NEVER: nothing is */
/* The peer has lost its state: it waits for nothing any more. */
void line_in_forget(struct node *node, uint16_t peer);
