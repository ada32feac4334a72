#include "datagrams.h"

#include <string.h>

#include "wire/ack.h"
#include "wire/close.h"
#include "wire/control.h"
#include "wire/data.h"
#include "wire/handshake.h"
#include "wire/hello.h"
#include "wire/message.h"
#include "wire/piece.h"
#include "wire/probe.h"
#include "wire/train.h"

struct wire_header datagram_header(uint8_t type, uint32_t number)
{
    return (struct wire_header){.version = WIRE_VERSION,
                                .type = type,
                                .session = 0x11223344,
                                .packet_number = number,
                                .stamp = 0x89abcdef};
}

static size_t build_hello(uint8_t *out)
{
    struct wire_header header = datagram_header(WIRE_HELLO, 0);
    header.session = 0xcafe0002;
    struct wire_hello hello = {.interval_ms = 500, .key_id = 255};
    return wire_hello_encode(out, &header, &hello);
}

/* A handshake of bytes that no key has made. */
static void fill(uint8_t *out, size_t length, uint8_t first)
{
    for (size_t index = 0; index < length; index++)
        out[index] = (uint8_t)(first + index);
}

static struct wire_header handshake_header(uint8_t type, uint32_t session)
{
    struct wire_header header = {.version = WIRE_VERSION, .type = type, .session = session};
    fill(header.tag.bytes, sizeof(header.tag.bytes), 0x10);
    return header;
}

static size_t build_initiation(uint8_t *out)
{
    struct wire_header header = handshake_header(WIRE_INITIATION, 0);
    header.packet_number = 0x01020304;
    struct wire_initiation initiation;
    fill(initiation.ephemeral.bytes, WIRE_HASH_BYTES, 0x20);
    fill(initiation.static_key.bytes, WIRE_HASH_BYTES, 0x40);
    fill(initiation.static_tag.bytes, WIRE_TAG_BYTES, 0x60);
    fill(initiation.greeting.bytes, WIRE_SEALED_BYTES, 0x70);
    wire_initiation_put(wire_header_put(out, &header), &initiation);
    return WIRE_INITIATION_BYTES;
}

static size_t build_response(uint8_t *out)
{
    struct wire_header header = handshake_header(WIRE_RESPONSE, 0xcafe0001);
    struct wire_response response;
    fill(response.ephemeral.bytes, WIRE_HASH_BYTES, 0x20);
    fill(response.greeting.bytes, WIRE_SEALED_BYTES, 0x70);
    wire_response_put(wire_header_put(out, &header), &response);
    return WIRE_RESPONSE_BYTES;
}

static size_t build_data(uint8_t *out)
{
    struct wire_header header = datagram_header(WIRE_DATA, 0x01020304);
    struct wire_data data = {
        .floor_delta = 5, .job = 0xdecade01, .content = wire_content(0x0123456789, 1, 2, 7)};
    size_t head = wire_data_encode(out, &header, &data, NULL);
    memcpy(out + head, "symbol", 6);
    return head + 6;
}

static size_t build_data_two(uint8_t *out)
{
    struct wire_header header = datagram_header(WIRE_DATA, UINT32_MAX);
    struct wire_data data = {
        .floor_delta = UINT32_MAX, .job = 1, .content = wire_content(WIRE_SYMBOL_MAX - 1, 2, 255, 255)};
    uint8_t tags[2 * WIRE_TAG_BYTES];
    for (unsigned index = 0; index < sizeof(tags); index++)
        tags[index] = (uint8_t)(0xa0 + index);
    size_t head = wire_data_encode(out, &header, &data, tags);
    memcpy(out + head, "AAAAAAAABBBB", 12);
    return head + 12;
}

static size_t build_ack(uint8_t *out)
{
    static const uint32_t runs[] = {0, 1, 127, 128, 16383, 16384, 2097151, 2097152, 268435456};
    uint8_t bytes[sizeof(runs) / sizeof(runs[0]) * WIRE_RUN_BYTES_MAX];
    size_t run_bytes = 0;
    for (unsigned index = 0; index < sizeof(runs) / sizeof(runs[0]); index++)
        run_bytes += wire_run_put(bytes + run_bytes, runs[index]);
    struct wire_header header = datagram_header(WIRE_ACK, 0);
    struct wire_ack ack = {.base = 0xfffffff0,
                           .largest = 0x1234,
                           .largest_delay = 25000,
                           .delivered_bytes = 0x1122334455667788,
                           .delivered_stamp = 0x01020304,
                           .owd_min = 0xfffffffe,
                           .jump = 0x00030d40,
                           .late_us = 1500,
                           .wait = 312500,
                           .ce_count = 3,
                           .credit = 65536,
                           .own_rate_kbps = 10000000,
                           .missed = 0xfffffff1,
                           .limited_by = 2,
                           .place_count = 2,
                           .run_bytes = (uint16_t)run_bytes};
    const struct wire_place places[] = {{.job = 0xdecade01, .full_stripes = 0x81, .room = 3},
                                        {.job = 0xdecade02, .room = 15}};
    return wire_ack_encode(out, &header, &ack, bytes, places);
}

