/* Joint trains in closed form: a line that serves in order, behind it a path to each receiver that does. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "base/units.h"
#include "probe/joint.h"

#define RECEIVERS_MAX     8u
#define PORT_BPS          1000000000u
#define WIDTH_PERCENT_MAX 25
#define CLOCK_NS          (3600 * NS_PER_S + 77) /* each receiver's clock is ahead of the one before */

static struct joint joint;
static struct train_record parts[RECEIVERS_MAX];

static uint16_t receiver_of(uint16_t receivers, bool halves, uint32_t index)
{
    if (!halves)
        return (uint16_t)(index % receivers);
    return index % 2 == 0 ? 0 : (uint16_t)(1 + index / 2 % (receivers - 1u));
}

static uint16_t turns_of(uint16_t receivers, bool halves, uint16_t receiver)
{
    return !halves ? receivers : receiver == 0 ? 2 : (uint16_t)(2 * (receivers - 1));
}

/* A first burst, then ever slower, as a first train of any path. */
static void shape(struct train_shape *train)
{
    static const uint64_t rates_bps[] = {PORT_BPS, 800000000, 500000000, 300000000, 100000000};
    *train = (struct train_shape){.wire_bytes = 1538};
    for (unsigned piece = 0; piece < sizeof(rates_bps) / sizeof(rates_bps[0]); piece++)
        assert_true(train_add(train, 48, rates_bps[piece]));
}

/* Mbit/s of the line, 0: as the port, and of each path; what does not come within queue_ns of the line's is lost. */
static void send(uint64_t line_mbps, const uint64_t *path_mbps, uint16_t receivers, bool halves,
                 uint64_t queue_ns)
{
    struct train_shape train;
    struct train_schedule schedule;
    uint64_t line_ns = 0, path_ns[RECEIVERS_MAX] = {0};
    shape(&train);
    for (uint16_t receiver = 0; receiver < receivers; receiver++)
        parts[receiver] =
            (struct train_record){.shape = train, .turns = turns_of(receivers, halves, receiver)};
    for (train_begin(&schedule, &train, NS_PER_S); schedule.next_ns != TIME_NEVER; train_step(&schedule)) {
        uint16_t receiver = receiver_of(receivers, halves, schedule.index);
        struct train_record *part = &parts[receiver];
        uint64_t sent_ns = schedule.next_ns, at_ns = sent_ns;
        part->sent++;
        if (line_mbps != 0) {
            line_ns = MAX(line_ns, sent_ns);
            if (line_ns - sent_ns > queue_ns)
                continue;
            at_ns = line_ns += transmit_ns(train.wire_bytes, line_mbps * 1000000);
        }
        path_ns[receiver] =
            MAX(path_ns[receiver], at_ns) + transmit_ns(train.wire_bytes, path_mbps[receiver] * 1000000);
        part->samples[part->count] =
            (struct train_sample){.sent_ns = sent_ns,
                                  .received_ns = path_ns[receiver] + receiver * CLOCK_NS,
                                  .index = schedule.index,
                                  .arrival = part->count};
        part->count++;
    }
}

#define NOBODY RECEIVERS_MAX
/* All but one receiver, of whom nothing is told. */
static void take_without(uint16_t receivers, uint16_t silent)
{
    joint_begin(&joint);
    for (uint16_t receiver = 0; receiver < receivers; receiver++)
        if (receiver != silent)
            joint_take(&joint, receiver, NULL, &parts[receiver]);
}

static void take_all(uint16_t receivers)
{
    take_without(receivers, NOBODY);
}

/* Mbit/s that the path's part tells; 0: it tells none. */
static uint64_t path_told(uint16_t receiver)
{
    struct estimate estimate;
    for (uint16_t place = 0; place < joint.count; place++)
        if (joint.parts[place].receiver == receiver && joint_path(&joint, place, &estimate))
            return (estimate.avail_bps + 500000) / 1000000;
    return 0;
}

