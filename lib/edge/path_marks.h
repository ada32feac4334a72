/* What marks of Congestion Experienced say of a path: the share of packets that came with one, round by round,
 * and whether they say anything.
 *
 * A queue marks who waits in it, so there are fewer marks when the edge gives way. The owner says when it
 * does: where more than half of the packets of PATH_MARKS_TRIALS trials in a row are marked all the same, marks
 * are not the edge's affair (a middlebox that writes CE into everything; others who keep the queue long and
 * don't care). They are idle: rounds have none, until one comes of which fewer than half is marked. A path that
 * clears the ECN field has no marks and says nothing here. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#define PATH_MARKS_TRIALS 2

struct path_marks {
    uint64_t packets, marked; /* of the round */
    int64_t over_bytes; /* came, and were not counted as packets yet; below 0: were, and have not come */
    uint64_t start_ns;  /* of the round */
    /* A trial: what leaves between these times; until 0: there is none. */
    uint64_t trial_from_ns, trial_until_ns;
    uint64_t trial_packets, trial_marked;
    uint32_t futile; /* trials in a row */
};

struct path_marks_round {
    uint32_t share_ppm;   /* of its packets were marked, more than 0 if any was; 0: none, or they are idle */
    uint64_t duration_ns; /* of the round */
};

/* Nothing has come yet. */
void path_marks_init(struct path_marks *marks, uint64_t now_ns);
/* So many packets came with these bytes, of about packet_bytes each; what is over counts next time. */
uint64_t path_marks_packets(struct path_marks *marks, uint64_t bytes, uint64_t packet_bytes);
/* So many packets came, `marked` of them with a mark, the newest of which left at newest_sent_ns. */
void path_marks_on_sample(struct path_marks *marks, uint64_t packets, uint64_t marked,
                          uint64_t newest_sent_ns);
/* Ends the round when it is least_ns old and has packets enough; false: it goes on. */
bool path_marks_round(struct path_marks *marks, uint64_t least_ns, uint64_t now_ns,
                      struct path_marks_round *round);
/* The edge gives way: what leaves from from_ns until until_ns should not meet a queue of its making. */
void path_marks_try(struct path_marks *marks, uint64_t from_ns, uint64_t until_ns);
/* Marks stay whatever the edge does. */
bool path_marks_idle(const struct path_marks *marks);
