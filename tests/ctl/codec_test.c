#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <cmocka.h>

#include "base/crc32c.h"
#include "base/rng.h"
#include "base/stamp.h"
#include "ctl/ctl.h"

static bool decode(struct ctl_msg *msg, uint32_t *sequence, const uint8_t *in, size_t length)
{
    struct err err;
    uint8_t *copy = malloc(length == 0 ? 1 : length);
    memcpy(copy, in, length);
    bool decoded = ctl_decode(msg, sequence, copy, length, &err);
    free(copy);
    return decoded;
}

static void fill(struct ctl_msg *msg, enum ctl_type type)
{
    memset(msg, 0, sizeof(*msg));
    msg->type = type;
    msg->correlation = UINT64_C(0xfedcba9876543210);
    if (type == CTL_PLAN_FAILED) {
        msg->body.plan_failed.job = 4;
        msg->body.plan_failed.epoch = 5;
        strcpy(msg->body.plan_failed.text, "no RTT was measured between a and b");
    } else if (type == CTL_PLAN) {
        msg->body.plan.node_count = 2;
        msg->body.plan.rate_bps = 9;
    } else if (type == CTL_PLAN_REQUEST) {
        msg->body.plan_request.node_count = 2;
        strcpy(msg->body.plan_request.nodes[1].name, "tokyo");
    } else if (type == CTL_HISTORY_ASK) {
        strcpy(msg->body.history_ask.from, "canada");
        strcpy(msg->body.history_ask.to, "tokyo");
        msg->body.history_ask.form = REPORT_JSON;
    } else if (type == CTL_HISTORY) {
        msg->body.history.known = true;
        strcpy(msg->body.history.text, "from: canada\nto: tokyo\n");
    } else if (type == CTL_ESTIMATE) {
        msg->body.estimate = (struct ctl_estimate){.from = "canada",
                                                   .to = "tokyo",
                                                   .age_ns = 7,
                                                   .rtt_ns = 150000000,
                                                   .estimate = {.kind = ESTIMATE_VALUE,
                                                                .stamp_kind = STAMP_VIRTUAL,
                                                                .flags = ESTIMATE_CHANGED,
                                                                .avail_bps = 5000000000,
                                                                .low_bps = 4900000000,
                                                                .high_bps = 5200000000,
                                                                .capacity_bps = 10000000000,
                                                                .loss_ppm = 3,
                                                                .from_ns = 10,
                                                                .until_ns = 2500000010,
                                                                .busy_ns = 24000000,
                                                                .bytes = 23000000,
                                                                .trains = 40,
                                                                .discarded = 1}};
    }
}

static const enum ctl_type ring_types[] = {CTL_PLANNER_HELLO, CTL_PLAN,     CTL_PLAN_FAILED,
                                           CTL_PLAN_REQUEST,  CTL_ESTIMATE, CTL_HISTORY_ASK,
                                           CTL_HISTORY};

static void ctl_codec__round_trip(void **state)
{
    (void)state;
    static uint8_t record[CTL_RECORD_BYTES_MAX];
    static struct ctl_msg msg, back;
    for (size_t i = 0; i < sizeof(ring_types) / sizeof(ring_types[0]); i++) {
        uint32_t sequence = 0;
        fill(&msg, ring_types[i]);
        size_t length = ctl_encode(&msg, 77, record, sizeof(record));
        assert_true(length >= CTL_RECORD_HEADER_BYTES);
        memset(&back, 0, sizeof(back));
        assert_true(decode(&back, &sequence, record, length));
        assert_int_equal(sequence, 77);
        assert_int_equal(back.type, msg.type);
        assert_int_equal(back.correlation, msg.correlation);
        assert_memory_equal(&back.body, &msg.body, sizeof(msg.body));
        for (size_t room = 0; room < length; room++)
            assert_int_equal(ctl_encode(&msg, 77, record, room), 0);
    }
}

static void ctl_encode__header_layout(void **state)
{
    (void)state;
    uint8_t record[CTL_RECORD_HEADER_BYTES];
    struct ctl_msg msg;
    fill(&msg, CTL_PLANNER_HELLO);
    assert_int_equal(ctl_encode(&msg, 0x01020304, record, sizeof(record)), 24);
    const uint8_t expected[20] = {
        24, 0, 0, 0, CTL_PLANNER_HELLO, 0, 0, 0, 0x10, 0x32, 0x54, 0x76, 0x98, 0xba, 0xdc, 0xfe, 4, 3, 2, 1};
    assert_memory_equal(record, expected, sizeof(expected));
    uint32_t crc;
    memcpy(&crc, record + 20, sizeof(crc));
    assert_int_equal(crc, crc32c(expected, sizeof(expected)));
}

