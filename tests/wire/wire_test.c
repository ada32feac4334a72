/* Datagrams: golden vectors built from structs, every truncation of them, and each refusal by its code. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <cmocka.h>

#include "datagrams.h"
#include "golden.h"
#include "roundtrip.h"
#include "wire/ack.h"
#include "wire/close.h"
#include "wire/control.h"
#include "wire/data.h"
#include "wire/message.h"

#define GOLDEN_MAX 40

static struct golden vectors[GOLDEN_MAX];
static unsigned vector_count;

static const struct golden *vector(const char *name)
{
    for (unsigned index = 0; index < vector_count; index++)
        if (strcmp(vectors[index].name, name) == 0)
            return &vectors[index];
    fail_msg("no vector %s", name);
    return NULL;
}

static void encode__golden(void **state)
{
    (void)state;
    for (const struct datagram *row = datagrams; row->name != NULL; row++) {
        uint8_t out[GOLDEN_BYTES_MAX] = {0};
        const struct golden *golden = vector(row->name);
        size_t length = row->build(out);
        print_message("%s\n", row->name);
        assert_int_equal(length, golden->length);
        assert_memory_equal(out, golden->bytes, length);
    }
}

static void decode__golden_comes_back_the_same(void **state)
{
    (void)state;
    for (unsigned index = 0; index < vector_count; index++)
        if (!golden_is_frame(&vectors[index]))
            assert_int_equal(roundtrip_datagram(vectors[index].bytes, vectors[index].length), WIRE_OK);
}

/* Only a data packet may end earlier and still be one: its body's length is the store's question. Copies have
 * no byte behind them, so that a sanitizer sees any read past the end. */
static void decode__every_truncation(void **state)
{
    (void)state;
    for (unsigned index = 0; index < vector_count; index++) {
        const struct golden *golden = &vectors[index];
        if (golden_is_frame(golden))
            continue;
        bool data = strncmp(golden->name, "data", 4) == 0;
        uint32_t count = data ? golden->bytes[45] : 0;
        size_t shortest = data ? WIRE_DATA_BYTES + count * WIRE_TAG_BYTES + count : golden->length;
        for (size_t length = 0; length < golden->length; length++) {
            uint8_t *copy = malloc(length + 1);
            memcpy(copy + 1, golden->bytes, length);
            enum wire_error error = roundtrip_datagram(copy + 1, length);
            assert_int_equal(error == WIRE_OK, length >= shortest);
            if (length < WIRE_HEADER_BYTES)
                assert_int_equal(error, WIRE_TOO_SHORT);
            free(copy);
        }
    }
}

static void decode__trailing_byte(void **state)
{
    (void)state;
    for (unsigned index = 0; index < vector_count; index++) {
        struct golden longer = vectors[index];
        if (golden_is_frame(&longer))
            continue;
        longer.bytes[longer.length++] = 0;
        bool data = strncmp(longer.name, "data", 4) == 0;
        assert_int_equal(roundtrip_datagram(longer.bytes, longer.length), data ? WIRE_OK : WIRE_BAD_LENGTH);
    }
}

/* The body's own decoder refuses a byte too many as well, when the message's length says that it is there. */
static void control_decode__trailing_byte(void **state)
{
    (void)state;
    for (unsigned index = 0; index < vector_count; index++) {
        struct golden longer = vectors[index];
        if (golden_is_frame(&longer) || longer.bytes[1] != WIRE_MESSAGE)
            continue;
        longer.bytes[longer.length++] = 0;
        store_be16(longer.bytes + 42, (uint16_t)(longer.length - WIRE_MESSAGE_BYTES));
        assert_int_equal(roundtrip_datagram(longer.bytes, longer.length), WIRE_BAD_LENGTH);
    }
}

/* And every shorter body: none is taken for whole, but an ack's without any. */
static void control_decode__every_truncation(void **state)
{
    (void)state;
    for (unsigned index = 0; index < vector_count; index++) {
        struct golden shorter = vectors[index];
        if (golden_is_frame(&shorter) || shorter.bytes[1] != WIRE_MESSAGE)
            continue;
        while (shorter.length > WIRE_MESSAGE_BYTES) {
            shorter.length--;
            store_be16(shorter.bytes + 42, (uint16_t)(shorter.length - WIRE_MESSAGE_BYTES));
            enum wire_error error = roundtrip_datagram(shorter.bytes, shorter.length);
            bool ack = shorter.bytes[40] == WIRE_MESSAGE_ACK && shorter.length == WIRE_MESSAGE_BYTES;
            assert_true(ack ? error == WIRE_OK : error == WIRE_TOO_SHORT || error == WIRE_BAD_LENGTH);
        }
    }
}