static void joint__tells_line_and_slow_paths(void **state)
{
    (void)state;
    static const struct {
        const char *what;
        uint64_t line_mbps, path_mbps[4];
        bool halves;
        enum joint_word word;
        bool queued;
        uint64_t told_mbps, path_told_mbps[4]; /* 0: nothing */
    } rows[] = {
        {"a line", 100, {1000, 1000, 1000, 1000}, true, JOINT_AGREED, true, 100, {0}},
        {"a line, equal parts", 100, {1000, 1000, 1000, 1000}, false, JOINT_ALIKE, true, 100, {0}},
        {"a line, one slow path", 100, {1000, 1000, 5, 1000}, true, JOINT_AGREED, true, 100, {0, 0, 5, 0}},
        {"paths alike", 0, {100, 100, 100, 100}, true, JOINT_ALIKE, true, 600, {100, 0, 0, 0}},
        {"paths alike, equal parts", 0, {100, 100, 100, 100}, false, JOINT_ALIKE, true, 400, {0}},
        {"paths unlike", 0, {100, 20, 50, 80}, false, JOINT_APART, true, 320, {0, 20, 50, 80}},
        {"nothing in the way", 0, {1000, 1000, 1000, 1000}, true, JOINT_AGREED, false, 0, {0}},
        {"one slow path", 0, {1000, 1000, 10, 1000}, true, JOINT_AGREED, false, 0, {0, 0, 10, 0}},
        {"paths as slow as nothing else",
         0,
         {1000, 1000, 50, 40},
         false,
         JOINT_AGREED,
         false,
         0,
         {0, 0, 50, 40}},
    };
    for (unsigned row = 0; row < sizeof(rows) / sizeof(rows[0]); row++) {
        const struct joint_part *part = NULL;
        struct estimate estimate;
        send(rows[row].line_mbps, rows[row].path_mbps, 4, rows[row].halves, TIME_NEVER);
        take_all(4);
        print_message("%s\n", rows[row].what);
        assert_int_equal(joint_choose(&joint, 0, &part), rows[row].word);
        assert_int_equal(part->queued, rows[row].queued);
        bool told = joint_line(&joint, &estimate);
        if (rows[row].word != JOINT_APART && rows[row].told_mbps != 0) {
            assert_true(told);
            assert_in_range(estimate.avail_bps / 1000000, rows[row].told_mbps * 98 / 100,
                            rows[row].told_mbps * 102 / 100);
        }
        for (uint16_t receiver = 0; receiver < 4; receiver++) {
            uint64_t expected = rows[row].path_told_mbps[receiver];
            assert_in_range(path_told(receiver), expected * 95 / 100, expected * 105 / 100);
        }
    }
}

/* Parts that tell of different rates: of their own paths, but where those are known to carry more alone, and the rates
 * are not far apart, as of a path that has become slower since. */
static void joint_choose__blames_no_wide_path(void **state)
{
    (void)state;
    static const struct {
        uint64_t path_mbps[4], alone_mbps[4]; /* 0: it is not known */
        enum joint_word word;
    } rows[] = {
        {{100, 20, 50, 80}, {0, 0, 0, 0}, JOINT_APART},
        {{100, 20, 50, 80}, {100, 20, 50, 80}, JOINT_APART},
        {{100, 20, 50, 80}, {400, 0, 0, 0}, JOINT_APART},
        {{100, 20, 50, 80}, {400, 400, 400, 0}, JOINT_APART},
        {{100, 20, 50, 80}, {100, 0, 0, 400}, JOINT_APART},
        {{100, 20, 50, 80}, {400, 0, 0, 400}, JOINT_ALIKE},
        {{100, 20, 50, 80}, {112, 0, 0, 90}, JOINT_ALIKE},
        {{100, 20, 50, 70}, {400, 400, 400, 400}, JOINT_APART},
        {{50, 10, 20, 30}, {400, 400, 400, 400}, JOINT_APART},
    };
    const struct joint_part *part = NULL;
    for (unsigned row = 0; row < sizeof(rows) / sizeof(rows[0]); row++) {
        send(0, rows[row].path_mbps, 4, false, TIME_NEVER);
        joint_begin(&joint);
        for (uint16_t receiver = 0; receiver < 4; receiver++) {
            struct estimate alone = {.kind = ESTIMATE_VALUE,
                                     .avail_bps = rows[row].alone_mbps[receiver] * 1000000};
            joint_take(&joint, receiver, alone.avail_bps != 0 ? &alone : NULL, &parts[receiver]);
        }
        assert_int_equal(joint_choose(&joint, 0, &part), rows[row].word);
        assert_int_equal(part->receiver, 3);
    }
}

