/* The law of liveness: edges that do as a table says, second by second, and how long each stood still. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "base/units.h"
#include "edge/liveness.h"

#define LEGS_MAX     6
#define STEP_NS      LIVENESS_LOOK_NS
#define TARGET_NS    (5 * NS_PER_MS)
#define PACKET_BYTES FULL_PACKET_WIRE_BYTES

/* What the edge does for a while; what is not said is 0, all limited by congestion control. */
struct leg {
    uint32_t ms;
    uint32_t mbps;
    uint32_t loss_percent;
    uint32_t queue_us;
    uint32_t otherwise_percent; /* of the time it is limited by something else */
    uint32_t asleep_percent;    /* its host stands still */
    enum congestion_duty duty;
    uint32_t left_mbps; /* what the path leaves; 0: nobody knows */
    bool marked, silent, begins;
};

struct world {
    struct liveness liveness;
    struct liveness_look look;
};

#define OWES .duty = CONGESTION_OWES_RATE

/* One look later. */
static void step(struct world *world, const struct leg *leg, uint64_t rtt_ns)
{
    struct liveness_look *look = &world->look;
    uint64_t sent_bytes = bytes_within(leg->mbps * 1000000ULL, STEP_NS);
    look->now_ns += STEP_NS;
    look->asleep_ns += STEP_NS / 100 * leg->asleep_percent;
    look->congested_ns += STEP_NS / 100 * (100 - leg->otherwise_percent - leg->asleep_percent);
    look->came_bytes += sent_bytes;
    look->came_packets = look->came_bytes / PACKET_BYTES;
    look->lost_packets += sent_bytes / PACKET_BYTES * leg->loss_percent / (100 - leg->loss_percent);
    look->marked_packets += leg->marked;
    look->rtt_ns = rtt_ns;
    look->queue_ns = leg->queue_us * NS_PER_US;
    look->target_ns = TARGET_NS;
    look->left_bps = leg->left_mbps * 1000000ULL;
    look->silent = leg->silent;
    look->duty = leg->duty;
    liveness_on_look(&world->liveness, look);
}

static uint64_t stuck_ms(struct world *world, const struct leg legs[LEGS_MAX], uint32_t rtt_ms)
{
    *world = (struct world){.look = {.now_ns = NS_PER_S, .began_ns = 1}};
    for (unsigned index = 0; index < LEGS_MAX; index++) {
        world->look.began_ns += legs[index].begins;
        for (uint64_t passed_ns = 0; passed_ns < legs[index].ms * NS_PER_MS; passed_ns += STEP_NS)
            step(world, &legs[index], rtt_ms * NS_PER_MS);
    }
    return world->liveness.sums.stuck_ns / NS_PER_MS;
}

