/* Trains that this node sends: their departures, and the reports of how they came.
 *
 * One train is handed to its port at a time; TRAIN_OUT_MAX may be under way, whose reports have not come. While one
 * leaves, the port's data takes what the schedule leaves free: a packet goes only where it is gone, at the port's rate,
 * before the train's next one is due; so a train at the port's rate holds it for as long as it lasts, another one by
 * its share. What peers say to each other (acks, messages) passes, and may delay a packet by its own length. A node
 * that comes later than a good part of the train cuts it off; what is late by less leaves at the port's rate, as it can.
 *
 * A joint train goes to several peers of one port, packet by packet in turn, or each second one to the first of them and
 * the others in turn to the rest: each of them reports its own part. Behind that may follow sprints at the port's rate, one
 * to each of these peers and of more: what a path carries by itself.
 *
 * Times are the node's own. Departures are those that the port reports (cookies from TX_COOKIE_TIMED on). */
#pragma once

#include "node/packet.h"
#include "node/peer/peer.h"
#include "probe/record.h"
#include "wire/control.h"

_Static_assert(TRAIN_PACKETS_MAX <= WIRE_TRAIN_PACKETS_MAX, "a train's index fits its packets");

#define TRAIN_OUT_MAX       16
#define TRAIN_RECEIVERS_MAX 8                   /* of one train, in turn … */
#define TRAIN_SPRINTS_MAX   16                  /* … and of its sprints */
#define TRAIN_OUT_PACKETS   16384u              /* of all that are under way; a power of two */
#define TRAIN_LEAD_NS       (2 * TX_HORIZON_NS) /* between now and a train's first departure, at least */
/* A packet that leaves later than the larger one of these, so many ns and such a part of the train, is none of it. */
#define TRAIN_LATE_NS   5000ULL
#define TRAIN_LATE_PART 8
/* … and where it is not the program that says when each one left. */
#define TRAIN_LATE_KNOWN_NS   NS_PER_MS
#define TRAIN_LATE_KNOWN_PART 2
#define TRAIN_LASTS_NS_MAX    NS_PER_S
/* Beyond a round trip: until the receiver tells of a train whose end was lost, and its messages come. */
#define TRAIN_PATIENCE_NS (250 * NS_PER_MS)
/* … of a joint train, once two receivers have told of it. */
#define TRAIN_HURRY_NS (60 * NS_PER_MS)

/* To whom it goes. */
struct train_receivers {
    uint16_t count;        /* packet by packet, > 0 */
    bool halves;           /* half of it to the first one; count > 1 */
    uint16_t sprint;       /* packets of a sprint … */
    uint16_t sprint_count; /* … to so many of `peers`, >= count; 0: there are none */
    uint16_t peers[TRAIN_SPRINTS_MAX];
};

static inline uint16_t train_receiver_count(const struct train_receivers *to)
{
    return MAX(to->count, to->sprint_count);
}

/* One that is under way, or waits for its time. */
struct train_sent {
    uint32_t number; /* on the wire */
    uint16_t flags;
    struct train_receivers to;
    uint16_t told_mask;  /* bit per receiver that has told all of its part … */
    uint16_t ended_mask; /* … and of whom nothing more is waited for */
    bool over;           /* told, or given up */
    bool cut;
    uint8_t stamp_kind;
    uint32_t first; /* place of its first departure */
    uint32_t packets, handed, reported, left;
    uint32_t in_turn;                /* packets ahead of the sprints */
    uint16_t own[TRAIN_SPRINTS_MAX]; /* packets of each receiver */
    uint64_t start_ns, give_up_ns;
    struct train_shape shape;
};

/* The one train whose reports come in now, as far as they have come. */
struct train_told {
    bool begun;
    uint32_t number;
    /* Bit per receiver whose report contradicts itself: the rest of it counts for nothing. */
    uint16_t spoiled_mask;
    uint16_t beside_mask;             /* … and whom others' trains reached beside it */
    uint16_t came[TRAIN_SPRINTS_MAX]; /* of the packets of each */
    struct train_floor floors[TRAIN_SPRINTS_MAX];
    struct train_sample
        arrivals[TRAIN_PACKETS_MAX]; /* by index; that of the sample UINT32_MAX: it has not come */
};