size_t datagram_message(uint8_t *out, uint32_t number, uint8_t kind, const uint8_t *body, size_t length)
{
    struct wire_header header = datagram_header(WIRE_MESSAGE, number + 0x5000);
    struct wire_message fixed = {
        .sequence = number, .ack = number + 1, .kind = kind, .length = (uint16_t)length};
    return wire_message_encode(out, &header, &fixed, body);
}

static size_t build_gaps(uint8_t *out)
{
    struct wire_header header = datagram_header(WIRE_MESSAGE, 0x5000);
    struct wire_message fixed = {.ack = 0x102, .length = WIRE_GAPS_BYTES};
    struct wire_gaps gaps = {.echo = 0x89abcdee, .early_low = 1ULL << 63 | 5, .early_high = 1};
    uint8_t body[WIRE_GAPS_BYTES];
    wire_gaps_put(body, &gaps);
    return wire_message_encode(out, &header, &fixed, body);
}

static size_t build_measure(uint8_t *out)
{
    uint8_t body[WIRE_MESSAGE_BODY_MAX];
    struct wire_measure measure = {.job = 0xdecade01, .duration_ms = 2000, .age_ms = 10000};
    return datagram_message(out, 1, CONTROL_MEASURE, body, control_measure_encode(body, &measure));
}

static size_t build_measurement(uint8_t *out)
{
    uint8_t body[WIRE_MESSAGE_BODY_MAX];
    struct control_measurement measurement = {
        .fixed = {.job = 0xdecade01,
                  .up_bps = 1000000000,
                  .down_bps = 10000000000,
                  .packets_ps = 750000,
                  .window_bytes = 256 << 20,
                  .leaf = 1,
                  .total = 2,
                  .count = 2},
        .peers = {{.peer = {"oregon"},
                   .rtt_min_us = 136000,
                   .rtt_smoothed_us = 136250,
                   .answered = 9,
                   .sent = 10,
                   .mtu = 1500},
                  {.peer = {"canada"}, .rtt_min_us = UINT32_MAX, .sent = 10}}};
    return datagram_message(out, 2, CONTROL_MEASUREMENT, body,
                            control_measurement_encode(body, &measurement));
}

#define SECRET                                                                                               \
    0xc0, 0xc1, 0xc2, 0xc3, 0xc4, 0xc5, 0xc6, 0xc7, 0xc8, 0xc9, 0xca, 0xcb, 0xcc, 0xcd, 0xce, 0xcf, 0xd0,    \
        0xd1, 0xd2, 0xd3, 0xd4, 0xd5, 0xd6, 0xd7, 0xd8, 0xd9, 0xda, 0xdb, 0xdc, 0xdd, 0xde, 0xdf

struct wire_part datagram_part(void)
{
    return (struct wire_part){.job = 0xdecade01,
                              .epoch = 3,
                              .source = {"london"},
                              .directory = {"incoming"},
                              .job_name = {"demo"},
                              .size_bytes = 64 << 20,
                              .modified_ns = 0x16d6ba3c12345678,
                              .symbol_bytes = 1408,
                              .block_symbols = 744,
                              .hash = PART_HASH_SHA256,
                              .durable = PART_DURABLE_BLOCK,
                              .exists = PART_EXISTS_SKIP_IF_SAME,
                              .congestion = PART_CONGESTION_BQL,
                              .keep = 1,
                              .stripes = 1,
                              .object = PART_OBJECT_DIRECTORY,
                              .tree = PART_TREE_HARDLINKS,
                              .index_bytes = 4711,
                              .start_bps = 123456789012,
                              .index_hash = {.bytes = {0xab, [31] = 0xcd}},
                              .secret = {.bytes = {SECRET}}};
}

static size_t build_part(uint8_t *out)
{
    uint8_t body[WIRE_MESSAGE_BODY_MAX];
    struct control_part part = {.fixed = datagram_part(), .file = "sub dir/file.iso"};
    part.fixed.stripes = 2;
    return datagram_message(out, 3, CONTROL_PART, body, control_part_encode(body, &part));
}