/* A line that loses most of a train still shows its rate, whomever chance lets more come to, and no path is blamed. */
static void joint__of_a_line_that_overflows(void **state)
{
    (void)state;
    static const struct {
        uint64_t line_mbps, path_mbps[5];
        uint16_t receivers;
        bool halves;
        uint64_t queue_ns;
        uint16_t short_of; /* this receiver lacks the last half of what came */
        uint16_t silent;   /* nothing is told of this one */
    } rows[] = {
        {20, {1000, 1000, 1000, 1000}, 4, true, 5 * NS_PER_MS, NOBODY, NOBODY},
        {20, {1000, 1000, 1000, 1000}, 4, false, 5 * NS_PER_MS, NOBODY, NOBODY},
        {20, {1000, 1000, 1000, 1000, 1000}, 5, true, 20 * NS_PER_MS, NOBODY, NOBODY},
        {50, {1000, 1000, 1000}, 3, false, 10 * NS_PER_MS, NOBODY, NOBODY},
        {50, {1000, 1000, 1000, 1000, 1000}, 5, true, 10 * NS_PER_MS, NOBODY, NOBODY},
        {50, {1000, 1000, 1000, 1000, 1000}, 5, false, 20 * NS_PER_MS, 2, NOBODY},
        {20, {1000, 1000, 2, 1000}, 4, false, 20 * NS_PER_MS, NOBODY, NOBODY},
        {20, {1000, 1000, 1000, 1000}, 4, false, 20 * NS_PER_MS, NOBODY, 1},
        {20, {1000, 1000, 1000, 1000}, 4, true, 20 * NS_PER_MS, NOBODY, 0},
    };
    struct estimate estimate;
    const struct joint_part *part = NULL;
    for (unsigned row = 0; row < sizeof(rows) / sizeof(rows[0]); row++) {
        uint16_t receivers = rows[row].receivers, short_of = rows[row].short_of;
        send(rows[row].line_mbps, rows[row].path_mbps, receivers, rows[row].halves, rows[row].queue_ns);
        if (short_of != NOBODY)
            parts[short_of].count -= parts[short_of].count / 2;
        take_without(receivers, rows[row].silent);
        assert_true(joint_choose(&joint, 0, &part) != JOINT_APART);
        assert_true(part->rough && joint_line(&joint, &estimate));
        print_message("row %u: %.2f to %.2f Mbit/s\n", row, (double)estimate.low_bps / 1e6,
                      (double)estimate.high_bps / 1e6);
        assert_in_range(rows[row].line_mbps * 1000000, estimate.low_bps - 1000, estimate.high_bps + 1000);
        assert_true(estimate.high_bps - estimate.low_bps <= rows[row].line_mbps * WIDTH_PERCENT_MAX * 10000);
        assert_true(!part->overrun || estimate.capacity_bps == estimate.avail_bps);
        for (uint16_t receiver = 0; receiver < receivers; receiver++)
            if (rows[row].path_mbps[receiver] == 1000)
                assert_int_equal(path_told(receiver), 0);
    }
}

/* Nor does a receiver whose stamps are not those of its packets in order change what the others tell of the line. */
static void joint__of_stamps_out_of_order(void **state)
{
    (void)state;
    static const uint64_t fast[] = {1000, 1000, 1000, 1000};
    for (unsigned set_back = 0; set_back < 2; set_back++) {
        struct estimate estimate;
        struct train_record *liar = &parts[3];
        send(50, fast, 4, false, 10 * NS_PER_MS);
        struct train_sample *middle = &liar->samples[liar->count / 2];
        if (set_back)
            for (uint32_t i = liar->count / 2; i < liar->count; i++)
                liar->samples[i].received_ns -= NS_PER_S;
        else {
            middle[0].received_ns = liar->samples[0].received_ns - 1;
            middle[1].received_ns = liar->samples[liar->count - 1].received_ns + 1;
        }
        take_all(4);
        assert_true(joint_line(&joint, &estimate));
        assert_in_range(estimate.avail_bps, 47500000, 52500000);
        assert_in_range(50000000, estimate.low_bps - 1000, estimate.high_bps + 1000);
    }
}

