#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "base/units.h"
#include "probe/mtu_watch.h"

#define INTERVAL_NS NS_PER_S
#define RTT_NS      (50 * NS_PER_MS)
#define OVERHEAD    28
#define WAIT_NS     (400 * NS_PER_MS)

/* A path of so many bytes, asked as often as a node asks. */
struct path {
    struct mtu_watch watch;
    uint32_t mtu;
    bool dark;
    unsigned probes;
    uint64_t bytes;
    uint64_t now_ns;
};

static void path_init(struct path *path, uint32_t port_mtu, uint32_t mtu)
{
    *path = (struct path){.mtu = mtu, .now_ns = NS_PER_S};
    mtu_watch_init(&path->watch, port_mtu, OVERHEAD);
    mtu_watch_on_up(&path->watch, path->now_ns);
    mtu_watch_take(&path->watch, mtu, INTERVAL_NS, path->now_ns);
}

static void path_step(struct path *path)
{
    struct wire_probe probe;
    path->now_ns += NS_PER_MS;
    if (!mtu_watch_next(&path->watch, INTERVAL_NS, RTT_NS, path->now_ns, &probe))
        return;
    uint32_t datagram_bytes = (uint32_t)WIRE_PROBE_BYTES + probe.padding;
    path->probes++;
    path->bytes += datagram_bytes + OVERHEAD;
    if (!path->dark && datagram_bytes + OVERHEAD <= path->mtu)
        assert_true(mtu_watch_on_reply(&path->watch, &probe, datagram_bytes, path->now_ns + RTT_NS));
}

/* Until there is a doubt, for so many seconds at most: how long that took, in ms. */
static uint64_t doubt_ms(struct path *path, unsigned seconds)
{
    uint64_t from_ns = path->now_ns;
    while (path->now_ns < from_ns + seconds * NS_PER_S) {
        path_step(path);
        if (mtu_watch_doubts(&path->watch, false, WAIT_NS, path->now_ns))
            return (path->now_ns - from_ns) / NS_PER_MS;
    }
    return 0;
}

static void mtu_watch__proves_the_size_with_one_probe_in_thirty_intervals(void **state)
{
    (void)state;
    struct path path;
    path_init(&path, 1500, 1500);
    assert_int_equal(doubt_ms(&path, 300), 0);
    assert_in_range(path.probes, 9, 10);
    assert_true(mtu_watch_fresh(&path.watch, 31 * NS_PER_S, path.now_ns));
    /* Data says the same: no probe. */
    path.probes = 0;
    for (unsigned second = 0; second < 300; second++) {
        mtu_watch_on_acked(&path.watch, 1488, path.now_ns);
        assert_int_equal(doubt_ms(&path, 1), 0);
    }
    assert_int_equal(path.probes, 0);
    assert_true(mtu_watch_fresh(&path.watch, 2 * NS_PER_S, path.now_ns));
}

static void mtu_watch__doubts_a_size_that_does_not_pass(void **state)
{
    (void)state;
    struct path path;
    path_init(&path, 1500, 1500);
    path.mtu = 1400;
    assert_in_range(doubt_ms(&path, 60), 30000, 31000);
    assert_int_equal(path.probes, MTU_WATCH_TRIES);
    assert_int_equal(path.watch.mtu, 1500); /* no verdict of its own */
    /* Asked, it needs no more than three tries. */
    path_init(&path, 1500, 1500);
    path.mtu = 1400;
    mtu_watch_ask(&path.watch, path.now_ns);
    assert_in_range(doubt_ms(&path, 60), 400, 700);
    assert_true(path.watch.asked_ns != 0);
    mtu_watch_take(&path.watch, 1400, INTERVAL_NS, path.now_ns);
    assert_int_equal(path.watch.asked_ns, 0);
}

static void mtu_watch__is_asked_and_answers_in_a_round_trip(void **state)
{
    (void)state;
    struct path path;
    path_init(&path, 9000, 9000);
    path.now_ns += 20 * NS_PER_S;
    assert_false(mtu_watch_fresh(&path.watch, 10 * NS_PER_S, path.now_ns));
    mtu_watch_ask(&path.watch, path.now_ns);
    path_step(&path);
    assert_int_equal(path.watch.asked_ns, 0);
    assert_int_equal(path.probes, 1);
    assert_true(mtu_watch_fresh(&path.watch, 10 * NS_PER_S, path.now_ns));
    /* Another session: what was known is to be proven again. */
    mtu_watch_on_up(&path.watch, path.now_ns);
    assert_false(mtu_watch_fresh(&path.watch, 10 * NS_PER_S, path.now_ns));
    path_step(&path);
    assert_int_equal(path.probes, 2);
    assert_true(mtu_watch_fresh(&path.watch, 10 * NS_PER_S, path.now_ns));
}

