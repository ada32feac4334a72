/* Batches, noise and granularity of a host's stamps; a link made from its configuration. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/units.h"
#include "netem/make.h"
#include "netem/stamper.h"

static void netem_stamp_all__batches(void **state)
{
    (void)state;
    const struct {
        struct netem_stamping stamping;
        uint32_t count;
        uint64_t came_ns[8], stamps_ns[8];
    } rows[] = {
        {{0}, 3, {1000, 1001, 7000}, {1000, 1001, 7000}},
        {{.batch = 1, .batch_ns = 500}, 2, {1000, 1001}, {1000, 1001}},
        {{.batch = 3, .batch_ns = 500}, 7, {10, 20, 30, 40, 50, 60, 70}, {30, 30, 30, 60, 60, 60, 570}},
        {{.batch = 3, .batch_ns = 25}, 6, {10, 20, 40, 50, 66, 200}, {35, 35, 65, 65, 91, 225}},
        {{.batch = 4, .batch_ns = 30}, 4, {10, 20, 30, 40}, {40, 40, 40, 40}}, /* the last at the very end */
        {{.batch = 4, .batch_ns = 29}, 4, {10, 20, 30, 40}, {39, 39, 39, 69}},
        {{.granularity_ns = 16}, 4, {15, 16, 31, 1000}, {0, 16, 16, 992}},
        {{.batch = 2, .batch_ns = 100, .granularity_ns = 10}, 3, {11, 25, 31}, {20, 20, 130}},
    };
    for (size_t row = 0; row < sizeof(rows) / sizeof(rows[0]); row++) {
        uint64_t times_ns[8];
        struct rng rng;
        rng_init(&rng, 1);
        memcpy(times_ns, rows[row].came_ns, sizeof(times_ns));
        netem_stamp_all(&rows[row].stamping, times_ns, rows[row].count, &rng);
        for (uint32_t packet = 0; packet < rows[row].count; packet++)
            assert_int_equal(times_ns[packet], rows[row].stamps_ns[packet]);
        assert_int_equal(rng.state, 1); /* nothing is drawn */
    }
}

/* While they come: a batch is there when it is complete, not before. */
static void netem_stamp_batch__when_it_is_complete(void **state)
{
    (void)state;
    const struct netem_stamping stamping = {.batch = 3, .batch_ns = 100};
    const uint64_t came_ns[] = {10, 20, 60};
    uint64_t stamp_ns;
    assert_int_equal(netem_stamp_batch(&stamping, came_ns, 2, 59, &stamp_ns), 0);
    assert_int_equal(netem_stamp_batch(&stamping, came_ns, 3, 60, &stamp_ns), 3);
    assert_int_equal(stamp_ns, 60);
    assert_int_equal(netem_stamp_batch(&stamping, came_ns, 2, 109, &stamp_ns), 0);
    assert_int_equal(netem_stamp_batch(&stamping, came_ns, 2, 110, &stamp_ns), 2);
    assert_int_equal(stamp_ns, 110);
}

static void netem_stamp__noise(void **state)
{
    (void)state;
    enum { STAMPS = 100000 };
    const struct netem_stamping stamping = {.noise_ns = 100};
    struct rng rng;
    int64_t sum = 0, squares = 0;
    rng_init(&rng, 9);
    for (unsigned stamp = 0; stamp < STAMPS; stamp++) {
        int64_t off_ns = (int64_t)netem_stamp(&stamping, NS_PER_S, &rng) - (int64_t)NS_PER_S;
        sum += off_ns;
        squares += off_ns * off_ns;
    }
    assert_in_range(sum / 100 + 1265, 0, 2530); /* four deviations of the mean: 1.265 ns */
    assert_in_range(squares / STAMPS, 9820, 10180);
    assert_in_range(netem_stamp(&stamping, 0, &rng), 0, 600);
    assert_false(netem_stamping_exact(&stamping));
    assert_true(
        netem_stamping_exact(&(struct netem_stamping){.batch = 1, .batch_ns = 5, .granularity_ns = 1}));
}

/* Everything that a configuration asks for is in the one piece of memory; loads of one link differ. */
static void netem_make__joins_all_loads(void **state)
{
    (void)state;
    const struct netem_load onoff = {.kind = NETEM_LOAD_ONOFF,
                                     .rate_bps = 100000000,
                                     .wire_bytes = 1538,
                                     .sources = 20,
                                     .on_ns = NS_PER_MS,
                                     .off_ns = NS_PER_MS,
                                     .alpha_milli = 1500};
    const struct netem_config config = {.rate_bps = 10 * NS_PER_S,
                                        .queue_unit = NETEM_QUEUE_PACKETS,
                                        .queue_limit = 100,
                                        .background_bps = 1000000000,
                                        .load_count = 2,
                                        .loads = {onoff, onoff}};
    struct netem_link link;
    void *memory = malloc(netem_memory_bytes(&config, 100));
    netem_make(&link, &config, 100, 3, memory);
    netem_catch_up(&link, NS_PER_S);
    const struct netem_background *first = link.background.following, *second = first->following;
    assert_null(second->following);
    assert_true(first->next_ns != second->next_ns);
    assert_int_equal(netem_config_cross_bps(&config), 3000000000);
    assert_in_range(link.counters.background_bytes, 3000000000 / 8 * 80 / 100, 3000000000 / 8 * 120 / 100);
    free(link.memory);
    assert_int_equal(netem_memory_bytes(&(struct netem_config){.rate_bps = 1}, 0), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(netem_stamp_all__batches),
        cmocka_unit_test(netem_stamp_batch__when_it_is_complete),
        cmocka_unit_test(netem_stamp__noise),
        cmocka_unit_test(netem_make__joins_all_loads),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