struct train_out {
    bool leaving; /* the newest one; its schedule: */
    bool held;    /* its port's data keeps clear of it */
    struct train_schedule schedule;
    uint16_t exact_port;                 /* of the last train: its uplink's queue was empty … */
    uint64_t exact_ns;                   /* … then */
    uint64_t end_ns;                     /* the departure of its last packet */
    uint32_t head, tail, departure_tail; /* free-running */
    uint32_t next_number;
    uint64_t sent_bytes; /* on the wire, of all trains */
    uint8_t stamp_kind;  /* of the newest train's departures, as far as they were reported */
    struct train_sent trains[TRAIN_OUT_MAX];
    uint64_t departures[TRAIN_OUT_PACKETS]; /* 0: not told as yet, or refused */
    struct train_told told;
    uint32_t closed;            /* place of the train that was over last */
    struct train_record record; /* as made last */
};

/* A train is to begin at start_ns, or TRAIN_LEAD_NS from now if that is later. False: another one is leaving, too many
 * are under way, or the shape can't be sent. Packets that the path does not take are made smaller. */
bool train_out_begin(struct node *node, const struct peer *peer, const struct train_shape *shape,
                     uint16_t flags, uint64_t start_ns, uint64_t now_ns);
/* The same to several peers, which have one port; only while no train is under way. Sprints are added to the shape. */
bool train_out_begin_joint(struct node *node, const struct train_receivers *to,
                           const struct train_shape *shape, uint16_t flags, uint64_t start_ns,
                           uint64_t now_ns);
/* The port's data has to keep clear of a train: latest departure of a packet of any size. TIME_NEVER: no train. */
uint64_t train_out_clear_ns(struct node *node, uint16_t port, uint64_t now_ns);
/* When data of the port may leave that could at at_ns, but for the train: in its gap, or behind its next packet. */
uint64_t train_out_beside_ns(const struct node *node, uint16_t port, uint64_t at_ns);
/* Its next packet; false: none is due before the horizon. */
bool train_out_next(struct node *node, uint64_t horizon_ns, struct tx_packet *packet, uint64_t now_ns);
/* When train_out_next may be asked; TIME_NEVER: no train is leaving. */
uint64_t train_out_next_ns(const struct node *node);
/* A packet of a train has left, or the port has refused it. */
void train_out_on_report(struct node *node, const struct tx_report *report);
enum train_news {
    TRAIN_NONE, /* nothing to do with any train under way, or more of the report is to come */
    TRAIN_RECORDED, /* the record is whole, valid until the next message; of a joint train a part at least (train_out_part) */
    TRAIN_REFUSED /* no receiver took it */
};
enum train_news train_out_on_message(struct node *node, const struct peer *peer,
                                     const struct control_train_report *report);
/* The record of one receiver's part, behind TRAIN_RECORDED and before another train begins; NULL: it has told nothing. Valid until
 * the next such call, or message. */
const struct train_record *train_out_part(struct node *node, uint16_t receiver);
/* The same of its sprint; NULL also where it has none. */
const struct train_record *train_out_sprint(struct node *node, uint16_t receiver);
/* One whose report did not come (record: NULL; of a joint one parts may have), or, at once, of which no packet has left
 * (record: says so, and is valid until the next message); false: there is none. */
bool train_out_give_up(struct node *node, uint64_t now_ns, const struct train_record **record);
/* One that waits for its time is given up; false: there is none. */
bool train_out_withdraw(struct node *node);
/* When the first of those under way is given up; TIME_NEVER: none is. */
uint64_t train_out_give_up_ns(const struct node *node);
/* All that is under way is forgotten, but what another node gathers. */
void train_out_stop(struct node *node);
bool train_out_room(const struct node *node); /* another one may begin */
bool train_out_idle(const struct node *node); /* nothing is under way but what another node gathers */