static size_t build_part_source(uint8_t *out)
{
    uint8_t body[WIRE_MESSAGE_BODY_MAX];
    struct control_part part = {.fixed = datagram_part(), .file = "f"};
    part.fixed.keep = 0;
    part.fixed.mode = 0640;
    part.fixed.object = PART_OBJECT_FILE;
    part.fixed.tree = 0;
    part.fixed.index_bytes = 0;
    return datagram_message(out, 4, CONTROL_PART, body, control_part_encode(body, &part));
}

static size_t build_confirm(uint8_t *out)
{
    uint8_t body[WIRE_MESSAGE_BODY_MAX];
    struct control_confirm confirm = {.fixed = {.job = 0xdecade01, .epoch = 3, .answer = CONFIRM_REFUSED},
                                      .text = "disk full"};
    return datagram_message(out, 5, CONTROL_CONFIRM, body, control_confirm_encode(body, &confirm));
}

static size_t build_start(uint8_t *out)
{
    uint8_t body[WIRE_MESSAGE_BODY_MAX];
    struct wire_start start = {.job = 0xdecade01, .epoch = 3};
    return datagram_message(out, 6, CONTROL_START, body, control_start_encode(body, &start));
}

static size_t build_status(uint8_t *out)
{
    uint8_t body[WIRE_MESSAGE_BODY_MAX];
    struct control_status status = {.fixed = {.job = 0xdecade01,
                                              .state = SITE_VERIFIED,
                                              .received_bytes = 64 << 20,
                                              .verified_bytes = 63 << 20,
                                              .elapsed_ns = 5000000001,
                                              .laggard = 1,
                                              .child_count = 2},
                                    .edges = {{3, 985000000}, {6, 50000000}},
                                    .text = "/srv/in/caf\xc3\xa9.iso"};
    return datagram_message(out, 7, CONTROL_STATUS, body, control_status_encode(body, &status));
}

static size_t build_hashes(uint8_t *out)
{
    uint8_t body[WIRE_MESSAGE_BODY_MAX];
    struct control_hashes hashes = {.fixed = {.job = 0xdecade01, .first_block = 62, .count = 2}};
    for (unsigned index = 0; index < WIRE_HASH_BYTES; index++) {
        hashes.hashes[0].bytes[index] = (uint8_t)index;
        hashes.hashes[1].bytes[index] = (uint8_t)(255 - index);
    }
    return datagram_message(out, 8, CONTROL_HASHES, body, control_hashes_encode(body, &hashes));
}

static size_t build_have(uint8_t *out)
{
    uint8_t body[WIRE_MESSAGE_BODY_MAX];
    struct wire_blocks blocks = {.job = 0xdecade01, .first_block = 0x100000000, .count = 17};
    return datagram_message(out, 9, CONTROL_HAVE, body, control_blocks_encode(body, &blocks));
}

static size_t build_close_job(uint8_t *out)
{
    uint8_t body[WIRE_MESSAGE_BODY_MAX];
    struct control_close_job close_job = {.fixed = {.job = 0xdecade01, .outcome = CLOSE_CANCELLED}};
    return datagram_message(out, 11, CONTROL_CLOSE_JOB, body, control_close_job_encode(body, &close_job));
}

static size_t build_adjust(uint8_t *out)
{
    uint8_t body[WIRE_MESSAGE_BODY_MAX];
    struct wire_adjust adjust = {
        .job = 0xdecade01, .revision = 2, .rate_cap_bps = 200000000, .priority = 5, .dscp = 46, .paused = 1};
    return datagram_message(out, 12, CONTROL_ADJUST, body, control_adjust_encode(body, &adjust));
}

static size_t build_stream_room(uint8_t *out)
{
    uint8_t body[WIRE_MESSAGE_BODY_MAX];
    struct wire_stream_room room = {.job = 0xdecade01, .blocks = 0x100000007};
    return datagram_message(out, 13, CONTROL_STREAM_ROOM, body, control_stream_room_encode(body, &room));
}

static size_t build_stream_end(uint8_t *out)
{
    uint8_t body[WIRE_MESSAGE_BODY_MAX];
    struct wire_stream_end end = {.job = 0xdecade01,
                                  .symbols = 0x123456789,
                                  .bytes = 0x1234567890a,
                                  .chain = {.bytes = {0xab, [31] = 0xcd}}};
    return datagram_message(out, 14, CONTROL_STREAM_END, body, control_stream_end_encode(body, &end));
}