/* The receiver's path carries so much, and loses what it would hold for longer than queue_ns. */
static void overflow(uint16_t receiver, uint64_t path_mbps, uint64_t queue_ns)
{
    struct train_record *part = &parts[receiver];
    uint64_t path_ns = 0;
    uint32_t kept = 0;
    for (uint32_t i = 0; i < part->count; i++) {
        struct train_sample sample = part->samples[i];
        if (path_ns > sample.sent_ns + queue_ns)
            continue;
        path_ns = MAX(path_ns, sample.sent_ns) + transmit_ns(part->shape.wire_bytes, path_mbps * 1000000);
        sample.received_ns = path_ns;
        sample.arrival = kept;
        part->samples[kept++] = sample;
    }
    part->count = kept;
}

/* A path that loses most of its part is told of where another part saw many times as much pass, whatever the line is; where not, the
 * line may be what lost it. */
static void joint__of_a_path_that_overflows(void **state)
{
    (void)state;
    static const uint64_t paths[] = {100, 1000, 50, 100}, alike[] = {20, 20, 20, 20};
    send(0, paths, 4, true, TIME_NEVER);
    overflow(1, 10, 5 * NS_PER_MS);
    take_all(4);
    assert_in_range(path_told(1), 7, 13);
    assert_int_equal(path_told(2), 50);
    /* Of which a packet or two came: no more than an upper end, but the path did not pass. */
    send(0, paths, 4, true, TIME_NEVER);
    overflow(1, 1, NS_PER_MS);
    assert_in_range(parts[1].count, 1, 3);
    take_all(4);
    assert_in_range(path_told(1), 1, 10);
    assert_int_equal(path_told(2), 50);
    send(0, alike, 4, false, TIME_NEVER);
    overflow(1, 10, 5 * NS_PER_MS);
    take_all(4);
    assert_int_equal(path_told(1), 0);
}

/* What another sender's train held up says nothing against the others; and of its path what the slowest hop is. */
static void joint__beside_others(void **state)
{
    (void)state;
    static const uint64_t fast[] = {1000, 1000, 1000, 1000};
    const struct joint_part *part = NULL;
    send(100, fast, 4, true, TIME_NEVER);
    for (uint32_t i = parts[2].count / 2; i < parts[2].count; i++)
        parts[2].samples[i].received_ns += (i - parts[2].count / 2) * 200000;
    parts[2].beside = true;
    take_all(4);
    assert_int_equal(joint_choose(&joint, 0, &part), JOINT_AGREED);
    assert_int_equal(path_told(2), 0);
}

/* Behind others' trains packets may come closer together than the line let them: where two others agree on less, that part
 * says nothing. By itself it would. */
static void joint__of_a_part_that_was_compressed(void **state)
{
    (void)state;
    static const uint64_t fast[] = {1000, 1000, 1000, 1000};
    const struct joint_part *part = NULL;
    struct estimate estimate;
    for (unsigned beside = 0; beside < 2; beside++) {
        send(50, fast, 4, false, TIME_NEVER);
        uint32_t last = parts[2].count - 1;
        for (uint32_t i = 0; i < parts[2].count; i++)
            parts[2].samples[i].received_ns = parts[2].samples[last].received_ns - (last - i) * 150000;
        parts[2].beside = beside != 0;
        take_all(4);
        assert_int_equal(joint_choose(&joint, 0, &part), beside ? JOINT_ALIKE : JOINT_APART);
        bool told = joint_line(&joint, &estimate);
        assert_true(!beside || (told && estimate.avail_bps > 48000000 && estimate.avail_bps < 52000000));
        assert_true(!beside || joint.parts[joint.count - 1].aside);
    }
}

/* Of next to nothing that came to three the rate is told by who got most; of more it is not, nor of what two got. */
static void joint_trickle__of_three(void **state)
{
    (void)state;
    static const uint64_t fast[] = {1000, 1000, 1000, 1000};
    struct estimate estimate;
    send(10, fast, 4, false, 5 * NS_PER_MS);
    take_all(4);
    assert_true(joint_trickle(&joint, &estimate));
    assert_in_range(estimate.avail_bps, 9000000, 11000000);
    take_all(2);
    assert_false(joint_trickle(&joint, &estimate));
    send(400, fast, 4, false, 5 * NS_PER_MS);
    take_all(4);
    assert_false(joint_trickle(&joint, &estimate));
}