/* Offsets here are counted in the datagram by hand, apart from the code's own field lists. */
static const struct {
    const char *vector;
    uint16_t offset;
    uint8_t value;
    enum wire_error expected;
} refusals[] = {
    {"hello", 0, 0, WIRE_BAD_VERSION},
    {"hello", 0, 1, WIRE_BAD_VERSION},
    {"hello", 1, 0, WIRE_BAD_TYPE},
    {"hello", 1, WIRE_TYPE_COUNT, WIRE_BAD_TYPE},
    {"hello", 1, 255, WIRE_BAD_TYPE},
    {"hello", 3, 1, WIRE_OK},             /* flags are not looked at */
    {"hello", 34, 1, WIRE_OK},            /* any key id */
    {"hello", 35, 1, WIRE_OK},            /* reserved */
    {"initiation", 2, 1, WIRE_BAD_VALUE}, /* of the header only tag and number say something … */
    {"initiation", 3, 1, WIRE_BAD_VALUE},
    {"initiation", 4, 1, WIRE_BAD_VALUE},
    {"initiation", 8, 0, WIRE_OK},
    {"initiation", 12, 1, WIRE_BAD_VALUE},
    {"initiation", 16, 0, WIRE_OK},
    {"initiation", 1, WIRE_RESPONSE, WIRE_BAD_VALUE},
    {"response", 1, WIRE_INITIATION, WIRE_TOO_SHORT},
    {"response", 11, 1, WIRE_BAD_VALUE}, /* … or tag and session */
    {"data", 45, 0, WIRE_BAD_VALUE},
    {"data", 45, 9, WIRE_BAD_VALUE},
    {"data", 45, 2, WIRE_BAD_LENGTH},
    {"data-two", 45, 3, WIRE_BAD_VALUE}, /* symbols past the last index */
    {"ack", 91, 21, WIRE_BAD_LENGTH},
    {"ack", 90, 4, WIRE_BAD_LENGTH},
    {"ack", 89, 1, WIRE_BAD_LENGTH}, /* places */
    {"ack", 89, 3, WIRE_BAD_LENGTH},
    {"ack", 89, 17, WIRE_BAD_LENGTH},
    {"message-ack", 40, CONTROL_KIND_COUNT, WIRE_BAD_VALUE},
    {"measure", 40, 0, WIRE_BAD_LENGTH}, /* an ack with a body */
    {"measure", 40, CONTROL_HAVE, WIRE_TOO_SHORT},
    {"measure", 42, 5, WIRE_BAD_LENGTH},
    {"measurement", 80, 2, WIRE_BAD_VALUE},  /* leaf */
    {"measurement", 82, 1, WIRE_BAD_LENGTH}, /* fewer in all than here */
    {"measurement", 84, 1, WIRE_BAD_LENGTH},
    {"measurement", 84, 21, WIRE_BAD_LENGTH},
    {"measurement", 85, 0, WIRE_BAD_VALUE},
    {"measurement", 126, 11, WIRE_BAD_VALUE}, /* more answers than probes */
    {"part", 52, 0, WIRE_BAD_VALUE},          /* source */
    {"part", 84, '-', WIRE_BAD_VALUE},        /* directory */
    {"part", 116, ' ', WIRE_BAD_VALUE},       /* job name */
    {"part", 165, 1, WIRE_BAD_VALUE},         /* a directory with the permissions of a file */
    {"part-source", 164, 2, WIRE_BAD_VALUE},  /* the sticky bit */
    {"part", 172, 2, WIRE_BAD_VALUE},         /* hash */
    {"part", 173, 3, WIRE_BAD_VALUE},         /* durable */
    {"part", 174, 3, WIRE_BAD_VALUE},         /* exists */
    {"part", 175, 1, WIRE_OK},                /* congestion: one that this node does not have */
    {"part", 175, 255, WIRE_OK},
    {"part", 176, 2, WIRE_BAD_VALUE}, /* keep */
    {"part", 177, 0, WIRE_BAD_VALUE}, /* stripes */
    {"part", 177, CONTROL_STRIPES_MAX, WIRE_OK},
    {"part", 177, CONTROL_STRIPES_MAX + 1, WIRE_BAD_VALUE},
    {"part", 178, PART_OBJECT_COUNT, WIRE_BAD_VALUE},
    {"part", 178, 0, WIRE_BAD_VALUE},    /* a file with an index */
    {"part", 179, 0x80, WIRE_BAD_VALUE}, /* tree */
    {"part", 232, 1, WIRE_BAD_VALUE},    /* a directory with a stream's window */
    {"part", 228, 1, WIRE_BAD_VALUE},    /* or its rule for slow receivers */
    {"part-stream", 228, 2, WIRE_BAD_VALUE},
    {"part-stream", 232, 0, WIRE_BAD_VALUE}, /* no window */
    {"let-go", 48, CONTROL_CHILDREN_MAX, WIRE_BAD_VALUE},
    {"part", 180, 1, WIRE_BAD_VALUE},   /* an index longer than the object */
    {"part", 270, 17, WIRE_BAD_LENGTH}, /* the path is longer than the body */
    {"part", 269, 1, WIRE_BAD_LENGTH},  /* the path is longer than its room */
    {"part", 273, 0, WIRE_BAD_VALUE},   /* a zero within the path */
    {"tree", 52, CONTROL_STRIPES_MAX - 1, WIRE_OK},
    {"tree", 52, CONTROL_STRIPES_MAX, WIRE_BAD_VALUE},
    {"tree", 53, 0, WIRE_BAD_VALUE}, /* weight */
    {"tree", 53, CONTROL_WEIGHT_MAX, WIRE_OK},
    {"tree", 53, CONTROL_WEIGHT_MAX + 1, WIRE_BAD_VALUE},
    {"tree", 54, '.', WIRE_BAD_VALUE}, /* parent */
    {"tree", 54, 0, WIRE_BAD_VALUE},
    {"tree", 86, '.', WIRE_BAD_VALUE}, /* backup parent */
    {"tree", 86, 0, WIRE_BAD_VALUE},
    {"tree", 118, 1, WIRE_BAD_LENGTH}, /* children */
    {"tree", 118, 3, WIRE_BAD_LENGTH},
    {"tree", 118, CONTROL_CHILDREN_MAX + 1, WIRE_BAD_LENGTH},
    {"tree", 119, 0, WIRE_BAD_VALUE}, /* a child's name */
    {"tree", 159, 2, WIRE_BAD_VALUE}, /* whether its rate is known */
    {"confirm", 52, 4, WIRE_BAD_VALUE},
    {"confirm", 54, 10, WIRE_BAD_LENGTH},
    {"confirm", 55, 0, WIRE_BAD_VALUE},
    {"status", 48, SITE_STATE_COUNT, WIRE_BAD_VALUE},
    {"status", 73, 2, WIRE_BAD_VALUE},  /* there are two children */
    {"status", 74, 17, WIRE_BAD_VALUE}, /* more than there can be */
    {"status", 74, 16, WIRE_TOO_SHORT},
    {"hashes", 57, 37, WIRE_BAD_LENGTH},
    {"hashes", 57, 1, WIRE_BAD_LENGTH},
    {"close-job", 48, 3, WIRE_BAD_VALUE},
    {"adjust", 60, 8, WIRE_BAD_VALUE},
    {"adjust", 61, 64, WIRE_BAD_VALUE},
    {"adjust", 62, 2, WIRE_BAD_VALUE},
    {"probe", 37, 1, WIRE_BAD_LENGTH},
    {"train", 45, 21, WIRE_BAD_LENGTH},
    {"train", 36, 16, WIRE_BAD_VALUE},  /* index 4098 of 4096 */
    {"train", 39, 1, WIRE_BAD_VALUE},   /* 4097 packets */
    {"train", 38, 1, WIRE_BAD_VALUE},   /* 256 packets, of which this is number 258 */
    {"piece", 39, 1, WIRE_BAD_VALUE},   /* one is no piece */
    {"piece", 39, 9, WIRE_BAD_VALUE},   /* nine are too many */
    {"piece", 38, 3, WIRE_BAD_VALUE},   /* number 3 of 3 */
    {"piece", 37, 2, WIRE_BAD_VALUE},   /* two bytes for three pieces */
    {"piece", 36, 255, WIRE_BAD_VALUE}, /* more than any packet has */
    {"piece", 37, 46, WIRE_BAD_LENGTH}, /* pieces of 16 bytes */
    {"train-report", 48, 4, WIRE_BAD_VALUE},
    {"train-report", 49, 3, WIRE_BAD_VALUE},  /* who stamps so? */
    {"train-report", 69, 43, WIRE_BAD_VALUE}, /* 299 packets */
    {"train-report", 71, 39, WIRE_BAD_VALUE}, /* the last place is 300 */
    {"train-report", 73, 5, WIRE_BAD_VALUE},  /* bytes of another arrival */
    {"train-report", 73, 7, WIRE_BAD_VALUE},  /* one is missing */
    {"train-report", 75, 4, WIRE_BAD_VALUE},  /* the last index is 4096 */
    {"train-report", 85, 3, WIRE_BAD_LENGTH}, /* bytes that follow */
    {"train-busy", 73, 1, WIRE_BAD_VALUE},    /* arrivals of nothing */
    {"available", 44, 3, WIRE_BAD_LENGTH},
    {"available", 45, '/', WIRE_BAD_VALUE},
    {"available", 81, 1, WIRE_BAD_VALUE}, /* low is above */
    {"probe-ask", 48, '/', WIRE_BAD_VALUE},
    {"probe-answer", 48, 9, WIRE_BAD_VALUE}, /* there is no such answer */
    {"probe-answer", 51, 3, WIRE_BAD_VALUE}, /* who stamps so? */
    {"probe-answer", 153, 1, WIRE_BAD_LENGTH},
    {"probe-reply", 37, 21, WIRE_BAD_LENGTH},
    {"close", 32, 0, WIRE_BAD_VALUE},
    {"close", 32, 2, WIRE_BAD_VALUE},
};