static const struct {
    const char *what;
    uint32_t rtt_ms;
    struct leg legs[LEGS_MAX];
    uint32_t least_ms, most_ms;
} still_rows[] = {
    {"a steady edge", 10, {{.ms = 20000, .mbps = 100, OWES}}, 0, 0},
    {"one at a fifth", 10, {{.ms = 5000, .mbps = 100, OWES}, {.ms = 5000, .mbps = 20, OWES}}, 4700, 5000},
    {"one at three tenths", 10, {{.ms = 5000, .mbps = 100, OWES}, {.ms = 5000, .mbps = 30, OWES}}, 0, 0},
    {"3 windows",
     10,
     {{.ms = 5000, .mbps = 100, OWES}, {.ms = 330, .mbps = 5, OWES}, {.ms = 2000, .mbps = 90, OWES}},
     0,
     0},
    {"5 windows",
     10,
     {{.ms = 5000, .mbps = 100, OWES}, {.ms = 550, .mbps = 5, OWES}, {.ms = 2000, .mbps = 90, OWES}},
     400,
     550},
    {"3 windows of 8 RTT",
     100,
     {{.ms = 9000, .mbps = 100, OWES}, {.ms = 2800, .mbps = 5, OWES}, {.ms = 2000, .mbps = 90, OWES}},
     0,
     0},
    {"6 windows of 8 RTT",
     100,
     {{.ms = 9000, .mbps = 100, OWES}, {.ms = 5500, .mbps = 5, OWES}, {.ms = 2000, .mbps = 90, OWES}},
     3200,
     5500},
    {"a round trip of 1 s",
     1000,
     {{.ms = 30000, .mbps = 100, OWES}, {.ms = 45000, .mbps = 5, OWES}},
     32000,
     45000},
    {"what was long ago is forgotten",
     10,
     {{.ms = 5000, .mbps = 100, OWES}, {.ms = 300000, .mbps = 20, OWES}},
     105000,
     135000},
    {"below half for long: a path that changed",
     10,
     {{.ms = 5000, .mbps = 100, OWES}, {.ms = 20000, .mbps = 45, OWES}},
     19500,
     20000},
    {"… of which a part was counted before",
     10,
     {{.ms = 5000, .mbps = 100, OWES}, {.ms = 4000, .mbps = 20, OWES}, {.ms = 16000, .mbps = 45, OWES}},
     19500,
     20000},
    {"… for 9 s", 10, {{.ms = 5000, .mbps = 100, OWES}, {.ms = 9000, .mbps = 45, OWES}}, 0, 0},
    {"all that the path leaves now",
     10,
     {{.ms = 5000, .mbps = 100, OWES}, {.ms = 20000, .mbps = 20, .left_mbps = 25, OWES}},
     0,
     0},
    {"twice",
     10,
     {{.ms = 5000, .mbps = 100, OWES},
      {.ms = 1000, .mbps = 5, OWES},
      {.ms = 1000, .mbps = 80, OWES},
      {.ms = 1000, .mbps = 5, OWES}},
     1500,
     2000},
    {"hardly a packet", 10, {{.ms = 5000, .mbps = 1, OWES}, {.ms = 10000, .mbps = 0, OWES}}, 0, 0},
    {"few packets", 10, {{.ms = 9000, .mbps = 8, OWES}, {.ms = 9000, .mbps = 1, OWES}}, 8000, 9000},
    /* What hinders. */
    {"a queue",
     10,
     {{.ms = 5000, .mbps = 100, OWES}, {.ms = 5000, .mbps = 20, .queue_us = 2600, OWES}},
     0,
     0},
    {"half of one",
     10,
     {{.ms = 5000, .mbps = 100, OWES}, {.ms = 5000, .mbps = 20, .queue_us = 2400, OWES}},
     4700,
     5000},
    {"loss", 10, {{.ms = 5000, .mbps = 100, OWES}, {.ms = 5000, .mbps = 20, .loss_percent = 10, OWES}}, 0, 0},
    {"loss as ever",
     10,
     {{.ms = 5000, .mbps = 100, .loss_percent = 10, OWES},
      {.ms = 5000, .mbps = 20, .loss_percent = 12, OWES}},
     4700,
     5000},
    {"marks", 10, {{.ms = 5000, .mbps = 100, OWES}, {.ms = 5000, .mbps = 20, .marked = true, OWES}}, 0, 0},
    {"silence", 10, {{.ms = 5000, .mbps = 100, OWES}, {.ms = 5000, .mbps = 1, .silent = true, OWES}}, 0, 0},
    {"its application",
     10,
     {{.ms = 5000, .mbps = 100, OWES}, {.ms = 5000, .mbps = 20, .otherwise_percent = 15, OWES}},
     0,
     0},
    {"… a little",
     10,
     {{.ms = 5000, .mbps = 100, OWES}, {.ms = 5000, .mbps = 20, .otherwise_percent = 5, OWES}},
     4700,
     5000},
    {"a host that stands still",
     10,
     {{.ms = 5000, .mbps = 100, OWES}, {.ms = 5000, .mbps = 20, .asleep_percent = 80, OWES}},
     0,
     0},
    /* Who owes no rate. */
    {"a start",
     10,
     {{.ms = 5000, .mbps = 100, OWES},
      {.ms = 5000, .mbps = 20, .duty = CONGESTION_STARTS},
      {.ms = 5000, .mbps = 20, OWES}},
     0,
     0},
    {"a contest",
     10,
     {{.ms = 5000, .mbps = 100, OWES}, {.ms = 5000, .mbps = 20, .duty = CONGESTION_CONTENDS}},
     0,
     0},
    {"a rate that is held",
     10,
     {{.ms = 5000, .mbps = 100, OWES}, {.ms = 5000, .mbps = 20, .duty = CONGESTION_HOLDS}},
     0,
     0},
    {"… far below",
     10,
     {{.ms = 5000, .mbps = 100, OWES}, {.ms = 5000, .mbps = 5, .duty = CONGESTION_HOLDS}},
     4700,
     5000},
    {"a rate that is given", 10, {{.ms = 5000, .mbps = 100}, {.ms = 5000, .mbps = 20}}, 0, 0},
    {"a strategy that begins",
     10,
     {{.ms = 5000, .mbps = 100, OWES}, {.ms = 5000, .mbps = 20, .begins = true, OWES}},
     0,
     0},
};

