/* pathchirp (Ribeiro, Riedi, Baraniuk, Navratil, Cottrell 2003): chirps, trains whose gaps shrink by a
 * factor from packet to packet. Where delays rise and fall again, an excursion, each rising packet of one
 * that is long enough says that its rate was too much; where they rise and never fall, the rate at that
 * place is what is available. A chirp's estimate is the mean of what its packets say, each for its gap;
 * that of the path the mean of 11 chirps.
 *
 * Whatever is lost drops the chirp, as there. */
#include <math.h>

#include "base/units.h"
#include "probe/estimators.h"
#include "probe/search.h"

#define CHIRPS      11
#define FACTOR      1.2
#define SPAN        25  /* fastest by slowest rate */
#define FALL        1.5 /* an excursion ends when its delay has fallen to its greatest by this */
#define LONG_ENOUGH 5
#define PACKETS_MAX 32
#define GAP_NS                                                                                               \
    (20 * NS_PER_MS) /* between chirps of a measurement without a duration: as the mean of its few */

struct pathchirp {
    struct search search;
    double estimates_bps[CHIRPS]; /* of the newest chirps */
    uint32_t count;
};

static void start(void *state, const struct estimator_goal *goal, uint64_t now_ns)
{
    struct pathchirp *chirp = state;
    *chirp = (struct pathchirp){.count = 0};
    search_start(&chirp->search, goal, now_ns);
}

static double rate_bps(const struct estimator_goal *goal, unsigned index)
{
    return (double)search_rate_max(goal) / SPAN * pow(FACTOR, index);
}

/* Packets of a chirp, one more than it has gaps: up to the fastest rate, and one step beyond it where the
 * port allows. */
static unsigned packets(const struct estimator_goal *goal)
{
    unsigned gaps = 0;
    double most_bps = fmin((double)search_rate_max(goal) * FACTOR, (double)goal->port_bps);
    while (gaps + 1 < PACKETS_MAX && rate_bps(goal, gaps) <= most_bps)
        gaps++;
    return gaps + 1;
}

static enum estimator_step next(void *state, uint64_t now_ns, struct train_shape *shape, uint64_t *at_ns)
{
    struct pathchirp *chirp = state;
    const struct estimator_goal *goal = &chirp->search.goal;
    *shape = (struct train_shape){.wire_bytes = goal->wire_bytes};
    unsigned count = packets(goal);
    for (unsigned i = 0; i + 1 < count; i++)
        train_add(shape, 1, (uint64_t)rate_bps(goal, i));
    train_add(shape, 1, goal->port_bps);
    enum estimator_step step = search_next(&chirp->search, shape, CHIRPS, now_ns, at_ns);
    if (step == ESTIMATOR_TRAIN)
        chirp->search.due_ns = *at_ns + (goal->duration_ns != 0 ? goal->duration_ns / CHIRPS : GAP_NS);
    return step;
}

/* Marks what the excursion that begins at `first` says, of those long enough, into told[]; returns where it ends. */
static unsigned excursion(const struct estimator_goal *goal, const double *delay_ns, unsigned first,
                          unsigned gaps, double *told_bps)
{
    unsigned end = first + 1;
    double most_ns = 0;
    for (; end <= gaps; end++) {
        double risen_ns = delay_ns[end] - delay_ns[first];
        most_ns = fmax(most_ns, risen_ns);
        if (risen_ns < most_ns / FALL)
            break;
    }
    if (end > gaps) { /* it never ends */
        for (unsigned i = first; i < gaps; i++)
            told_bps[i] = rate_bps(goal, first);
        return gaps;
    }
    if (end - first >= LONG_ENOUGH)
        for (unsigned i = first; i < end && i < gaps; i++)
            if (delay_ns[i + 1] > delay_ns[i])
                told_bps[i] = rate_bps(goal, i);
    return end;
}

static double chirp_bps(const struct estimator_goal *goal, const struct train_record *record)
{
    double delay_ns[PACKETS_MAX], told_bps[PACKETS_MAX] = {0}, sum = 0, time = 0;
    unsigned gaps = record->count - 1, last = gaps - 1;
    for (unsigned i = 0; i <= gaps; i++) {
        const struct train_sample *first = &record->samples[0], *sample = &record->samples[i];
        delay_ns[i] = (double)(int64_t)(sample->received_ns - first->received_ns) -
                      (double)(sample->sent_ns - first->sent_ns);
    }
    for (unsigned i = 0; i < gaps;) {
        bool rises = delay_ns[i + 1] > delay_ns[i];
        unsigned end = rises ? excursion(goal, delay_ns, i, gaps, told_bps) : i + 1;
        if (rises && end == gaps)
            last = i;
        i = end;
    }
    for (unsigned i = 0; i < gaps; i++) {
        double gap = 1 / rate_bps(goal, i);
        sum += gap * (told_bps[i] > 0 ? told_bps[i] : rate_bps(goal, last));
        time += gap;
    }
    return sum / time;
}

static void take(void *state, const struct train_record *record, uint64_t now_ns)
{
    struct pathchirp *chirp = state;
    const struct estimator_goal *goal = &chirp->search.goal;
    bool good = search_take(&chirp->search, record, 2);
    if (good && record->count == packets(goal) && record->count == record->sent)
        chirp->estimates_bps[chirp->count++ % CHIRPS] = chirp_bps(goal, record);
    chirp->search.over = chirp->count >= CHIRPS && search_time_is_up(&chirp->search, now_ns);
}

static void result(const void *state, uint64_t now_ns, struct estimate *estimate)
{
    const struct pathchirp *chirp = state;
    uint32_t count = MIN(chirp->count, (uint32_t)CHIRPS);
    double sum = 0, squares = 0;
    (void)now_ns;
    search_result(&chirp->search, estimate);
    if (count < CHIRPS)
        return;
    for (uint32_t i = 0; i < count; i++)
        sum += chirp->estimates_bps[i];
    double mean_bps = sum / count;
    for (uint32_t i = 0; i < count; i++)
        squares += (chirp->estimates_bps[i] - mean_bps) * (chirp->estimates_bps[i] - mean_bps);
    double half_bps = 2.2 * sqrt(squares / (count - 1) / count); /* Student's t, 95 % of 10 degrees */
    search_value(&chirp->search, estimate, mean_bps - half_bps, mean_bps, mean_bps + half_bps);
}

const struct estimator_kind estimator_pathchirp = {.name = "pathchirp",
                                                   .bytes = sizeof(struct pathchirp),
                                                   .start = start,
                                                   .next = next,
                                                   .take = take,
                                                   .result = result};
