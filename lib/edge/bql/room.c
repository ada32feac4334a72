#include "edge/bql/room.h"

#include "base/units.h"
#include "edge/bql/move.h"

#define HOLD_NS       (60 * NS_PER_S)
#define SEEN_PACKETS  2 /* a shorter queue may be packets that left too close together */
#define TOLD_PACKETS  16
#define LASTS_PACKETS 32
#define LOW_PPM       800000ULL
#define SAFE_PPM      750000ULL

void bql_room_init(struct bql_room *room, uint64_t now_ns)
{
    *room = (struct bql_room){.since_ns = now_ns, .late_since_ns = now_ns};
}

static uint64_t packets_ns(const struct bql_path *path, uint64_t packets)
{
    return transmit_ns(packets * path->packet_bytes, MAX(path->capacity_bps, BQL_RATE_MIN_BPS));
}

/* What the path took so far. */
static void note_most(struct bql_room *room, const struct bql_path *path, uint64_t queue_ns)
{
    if (elapsed_ns(path->now_ns, room->since_ns) > HOLD_NS) {
        room->most_before = room->most;
        room->most = (struct bql_room_mark){.queue_ns = 0};
        room->since_ns = path->now_ns;
    }
    if (queue_ns >= packets_ns(path, SEEN_PACKETS) + 4 * path_delay_jitter_ns(&path->delay))
        room->most.queue_ns = MAX(room->most.queue_ns, queue_ns);
    if (path_rate_holds(&path->rate, LASTS_PACKETS * path->packet_bytes)) {
        uint64_t bps = path_rate_over(&path->rate, path->rtt_ns, LASTS_PACKETS * path->packet_bytes);
        room->most.rate_bps = MAX(room->most.rate_bps, bps);
    }
}

/* What packets met whose fate is known now. */
static void note_late(struct bql_room *room, const struct bql_path *path, uint64_t queue_ns,
                      uint64_t rate_bps)
{
    uint64_t takes_ns = path->rtt_ns + room->late.queue_ns + packets_ns(path, SEEN_PACKETS);
    if (elapsed_ns(path->now_ns, room->late_since_ns) > takes_ns) {
        room->late_before = room->late;
        room->late = (struct bql_room_mark){.queue_ns = 0};
        room->late_since_ns = path->now_ns;
    }
    room->late.queue_ns = MAX(room->late.queue_ns, queue_ns);
    room->late.rate_bps = MAX(room->late.rate_bps, rate_bps);
}

/* What a queue is counted from has moved: nothing is known of the room any more. */
static void note_base(struct bql_room *room, const struct bql_path *path)
{
    int64_t base_ns = path->delay.base_ns;
    if (base_ns > room->base_ns + (int64_t)packets_ns(path, SEEN_PACKETS))
        bql_room_init(room, path->now_ns);
    room->base_ns = base_ns;
}

static bool is_ample(const struct bql_room *room, const struct bql_path *path, enum bql_room_use use)
{
    uint64_t seen_ns = MAX(room->most.queue_ns, room->most_before.queue_ns);
    uint64_t took_bps = MAX(room->most.rate_bps, room->most_before.rate_bps);
    uint64_t queue_ns = MAX(room->late.queue_ns, room->late_before.queue_ns);
    uint64_t rate_bps = MAX(room->late.rate_bps, room->late_before.rate_bps);
    if (queue_ns > path->queue_max_ns)
        return false;
    return queue_ns < seen_ns / 4 * 3 || (use == BQL_ROOM_RATE && queue_ns < packets_ns(path, SEEN_PACKETS) &&
                                          rate_bps < muldiv64(took_bps, LOW_PPM, BQL_PPM));
}

void bql_room_on_sample(struct bql_room *room, struct bql_path *path, const struct congestion_sample *sample,
                        uint64_t rate_bps, enum bql_room_use use)
{
    if (!path->delay.known)
        return;
    if (!bql_path_is_sparse(path)) {
        bql_room_init(room, path->now_ns);
        path->chance.known = 0;
        return;
    }
    uint64_t queue_ns = path_delay_queue_ns(&path->delay);
    note_base(room, path);
    note_most(room, path, queue_ns);
    note_late(room, path, queue_ns, rate_bps);
    if (use == BQL_ROOM_NONE || !is_ample(room, path, use) || path->now_ns < path->limited_until_ns)
        return;
    room->acked += sample->acked_packets;
    room->lost += sample->lost_packets;
    if (room->acked + room->lost < TOLD_PACKETS)
        return;
    bql_chance_on_few(&path->chance, room->lost, room->acked + room->lost);
    room->told += room->acked + room->lost;
    room->acked = 0;
    room->lost = 0;
}

uint64_t bql_room_safe_bps(const struct bql_room *room)
{
    uint64_t took_bps = MAX(room->most.rate_bps, room->most_before.rate_bps);
    return muldiv64(took_bps, SAFE_PPM, BQL_PPM);
}