static void liveness__stands_still(void **state)
{
    (void)state;
    for (size_t row = 0; row < sizeof(still_rows) / sizeof(still_rows[0]); row++) {
        struct world world;
        uint64_t found_ms = stuck_ms(&world, still_rows[row].legs, still_rows[row].rtt_ms);
        if (found_ms < still_rows[row].least_ms || found_ms > still_rows[row].most_ms)
            fail_msg("%s: stuck for %lu ms, not %u to %u", still_rows[row].what, (unsigned long)found_ms,
                     still_rows[row].least_ms, still_rows[row].most_ms);
    }
}

/* Far below what it had: by itself, or because something held it there until just now. */
static void liveness__goes_deep(void **state)
{
    (void)state;
    static const struct {
        struct leg fall;
        uint32_t deep_ms;
    } rows[] = {
        {{.ms = 200, .mbps = 5, OWES}, 100},
        {{.ms = 200, .mbps = 7, OWES}, 0},
        {{.ms = 1000, .mbps = 5, .queue_us = 5000, OWES}, 0},
        {{.ms = 1000, .mbps = 5, .duty = CONGESTION_CONTENDS}, 0},
    };
    for (size_t row = 0; row < sizeof(rows) / sizeof(rows[0]); row++) {
        struct world world;
        const struct leg legs[LEGS_MAX] = {{.ms = 5000, .mbps = 100, OWES},
                                           rows[row].fall,
                                           {.ms = row < 2 ? 0 : 100, .mbps = 5, OWES},
                                           {.ms = 5000, .mbps = 90, OWES}};
        stuck_ms(&world, legs, 10);
        assert_int_equal(world.liveness.sums.deep_ns / NS_PER_MS, rows[row].deep_ms);
        assert_int_equal(world.liveness.sums.late_ns, 0);
    }
}

/* One that rises too slowly stands still no longer, but is late. */
static void liveness__comes_back(void **state)
{
    (void)state;
    static const struct {
        uint32_t mbps, ms;
        bool late;
    } rows[] = {{5, 300, false}, {30, 300, false}, {30, 600, true}, {60, 5000, false}};
    for (size_t row = 0; row < sizeof(rows) / sizeof(rows[0]); row++) {
        struct world world;
        const struct leg legs[LEGS_MAX] = {{.ms = 5000, .mbps = 100, OWES},
                                           {.ms = 100, .mbps = 20, OWES},
                                           {.ms = rows[row].ms - 100, .mbps = rows[row].mbps, OWES},
                                           {.ms = 1000, .mbps = 90, OWES}};
        assert_int_equal(stuck_ms(&world, legs, 10), 0);
        assert_int_equal(world.liveness.sums.late_ns != 0, rows[row].late);
    }
}

/* What is told besides. */
static void liveness__tells_of_now(void **state)
{
    (void)state;
    struct world world;
    static const struct leg legs[LEGS_MAX] = {{.ms = 5000, .mbps = 100, .loss_percent = 10, OWES},
                                              {.ms = 300, .mbps = 20, .queue_us = 4000, OWES}};
    stuck_ms(&world, legs, 10);
    struct liveness_most most = liveness_most(&world.liveness);
    assert_in_range(most.bps, 99000000, 101000000);
    assert_in_range(most.loss_ppm, 90000, 110000);
    assert_true(world.liveness.low);
    assert_false(world.liveness.unhindered);
    assert_false(liveness_due(&world.liveness, world.look.now_ns + LIVENESS_LOOK_NS - 1));
    assert_true(liveness_due(&world.liveness, world.look.now_ns + LIVENESS_LOOK_NS));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(liveness__stands_still), cmocka_unit_test(liveness__goes_deep),
        cmocka_unit_test(liveness__comes_back), cmocka_unit_test(liveness__tells_of_now)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
