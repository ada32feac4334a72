/* The self-test of a path's ends against ends whose floors are known, over the link model with cross traffic. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "app/probe/judge.h"
#include "base/units.h"
#include "probe/self_test.h"

#define BEGIN_NS (50 * NS_PER_US)
#define RUNS     20u

static struct world world;
static struct train_record record;

static struct world_config path_of(uint64_t rate_bps, uint32_t load_percent)
{
    struct world_config config = {.hop_count = 1, .back_ns = 500 * NS_PER_US};
    config.approach = (struct netem_config){.delay_ns = 500 * NS_PER_US};
    uint64_t cross_bps = rate_bps * load_percent / 100;
    config.hops[0] = (struct hop_config){.link = {.rate_bps = rate_bps}, .cross_bps = cross_bps};
    config.hops[0].link.load_count = cross_bps > 0;
    config.hops[0].link.loads[0] = (struct netem_load){
        .kind = NETEM_LOAD_POISSON, .wire_bytes = FULL_PACKET_WIRE_BYTES, .rate_bps = cross_bps};
    config.receiver.offset_ns = NS_PER_S;
    return config;
}

static struct self_test tested(const struct world_config *config, uint64_t port_bps, uint64_t seed)
{
    struct self_test test;
    struct train_shape shape;
    self_test_shape(&shape, port_bps, config->hops[0].link.rate_bps, FULL_PACKET_WIRE_BYTES);
    assert_true(train_shape_valid(&shape));
    world_begin(&world, config, seed, BEGIN_NS, 0);
    world_send(&world, &shape, BEGIN_NS + NS_PER_MS, &record);
    world_end(&world);
    assert_true(self_test_read(&test, &record, config->hops[0].link.rate_bps));
    return test;
}

struct row {
    struct netem_stamping receiver;
    uint64_t sender_noise_ns;
    uint64_t noise_ns; /* that is to be found, within a third */
    uint32_t batch;
    bool lossy;
};

static const struct row rows[] = {
    {.batch = 1},
    {.receiver = {.noise_ns = 100}, .sender_noise_ns = 100, .noise_ns = 100, .batch = 1},
    {.receiver = {.noise_ns = 1000}, .sender_noise_ns = 300, .noise_ns = 1000, .batch = 1},
    {.receiver = {.granularity_ns = 1000}, .noise_ns = 288, .batch = 1},
    {.receiver = {.batch = 32, .batch_ns = 50000}, .batch = 32},
    {.receiver = {.batch = 8, .batch_ns = 50000, .noise_ns = 100}, .noise_ns = 100, .batch = 8},
    {.receiver = {.batch = 32, .batch_ns = 50000, .noise_ns = 100},
     .sender_noise_ns = 100,
     .noise_ns = 100,
     .batch = 32},
    {.receiver = {.batch = 32, .batch_ns = 50000, .noise_ns = 100},
     .sender_noise_ns = 100,
     .noise_ns = 100,
     .batch = 32,
     .lossy = true},
};

static void check(const struct row *row, uint64_t port_bps, uint32_t load_percent)
{
    struct world_config config = path_of(10000000000, load_percent);
    config.receiver.stamping = row->receiver;
    config.sender.stamping = (struct netem_stamping){.noise_ns = row->sender_noise_ns};
    if (row->lossy) {
        config.approach.loss_ppb = 10000000;
        config.approach.delay_some_ppb = 50000000;
        config.approach.delay_some_ns = 50000;
    }
    double noise_ns = 0, sender_ns = 0;
    unsigned right = 0;
    for (uint64_t seed = 1; seed <= RUNS; seed++) {
        struct self_test test = tested(&config, port_bps, seed);
        noise_ns += (double)test.receiver.noise_ns / RUNS;
        sender_ns += (double)test.sender.noise_ns / RUNS;
        right += test.receiver.batch == row->batch;
        assert_int_equal(test.receiver.granularity_ns, row->receiver.granularity_ns);
        assert_false(test.swallowed);
    }
    assert_true(noise_ns >= 0.7 * (double)row->noise_ns && noise_ns <= 1.4 * (double)row->noise_ns);
    assert_true(sender_ns >= 0.7 * (double)row->sender_noise_ns);
    assert_true(sender_ns <= 1.4 * (double)row->sender_noise_ns);
    assert_true(right * 10 >= RUNS * 9);
}

static void self_test__finds_the_floors(void **state)
{
    (void)state;
    static const uint32_t loads[] = {0, 50, 90};
    for (unsigned row = 0; row < sizeof(rows) / sizeof(rows[0]); row++)
        for (unsigned load = 0; load < 3; load++)
            check(&rows[row], load == 0 ? 10000000000 : 40000000000, loads[load]);
}

/* Delays that keep the order look like noise at first sight: stamps would fall. */
static void self_test__jitter_is_no_noise(void **state)
{
    (void)state;
    struct world_config config = path_of(10000000000, 0);
    config.receiver.stamping = (struct netem_stamping){.noise_ns = 1};
    config.approach.jitter_ns = 500 * NS_PER_US;
    for (uint64_t seed = 1; seed <= RUNS; seed++)
        assert_true(tested(&config, 10000000000, seed).receiver.noise_ns < 1000);
}

/* A receiver that stands still for most of the test tells no batch of its own making. */
static void self_test__says_when_it_was_swallowed(void **state)
{
    (void)state;
    struct world_config config = path_of(10000000000, 0);
    config.receiver.stamping = (struct netem_stamping){.batch = 256, .batch_ns = NS_PER_MS};
    struct self_test test = tested(&config, 10000000000, 1);
    assert_true(test.swallowed);
    assert_in_range(test.receiver.batch, SELF_TEST_SPACED / 2 + 1, SELF_TEST_SPACED);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(self_test__finds_the_floors),
        cmocka_unit_test(self_test__jitter_is_no_noise),
        cmocka_unit_test(self_test__says_when_it_was_swallowed),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