static void joint__needs_two(void **state)
{
    (void)state;
    static const uint64_t fast[] = {1000, 1000};
    const struct joint_part *part = NULL;
    take_all(0);
    assert_int_equal(joint_choose(&joint, 0, &part), JOINT_SILENT);
    send(100, fast, 2, false, TIME_NEVER);
    parts[1].count = 2;
    parts[1].marks = TRAIN_CUT;
    take_all(2);
    assert_int_equal(joint_choose(&joint, 0, &part), JOINT_SILENT);
}

/* What is known of one path decides between it and the line; whose it is may be asked for. */
static void joint_judge__by_a_path_alone(void **state)
{
    (void)state;
    static const uint64_t fast[] = {1000, 1000, 1000, 1000};
    const struct joint_part *part = NULL;
    send(100, fast, 4, false, TIME_NEVER);
    take_all(4);
    assert_int_equal(joint_choose(&joint, 1u << 3, &part), JOINT_ALIKE);
    assert_int_equal(part->receiver, 3);
    static const struct {
        uint64_t alone_mbps; /* 0: it is not known */
        uint8_t kind;
    } rows[] = {{0, ESTIMATE_REFUSED},
                {25, ESTIMATE_AT_LEAST},
                {27, ESTIMATE_AT_LEAST},
                {28, ESTIMATE_VALUE},
                {100, ESTIMATE_VALUE}};
    for (unsigned row = 0; row < sizeof(rows) / sizeof(rows[0]); row++) {
        struct estimate alone = {.kind = ESTIMATE_VALUE, .avail_bps = rows[row].alone_mbps * 1000000};
        struct estimate line = {
            .kind = ESTIMATE_VALUE, .avail_bps = 100000000, .low_bps = 99000000, .high_bps = 101000000};
        joint_judge(&line, 4, rows[row].alone_mbps == 0 ? NULL : &alone);
        assert_int_equal(line.kind, rows[row].kind);
        if (line.kind == ESTIMATE_AT_LEAST)
            assert_true(line.avail_bps == 99000000 && line.low_bps == 99000000 && line.high_bps == 0);
    }
}

static void joint_enough__is_narrow(void **state)
{
    (void)state;
    struct estimate line = {.kind = ESTIMATE_VALUE, .avail_bps = 100, .low_bps = 97, .high_bps = 103};
    assert_true(joint_enough(&line));
    line.high_bps = 104;
    line.low_bps = 96;
    assert_false(joint_enough(&line));
    line.kind = ESTIMATE_REFUSED;
    assert_false(joint_enough(&line));
    line.kind = ESTIMATE_AT_LEAST;
    assert_true(joint_enough(&line));
}

#define SPRINT_PACKETS 8u

/* Of so many packets at the port's rate; `gap_ns` from one arrival to the next, but one of them that is so many times as
 * long, behind the packet of that number; the first ones are lost. */
static struct train_record *sprint(uint64_t gap_ns, unsigned behind, unsigned times, unsigned lost)
{
    struct train_record *record = &parts[0];
    uint64_t left_ns = transmit_ns(1538, PORT_BPS), came_ns = CLOCK_NS;
    *record = (struct train_record){.shape = {.wire_bytes = 1538}, .sent = SPRINT_PACKETS};
    for (uint32_t index = 0; index < SPRINT_PACKETS; index++) {
        if (index >= lost)
            record->samples[record->count++] =
                (struct train_sample){NS_PER_S + index * left_ns, came_ns, 300 + index, index - lost};
        came_ns += gap_ns * (index == behind ? times : 1);
    }
    return record;
}

