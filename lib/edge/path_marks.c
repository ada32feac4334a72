/* See path_marks.h. */
#include "edge/path_marks.h"

#include "base/units.h"

#define PPM               1000000ULL
#define ROUND_PACKETS_MIN 8
#define BYTES_MAX         (1ULL << 40) /* the count is the far end's word */

void path_marks_init(struct path_marks *marks, uint64_t now_ns)
{
    *marks = (struct path_marks){.start_ns = now_ns};
}

bool path_marks_idle(const struct path_marks *marks)
{
    return marks->futile >= PATH_MARKS_TRIALS;
}

void path_marks_try(struct path_marks *marks, uint64_t from_ns, uint64_t until_ns)
{
    marks->trial_from_ns = from_ns;
    marks->trial_until_ns = until_ns;
    marks->trial_packets = 0;
    marks->trial_marked = 0;
}

static void judge_trial(struct path_marks *marks)
{
    bool futile = marks->trial_marked > marks->trial_packets / 2;
    if (marks->trial_packets >= ROUND_PACKETS_MIN)
        marks->futile = futile ? marks->futile + 1 : 0;
    marks->trial_until_ns = 0;
}

/* To the nearest: a packet alone is a little shorter than the mean as often as longer, and its mark counts. */
uint64_t path_marks_packets(struct path_marks *marks, uint64_t bytes, uint64_t packet_bytes)
{
    int64_t came_bytes = marks->over_bytes + (int64_t)MIN(bytes, BYTES_MAX);
    uint64_t packets = (uint64_t)MAX(came_bytes + (int64_t)packet_bytes / 2, 0) / packet_bytes;
    marks->over_bytes = came_bytes - (int64_t)(packets * packet_bytes);
    return packets;
}

void path_marks_on_sample(struct path_marks *marks, uint64_t packets, uint64_t marked,
                          uint64_t newest_sent_ns)
{
    marked = MIN(marked, packets); /* the count is the far end's word */
    marks->packets += packets;
    marks->marked += marked;
    if (marks->trial_until_ns == 0 || newest_sent_ns < marks->trial_from_ns)
        return;
    if (newest_sent_ns >= marks->trial_until_ns) {
        judge_trial(marks);
        return;
    }
    marks->trial_packets += packets;
    marks->trial_marked += marked;
}

bool path_marks_round(struct path_marks *marks, uint64_t least_ns, uint64_t now_ns,
                      struct path_marks_round *round)
{
    uint64_t duration_ns = elapsed_ns(now_ns, marks->start_ns);
    if (duration_ns < least_ns || marks->packets < ROUND_PACKETS_MIN)
        return false;
    if (marks->marked < marks->packets / 2)
        marks->futile = 0;
    uint32_t share_ppm = (uint32_t)muldiv64(marks->marked, PPM, marks->packets);
    if (marks->marked > 0)
        share_ppm = MAX(share_ppm, 1u);
    *round = (struct path_marks_round){.share_ppm = path_marks_idle(marks) ? 0 : share_ppm,
                                       .duration_ns = duration_ns};
    marks->start_ns = now_ns;
    marks->packets = 0;
    marks->marked = 0;
    return true;
}