static void decode__refusals(void **state)
{
    (void)state;
    for (unsigned index = 0; index < sizeof(refusals) / sizeof(refusals[0]); index++) {
        struct golden golden = *vector(refusals[index].vector);
        assert_in_range(refusals[index].offset, 0, golden.length - 1);
        golden.bytes[refusals[index].offset] = refusals[index].value;
        enum wire_error error = roundtrip_datagram(golden.bytes, golden.length);
        if (error != refusals[index].expected)
            fail_msg("%s with %u at %u: %d, expected %d", refusals[index].vector, refusals[index].value,
                     refusals[index].offset, error, refusals[index].expected);
    }
}

/* Fields of several bytes that must not be zero, or not reach the end of their range. */
static void decode__refused_words(void **state)
{
    static const struct {
        const char *vector;
        uint16_t offset;
        uint16_t length;
        uint8_t fill;
    } rows[] = {
        {"data", 4, 4, 0}, /* session */
        {"ack", 4, 4, 0},        {"measure", 4, 4, 0},    {"probe", 4, 4, 0},
        {"hello", 4, 4, 0},      {"response", 4, 4, 0},   {"hello", 32, 2, 0}, /* interval */
        {"part", 52, 32, 0},                                                   /* source */
        {"part", 116, 32, 0},                                                  /* job name */
        {"hashes", 48, 8, 0xff},                                               /* first block */
        {"have", 48, 8, 0xff},   {"resend", 56, 8, 0xff},                      /* count */
    };
    (void)state;
    for (unsigned index = 0; index < sizeof(rows) / sizeof(rows[0]); index++) {
        struct golden golden = *vector(rows[index].vector);
        memset(golden.bytes + rows[index].offset, rows[index].fill, rows[index].length);
        enum wire_error error = roundtrip_datagram(golden.bytes, golden.length);
        if (error != WIRE_BAD_VALUE)
            fail_msg("%s at %u: %d", rows[index].vector, rows[index].offset, error);
    }
}

