#include "probe/sluice_course.h"

#include <math.h>

/* Trains of the first look; where packets come in batches, longer by as much as it takes to see a rate. */
#define CONTACT_PRIME   32u
#define CONTACT_PACKETS 200u
#define CONTACT_LEAST   0.1 /* last rate, of the first */
/* After a drowned train the first rate is so many times what came of it. */
#define DROWNED_TOP 3
/* A measurement with a period is of all of that: its first train takes so much of the bytes at most, or so
 * many packets. */
#define CONTACT_SHARE         0.25
#define CONTACT_PERIOD_LEAST  80u
#define CONTACT_NS_MOST       (800 * NS_PER_MS) /* no sender takes longer trains than a second */
#define CONTACT_BATCH_LEAST   0.15
#define CONTACT_BATCH_PRIME   128u
#define CONTACT_BATCH_PACKETS 384u
#define REFINE_PRIME          24u
#define REFINE_BATCH_PRIME    96u
#define REFINE_LEAST          200u
#define REFINE_MOST           670u
#define REFINE_BATCH_MOST     1100u
#define REFINE_NS             (2500 * NS_PER_US)
#define REFINE_BATCH_NS       (7700 * NS_PER_US)
/* All of a spread train may stand in the queue when the cross traffic wants it so. */
#define SPREAD_QUEUE_BYTES 249000u
#define SPREAD_BATCHES     16u /* that a train has at least */
#define SPREAD_BATCH_MOST  32u
#define SPREAD_LEAST       40u
/* Of the queue that a spread train's prime makes for cross traffic's sake, what it lets go: of a queue left
 * behind nothing is learned. With more the hop runs dry in many trains, and what cross traffic did then is
 * not seen either. */
#define SPREAD_USED         0.35
#define SPREAD_TRAINS_LEAST 25u
#define SPREAD_TRAINS_MOST  400u
/* One that goes on: from one train to the next. */
#define INTERVAL_NS     (100 * NS_PER_MS)
#define INTERVAL_MAX_NS NS_PER_S
#define LOAD_TRAINS     5   /* over 10 s at least, where that allows few packets */
#define LOAD_SHARE      0.8 /* of the load allowed, that its trains take */
/* A prime's queue stands above the stamps' noise by so much. */
#define NOISE_DEVIATIONS   20
#define NOISE_PACKETS_MOST 128
/* Least rate around which a train is sent, of the capacity: it comes to an end. */
#define RATE_LEAST    0.08
#define SPREAD_TRAINS 100u /* where nothing says how many */
/* Two ends of a train at 95 %: 1.96 times the root of 2. Its stamps are to err by a third of what is asked for. */
#define STAMPS_DEVIATIONS 2.77
#define FLOOR_PART        3
/* Batches that a train has, or it says nothing. */
#define BATCHES_LEAST 4u
/* Of a token bucket to be seen, more must pass than it holds. What exceeds the rest may queue; if that was there
 * for a moment only, all of it. */
#define FINGERPRINT_LEAST       500
#define FINGERPRINT_MOST        1000
#define FINGERPRINT_QUEUE_BYTES 240000
#define FINGERPRINT_SHARE       0.2 /* of a measurement's bytes, and of what the load gives in 10 s, at most */

/* Bit/ns that are available, as far as is known. */
static double available(const struct sluice *sluice)
{
    struct pool_view view;
    double port = bits_ns(sluice->goal.port_bps);
    if (sluice->path.capacity <= 0)
        return port;
    if (sluice->pool.count == 0)
        return fmin(port,
                    fmax(sluice->path.capacity - sluice->path.cross, RATE_LEAST * sluice->path.capacity));
    pool_view(&sluice->pool, sluice->path.capacity, sluice->path.capacity_error, sluice->packet_bits,
              sluice->bursty, &view);
    return fmin(port, fmax(sluice->path.capacity - view.cross, RATE_LEAST * sluice->path.capacity));
}