/* Any single changed bit, anywhere, is found. */
static void ctl_decode__every_flipped_bit(void **state)
{
    (void)state;
    uint8_t record[CTL_RECORD_BYTES_MAX];
    static struct ctl_msg msg, back;
    uint32_t sequence;
    fill(&msg, CTL_PLAN_FAILED);
    size_t length = ctl_encode(&msg, 77, record, sizeof(record));
    for (size_t bit = 0; bit < length * 8; bit++) {
        record[bit / 8] ^= (uint8_t)(1u << bit % 8);
        assert_false(decode(&back, &sequence, record, length));
        assert_false(ctl_record_valid(record, length, 77));
        record[bit / 8] ^= (uint8_t)(1u << bit % 8);
    }
    assert_true(ctl_record_valid(record, length, 77));
    assert_false(ctl_record_valid(record, length, 78));
    assert_false(ctl_record_valid(record, length - 1, 77));
    for (size_t shorter = 0; shorter < length; shorter++)
        assert_false(decode(&back, &sequence, record, shorter));
}

static void seal(uint8_t *record, uint32_t length)
{
    memcpy(record, &length, sizeof(length));
    uint32_t crc = crc32c_add(crc32c(record, 20), record + 24, length - 24);
    memcpy(record + 20, &crc, sizeof(crc));
}

/* A hostile peer can compute checksums: bodies are judged on their own. */
static void ctl_decode__right_checksum_wrong_content(void **state)
{
    (void)state;
    static uint8_t record[CTL_RECORD_BYTES_MAX];
    static struct ctl_msg msg, back;
    uint32_t sequence;
    for (uint32_t type = 0; type < CTL_TYPE_COUNT + 3; type++) {
        bool body_free = type == CTL_PLANNER_HELLO;
        fill(&msg, CTL_PLANNER_HELLO);
        size_t length = ctl_encode(&msg, 1, record, sizeof(record));
        memcpy(record + 4, &type, sizeof(type));
        seal(record, (uint32_t)length);
        assert_int_equal(decode(&back, &sequence, record, length), body_free);
        seal(record, (uint32_t)length + 8);
        assert_false(decode(&back, &sequence, record, length + 8));
    }
    fill(&msg, CTL_PLAN_FAILED);
    size_t length = ctl_encode(&msg, 1, record, sizeof(record));
    for (unsigned text_bytes = 0; text_bytes < 600; text_bytes++) {
        bool right = text_bytes == strlen(msg.body.plan_failed.text);
        record[32] = (uint8_t)text_bytes;
        record[33] = (uint8_t)(text_bytes >> 8);
        seal(record, (uint32_t)length);
        assert_int_equal(decode(&back, &sequence, record, length), right);
    }
}

static void ctl_decode__text_is_printable(void **state)
{
    (void)state;
    uint8_t record[CTL_RECORD_BYTES_MAX];
    static struct ctl_msg msg, back;
    uint32_t sequence;
    fill(&msg, CTL_PLAN_FAILED);
    strcpy(msg.body.plan_failed.text, "a\033[2Jb\n");
    size_t length = ctl_encode(&msg, 1, record, sizeof(record));
    assert_true(decode(&back, &sequence, record, length));
    assert_string_equal(back.body.plan_failed.text, "a?[2Jb?");
}

static void ctl_decode__random_bodies(void **state)
{
    (void)state;
    static uint8_t record[CTL_RECORD_BYTES_MAX];
    static struct ctl_msg msg, back;
    uint32_t sequence;
    struct rng rng;
    rng_init(&rng, 2);
    for (unsigned round = 0; round < 20000; round++) {
        fill(&msg, ring_types[rng_below(&rng, sizeof(ring_types) / sizeof(ring_types[0]))]);
        size_t length = ctl_encode(&msg, 1, record, sizeof(record));
        for (uint64_t spoils = rng_below(&rng, 5); spoils > 0 && length > 24; spoils--)
            record[24 + rng_below(&rng, length - 24)] = (uint8_t)rng_below(&rng, 256);
        length = rng_below(&rng, 4) == 0 ? 24 + rng_below(&rng, length - 23) : length;
        seal(record, (uint32_t)length);
        decode(&back, &sequence, record, length);
    }
}