static void part_and_tree_decode__some_names_may_be_empty(void **state)
{
    static const struct {
        const char *vector;
        uint16_t offset;
    } rows[] = {{"part", 84}, {"tree", 54}, {"tree", 86}}; /* directory, parent, backup parent */
    (void)state;
    for (unsigned index = 0; index < sizeof(rows) / sizeof(rows[0]); index++) {
        struct golden golden = *vector(rows[index].vector);
        memset(golden.bytes + rows[index].offset, 0, NAME_BYTES);
        assert_int_equal(roundtrip_datagram(golden.bytes, golden.length), WIRE_OK);
    }
}

static void message_decode__body_limit(void **state)
{
    static uint8_t body[WIRE_MESSAGE_BODY_MAX + 1];
    uint8_t out[WIRE_MESSAGE_BYTES + sizeof(body)];
    struct wire_message_view view;
    (void)state;
    size_t length = datagram_message(out, 1, CONTROL_PART, body, WIRE_MESSAGE_BODY_MAX);
    assert_int_equal(wire_message_decode(out, length, &view), WIRE_OK);
    assert_ptr_equal(view.body, out + WIRE_MESSAGE_BYTES);
    length = datagram_message(out, 1, CONTROL_PART, body, WIRE_MESSAGE_BODY_MAX + 1);
    assert_int_equal(wire_message_decode(out, length, &view), WIRE_BAD_LENGTH);
}