/* More packets of a prime, so that noise of stamps does not hide its queue. */
static uint32_t noise_packets(const struct sluice *sluice)
{
    double bits = NOISE_DEVIATIONS * sluice->noise_ns * bits_ns(sluice->goal.port_bps);
    if (sluice->path.capacity > 0)
        bits = NOISE_DEVIATIONS * sluice->noise_ns * sluice->path.capacity;
    return (uint32_t)fmin(bits / sluice->packet_bits, NOISE_PACKETS_MOST);
}

/* Packets that are the whole load over 10 s of a path of that capacity; a few at least. */
static uint32_t load_packets(const struct sluice *sluice, double capacity)
{
    double bits = sluice->goal.load_ppm / 1e6 * capacity * (double)BUDGET_WINDOW_NS;
    if (bits <= 0)
        return TRAIN_PACKETS_MAX;
    return (uint32_t)fmin(fmax(bits / sluice->packet_bits, SPREAD_LEAST), TRAIN_PACKETS_MAX);
}

/* Time on a train's clock over which the stamps of its two ends err by as much as is asked for, at 95 %. */
static double floor_ns(const struct sluice *sluice)
{
    double width = (double)sluice->goal.width_ppm / 1e6;
    return width > 0 ? STAMPS_DEVIATIONS * sluice->noise_ns / width : 0;
}

static uint32_t affordable(const struct sluice *sluice, uint32_t packets)
{
    return (uint32_t)MIN((uint64_t)packets, budget_left(&sluice->budget) / sluice->goal.wire_bytes);
}

enum estimate_reason sluice_hopeless(const struct sluice *sluice)
{
    const struct estimator_goal *goal = &sluice->goal;
    uint64_t top_bps = goal->receiver_bps > 0 ? MIN(goal->receiver_bps, goal->port_bps) : goal->port_bps;
    uint32_t packets = affordable(sluice, TRAIN_PACKETS_MAX);
    double longest_ns = packets * sluice->packet_bits / (RATE_LEAST * bits_ns(top_bps));
    if (floor_ns(sluice) > longest_ns)
        return ESTIMATE_NOISE;
    return goal->receiver.batch > 1 && goal->receiver.batch * BATCHES_LEAST > packets ? ESTIMATE_BATCHES
                                                                                      : ESTIMATE_SURE;
}

/* The fastest rate of a first look. */
static uint64_t contact_bps(const struct sluice *sluice)
{
    uint64_t top_bps = sluice->goal.receiver_bps > 0 ? sluice->goal.receiver_bps : sluice->goal.port_bps;
    return sluice->drowned > 0 ? MIN(top_bps, bps_of(DROWNED_TOP * sluice->drowned)) : top_bps;
}

static void contact_shape(const struct sluice *sluice, struct train_shape *shape)
{
    uint64_t top_bps = contact_bps(sluice);
    bool batched = sluice->batched;
    uint32_t prime = batched ? CONTACT_BATCH_PRIME : CONTACT_PRIME + noise_packets(sluice);
    uint32_t packets = batched ? CONTACT_BATCH_PACKETS : CONTACT_PACKETS;
    uint32_t most = load_packets(sluice, bits_ns(MIN(top_bps, sluice->goal.port_bps)));
    most = affordable(sluice, most);
    if (sluice->goal.first_packets_max > 0)
        most = MIN(most, MAX(sluice->goal.first_packets_max, SPREAD_LEAST));
    if (sluice->goal.duration_ns > 0 && sluice->goal.bytes_max > 0)
        most = MIN(most, MAX((uint32_t)(CONTACT_SHARE * sluice->goal.bytes_max / sluice->goal.wire_bytes),
                             CONTACT_PERIOD_LEAST));
    if (prime + packets > most) {
        prime = prime * most / (prime + packets);
        packets = most - prime;
    }
    double least = batched ? CONTACT_BATCH_LEAST : CONTACT_LEAST;
    profile_contact(&sluice->profile, top_bps, prime, packets, least, shape);
    uint64_t lasts_ns = train_duration_ns(shape);
    if (lasts_ns > CONTACT_NS_MOST)
        profile_contact(&sluice->profile, top_bps, prime, (uint32_t)(packets * CONTACT_NS_MOST / lasts_ns),
                        least, shape);
}

