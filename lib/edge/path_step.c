/* See path_step.h. */
#include "edge/path_step.h"

#include "base/units.h"

#define PAUSE_NS       (30 * NS_PER_MS)
#define PAUSE_RTT_PART 4
#define TRAIN_PACKETS  24 /* more than others send at once, when they begin */
#define ACKS_PER_RTT   8  /* as receivers send them: by the time between two of them jitter has a say */
#define GROWTH_PERCENT                                                                                       \
    150 /* a queue of others grows by their start-up: as long as it takes, and half of that */

static void open_step(struct path_step *step, const struct congestion_sample *sample, int64_t before_ns,
                      int64_t rise_ns)
{
    /* What is known of two acks ago was not told by the way as it is now. */
    uint32_t back = MIN(step->count, 2U);
    step->since_ns = sample->now_ns;
    step->acks = 0;
    step->held = step->paused;
    step->before_ns = before_ns;
    step->rise_ns = rise_ns;
    step->known = step->recent[(step->count - back) % PATH_STEP_RECENT].known;
}

static int64_t least_recent(const struct path_step *step)
{
    int64_t least_ns = INT64_MAX;
    for (uint32_t back = 1; back <= MIN(step->count, 3U); back++)
        least_ns = MIN(least_ns, step->recent[(step->count - back) % PATH_STEP_RECENT].owd_ns);
    return least_ns;
}

static void look_for_step(struct path_step *step, const struct congestion_sample *sample,
                          const struct path_step_look *look)
{
    int64_t before_ns = step->paused ? look->empty_ns : least_recent(step);
    int64_t rise_ns = sample->owd_ns - before_ns;
    /* The ack that tells of both sides still has the least of the one before. */
    bool torn = step->count - step->torn_count < PATH_STEP_ACKS && (int64_t)step->torn_ns > rise_ns / 2;
    uint64_t grows_ns = look->rtt_ns / ACKS_PER_RTT * GROWTH_PERCENT / 100;
    if (look->stands)
        grows_ns = MIN(grows_ns, look->known.jitter_ns);
    if (step->paused || torn)
        grows_ns = 0;
    if (rise_ns > (int64_t)(look->noise_ns + grows_ns))
        open_step(step, sample, before_ns, rise_ns);
}

/* It stays, or was none. */
static void follow_step(struct path_step *step, const struct congestion_sample *sample,
                        const struct path_step_look *look)
{
    int64_t rise_ns = sample->owd_ns - step->before_ns;
    /* What was in the queue before may go; what the path is longer by may not. */
    int64_t above_ns = sample->owd_ns - look->empty_ns;
    bool gone = above_ns < step->rise_ns * 3 / 4;
    /* What an outage held back comes late, each less than the one before. */
    if (gone && step->held && above_ns > (int64_t)look->noise_ns) {
        step->since_ns = sample->now_ns;
        step->acks = 0;
        step->before_ns = look->empty_ns;
        step->rise_ns = above_ns;
        step->stepped = false;
        return;
    }
    bool grows = !step->stepped && rise_ns > step->rise_ns * 3 / 2 + (int64_t)look->noise_ns;
    if (gone || grows) {
        step->since_ns = 0;
        step->stepped = false;
        return;
    }
    step->acks++;
    step->stepped |= step->acks >= PATH_STEP_ACKS &&
                     elapsed_ns(sample->now_ns, step->since_ns) >= look->rtt_ns / PATH_STEP_RTT_PART;
}

/* What came since the ack before takes so long at the rate of late; the rest of the time nothing came. */
static void note_pause(struct path_step *step, const struct congestion_sample *sample,
                       const struct path_step_look *look)
{
    uint64_t passed_ns = elapsed_ns(sample->delivered_ns, step->told_ns);
    uint64_t bytes = sample->delivered_bytes - MIN(sample->delivered_bytes, step->told_bytes);
    uint64_t took_ns = look->delivered_bps > 0 ? transmit_ns(bytes, look->delivered_bps) : passed_ns;
    uint64_t least_ns = MAX(PAUSE_NS, look->rtt_ns / PAUSE_RTT_PART);
    step->paused = step->told_ns > 0 && elapsed_ns(passed_ns, took_ns) > least_ns;
    step->told_ns = sample->delivered_ns;
    step->told_bytes = sample->delivered_bytes;
}

void path_step_on_sample(struct path_step *step, const struct congestion_sample *sample,
                         const struct path_step_look *look)
{
    step->paused = false;
    /* While this host stood still nothing was to come. */
    if (step->told_ns > 0)
        step->told_ns += sample->hole_ns;
    if (!sample->owd_known || sample->wait_ns > look->noise_ns || sample->before_hole)
        return;
    note_pause(step, sample, look);
    uint64_t train_ns = transmit_ns(TRAIN_PACKETS * FULL_PACKET_WIRE_BYTES, MAX(look->delivered_bps, 1ULL));
    if (sample->jump_ns > MAX(2 * look->known.jitter_ns, train_ns)) {
        step->torn_ns = sample->jump_ns;
        step->torn_count = step->count;
    }
    if (step->since_ns > 0)
        follow_step(step, sample, look);
    else if (step->count > 0 && sample->now_ns >= step->rests_ns)
        look_for_step(step, sample, look);
    step->recent[step->count % PATH_STEP_RECENT] = (struct path_step_level){sample->owd_ns, look->known};
    step->count++;
}

void path_step_rest(struct path_step *step, uint64_t until_ns)
{
    step->rests_ns = until_ns;
    step->since_ns = 0;
    step->stepped = false;
    step->torn_ns = 0;
    step->count = 0;
}