static void message_encode__body_made_in_place(void **state)
{
    uint8_t out[GOLDEN_BYTES_MAX];
    const struct golden *golden = vector("start");
    (void)state;
    struct wire_start start = {.job = 0xdecade01, .epoch = 3};
    size_t length = control_start_encode(out + WIRE_MESSAGE_BYTES, &start);
    assert_int_equal(datagram_message(out, 6, CONTROL_START, out + WIRE_MESSAGE_BYTES, length),
                     golden->length);
    assert_memory_equal(out, golden->bytes, golden->length);
}

static void ack_decode__runs(void **state)
{
    static const struct {
        uint8_t bytes[12];
        uint8_t length;
        enum wire_error expected;
    } rows[] = {
        {{0}, 0, WIRE_OK},
        {{0x00}, 1, WIRE_OK},
        {{0x7f}, 1, WIRE_OK},
        {{0x80}, 1, WIRE_BAD_VALUE}, /* cut off */
        {{0x01, 0xff, 0xff}, 3, WIRE_BAD_VALUE},
        {{0xff, 0xff, 0xff, 0xff, 0x07}, 5, WIRE_OK},              /* 2^31 - 1 */
        {{0x80, 0x80, 0x80, 0x80, 0x08}, 5, WIRE_BAD_VALUE},       /* 2^31 */
        {{0xff, 0xff, 0xff, 0xff, 0x0f}, 5, WIRE_BAD_VALUE},       /* 2^32 - 1 */
        {{0x80, 0x80, 0x80, 0x80, 0x10}, 5, WIRE_BAD_VALUE},       /* 2^32 */
        {{0x80, 0x80, 0x80, 0x80, 0x80, 0x00}, 6, WIRE_BAD_VALUE}, /* six bytes */
        {{0xff, 0xff, 0xff, 0xff, 0x07, 0x00}, 6, WIRE_OK},
        {{0xff, 0xff, 0xff, 0xff, 0x07, 0x01}, 6, WIRE_BAD_VALUE}, /* the sum reaches 2^31 */
    };
    (void)state;
    for (unsigned index = 0; index < sizeof(rows) / sizeof(rows[0]); index++) {
        uint8_t out[WIRE_ACK_BYTES + sizeof(rows[0].bytes)];
        struct wire_header header = datagram_header(WIRE_ACK, 0);
        struct wire_ack ack = {.run_bytes = rows[index].length};
        size_t length = wire_ack_encode(out, &header, &ack, rows[index].bytes, NULL);
        print_message("row %u\n", index);
        assert_int_equal(roundtrip_datagram(out, length), rows[index].expected);
    }
}

static void ack_decode__run_bytes_limit(void **state)
{
    static uint8_t runs[WIRE_ACK_RUNS_MAX + 1];
    uint8_t out[WIRE_ACK_BYTES + sizeof(runs)];
    struct wire_header header = datagram_header(WIRE_ACK, 0);
    struct wire_ack_view view;
    (void)state;
    for (uint16_t over = 0; over <= 1; over++) {
        struct wire_ack ack = {.run_bytes = (uint16_t)(WIRE_ACK_RUNS_MAX + over)};
        size_t length = wire_ack_encode(out, &header, &ack, runs, NULL);
        assert_int_equal(wire_ack_decode(out, length, &view), over ? WIRE_BAD_LENGTH : WIRE_OK);
    }
}