static void mtu_watch__doubts_by_data(void **state)
{
    (void)state;
    const struct {
        uint32_t lost, lost_bytes, acked_bytes; /* one acked after each lost; 0: none */
        bool doubts;
    } rows[] = {
        {MTU_WATCH_LOST, 1500, 0, true},
        {MTU_WATCH_LOST - 1, 1500, 0, false},
        {MTU_WATCH_LOST, 1500, 200, true}, /* the short last one of each block still comes */
        {10 * MTU_WATCH_LOST, 1500, 1500, false},
        {10 * MTU_WATCH_LOST, 200, 1500, false}, /* a path that loses short ones loses any */
    };
    for (unsigned index = 0; index < sizeof(rows) / sizeof(rows[0]); index++) {
        struct path path;
        path_init(&path, 1500, 1500);
        for (uint32_t lost = 0; lost < rows[index].lost; lost++) {
            mtu_watch_on_lost(&path.watch, rows[index].lost_bytes, path.now_ns);
            if (rows[index].acked_bytes != 0)
                mtu_watch_on_acked(&path.watch, rows[index].acked_bytes, path.now_ns);
        }
        /* Losses are told in batches: what came between may have been told before. */
        assert_false(mtu_watch_doubts(&path.watch, false, WAIT_NS, path.now_ns + WAIT_NS - 1));
        assert_int_equal(mtu_watch_doubts(&path.watch, false, WAIT_NS, path.now_ns + WAIT_NS),
                         rows[index].doubts);
    }
}

/* A dark path is quiet, too: it is measured again and again, but ever more seldom. */
static void mtu_watch__doubts_come_more_seldom(void **state)
{
    (void)state;
    struct path path;
    unsigned doubts = 0;
    path_init(&path, 1500, 1500);
    for (unsigned ms = 0; ms < 120000; ms++, path.now_ns += NS_PER_MS)
        doubts += mtu_watch_doubts(&path.watch, true, WAIT_NS, path.now_ns);
    assert_in_range(doubts, 10, 12); /* 0, 1, 3, 7, 15, then every 16 s */
    mtu_watch_on_acked(&path.watch, 1500, path.now_ns);
    path.now_ns += 16 * NS_PER_S;
    assert_true(mtu_watch_doubts(&path.watch, true, WAIT_NS, path.now_ns));
    assert_false(mtu_watch_doubts(&path.watch, true, WAIT_NS, path.now_ns + NS_PER_S - 1));
    assert_true(mtu_watch_doubts(&path.watch, true, WAIT_NS, path.now_ns + NS_PER_S));
}

static void mtu_watch__sees_a_path_widen(void **state)
{
    (void)state;
    const struct {
        uint32_t port_mtu, before, after;
        unsigned narrow_s, found_s_max;
    } rows[] = {
        {1500, 1400, 1500, 0, 9},    {1500, 1400, 1500, 300, 25}, {1500, 1280, 1500, 300, 50},
        {9000, 1500, 9000, 300, 25}, {9000, 1400, 1500, 100, 50},
    };
    for (unsigned index = 0; index < sizeof(rows) / sizeof(rows[0]); index++) {
        struct path path;
        path_init(&path, rows[index].port_mtu, rows[index].before);
        assert_int_equal(doubt_ms(&path, rows[index].narrow_s), 0);
        assert_int_equal(path.watch.mtu, rows[index].before);
        path.mtu = rows[index].after;
        assert_int_equal(doubt_ms(&path, rows[index].found_s_max), 0);
        assert_int_equal(path.watch.mtu, rows[index].after);
    }
}

static void mtu_watch__takes_no_answer_twice_nor_of_another_size(void **state)
{
    (void)state;
    struct path path;
    struct wire_probe probe;
    path_init(&path, 1500, 1400);
    mtu_watch_ask(&path.watch, path.now_ns);
    assert_true(mtu_watch_next(&path.watch, INTERVAL_NS, RTT_NS, path.now_ns, &probe));
    assert_int_equal(probe.padding, 1400 - OVERHEAD - WIRE_PROBE_BYTES);
    assert_false(mtu_watch_on_reply(&path.watch, &probe, 1500 - OVERHEAD, path.now_ns));
    struct wire_probe other = probe;
    other.id++;
    assert_false(mtu_watch_on_reply(&path.watch, &other, 1400 - OVERHEAD, path.now_ns));
    other.id = probe.id ^ MTU_WATCH_ID_BIT;
    assert_false(mtu_watch_on_reply(&path.watch, &other, 1400 - OVERHEAD, path.now_ns));
    assert_true(mtu_watch_on_reply(&path.watch, &probe, 1400 - OVERHEAD, path.now_ns));
    assert_false(mtu_watch_on_reply(&path.watch, &probe, 1400 - OVERHEAD, path.now_ns));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(mtu_watch__proves_the_size_with_one_probe_in_thirty_intervals),
        cmocka_unit_test(mtu_watch__doubts_a_size_that_does_not_pass),
        cmocka_unit_test(mtu_watch__is_asked_and_answers_in_a_round_trip),
        cmocka_unit_test(mtu_watch__doubts_by_data),
        cmocka_unit_test(mtu_watch__doubts_come_more_seldom),
        cmocka_unit_test(mtu_watch__sees_a_path_widen),
        cmocka_unit_test(mtu_watch__takes_no_answer_twice_nor_of_another_size),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
