/* A joint train read: its packets went to several receivers in turn, so each receiver's part, by its indexes in the
 * whole, shows the slowest of what it crossed: the sender's line, which all parts crossed, or its own path, by as
 * many times what that carries as its part is of the train. No clocks are compared.
 *
 * The line carries all that any part saw pass, so what held up the parts that saw most is the line, unless their
 * own paths did, all alike. Paths that carry just as much as their parts of the train tell that by chance at most
 * where the parts are unlike, by JOINT_UNLIKE times at least; where they are alike, what one of the paths carries
 * alone decides. Two parts have to agree, as one may err. Parts that were held up at less than others saw pass tell
 * of their own paths, but where both are known to carry more alone and the difference is no more than noise of their
 * ends makes of it. A part that lost much tells of its path where another one saw many times as much pass. Of a
 * line that lost much each part tells how fast all came, by what came of the others between its first packet and its
 * last. A part that another sender's train came beside may have been held up by that: it tells nothing against the
 * others.
 *
 * A sprint, packets to one receiver in a row, shows by its dispersion the slowest of what they crossed, for its
 * sender sends nothing else meanwhile: Dovrolis, Ramanathan and Moore, "What do packet dispersion techniques measure?",
 * INFOCOM 2001. Sprints that saw less than others, or than all parts together, tell of their paths.
 *
 * Sans-IO; rates in bit/s on the wire. */
#pragma once

#include "base/bitmap.h"
#include "probe/estimate.h"
#include "probe/reading.h"

#define JOINT_PARTS_MAX 8u
#define JOINT_UNLIKE    3u

/* Which packets of the train came to one receiver, by their indexes in the whole. */
struct joint_came {
    uint16_t turns;       /* from one of its packets to its next */
    uint32_t sent, count; /* of its packets; that came */
    uint32_t first, last; /* indexes of those that came first and last … */
    uint64_t took_ns;     /* … and the time between these two, by the receiver's clock */
    double wire_bits;     /* of each */
    uint64_t bits[BITMAP_WORDS(TRAIN_PACKETS_MAX)];
};

struct joint_part {
    uint16_t receiver, turns;
    uint16_t came; /* its place in the train's `came` */
    bool queued;   /* something held it up, at: */
    double rate;   /* bit/ns; not queued: it passed at that */
    double most;   /* its slowest hop, whatever else came there */
    double share;  /* of the rate, by which it may err */
    bool beside;   /* another sender's train may have held it up */
    bool rough;    /* some of it was lost, so the rate is a rough one */
    bool overrun;  /* more than a third of it was lost: the rate is that at which the rest came */
    bool few;      /* next to nothing of it came: the rate is an upper end, and tells of its own path alone */
    bool aside;    /* it tells nothing of the line: joint_choose says so */
    bool wide;     /* its path carries so much by itself that it was not what held it up */
};

struct joint {
    uint16_t count;
    struct joint_part
        parts[JOINT_PARTS_MAX]; /* of those that tell something, the highest rate first, those aside last */
    uint16_t near_count; /* of the parts that agree with the one that stands for all, as joint_choose says */
    uint16_t came_count;
    struct joint_came came[JOINT_PARTS_MAX]; /* of all that were taken, in that order */
    /* room to work in */
    struct reading reading;
    struct probe_points points;
};

/* The next train. */
void joint_begin(struct joint *joint);
/* One receiver's part of it, to whom the path carries `alone` by itself; NULL: that is not known. One that tells
 * nothing is passed over. */
void joint_take(struct joint *joint, uint16_t receiver, const struct estimate *alone,
                const struct train_record *record);
enum joint_word {
    JOINT_SILENT, /* fewer than two parts tell anything */
    JOINT_APART,  /* the two that saw most were held up at different rates: by their own paths */
    JOINT_ALIKE,  /* parts agree, which are of one size */
    JOINT_AGREED  /* parts agree that are unlike: it is the line; or nothing held up any */
};
/* What it shows. But for SILENT `part` is the one that stands for all, of ALIKE one to a receiver of `liked_mask`
 * (bits) where there is; of APART it is a lower end. */
enum joint_word joint_choose(struct joint *joint, uint32_t liked_mask, const struct joint_part **part);
/* What held up the part that saw most, roughly: by its rate; where it was overrun, by what came to all. False: nothing
 * did. */
bool joint_line(const struct joint *joint, struct estimate *estimate);
/* Next to nothing came to anybody: what that is as a rate, by the clock of who got most. Three receivers have told at
 * least; but for paths that are all that slow it is the line. False: more came, or it tells nothing. */
bool joint_trickle(const struct joint *joint, struct estimate *estimate);
/* Whether that part (place in `parts`) tells what its own path carries, roughly. */
bool joint_path(const struct joint *joint, uint16_t place, struct estimate *estimate);
/* What one receiver's sprint, packets to it alone, tells of all that they crossed. False: nothing. */
bool joint_sprint(const struct train_record *record, struct estimate *estimate);
/* … and so of their paths: what may be the line's doing, as nothing else saw more pass, is a lower end alone.
 * `sprints`: of all receivers, kind NONE where one tells nothing. Behind joint_choose. */
void joint_judge_sprints(const struct joint *joint, struct estimate *sprints, uint16_t count);
/* Whether such an estimate of a line is as good as a plan has use for. */
bool joint_enough(const struct estimate *estimate);
/* An estimate by parts that are alike, each of one of `turns` packets, becomes one of the line by what the path to
 * one of their receivers carries alone: "at least" where that held up the train; NULL, not known: refused. */
void joint_judge(struct estimate *estimate, uint16_t turns, const struct estimate *alone);
/* An estimate that holds for the line as a lower end alone. */
void joint_at_least(struct estimate *estimate);
