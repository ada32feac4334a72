/* Trains of several senders in closed form: a path to each, then a line that serves in order, with a queue of its own. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "base/units.h"
#include "probe/gather.h"

#define WIRE_BYTES 1538u
#define MBPS       UINT64_C(1000000)

struct row {
    const char *what;
    uint64_t line_mbps, queue_ms;           /* 0: as wide as the port */
    uint64_t path_mbps[GATHER_SENDERS_MAX]; /* 0: nobody */
    enum estimate_kind kind;
    uint64_t told_mbps; /* of a value */
};

static struct gather gather;

/* Trains of `packets` at rate_bps, each begun step_ns behind the one before, through paths and line. */
static void send(const struct row *row, uint64_t rate_bps, unsigned packets, uint64_t step_ns)
{
    uint64_t path_ns[GATHER_SENDERS_MAX] = {0}, line_ns = 0, line_bps = row->line_mbps * MBPS;
    unsigned sent[GATHER_SENDERS_MAX] = {0};
    gather_begin(&gather);
    for (;;) {
        uint64_t next_ns = TIME_NEVER;
        uint16_t who = 0;
        for (uint16_t sender = 0; sender < GATHER_SENDERS_MAX; sender++) {
            if (row->path_mbps[sender] == 0 || sent[sender] == packets)
                continue;
            uint64_t at_ns = NS_PER_S + sender * step_ns + sent[sender] * transmit_ns(WIRE_BYTES, rate_bps);
            uint64_t out_ns =
                MAX(at_ns, path_ns[sender]) + transmit_ns(WIRE_BYTES, row->path_mbps[sender] * MBPS);
            if (out_ns < next_ns) { /* the next that reaches the line */
                next_ns = out_ns;
                who = sender;
            }
        }
        if (next_ns == TIME_NEVER)
            return;
        uint16_t index = (uint16_t)sent[who]++;
        path_ns[who] = next_ns;
        if (line_bps == 0) {
            gather_take(&gather, who, index, next_ns, WIRE_BYTES);
            continue;
        }
        line_ns = MAX(line_ns, next_ns);
        if (line_ns - next_ns > row->queue_ms * NS_PER_MS)
            continue;
        line_ns += transmit_ns(WIRE_BYTES, line_bps);
        gather_take(&gather, who, index, line_ns, WIRE_BYTES);
    }
}

static void gather_line__is_what_senders_share(void **state)
{
    (void)state;
    static const struct row rows[] = {
        {"a line", 100, 20, {1000, 1000, 1000, 1000, 1000, 1000}, ESTIMATE_VALUE, 100},
        {"a slow line", 20, 20, {1000, 1000, 1000, 1000, 1000, 1000}, ESTIMATE_VALUE, 20},
        {"a line that each loses little at",
         200,
         1,
         {1000, 1000, 1000, 1000, 1000, 1000},
         ESTIMATE_AT_LEAST,
         0},
        {"a line wider than all of them",
         300,
         20,
         {1000, 1000, 1000, 1000, 1000, 1000},
         ESTIMATE_AT_LEAST,
         0},
        {"a line, two senders", 50, 20, {1000, 1000}, ESTIMATE_VALUE, 50},
        {"a line, paths of their own", 100, 20, {50, 50, 100, 50, 200, 50}, ESTIMATE_VALUE, 100},
        {"paths alike", 0, 0, {50, 50, 50, 50, 50, 50}, ESTIMATE_AT_LEAST, 0},
        {"paths unlike", 0, 0, {10, 200, 50, 20, 100, 50}, ESTIMATE_AT_LEAST, 0},
        {"slow paths", 0, 0, {10, 10, 10, 10, 10, 10}, ESTIMATE_AT_LEAST, 0},
        {"nothing", 0, 0, {1000, 1000, 1000, 1000, 1000, 1000}, ESTIMATE_AT_LEAST, 0},
        {"one sender", 100, 20, {1000}, ESTIMATE_AT_LEAST, 0},
    };
    for (unsigned row = 0; row < sizeof(rows) / sizeof(rows[0]); row++) {
        struct estimate estimate;
        print_message("%s\n", rows[row].what);
        send(&rows[row], 62500000, 43, 2 * NS_PER_MS);
        gather_line(&gather, &estimate);
        assert_int_equal(estimate.kind, rows[row].kind);
        if (rows[row].told_mbps != 0) {
            assert_in_range(estimate.avail_bps, rows[row].told_mbps * MBPS * 96 / 100,
                            rows[row].told_mbps * MBPS * 103 / 100);
            assert_in_range(rows[row].told_mbps * MBPS, estimate.low_bps, estimate.high_bps);
        }
    }
}

static void gather_line__needs_packets(void **state)
{
    (void)state;
    struct estimate estimate;
    gather_begin(&gather);
    gather_line(&gather, &estimate);
    assert_int_equal(estimate.kind, ESTIMATE_REFUSED);
    for (unsigned index = 0; index < GATHER_SENDERS_MAX * GATHER_PACKETS_MAX + 1; index++)
        gather_take(&gather, (uint16_t)(index % 2), (uint16_t)index, NS_PER_S, WIRE_BYTES);
    gather_line(&gather, &estimate); /* all at one time */
    assert_int_equal(estimate.kind, ESTIMATE_REFUSED);
}

static void gather_line__refuses_jitter(void **state)
{
    (void)state;
    struct estimate estimate;
    gather_begin(&gather);
    for (uint16_t index = 0; index < 100; index++)
        gather_take(&gather, index % 2, index ^ 4, NS_PER_S + index * NS_PER_MS, WIRE_BYTES);
    gather_line(&gather, &estimate);
    assert_int_equal(estimate.kind, ESTIMATE_REFUSED);
    assert_int_equal(estimate.reason, ESTIMATE_JITTER);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(gather_line__is_what_senders_share),
        cmocka_unit_test(gather_line__needs_packets),
        cmocka_unit_test(gather_line__refuses_jitter),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
