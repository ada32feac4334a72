/* What the meter makes of packets: repairs, losses, new bytes, the steady time. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>

#include <cmocka.h>

#include "base/units.h"
#include "sim/meter.h"
#include "wire/data.h"

#define BODY  1400
#define WIRE  1538
#define RTT   (100 * NS_PER_MS)
#define START (3 * NS_PER_S)

struct fixture {
    struct scenario scenario;
    struct meter_table table;
    uint8_t head[WIRE_DATA_HEADER_MAX];
};

static struct fixture *fixture_new(void)
{
    struct fixture *fixture = calloc(1, sizeof(*fixture));
    assert_non_null(fixture);
    fixture->scenario.node_count = 2;
    fixture->scenario.links[0][1].delay_ns = fixture->scenario.links[1][0].delay_ns = RTT / 2;
    meter_init(&fixture->table, &fixture->scenario);
    return fixture;
}

static void fixture_end(struct fixture *fixture)
{
    meter_free(&fixture->table);
    free(fixture);
}

static struct meter_packet packet_of(struct fixture *fixture, uint32_t job, uint64_t symbol, uint32_t count)
{
    struct wire_header header = {.version = WIRE_VERSION, .type = WIRE_DATA};
    struct wire_data data = {.job = job, .content = wire_content(symbol, count, 0, 1)};
    size_t bytes = wire_data_encode(fixture->head, &header, &data, NULL);
    return (struct meter_packet){.from = 0,
                                 .to = 1,
                                 .head = fixture->head,
                                 .length = (uint32_t)bytes + count * BODY,
                                 .wire_bytes = WIRE};
}

static void sent(struct fixture *fixture, uint32_t job, uint64_t symbol, uint32_t count, uint64_t at_ns)
{
    struct meter_packet packet = packet_of(fixture, job, symbol, count);
    meter_on_sent(&fixture->table, &packet, at_ns);
}

static void delivered(struct fixture *fixture, uint32_t job, uint64_t symbol, uint32_t count, uint64_t at_ns)
{
    struct meter_packet packet = packet_of(fixture, job, symbol, count);
    meter_on_delivered(&fixture->table, &packet, NS_PER_MS, at_ns);
}

static void refused(struct fixture *fixture, uint64_t symbol, enum netem_verdict verdict)
{
    struct meter_packet packet = packet_of(fixture, 7, symbol, 1);
    meter_on_refused(&fixture->table, &packet, verdict, START);
}

static void meter_on_sent__repairs_by_symbol_and_job(void **state)
{
    (void)state;
    struct fixture *fixture = fixture_new();
    fixture->scenario.measure.step_ns = NS_PER_S;
    sent(fixture, 7, 0, 1, START);
    sent(fixture, 7, 100000, 4, START + 1); /* far beyond what there was room for */
    sent(fixture, 8, 0, 1, START + 2);      /* another job's symbol */
    sent(fixture, 7, 100003, 2, START + 3); /* one of the two is old */
    sent(fixture, 7, 0, 1, START + 4);
    refused(fixture, 0, NETEM_LOST);
    refused(fixture, 1, NETEM_DOWN);
    refused(fixture, 2, NETEM_QUEUE_DROP);
    struct meter *meter = meter_take(&fixture->table, 0, 1);
    assert_non_null(meter);
    assert_int_equal(meter->all.sent_packets, 5);
    assert_int_equal(meter->all.sent_bytes, 5 * WIRE);
    assert_int_equal(meter->all.repairs, 2);
    assert_int_equal(meter->all.lost, 2);
    assert_int_equal(meter->all.dropped, 1);
    assert_int_equal(meter->steps[START / NS_PER_S].dropped_bytes, WIRE);
    assert_int_equal(meter->first_ns, START);
    assert_int_equal(meter->last_new_ns, START + 3);
    meter_delete(meter);
    fixture_end(fixture);
}

static void meter_on_delivered__counts_new_bytes_once(void **state)
{
    (void)state;
    struct fixture *fixture = fixture_new();
    fixture->scenario.measure = (struct scenario_measure){START + 2, START + 3, NS_PER_S};
    sent(fixture, 7, 0, 4, START);
    delivered(fixture, 7, 0, 2, START + 1);
    delivered(fixture, 7, 1, 2, START + 2);
    delivered(fixture, 7, 0, 1, START + 3);
    struct meter *meter = meter_take(&fixture->table, 0, 1);
    assert_int_equal(meter->all.new_bytes, 3 * BODY);
    assert_int_equal(meter->all.duplicates, 1);
    assert_int_equal(meter->all.delivered_bytes, 3 * WIRE);
    assert_int_equal(meter->window.new_bytes, BODY);
    assert_int_equal(meter->waits.count, 1);
    assert_int_equal(meter->step_count, 4);
    assert_int_equal(meter->steps[3].delivered_bytes, 3 * WIRE);
    assert_int_equal(meter->steps[3].wait_ns_max, NS_PER_MS);
    meter_delete(meter);
    fixture_end(fixture);
}

/* A packet each way every ms for 5 s: what arrives from 12 RTT on until the last departure is steady. */
static void meter_steady_bps__from_12_rtt_to_the_last_new_departure(void **state)
{
    (void)state;
    struct fixture *fixture = fixture_new();
    for (uint64_t turn = 0; turn <= 5000; turn++) {
        uint64_t now_ns = START + turn * NS_PER_MS;
        if (turn >= 50)
            delivered(fixture, 7, turn - 50, 1, now_ns);
        sent(fixture, 7, turn, 1, now_ns);
    }
    for (uint64_t turn = 5001; turn <= 5050; turn++) {
        delivered(fixture, 7, turn - 50, 1, START + turn * NS_PER_MS);
        sent(fixture, 7, 17, 1, START + turn * NS_PER_MS); /* repairs do not prolong it */
    }
    struct meter *meter = meter_take(&fixture->table, 0, 1);
    assert_int_equal(meter_steady_ns(meter), 3800 * NS_PER_MS);
    assert_in_range(meter_steady_bps(meter), 1000 * BODY * 8, 1001 * BODY * 8);
    assert_int_equal(meter->quarters[1].new_bytes, 0);
    assert_int_equal(meter->quarters[2].new_bytes, 25 * BODY);
    assert_int_equal(meter->quarters[0].sent_packets, 25);
    meter_delete(meter);
    fixture_end(fixture);
}

static void meter_feedback_bytes__all_but_data_of_the_way_back(void **state)
{
    (void)state;
    struct fixture *fixture = fixture_new();
    struct wire_header header = {.version = WIRE_VERSION, .type = WIRE_ACK};
    wire_header_put(fixture->head, &header);
    struct meter_packet ack = {.from = 1, .to = 0, .head = fixture->head, .length = 90, .wire_bytes = 156};
    meter_on_sent(&fixture->table, &ack, START);
    meter_on_sent(&fixture->table, &ack, START);
    assert_int_equal(meter_feedback_bytes(&fixture->table, 0, 1), 312);
    assert_int_equal(meter_feedback_bytes(&fixture->table, 1, 0), 0);
    assert_null(meter_take(&fixture->table, 1, 0));
    fixture_end(fixture);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(meter_on_sent__repairs_by_symbol_and_job),
        cmocka_unit_test(meter_on_delivered__counts_new_bytes_once),
        cmocka_unit_test(meter_steady_bps__from_12_rtt_to_the_last_new_departure),
        cmocka_unit_test(meter_feedback_bytes__all_but_data_of_the_way_back),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
