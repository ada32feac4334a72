/* What a forest is worth: exact rates on the net itself, delay, and the seconds an object takes. Builders
 * keep books of their own; what is compared and reported comes from here alone. */
#pragma once

#include "planner/tree/task.h"

struct judge_object {
    uint64_t size_bytes;     /* 0: a stream, or not known: the rate decides, then the delay */
    double payload_per_wire; /* bits of the object per bit on the wire */
    double rate_cap_bps;     /* on the wire; NET_NO_LIMIT */
};

struct judgement {
    double rate_bps; /* wire; what every host gets but for slow ones, which get their pace if that is less */
    uint32_t tight;  /* row of the net that stops it; meaningless when capped */
    /* Largest sum of RTT / 2 down to a receiver; an RTT that nobody measured counts 71 minutes. */
    uint64_t delay_us;
    /* Until all hosts but slow ones have the object: size / payload rate + delay. Of a stream: 1 / rate. */
    double seconds;
    double last_seconds; /* until slow ones have it too */
};

size_t judge_bytes(const struct net *net); /* of arena, while it runs */
/* A rate of 0: the slow hosts alone ask for too much of some row. */
struct judgement judge(const struct task *task, const struct net_forest *forest,
                       const struct judge_object *object, struct arena *arena);
