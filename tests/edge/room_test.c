/* bql/room.h and bql/chance.h: p0 of paths with few packets, by tables. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "base/units.h"
#include "edge/bql/move.h"
#include "edge/bql/room.h"

#define PACKET_BYTES 1500
#define RTT_NS       (300 * NS_PER_MS)

struct stretch {
    uint32_t packets;
    uint32_t queue_ms;           /* that they met */
    uint32_t rate_kbps, lost_in; /* one in so many is lost; 0: none */
};

/* Packets one by one, each told at once. */
static void feed(struct bql_room *room, struct bql_path *path, const struct stretch *stretch,
                 enum bql_room_use use)
{
    for (uint32_t packet = 0; packet < stretch->packets; packet++) {
        bool lost = stretch->lost_in > 0 && packet % stretch->lost_in == stretch->lost_in - 1;
        uint64_t now_ns = path->now_ns + transmit_ns(PACKET_BYTES, stretch->rate_kbps * 1000ULL);
        struct congestion_sample sample = {.now_ns = now_ns,
                                           .rtt_min_ns = RTT_NS,
                                           .acked_packets = !lost,
                                           .acked_bytes = lost ? 0 : PACKET_BYTES,
                                           .lost_packets = lost,
                                           .delivered_bytes = path->told_bytes + (lost ? 0 : PACKET_BYTES),
                                           .delivered_ns = now_ns,
                                           .owd_known = true,
                                           .owd_ns = (int64_t)(RTT_NS / 2 + stretch->queue_ms * NS_PER_MS),
                                           .newest_sent_ns = now_ns - RTT_NS,
                                           .limited = EDGE_LIMIT_congestion};
        bql_path_on_sample(path, &sample, stretch->rate_kbps * 1000ULL);
        bql_path_observe_capacity(path, stretch->rate_kbps * 1000ULL);
        bql_room_on_sample(room, path, &sample, stretch->rate_kbps * 1000ULL, use);
    }
}

static void room__tells_chance_where_there_is_room(void **state)
{
    (void)state;
    static const struct {
        const char *name;
        enum bql_room_use use;
        struct stretch stretches[3];
        uint32_t least_ppm, most_ppm; /* p0 then */
    } rows[] = {
        {"half of what the buffer held",
         BQL_ROOM_QUEUE,
         {{40, 0, 64, 0}, {40, 1200, 64, 0}, {200, 600, 64, 10}},
         80000,
         120000},
        {"as long as it ever was",
         BQL_ROOM_QUEUE,
         {{40, 0, 64, 0}, {40, 1200, 64, 0}, {200, 1200, 64, 10}},
         0,
         0},
        {"never a queue, as a policer does",
         BQL_ROOM_QUEUE,
         {{40, 0, 64, 0}, {240, 0, 64, 10}, {0, 0, 0, 0}},
         0,
         0},
        {"little of what was delivered",
         BQL_ROOM_RATE,
         {{200, 0, 128, 0}, {200, 0, 90, 10}, {0, 0, 0, 0}},
         80000,
         120000},
        {"most of what was delivered",
         BQL_ROOM_RATE,
         {{200, 0, 128, 0}, {200, 0, 118, 10}, {0, 0, 0, 0}},
         0,
         0},
        {"little, but others may have the rest",
         BQL_ROOM_QUEUE,
         {{200, 0, 128, 0}, {200, 0, 90, 10}, {0, 0, 0, 0}},
         0,
         0},
        {"two minutes later",
         BQL_ROOM_QUEUE,
         {{40, 1200, 64, 0}, {1000, 600, 64, 0}, {200, 600, 64, 10}},
         0,
         0},
        {"many packets: rounds tell",
         BQL_ROOM_QUEUE,
         {{200, 0, 5000, 0}, {400, 100, 5000, 0}, {800, 50, 5000, 10}},
         0,
         0},
    };
    for (size_t row = 0; row < sizeof(rows) / sizeof(rows[0]); row++) {
        struct bql_path path;
        struct bql_room room;
        bql_path_init(&path, PACKET_BYTES, RTT_NS, true, NS_PER_S);
        bql_room_init(&room, NS_PER_S);
        for (int index = 0; index < 3; index++)
            feed(&room, &path, &rows[row].stretches[index], rows[row].use);
        print_message("%s: p0 %u ppm\n", rows[row].name, path.chance.base_ppm);
        assert_in_range(path.chance.base_ppm, rows[row].least_ppm, rows[row].most_ppm);
    }
}

static void chance__of_few_packets(void **state)
{
    (void)state;
    struct bql_chance chance = {.base_ppm = 333333};
    bql_chance_on_start(&chance, 6);
    assert_in_range(chance.base_ppm, 90000, 91000); /* two of six say little */
    assert_false(bql_chance_told(&chance));
    /* 10 %, in groups of 16 with 0 to 4 lost: never far from it any more, and the swing is not chance's own. */
    static const uint32_t lost[8] = {0, 3, 1, 2, 1, 4, 0, 2};
    for (int group = 0; group < 200; group++) {
        bql_chance_on_few(&chance, lost[group % 8], 16);
        if (group >= 40)
            assert_in_range(chance.base_ppm, 90000, 112000);
    }
    assert_true(bql_chance_told(&chance));
    assert_in_range(chance.swing_ppm, 0, 10000);
    /* More than a fifth has to be shown by a lower rate. */
    for (int group = 0; group < 100; group++)
        bql_chance_on_few(&chance, 8, 16);
    assert_int_equal(chance.base_ppm, 200000);
    /* It has gone. */
    for (int group = 0; group < 100; group++)
        bql_chance_on_few(&chance, 0, 16);
    assert_in_range(chance.base_ppm, 0, 30000);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(room__tells_chance_where_there_is_room),
                                       cmocka_unit_test(chance__of_few_packets)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