static void joint_sprint__by_a_table(void **state)
{
    (void)state;
    static const struct {
        const char *what;
        uint64_t gap_ns;
        unsigned behind, times, lost, noise_ns;
        enum estimate_kind kind;
        uint64_t low_mbps, high_mbps; /* of the value; of "at least" the lower end */
    } rows[] = {
        {"as fast as the port", 12304, 0, 1, 0, 0, ESTIMATE_AT_LEAST, 930, 950},
        {"other traffic's packet between", 12304, 4, 2, 0, 0, ESTIMATE_VALUE, 870, 880},
        {"a slow path", 123040, 0, 1, 0, 0, ESTIMATE_VALUE, 99, 101},
        {"of 500", 24608, 0, 1, 0, 0, ESTIMATE_VALUE, 495, 505},
        {"a slow path, the first lost", 123040, 0, 1, 2, 0, ESTIMATE_VALUE, 99, 101},
        {"too few came", 123040, 0, 1, 3, 0, ESTIMATE_NONE, 0, 0},
        {"an end that stood still", 12304, 5, 50, 0, 0, ESTIMATE_NONE, 0, 0},
        {"a slow path, stamps that err a little", 123040, 0, 1, 0, 60000, ESTIMATE_VALUE, 99, 101},
        {"stamps that err as much as all takes", 12304, 0, 1, 0, 60000, ESTIMATE_NONE, 0, 0},
    };
    for (unsigned row = 0; row < sizeof(rows) / sizeof(rows[0]); row++) {
        struct estimate estimate = {.kind = ESTIMATE_NONE};
        struct train_record *record =
            sprint(rows[row].gap_ns, rows[row].behind, rows[row].times, rows[row].lost);
        record->receiver.noise_ns = rows[row].noise_ns;
        print_message("%s\n", rows[row].what);
        assert_int_equal(joint_sprint(record, &estimate), rows[row].kind != ESTIMATE_NONE);
        assert_int_equal(estimate.kind, rows[row].kind);
        assert_in_range(estimate.avail_bps / 1000000, rows[row].low_mbps, rows[row].high_mbps);
        assert_true(estimate.low_bps <= estimate.avail_bps);
    }
    struct estimate estimate;
    struct train_record *cut = sprint(12304, 0, 1, 0);
    cut->marks = TRAIN_CUT;
    assert_false(joint_sprint(cut, &estimate));
}

static struct estimate of_mbps(uint64_t mbps, enum estimate_kind kind)
{
    uint64_t bps = mbps * 1000000;
    return (struct estimate){
        .kind = kind, .avail_bps = bps, .low_bps = bps / 100 * 94, .high_bps = bps / 100 * 106};
}

/* Sprints to three beside a train in turn to four: what none of them, nor of its parts, saw exceeded may be the line. */
static void joint_judge_sprints__leaves_the_line_open(void **state)
{
    (void)state;
    static const struct {
        const char *what;
        uint64_t line_mbps, path_mbps[4], sprint_mbps[3];
        bool value[3];
    } rows[] = {
        {"a line", 100, {1000, 1000, 1000, 1000}, {100, 100, 50}, {false, false, true}},
        {"paths that are alike", 0, {100, 100, 100, 100}, {100, 100, 100}, {true, true, true}},
        {"one path is wide", 0, {1000, 1000, 500, 200}, {950, 500, 200}, {false, true, true}},
        {"none is", 0, {500, 500, 500, 500}, {500, 500, 200}, {false, false, true}},
    };
    for (unsigned row = 0; row < sizeof(rows) / sizeof(rows[0]); row++) {
        const struct joint_part *part = NULL;
        struct estimate sprints[4] = {0};
        send(rows[row].line_mbps, rows[row].path_mbps, 4, false, TIME_NEVER);
        take_all(4);
        joint_choose(&joint, 0, &part);
        for (unsigned path = 0; path < 3; path++)
            sprints[path] = of_mbps(rows[row].sprint_mbps[path], ESTIMATE_VALUE);
        joint_judge_sprints(&joint, sprints, 4);
        print_message("%s\n", rows[row].what);
        for (unsigned path = 0; path < 3; path++)
            assert_int_equal(sprints[path].kind, rows[row].value[path] ? ESTIMATE_VALUE : ESTIMATE_AT_LEAST);
        assert_int_equal(sprints[3].kind, ESTIMATE_NONE);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(joint__tells_line_and_slow_paths),
        cmocka_unit_test(joint_choose__blames_no_wide_path),
        cmocka_unit_test(joint__of_a_line_that_overflows),
        cmocka_unit_test(joint__of_stamps_out_of_order),
        cmocka_unit_test(joint__of_a_path_that_overflows),
        cmocka_unit_test(joint__beside_others),
        cmocka_unit_test(joint__of_a_part_that_was_compressed),
        cmocka_unit_test(joint_trickle__of_three),
        cmocka_unit_test(joint__needs_two),
        cmocka_unit_test(joint_judge__by_a_path_alone),
        cmocka_unit_test(joint_enough__is_narrow),
        cmocka_unit_test(joint_sprint__by_a_table),
        cmocka_unit_test(joint_judge_sprints__leaves_the_line_open),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