static void ctl_estimate__what_makes_no_sense(void **state)
{
    (void)state;
    static struct ctl_msg msg;
    struct err err;
    struct ctl_estimate *record = &msg.body.estimate;
    const struct {
        const char *from;
        uint8_t kind, reason, stamp_kind;
        uint64_t avail_bps, low_bps, high_bps, loss_ppm, until_ns;
        bool good;
    } cases[] = {
        {"canada", ESTIMATE_VALUE, 0, 0, 5, 5, 5, 0, 10, true},
        {"canada", ESTIMATE_VALUE, 0, 0, 5, 6, 7, 0, 10, false},
        {"canada", ESTIMATE_VALUE, 0, 0, 5, 4, 4, 0, 10, false},
        {"canada", ESTIMATE_AT_LEAST, 0, 0, 5, 5, 0, 0, 10, true},
        {"canada", ESTIMATE_AT_LEAST, 0, 0, 5, 5, 6, 0, 10, false},
        {"canada", ESTIMATE_AT_LEAST, 0, 0, 5, 4, 0, 0, 10, false},
        {"canada", ESTIMATE_REFUSED, ESTIMATE_NOISE, 0, 0, 0, 0, 0, 10, true},
        {"canada", ESTIMATE_REFUSED, ESTIMATE_NOISE, 0, 5, 6, 4, 0, 10, true},
        {"canada", 4, 0, 0, 0, 0, 0, 0, 10, false},
        {"canada", ESTIMATE_REFUSED, ESTIMATE_CLOCKS + 1, 0, 0, 0, 0, 0, 10, false},
        {"canada", ESTIMATE_VALUE, 0, 3, 5, 5, 5, 0, 10, false},
        {"canada", ESTIMATE_VALUE, 0, 0, 5, 5, 5, 1000001, 10, false},
        {"canada", ESTIMATE_VALUE, 0, 0, 5, 5, 5, 1000000, 9, false},
        {"tokyo", ESTIMATE_VALUE, 0, 0, 5, 5, 5, 0, 10, false},
        {"", ESTIMATE_VALUE, 0, 0, 5, 5, 5, 0, 10, false},
        {"-x", ESTIMATE_VALUE, 0, 0, 5, 5, 5, 0, 10, false},
    };
    for (unsigned i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        fill(&msg, CTL_ESTIMATE);
        strcpy(record->from, cases[i].from);
        record->estimate.kind = cases[i].kind;
        record->estimate.reason = cases[i].reason;
        record->estimate.stamp_kind = cases[i].stamp_kind;
        record->estimate.avail_bps = cases[i].avail_bps;
        record->estimate.low_bps = cases[i].low_bps;
        record->estimate.high_bps = cases[i].high_bps;
        record->estimate.loss_ppm = cases[i].loss_ppm;
        record->estimate.until_ns = cases[i].until_ns;
        assert_int_equal(ctl_estimate_valid(record, &err), cases[i].good);
    }
}

/* The longest report travels, and what steers a terminal does not. */
static void ctl_history__texts(void **state)
{
    (void)state;
    static uint8_t record[CTL_RECORD_BYTES_MAX];
    static struct ctl_msg msg, back;
    uint32_t sequence;
    fill(&msg, CTL_HISTORY);
    memset(msg.body.history.text, 'x', CTL_HISTORY_BYTES - 1);
    memcpy(msg.body.history.text, "a\n\033[2J\r\xc3\xbc", 9);
    size_t length = ctl_encode(&msg, 1, record, sizeof(record));
    assert_int_equal(length, CTL_RECORD_HEADER_BYTES + 5 + CTL_HISTORY_BYTES - 1);
    assert_true(decode(&back, &sequence, record, length));
    assert_memory_equal(back.body.history.text, "a\n?[2J?\xc3\xbc", 9);
    assert_int_equal(strlen(back.body.history.text), CTL_HISTORY_BYTES - 1);
    record[24] = 2;
    seal(record, (uint32_t)length);
    assert_false(decode(&back, &sequence, record, length));
}

static void ctl_show__names(void **state)
{
    (void)state;
    for (unsigned show = 0; show < CTL_SHOW_COUNT; show++) {
        assert_int_equal(ctl_show_find(ctl_show_name(show)), show);
        assert_true(strlen(ctl_show_help(show)) > 0);
    }
    assert_true(ctl_show_is_of_program(CTL_SHOW_ports));
    assert_false(ctl_show_is_of_program(CTL_SHOW_peers));
    assert_false(ctl_show_is_of_program(CTL_SHOW_COUNT));
    assert_true(ctl_show_is_of_job(CTL_SHOW_jobs) && ctl_show_is_of_job(CTL_SHOW_svg));
    assert_false(ctl_show_is_of_job(CTL_SHOW_peers) || ctl_show_is_of_job(CTL_SHOW_COUNT));
    assert_int_equal(ctl_show_find_option("--why"), CTL_SHOW_why);
    assert_int_equal(ctl_show_find_option("--plan"), CTL_SHOW_COUNT);
    assert_int_equal(ctl_show_find_option("why"), CTL_SHOW_COUNT);
    assert_int_equal(ctl_show_find("peers"), CTL_SHOW_peers);
    assert_int_equal(ctl_show_find("peer"), CTL_SHOW_COUNT);
    assert_int_equal(ctl_show_find(""), CTL_SHOW_COUNT);
    assert_string_equal(ctl_show_name(CTL_SHOW_COUNT), "unknown");
    assert_string_equal(ctl_show_help(1000), "");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(ctl_codec__round_trip),
        cmocka_unit_test(ctl_encode__header_layout),
        cmocka_unit_test(ctl_decode__every_flipped_bit),
        cmocka_unit_test(ctl_decode__right_checksum_wrong_content),
        cmocka_unit_test(ctl_decode__text_is_printable),
        cmocka_unit_test(ctl_decode__random_bodies),
        cmocka_unit_test(ctl_estimate__what_makes_no_sense),
        cmocka_unit_test(ctl_history__texts),
        cmocka_unit_test(ctl_show__names),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