static void run_put__comes_back(void **state)
{
    static const struct {
        uint32_t run;
        size_t bytes;
    } rows[] = {{0, 1},       {1, 1},       {127, 1},       {128, 2},       {16383, 2},     {16384, 3},
                {2097151, 3}, {2097152, 4}, {268435455, 4}, {268435456, 5}, {UINT32_MAX, 5}};
    (void)state;
    for (unsigned index = 0; index < sizeof(rows) / sizeof(rows[0]); index++) {
        uint8_t out[WIRE_RUN_BYTES_MAX];
        const uint8_t *in = out;
        assert_int_equal(wire_run_put(out, rows[index].run), rows[index].bytes);
        assert_int_equal(wire_run_get(&in), rows[index].run);
        assert_int_equal(in - out, rows[index].bytes);
    }
}

static void content__packs_all_parts(void **state)
{
    (void)state;
    uint64_t content = wire_content(WIRE_SYMBOL_MAX, 8, 0xab, 0xcd);
    assert_int_equal(content, 0xffffffffff08abcd);
    assert_int_equal(wire_content_symbol(content), WIRE_SYMBOL_MAX);
    assert_int_equal(wire_content_count(content), 8);
    assert_int_equal(wire_content_stripe(content), 0xab);
    assert_int_equal(wire_content_epoch(content), 0xcd);
}

static void stamp__wraps(void **state)
{
    (void)state;
    assert_int_equal(wire_stamp(15), 0);
    assert_int_equal(wire_stamp(16), 1);
    assert_int_equal(wire_stamp(16ULL << 32), 0);
    assert_int_equal(wire_stamp((16ULL << 32) - 1), UINT32_MAX);
}

/* The largest content of each kind fits a message and comes back; one more does not get out. */
static void control_encode__limits(void **state)
{
    uint8_t body[WIRE_MESSAGE_BODY_MAX];
    struct control_part part = {.fixed = datagram_part()};
    struct control_tree tree = {.fixed = {.weight = 1, .child_count = CONTROL_CHILDREN_MAX}};
    struct control_measurement measurement = {
        .fixed = {.up_bps = 1000, .down_bps = 1000, .total = 99, .count = CONTROL_MEASUREMENTS_MAX}};
    struct control_hashes hashes = {.fixed = {.count = CONTROL_HASHES_MAX}};
    (void)state;
    memset(part.file, 'x', CONTROL_FILE_BYTES - 1);
    for (unsigned index = 0; index < CONTROL_CHILDREN_MAX; index++)
        tree.children[index].name = (struct wire_name){"abcdefghijabcdefghijabcdefghij1"};
    for (unsigned index = 0; index < CONTROL_MEASUREMENTS_MAX; index++)
        measurement.peers[index].peer = (struct wire_name){"p"};
    struct control_part part_again;
    size_t length = control_part_encode(body, &part);
    assert_in_range(length, 1, WIRE_MESSAGE_BODY_MAX);
    assert_int_equal(control_part_decode(body, length, &part_again), WIRE_OK);
    assert_string_equal(part_again.file, part.file);
    struct control_tree tree_again;
    length = control_tree_encode(body, &tree);
    assert_in_range(length, 1, WIRE_MESSAGE_BODY_MAX);
    assert_int_equal(control_tree_decode(body, length, &tree_again), WIRE_OK);
    struct control_measurement measurement_again;
    length = control_measurement_encode(body, &measurement);
    assert_in_range(length, 1, WIRE_MESSAGE_BODY_MAX);
    assert_int_equal(control_measurement_decode(body, length, &measurement_again), WIRE_OK);
    struct control_hashes hashes_again;
    length = control_hashes_encode(body, &hashes);
    assert_in_range(length, 1, WIRE_MESSAGE_BODY_MAX);
    assert_int_equal(control_hashes_decode(body, length, &hashes_again), WIRE_OK);
    tree.fixed.child_count++;
    measurement.fixed.count++;
    hashes.fixed.count++;
    assert_int_equal(control_tree_encode(body, &tree), 0);
    assert_int_equal(control_measurement_encode(body, &measurement), 0);
    assert_int_equal(control_hashes_encode(body, &hashes), 0);
}

