/* One train as a picture, so that an engineer can check its reading by eye: delay over departure, the part
 * that kept the tight hop busy, the line that the fit draws through it, the rate at which the train left,
 * and what the line leaves over.
 *
 * The line is that of cross traffic at its mean rate: delay = first delay + (probe bits + cross * time) / C
 * - time. What lies beside it, in packets of cross traffic, is the traffic's own unevenness, or something
 * that is no queue. */
#pragma once

#include <stddef.h>

#include "probe/reading.h"

/* A train read for drawing; large: for its owner's static or allocated memory. */
struct plot {
    struct reading_path path; /* with what is known of it from other trains */
    struct reading reading;
    struct probe_points points;
    enum reading_verdict verdict;
    double cross;     /* bit/ns, of the line */
    int64_t least_ns; /* delay */
    bool busy[TRAIN_PACKETS_MAX];
};

#define PLOT_BYTES_MAX (256u << 10) /* of the picture, its terminating zero included */

/* One packet. */
struct plot_dot {
    double sent_us;   /* departure, since the first packet's */
    double delay_us;  /* beyond the least of all */
    double rate_bps;  /* at which it left: of the gap behind it; 0: it is the last */
    double fit_us;    /* the line's delay; only of busy ones */
    double left_over; /* beside the line, in packets */
    bool busy;        /* the step behind it went into the fit */
};

typedef void plot_write(void *user, const char *text);

/* A train to be drawn, as it travels from who kept it to who has the time: only its first record.count
 * samples are there. */
struct plot_train {
    uint64_t capacity_bps; /* as other trains told; 0: nothing */
    struct train_record record;
};

/* Bytes of it that say something. */
static inline size_t plot_train_bytes(const struct plot_train *train)
{
    return offsetof(struct plot_train, record.samples) + train->record.count * sizeof(struct train_sample);
}

/* To be read with what other trains told of the capacity; 0: nothing. */
void plot_begin(struct plot *plot, uint64_t capacity_bps);
void plot_read(struct plot *plot, const struct train_record *record);
/* Of point i < plot->points.count. */
void plot_dot(const struct plot *plot, uint32_t i, struct plot_dot *dot);
/* An SVG document of what was read, handed to `write` piece by piece; PLOT_BYTES_MAX at most. Equal records
 * give equal bytes. */
void plot_svg(const struct plot *plot, plot_write *write, void *user);
