#include "edge/bql/train.h"

#include "base/units.h"

#define TRAINS_LOST_MAX   2
#define FIRST_PACKETS     8 /* of one ack tell by themselves */
#define TRAIN_SPAN_MAX_NS (75 * NS_PER_MS)
#define TRAIN_SPAN_MIN_NS (40 * NS_PER_US)
#define TRAIN_DEPARTS_NS  (25 * NS_PER_MS)  /* tail probes leave later than that after it, … */
#define TRAIN_LEAVES_NS   (2 * NS_PER_MS)   /* … repairs than half a round trip, and than that */
#define UNSURE_NS         (200 * NS_PER_US) /* what hosts that sleep between their turns look apart */

void bql_train_await(struct bql_train *train, uint64_t delivered_bytes)
{
    train->clears = false;
    train->first_ns = 0;
    train->wait_ns = 0;
    train->told_ns = 0;
    train->first_bytes = delivered_bytes;
    train->start_bytes = delivered_bytes;
    train->newest_bytes = delivered_bytes;
}

/* How long the train took to come. Between two acks on the receiver's clock, or in one ack, where all came
 * between two looks of the receiver at its port or an ack was lost, by how much longer the last packet was
 * under way than the first ones that the ack tells of, or than a round trip takes: the first ones of all may
 * have been told of by acks that were lost. Where the last one left long after the train, because none of the
 * train's own acks came, the time between them counts, too. */
static uint64_t came_within_ns(const struct bql_train *train, const struct congestion_sample *sample,
                               uint64_t departs_ns)
{
    if (train->first_ns != 0)
        return elapsed_ns(sample->delivered_ns, train->first_ns);
    uint64_t spread_ns = MAX(sample->spread_ns, elapsed_ns(sample->rtt_ns, train->rtt_ns));
    return spread_ns + (departs_ns > TRAIN_DEPARTS_NS ? departs_ns : 0);
}

/* How late the last of what came is, which left together with the first. */
static void note_lateness(struct bql_train *train, const struct congestion_sample *sample)
{
    uint64_t late_ns = sample->rtt_ns > 0 ? elapsed_ns(sample->rtt_ns, train->rtt_ns) : 0;
    if (train->told_ns > 0)
        late_ns = MAX(late_ns, train->late_ns + elapsed_ns(sample->delivered_ns, train->told_ns));
    train->late_ns = late_ns;
    train->told_ns = sample->delivered_ns;
}

/* Half of what both ways take longer is the way back's. */
static uint64_t share_bps(const struct bql_train *train, const struct congestion_sample *sample,
                          uint64_t unsure_ns)
{
    uint64_t late_ns = elapsed_ns(train->late_ns, MAX(unsure_ns, UNSURE_NS)) / 2;
    uint64_t bytes = excess_of(sample->delivered_bytes, train->start_bytes);
    return muldiv64(bytes, 8 * NS_PER_S, MAX(late_ns, TRAIN_SPAN_MIN_NS));
}

/* The first packet of a later train finds an ack due, which tells of it alone; the next ack comes when it
 * is time for one, and tells of all others. */
static bool tells_alone(const struct bql_train *train, const struct bql_path *path,
                        const struct congestion_sample *sample)
{
    uint64_t newly = sample->delivered_bytes - train->newest_bytes;
    return train->lost > 0 && train->first_ns != 0 && newly >= FIRST_PACKETS * path->packet_bytes;
}

/* The ack tells of repairs as well, a round trip later: the path takes that at least. But what loses most
 * of a train is a buffer that is shorter: then that is what the path takes. */
static bool tells_of_repairs(const struct bql_path *path, const struct congestion_sample *sample,
                             uint64_t departs_ns)
{
    return departs_ns > MAX(path->rtt_ns / 2, TRAIN_LEAVES_NS) &&
           2 * sample->lost_packets <= BQL_TRAIN_PACKETS;
}

/* Shorter than a look of the receiver at its port takes, the span measures only that the path is fast. */
struct bql_train_verdict bql_train_on_sample(struct bql_train *train, const struct bql_path *path,
                                             const struct congestion_sample *sample)
{
    if (train->clears) {
        if (sample->after_bytes == 0)
            bql_train_await(train, sample->delivered_bytes);
        return (struct bql_train_verdict){.known = false};
    }
    if (tells_alone(train, path, sample))
        bql_train_await(train, train->newest_bytes);
    uint64_t bytes = sample->delivered_bytes - MIN(train->first_bytes, sample->delivered_bytes);
    bool first = train->first_ns == 0;
    uint64_t departs_ns = elapsed_ns(sample->newest_sent_ns, sample->oldest_sent_ns);
    uint64_t span_ns = came_within_ns(train, sample, departs_ns);
    note_lateness(train, sample);
    if (bytes == 0)
        return (struct bql_train_verdict){.known = false};
    uint64_t newly = sample->delivered_bytes - train->newest_bytes;
    train->singly = (first || train->singly) && newly < 2 * path->packet_bytes;
    train->newest_bytes = sample->delivered_bytes;
    if (bytes < (first ? FIRST_PACKETS : 3) * path->packet_bytes) {
        train->first_ns = first ? sample->delivered_ns : train->first_ns;
        train->first_bytes = first ? sample->delivered_bytes : train->first_bytes;
        train->wait_ns = MAX(train->wait_ns, sample->wait_ns);
        return (struct bql_train_verdict){.known = false};
    }
    /* The acks in between were lost, or a host stood still: the next train may tell. But where each packet had
     * an ack of its own, none was lost: the path is slow. */
    uint64_t told_ns = MAX(path->rtt_ns / 2, TRAIN_SPAN_MAX_NS);
    uint64_t unsure_ns = MAX(train->wait_ns, sample->wait_ns) + sample->hole_ns;
    bool told = (span_ns <= told_ns || train->singly) && departs_ns <= TRAIN_DEPARTS_NS;
    bool sure = unsure_ns <= MAX(span_ns / 4, UNSURE_NS);
    if (!(told && sure) && train->lost < TRAINS_LOST_MAX) {
        train->lost++;
        bql_train_await(train, sample->delivered_bytes);
        train->clears = sample->after_bytes > 0;
        return (struct bql_train_verdict){.known = false};
    }
    span_ns += unsure_ns > UNSURE_NS ? unsure_ns : 0;
    uint64_t train_bps = muldiv64(bytes, 8 * NS_PER_S, MAX(span_ns, TRAIN_SPAN_MIN_NS));
    return (struct bql_train_verdict){.known = true,
                                      .spread_bps = MIN(train_bps, BQL_TRAIN_BPS),
                                      .share_bps = share_bps(train, sample, unsure_ns),
                                      .tells = span_ns > TRAIN_SPAN_MIN_NS && told &&
                                               !tells_of_repairs(path, sample, departs_ns),
                                      .slow = train->singly};
}
