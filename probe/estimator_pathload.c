/* pathload (Jain, Dovrolis 2002): fleets of 12 streams of one rate. A stream shows a trend of its delays
 * when the medians of ten groups rise one after the other (PCT) or in all, compared with how they go up and
 * down (PDT). A fleet most of whose streams rise is above what is available, one most of whose do not is
 * below, else it is grey. Halving between them, and towards the grey zone from both sides, ends when what
 * is left is as narrow as was asked for; the estimate is what is left.
 *
 * A stream without a seventh of its packets says "above", and so does a fleet with many that lost a few.
 * The streams of a fleet leave without waiting for each other, a round trip or nine times their length
 * apart. */
#include <math.h>

#include "base/units.h"
#include "probe/estimators.h"
#include "probe/search.h"

#define FIRST_PACKETS 50
#define PACKETS       100
#define GROUPS        10
#define STREAMS       12
#define PAUSE         9 /* times the length of a stream */
#define MAJORITY      0.6
#define PCT           0.55
#define PDT           0.4
#define CLEAR         0.1   /* about a threshold, that is unclear */
#define TOP           0.999 /* of the fastest rate: a fleet so fast without a trend ends the search */
#define LOST_MUCH     0.15
#define LOST_SOME     0.03

enum trend { TREND_NONE, TREND_UNCLEAR, TREND_RISES, TRENDS };

struct pathload {
    struct search search;
    double max_bps;
    double rate_bps;                    /* of this fleet; 0: the first train is yet to come back */
    double low_bps, high_bps;           /* what is below and above */
    double grey_low_bps, grey_high_bps; /* 0: no grey zone */
    uint32_t asked, answered;           /* streams of the fleet */
    uint32_t trends[TRENDS], lossy;
    bool found, at_least;
    double found_low_bps, found_high_bps;
};

static void begin_search(struct pathload *load)
{
    load->rate_bps = load->low_bps = load->grey_low_bps = load->grey_high_bps = 0;
    load->high_bps = load->max_bps;
    load->asked = load->answered = load->lossy = 0;
    load->trends[TREND_NONE] = load->trends[TREND_UNCLEAR] = load->trends[TREND_RISES] = 0;
}

static void start(void *state, const struct estimator_goal *goal, uint64_t now_ns)
{
    struct pathload *load = state;
    *load = (struct pathload){.max_bps = (double)search_rate_max(goal)};
    begin_search(load);
    search_start(&load->search, goal, now_ns);
}

static enum estimator_step next(void *state, uint64_t now_ns, struct train_shape *shape, uint64_t *at_ns)
{
    struct pathload *load = state;
    struct search *search = &load->search;
    bool first = load->rate_bps == 0;
    *shape = (struct train_shape){.wire_bytes = search->goal.wire_bytes};
    train_add(shape, first ? FIRST_PACKETS : PACKETS, (uint64_t)(first ? load->max_bps : load->rate_bps));
    uint32_t left = first ? 1 : STREAMS - load->answered;
    if (!first && load->asked == STREAMS)
        left = 0;
    enum estimator_step step = search_next(search, shape, left, now_ns, at_ns);
    if (step != ESTIMATOR_TRAIN)
        return step;
    load->asked++;
    uint64_t length_ns = train_duration_ns(shape);
    search->due_ns = *at_ns + length_ns + MAX(search->goal.rtt_ns, PAUSE * length_ns);
    return step;
}

static double median(double *values, unsigned count)
{
    for (unsigned i = 1; i < count; i++) {
        double value = values[i];
        unsigned place = i;
        for (; place > 0 && values[place - 1] > value; place--)
            values[place] = values[place - 1];
        values[place] = value;
    }
    return values[count / 2];
}

/* By how far it is from the threshold. */
static enum trend against(double value, double threshold)
{
    if (value > threshold * (1 + CLEAR))
        return TREND_RISES;
    return value < threshold * (1 - CLEAR) ? TREND_NONE : TREND_UNCLEAR;
}