static size_t build_let_go(uint8_t *out)
{
    uint8_t body[WIRE_MESSAGE_BODY_MAX];
    struct control_let_go let_go = {.fixed = {.job = 0xdecade01, .child = 3}, .text = "too slow"};
    return datagram_message(out, 24, CONTROL_LET_GO, body, control_let_go_encode(body, &let_go));
}

static size_t build_part_stream(uint8_t *out)
{
    uint8_t body[WIRE_MESSAGE_BODY_MAX];
    struct control_part part = {.fixed = datagram_part(), .file = "live"};
    part.fixed.object = PART_OBJECT_STREAM;
    part.fixed.tree = 0;
    part.fixed.index_bytes = 0;
    part.fixed.start_bps = 0;
    part.fixed.stream_slow = PART_SLOW_WAIT;
    part.fixed.stream_blocks = 61;
    part.fixed.stream_window_ms = 10000;
    return datagram_message(out, 15, CONTROL_PART, body, control_part_encode(body, &part));
}

static size_t build_tree(uint8_t *out)
{
    uint8_t body[WIRE_MESSAGE_BODY_MAX];
    struct control_tree tree = {.fixed = {.job = 0xdecade01,
                                          .epoch = 3,
                                          .stripe = 1,
                                          .weight = 4,
                                          .parent = {"london"},
                                          .backup = {"oregon"},
                                          .child_count = 2},
                                .children = {{.name = {"singapore"}, .rate_bps = 900000000, .known = 1},
                                             {.name = {"canada"}, .rate_bps = 1000}}};
    return datagram_message(out, 16, CONTROL_TREE, body, control_tree_encode(body, &tree));
}

static size_t build_tree_source(uint8_t *out)
{
    uint8_t body[WIRE_MESSAGE_BODY_MAX];
    struct control_tree tree = {.fixed = {.job = 0xdecade01, .epoch = 3, .weight = 1}};
    return datagram_message(out, 17, CONTROL_TREE, body, control_tree_encode(body, &tree));
}

static size_t build_probe_reply(uint8_t *out)
{
    struct wire_header header = datagram_header(WIRE_PROBE_REPLY, 0);
    struct wire_probe probe = {.id = 7,
                               .padding = 20,
                               .t1_ns = 0x1111111122222222,
                               .t2_ns = 0x3333333344444444,
                               .t3_ns = 0x5555555566666666};
    size_t length = wire_probe_encode(out, &header, &probe);
    memset(out + length, 0, probe.padding);
    return length + probe.padding;
}

static size_t build_close(uint8_t *out)
{
    struct wire_header header = datagram_header(WIRE_CLOSE, 0);
    struct wire_close close = {.reason = WIRE_CLOSE_SHUTDOWN};
    return wire_close_encode(out, &header, &close);
}

static size_t build_train(uint8_t *out)
{
    struct wire_header header = datagram_header(WIRE_TRAIN, 0);
    struct wire_train train = {
        .train = 0xdecade05, .index = 258, .count = 4096, .rest_us = 0x01020304, .padding = 20};
    size_t length = wire_train_encode(out, &header, &train);
    return length + train.padding;
}

static size_t build_piece(uint8_t *out)
{
    struct wire_header header = datagram_header(WIRE_PIECE, 0x5001);
    struct wire_piece piece = {.whole = 0x89abcdef, .total = 45, .index = 1, .count = 3};
    size_t length = wire_piece_encode(out, &header, &piece);
    memcpy(out + length, "the middle one.", 15);
    return length + 15;
}

/* In order, one of them late by two places, stamps that step back, a long pause. */
static size_t build_train_report(uint8_t *out)
{
    static const struct control_arrival arrivals[] = {{3, 0x16d6ba3c12345678}, {4, 0x16d6ba3c12345b46},
                                                      {6, 0x16d6ba3c12345b46}, {5, 0x16d6ba3c12345b45},
                                                      {7, 0x16d6ba3d12345b45}, {4095, 0x16d6ba3d12345b47}};
    uint8_t body[WIRE_MESSAGE_BODY_MAX];
    struct control_train_report report = {.fixed = {.train = 0xdecade05,
                                                    .stamp_kind = 1,
                                                    .batch = 32,
                                                    .noise_ns = 100,
                                                    .granularity_ns = 64,
                                                    .gap_ns = 20000,
                                                    .total = 300,
                                                    .first = 294}};
    struct control_arrival last;
    for (unsigned index = 0; index < sizeof(arrivals) / sizeof(arrivals[0]); index++)
        control_arrival_add(&report, &last, &arrivals[index]);
    return datagram_message(out, 18, CONTROL_TRAIN_REPORT, body, control_train_report_encode(body, &report));
}