static void control_encode__text_without_end(void **state)
{
    uint8_t body[WIRE_MESSAGE_BODY_MAX];
    struct control_confirm confirm = {0};
    struct control_status status = {0};
    struct control_close_job close_job = {0};
    struct control_part part = {.fixed = datagram_part()};
    (void)state;
    memset(confirm.text, 'x', sizeof(confirm.text));
    memset(status.text, 'x', sizeof(status.text));
    memset(close_job.text, 'x', sizeof(close_job.text));
    memset(part.file, 'x', sizeof(part.file));
    assert_int_equal(control_confirm_encode(body, &confirm), 0);
    assert_int_equal(control_status_encode(body, &status), 0);
    assert_int_equal(control_close_job_encode(body, &close_job), 0);
    assert_int_equal(control_part_encode(body, &part), 0);
    confirm.text[CONTROL_TEXT_BYTES - 1] = '\0';
    struct control_confirm again;
    size_t length = control_confirm_encode(body, &confirm);
    assert_int_equal(control_confirm_decode(body, length, &again), WIRE_OK);
    assert_string_equal(again.text, confirm.text);
}

/* A text may fill its room but for the terminating zero, not a byte more. */
static void control_decode__text_room(void **state)
{
    uint8_t body[WIRE_MESSAGE_BODY_MAX];
    struct wire_confirm fixed = {.job = 1};
    (void)state;
    for (uint16_t length = CONTROL_TEXT_BYTES - 1; length <= CONTROL_TEXT_BYTES; length++) {
        struct control_confirm confirm;
        uint8_t *text = wire_put_u16(wire_confirm_put(body, &fixed), length);
        memset(text, 'x', length);
        enum wire_error error = control_confirm_decode(body, (size_t)(text - body) + length, &confirm);
        assert_int_equal(error, length < CONTROL_TEXT_BYTES ? WIRE_OK : WIRE_BAD_LENGTH);
    }
}

/* One element more than there is room for, in a body that is consistent otherwise: only the limit refuses
 * it. */
static void control_decode__one_too_many(void **state)
{
    static uint8_t body[2048];
    struct control_measurement measurement;
    struct control_tree tree;
    struct control_hashes hashes;
    struct wire_measurement measured = {.total = 99, .count = CONTROL_MEASUREMENTS_MAX + 1};
    struct wire_tree fixed = {.weight = 1, .child_count = CONTROL_CHILDREN_MAX + 1};
    struct wire_hashes many = {.count = CONTROL_HASHES_MAX + 1};
    (void)state;
    uint8_t *end = wire_measurement_put(body, &measured);
    for (unsigned index = 0; index < measured.count; index++)
        end = wire_measured_put(end, &(struct wire_measured){.peer = {"p"}});
    assert_int_equal(control_measurement_decode(body, (size_t)(end - body), &measurement), WIRE_BAD_LENGTH);
    end = wire_tree_put(body, &fixed);
    for (unsigned index = 0; index < fixed.child_count; index++)
        end = wire_child_put(end, &(struct wire_child){.name = {"c"}});
    assert_int_equal(control_tree_decode(body, (size_t)(end - body), &tree), WIRE_BAD_LENGTH);
    end = wire_hashes_put(body, &many) + many.count * WIRE_HASH_BYTES;
    assert_int_equal(control_hashes_decode(body, (size_t)(end - body), &hashes), WIRE_BAD_LENGTH);
}

int main(int argc, char **argv)
{
    FILE *file = argc > 1 ? fopen(argv[1], "r") : NULL;
    if (file == NULL)
        return 1;
    while (vector_count < GOLDEN_MAX && golden_next(file, &vectors[vector_count]))
        vector_count++;
    fclose(file);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(encode__golden),
        cmocka_unit_test(decode__golden_comes_back_the_same),
        cmocka_unit_test(decode__every_truncation),
        cmocka_unit_test(decode__trailing_byte),
        cmocka_unit_test(control_decode__trailing_byte),
        cmocka_unit_test(control_decode__every_truncation),
        cmocka_unit_test(decode__refusals),
        cmocka_unit_test(decode__refused_words),
        cmocka_unit_test(part_and_tree_decode__some_names_may_be_empty),
        cmocka_unit_test(message_decode__body_limit),
        cmocka_unit_test(message_encode__body_made_in_place),
        cmocka_unit_test(ack_decode__runs),
        cmocka_unit_test(ack_decode__run_bytes_limit),
        cmocka_unit_test(run_put__comes_back),
        cmocka_unit_test(content__packs_all_parts),
        cmocka_unit_test(stamp__wraps),
        cmocka_unit_test(control_encode__limits),
        cmocka_unit_test(control_encode__text_without_end),
        cmocka_unit_test(control_decode__text_room),
        cmocka_unit_test(control_decode__one_too_many),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