static enum trend trend_of(const struct train_record *record)
{
    double medians[GROUPS], delays[PACKETS / GROUPS + 1], moved = 0;
    unsigned risen = 0, place = 0;
    for (unsigned group = 0; group < GROUPS; group++) {
        unsigned end = (group + 1) * record->count / GROUPS, count = 0;
        for (; place < end; place++) {
            const struct train_sample *first = &record->samples[0], *sample = &record->samples[place];
            delays[count++] = (double)(int64_t)(sample->received_ns - first->received_ns) -
                              (double)(sample->sent_ns - first->sent_ns);
        }
        medians[group] = median(delays, count);
    }
    for (unsigned group = 1; group < GROUPS; group++) {
        risen += medians[group] > medians[group - 1];
        moved += fabs(medians[group] - medians[group - 1]);
    }
    enum trend pct = against((double)risen / (GROUPS - 1), PCT);
    enum trend pdt = against(moved > 0 ? (medians[GROUPS - 1] - medians[0]) / moved : 0, PDT);
    if (pct == pdt || pdt == TREND_UNCLEAR)
        return pct;
    return pct == TREND_UNCLEAR ? pdt : TREND_UNCLEAR;
}

static void end_search(struct pathload *load, uint64_t now_ns)
{
    bool grey = load->grey_low_bps > 0;
    load->found = true;
    load->at_least = load->low_bps >= TOP * load->max_bps;
    load->found_low_bps = grey ? load->grey_low_bps : load->low_bps;
    load->found_high_bps = grey ? load->grey_high_bps : load->high_bps;
    load->search.over = search_time_is_up(&load->search, now_ns);
    begin_search(load);
}

/* What the fleet says moves one of the four bounds; a grey zone that is passed is none. */
static void judge_fleet(struct pathload *load)
{
    double rate_bps = load->rate_bps;
    if (load->trends[TREND_RISES] >= MAJORITY * STREAMS || load->lossy > STREAMS / 2) {
        load->high_bps = rate_bps;
        if (load->grey_high_bps >= rate_bps)
            load->grey_low_bps = load->grey_high_bps = 0;
    } else if (load->trends[TREND_NONE] >= MAJORITY * STREAMS) {
        load->low_bps = rate_bps;
        if (load->grey_low_bps <= rate_bps)
            load->grey_low_bps = load->grey_high_bps = 0;
    } else {
        load->grey_low_bps = load->grey_low_bps > 0 ? fmin(load->grey_low_bps, rate_bps) : rate_bps;
        load->grey_high_bps = fmax(load->grey_high_bps, rate_bps);
    }
}

static void end_fleet(struct pathload *load, uint64_t now_ns)
{
    double resolution_bps = 2e-6 * (double)load->search.goal.width_ppm * load->max_bps;
    judge_fleet(load);
    load->asked = load->answered = load->lossy = 0;
    load->trends[TREND_NONE] = load->trends[TREND_UNCLEAR] = load->trends[TREND_RISES] = 0;
    double below_bps = load->grey_low_bps - load->low_bps, above_bps = load->high_bps - load->grey_high_bps;
    bool grey = load->grey_low_bps > 0;
    if (load->low_bps >= TOP * load->max_bps || load->high_bps - load->low_bps <= resolution_bps ||
        (grey && below_bps <= resolution_bps && above_bps <= resolution_bps))
        end_search(load, now_ns);
    else if (grey && above_bps >= below_bps)
        load->rate_bps = (load->grey_high_bps + load->high_bps) / 2;
    else
        load->rate_bps = (load->low_bps + (grey ? load->grey_low_bps : load->high_bps)) / 2;
}

static void take(void *state, const struct train_record *record, uint64_t now_ns)
{
    struct pathload *load = state;
    double sent_ns, received_ns;
    bool good = search_take(&load->search, record, GROUPS);
    if (load->rate_bps == 0) {
        load->asked = 0;
        if (good && search_gaps(record, &sent_ns, &received_ns))
            load->rate_bps = fmin(load->max_bps, load->search.goal.wire_bytes * 8 * 1e9 / received_ns);
        return;
    }
    load->answered++;
    if (good) {
        double lost = 1 - (double)record->count / record->sent;
        load->lossy += lost > LOST_SOME;
        load->trends[lost > LOST_MUCH ? TREND_RISES : trend_of(record)]++;
    }
    if (load->answered == STREAMS)
        end_fleet(load, now_ns);
}

static void result(const void *state, uint64_t now_ns, struct estimate *estimate)
{
    const struct pathload *load = state;
    (void)now_ns;
    search_result(&load->search, estimate);
    if (!load->found)
        return;
    search_value(&load->search, estimate, load->found_low_bps,
                 (load->found_low_bps + load->found_high_bps) / 2, load->found_high_bps);
    if (load->at_least)
        estimate->kind = ESTIMATE_AT_LEAST;
}

const struct estimator_kind estimator_pathload = {.name = "pathload",
                                                  .bytes = sizeof(struct pathload),
                                                  .start = start,
                                                  .next = next,
                                                  .take = take,
                                                  .result = result};