static void refine_shape(const struct sluice *sluice, struct train_shape *shape)
{
    double rate = available(sluice), least_ns = FLOOR_PART * floor_ns(sluice);
    double most_ns = fmax(sluice->batched ? REFINE_BATCH_NS : REFINE_NS, least_ns);
    uint32_t prime = sluice->batched ? REFINE_BATCH_PRIME : REFINE_PRIME + noise_packets(sluice);
    double fitting = most_ns * rate / sluice->packet_bits;
    double most =
        fmax(sluice->batched ? REFINE_BATCH_MOST : REFINE_MOST, least_ns * rate / sluice->packet_bits);
    uint32_t wanted = prime + (uint32_t)fmin(fmax(fitting, REFINE_LEAST), most);
    uint32_t packets = affordable(sluice, MIN(wanted, TRAIN_PACKETS_MAX));
    prime = MIN(prime, packets / 4);
    profile_around(&sluice->profile, bps_of(rate), prime, packets - prime, shape);
}

/* Packets of a queue: two deviations of the cross traffic over a train. */
static double spread_walk(const struct sluice *sluice, double rate, uint32_t packets)
{
    return 2 * sqrt(fmax(sluice->path.cross, 0) * packets / rate);
}

/* Those that make it, at the port's rate. */
static uint32_t prime_of(const struct sluice *sluice, double rate, double queue, uint32_t packets)
{
    double kept = fmax(1 - rate / bits_ns(sluice->goal.port_bps), 0.05);
    return (uint32_t)fmin(fmax(queue / kept, 8), packets / 2);
}

/* Packets that come as one, as far as a spread train bears it; 0: each comes by itself. */
static uint32_t spread_batch(const struct sluice *sluice)
{
    return sluice->batched ? MIN(sluice->batch, SPREAD_BATCH_MOST) : 0;
}

uint32_t sluice_spread_packets(const struct sluice *sluice)
{
    uint64_t queue = sluice->goal.queue_bytes_max > 0 ? sluice->goal.queue_bytes_max : SPREAD_QUEUE_BYTES;
    uint64_t bytes = MIN(queue, (uint64_t)SPREAD_QUEUE_BYTES);
    if (sluice->goal.bytes_max > 0)
        bytes = MIN(
            bytes, MAX(sluice->goal.bytes_max / SPREAD_TRAINS_LEAST, SPREAD_LEAST * sluice->goal.wire_bytes));
    uint32_t batches = SPREAD_BATCHES * spread_batch(sluice);
    uint32_t packets = MAX((uint32_t)(bytes / sluice->goal.wire_bytes), batches);
    if (sluice->path.capacity > 0)
        packets = MIN(packets, MAX(load_packets(sluice, sluice->path.capacity) / LOAD_TRAINS, SPREAD_LEAST));
    return packets;
}

bool sluice_few_trains(const struct sluice *sluice)
{
    uint64_t train_bytes = (uint64_t)sluice_spread_packets(sluice) * sluice->goal.wire_bytes;
    return sluice->goal.bytes_max > 0 && train_bytes > sluice->goal.bytes_max / SPREAD_TRAINS_LEAST;
}

static void spread_shape(const struct sluice *sluice, struct train_shape *shape)
{
    uint32_t packets = sluice_spread_packets(sluice);
    double rate = available(sluice);
    if (sluice->bursty && sluice->path.capacity > 0) {
        profile_flat(&sluice->profile, bps_of(sluice->path.capacity), packets, shape);
        return;
    }
    double walk = spread_walk(sluice, rate, packets);
    uint32_t prime = prime_of(sluice, rate, walk + 4 + noise_packets(sluice) + spread_batch(sluice), packets);
    rate *= fmax(1 - SPREAD_USED * walk / (packets - prime), RATE_LEAST);
    profile_around(&sluice->profile, bps_of(rate), prime, packets - prime, shape);
}

