/* One train read: its points, the capacity that it shows, the part of it that kept the tight hop busy. Readings of
 * one path after the other sharpen what is known of its capacity, which the next reading uses. */
#pragma once

#include "probe/conserve.h"
#include "probe/fingerprint.h"

enum reading_verdict {
    READING_GOOD,
    READING_SPOILED, /* the record's marks, or too few packets came */
    READING_STEPPED, /* a clock was set while it came */
    READING_JITTER,  /* packets overtake each other all over: delays are not those of queues */
    READING_IDLE     /* hardly anything queued: the path takes all of it */
};

/* What is known of the path. Starts zeroed. */
struct reading_path {
    double capacity, capacity_error; /* bit/ns; 0: not known */
    double cross;                    /* bit/ns, about */
    struct slopes slopes;
};

struct reading {
    struct fingerprint spacing, slope; /* this train's */
    struct conserve fit;
    double rise_ns; /* of the delay, from the first quarter of the train to the last */
    double passed;  /* bit/ns at which it left, where that made no queue; 0: it did */
    bool queued;    /* beyond what a packet of cross traffic explains */
};

/* Bit/ns at which came what came of a train that was lost for the most part: of a joint one's part, that of the
 * whole. What lost it carries so much, if it was never idle. 0: not so much was lost, or too little came. */
double reading_overrun(const struct train_record *record);
/* Points are room to work in, and those of this train afterwards: none of one with marks, or whose clocks stepped. */
enum reading_verdict reading_take(struct reading *reading, struct probe_points *points,
                                  struct reading_path *path, const struct train_record *record);