static size_t build_train_busy(uint8_t *out)
{
    uint8_t body[WIRE_MESSAGE_BODY_MAX];
    struct control_train_report report = {
        .fixed = {.train = 0xdecade06, .answer = TRAIN_OVER_BUDGET, .wait_ms = 10000}};
    return datagram_message(out, 19, CONTROL_TRAIN_REPORT, body, control_train_report_encode(body, &report));
}

static size_t build_available(uint8_t *out)
{
    uint8_t body[WIRE_MESSAGE_BODY_MAX];
    struct control_available available = {.fixed = {.count = 2},
                                          .peers = {{.peer = {"oregon"},
                                                     .avail_kbps = 4100000,
                                                     .low_kbps = 4000000,
                                                     .high_kbps = 4200000,
                                                     .age_ms = 1500},
                                                    {.peer = {"canada"},
                                                     .avail_kbps = 9900000,
                                                     .low_kbps = 9900000,
                                                     .high_kbps = UINT32_MAX,
                                                     .line_in = 1}}};
    return datagram_message(out, 20, CONTROL_AVAILABLE, body, control_available_encode(body, &available));
}

static size_t build_probe_ask(uint8_t *out)
{
    uint8_t body[WIRE_MESSAGE_BODY_MAX];
    struct wire_probe_ask ask = {.ask = 0xdecade07,
                                 .to = {"oregon"},
                                 .wait_us = 150000,
                                 .lasts_ms = 250,
                                 .bytes = 1500000,
                                 .trains = 4,
                                 .what = PROBE_WHAT_PART,
                                 .rate_kbps = 62500};
    return datagram_message(out, 21, CONTROL_PROBE_ASK, body, control_probe_ask_encode(body, &ask));
}

static size_t build_probe_answer(uint8_t *out)
{
    uint8_t body[WIRE_MESSAGE_BODY_MAX];
    struct control_probe_answer answer = {.fixed = {.ask = 0xdecade07,
                                                    .kind = 1,
                                                    .stamp_kind = 2,
                                                    .flags = 5,
                                                    .avail_bps = 4100000000,
                                                    .low_bps = 4000000000,
                                                    .high_bps = 4200000000,
                                                    .capacity_bps = 10000000000,
                                                    .depth_bytes = 200000,
                                                    .loss_ppm = 7,
                                                    .age_ns = 150000000,
                                                    .window_ns = 2500000000,
                                                    .busy_ns = 1000000,
                                                    .bytes = 1424188,
                                                    .trains = 2,
                                                    .discarded = 1,
                                                    .rtt_ns = 136000000}};
    return datagram_message(out, 22, CONTROL_PROBE_ANSWER, body, control_probe_answer_encode(body, &answer));
}

static size_t build_probe_declined(uint8_t *out)
{
    uint8_t body[WIRE_MESSAGE_BODY_MAX];
    struct control_probe_answer answer = {.fixed = {.ask = 0xdecade07, .answer = PROBE_DOWN},
                                          .text = "'oregon' is down"};
    return datagram_message(out, 23, CONTROL_PROBE_ANSWER, body, control_probe_answer_encode(body, &answer));
}

const struct datagram datagrams[] = {
    {"hello", build_hello},
    {"initiation", build_initiation},
    {"response", build_response},
    {"data", build_data},
    {"data-two", build_data_two},
    {"ack", build_ack},
    {"message-gaps", build_gaps},
    {"measure", build_measure},
    {"measurement", build_measurement},
    {"part", build_part},
    {"part-source", build_part_source},
    {"confirm", build_confirm},
    {"start", build_start},
    {"status", build_status},
    {"hashes", build_hashes},
    {"have", build_have},
    {"close-job", build_close_job},
    {"adjust", build_adjust},
    {"stream-room", build_stream_room},
    {"stream-end", build_stream_end},
    {"let-go", build_let_go},
    {"part-stream", build_part_stream},
    {"tree", build_tree},
    {"tree-source", build_tree_source},
    {"probe-reply", build_probe_reply},
    {"close", build_close},
    {"train", build_train},
    {"piece", build_piece},
    {"train-report", build_train_report},
    {"train-busy", build_train_busy},
    {"available", build_available},
    {"probe-ask", build_probe_ask},
    {"probe-answer", build_probe_answer},
    {"probe-declined", build_probe_declined},
    {NULL, NULL},
};