/* All of it that exceeds what is available, and what a known bucket holds, may come to stand in a queue. */
static uint32_t fingerprint_packets(const struct sluice *sluice)
{
    double rate = available(sluice), bytes = FINGERPRINT_QUEUE_BYTES;
    if (sluice->shapers > 0) {
        rate = fmin(rate, sluice->shaper.rate - sluice->shaper.cross);
        bytes += sluice->shaper.depth_bits / 8;
    }
    double excess = 1 - rate / fmax(sluice->path.capacity, 1e-9);
    double packets = bytes / fmax(excess, 1e-3) / sluice->goal.wire_bytes;
    double paid = FINGERPRINT_MOST;
    if (sluice->goal.bytes_max > 0)
        paid = fmin(paid, FINGERPRINT_SHARE * sluice->goal.bytes_max / sluice->goal.wire_bytes);
    if (sluice->goal.load_ppm > 0)
        paid = fmin(paid, FINGERPRINT_SHARE * load_packets(sluice, sluice->path.capacity));
    return (uint32_t)fmin(packets, fmax(paid, FINGERPRINT_LEAST));
}

/* A short one that is too dear is none; a long one is as long as may be. */
bool sluice_can_fingerprint(const struct sluice *sluice)
{
    uint64_t bytes = (uint64_t)fingerprint_packets(sluice) * sluice->goal.wire_bytes;
    bool paid = sluice->goal.bytes_max == 0 ||
                (bytes < budget_left(&sluice->budget) && bytes <= FINGERPRINT_SHARE * sluice->goal.bytes_max);
    if (sluice->goal.load_ppm > 0)
        paid &=
            fingerprint_packets(sluice) <= FINGERPRINT_SHARE * load_packets(sluice, sluice->path.capacity);
    return paid && sluice->path.capacity > 0 && !sluice->batched;
}

static void fingerprint_shape(const struct sluice *sluice, struct train_shape *shape)
{
    profile_flat(&sluice->profile, bps_of(sluice->path.capacity), fingerprint_packets(sluice), shape);
}

void sluice_shape(const struct sluice *sluice, struct train_shape *shape)
{
    switch (sluice->phase) {
    case CONTACT:
        contact_shape(sluice, shape);
        break;
    case FINGERPRINT:
        fingerprint_shape(sluice, shape);
        break;
    case REFINE:
        refine_shape(sluice, shape);
        break;
    case SPREAD:
    case OVER:
        spread_shape(sluice, shape);
        break;
    }
}

void sluice_next_slot(struct sluice *sluice)
{
    uint64_t train_ns = NS_PER_MS;
    uint64_t room_ns = sluice->slot_ns > 2 * train_ns ? sluice->slot_ns - train_ns : sluice->slot_ns / 2;
    sluice->at_ns = sluice->slot_begin_ns + rng_below(&sluice->rng, room_ns + 1);
    sluice->slot_begin_ns += sluice->slot_ns;
}

/* Time from one train's begin to the next one's. */
static uint64_t slot_length(const struct sluice *sluice, uint64_t now_ns)
{
    uint64_t train_bytes = (uint64_t)sluice_spread_packets(sluice) * sluice->goal.wire_bytes;
    double capacity = sluice->path.capacity > 0 ? sluice->path.capacity : bits_ns(sluice->goal.port_bps);
    double load = LOAD_SHARE * sluice->goal.load_ppm / 1e6 * capacity;
    uint64_t least_ns = load > 0 ? (uint64_t)((double)train_bytes * 8 / load) : 0;
    if (sluice->goal.continuous)
        return MIN(MAX(least_ns, INTERVAL_NS), MAX(INTERVAL_MAX_NS, least_ns));
    if (sluice->end_ns == TIME_NEVER)
        return MAX((uint64_t)(4 * train_bytes * 8 / available(sluice)), 2 * NS_PER_MS);
    uint64_t left_ns = elapsed_ns(sluice->end_ns, now_ns + sluice->round_ns);
    uint64_t trains = sluice->goal.bytes_max > 0 ? budget_left(&sluice->budget) / train_bytes : SPREAD_TRAINS;
    trains = MIN(MAX(trains, (uint64_t)1), (uint64_t)SPREAD_TRAINS_MOST);
    return MAX(left_ns / trains, 2 * NS_PER_MS);
}

void sluice_begin_spread(struct sluice *sluice, uint64_t now_ns)
{
    sluice->phase = SPREAD;
    sluice->slot_ns = slot_length(sluice, now_ns);
    sluice->slot_begin_ns = now_ns;
    sluice_next_slot(sluice);
}
