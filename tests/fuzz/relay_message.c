/* Bodies of control messages from the bytes of a step: job, then what the kind needs. Numbers come as wide(),
 * so that few bytes reach all sizes; zeros give what a peer with good intentions would say. */
#include <string.h>

#include "relay_bench.h"
#include "store/geometry.h"
#include "wire/control.h"

static const char *peer_name(const struct bench *bench, unsigned peer)
{
    return bench->config.peers[peer % PEERS].name;
}

static struct wire_name name_of(const char *text)
{
    struct wire_name name = {{0}};
    name_copy(name.text, sizeof(name.text), text);
    return name;
}

static struct wire_name parent_of(const struct bench *bench, uint8_t peer, uint8_t code)
{
    switch (code & 7) {
    case 0:
        return name_of(peer_name(bench, peer));
    case 5:
        return (struct wire_name){{0}};
    case 6:
        return name_of(bench->config.name);
    case 7:
        return name_of("nobody");
    }
    return name_of(peer_name(bench, code - 1u));
}

static void add_child(struct control_tree *tree, const char *name, uint64_t rate_bps)
{
    struct wire_child *child = &tree->children[tree->fixed.child_count++];
    *child = (struct wire_child){.name = name_of(name), .rate_bps = rate_bps};
}

/* Bits 0-3: peers; 4: the left one twice; 5: somebody unknown; 6: without a rate; 7: the node itself. */
static void add_children(const struct bench *bench, uint8_t bits, uint8_t rate, struct control_tree *tree)
{
    uint64_t rate_bps = rate == 0 ? 1000000000 : wide(rate);
    if ((bits & 0x40) != 0)
        rate_bps = 0;
    for (unsigned peer = 0; peer < PEERS; peer++)
        if ((bits >> peer & 1) != 0)
            add_child(tree, peer_name(bench, peer), rate_bps);
    if ((bits & 0x10) != 0)
        add_child(tree, peer_name(bench, PEER_LEFT), rate_bps);
    if ((bits & 0x20) != 0)
        add_child(tree, "nobody", rate_bps);
    if ((bits & 0x80) != 0)
        add_child(tree, bench->config.name, rate_bps);
}

unsigned message_part_stripes(const uint8_t *arguments)
{
    return 1u << (arguments[7] >> 6);
}

size_t message_part_tree(const struct bench *bench, uint8_t peer, const uint8_t *arguments, uint8_t *body)
{
    struct control_tree tree = {.fixed = {.job = bench_job(bench, arguments[1]),
                                          .epoch = (arguments[2] & 15) + 1u,
                                          .weight = 1,
                                          .parent = parent_of(bench, peer, arguments[3])}};
    add_children(bench, arguments[4], arguments[12], &tree);
    return control_tree_encode(body, &tree);
}

/* As a part's own tree, but with the stripe and weight that the step says. */
static size_t tree_body(const struct bench *bench, uint8_t peer, const uint8_t *arguments, uint8_t *body)
{
    struct control_tree tree = {.fixed = {.job = bench_job(bench, arguments[1]),
                                          .epoch = (arguments[2] & 15) + 1u,
                                          .stripe = arguments[5],
                                          .weight = (uint8_t)(arguments[6] + 1),
                                          .parent = parent_of(bench, peer, arguments[3]),
                                          .backup = parent_of(bench, peer, arguments[7])}};
    add_children(bench, arguments[4], arguments[12], &tree);
    return control_tree_encode(body, &tree);
}

static size_t part_body(const struct bench *bench, uint8_t peer, const uint8_t *arguments, uint8_t *body)
{
    static const uint32_t symbols[8] = {1024, 1408, 1040, 1200, 8960, 1025, 16, 0};
    static const uint32_t blocks[8] = {4, 1, 2, 8, 64, 1024, 117, 0};
    static const char *const files[8] = {"f", "", "../f", "a/b/c", "/etc/f", "a//b", "g", "f\n"};
    struct control_part part = {0};
    struct wire_part *fixed = &part.fixed;
    fixed->job = bench_job(bench, arguments[1]);
    fixed->epoch = (arguments[2] & 15) + 1u;
    fixed->object = arguments[2] >> 4 & 3;
    fixed->keep = (arguments[2] & 0x40) == 0;
    fixed->hash = (arguments[2] & 0x80) == 0 ? PART_HASH_SHA256 : PART_HASH_NONE;
    fixed->stripes = (uint8_t)message_part_stripes(arguments);
    fixed->exists = arguments[3] >> 3 & 3;
    fixed->durable = arguments[3] >> 5 & 3;
    fixed->source = name_of(peer_name(bench, (arguments[11] >> 6 & 1) != 0 ? peer + 1u : peer));
    fixed->directory = name_of((arguments[11] >> 7 & 1) != 0 ? "nowhere" : "incoming");
    fixed->job_name = name_of("job");
    fixed->symbol_bytes = symbols[arguments[7] & 7];
    fixed->block_symbols = blocks[arguments[7] >> 3 & 7];
    fixed->start_bps = wide(arguments[10]);
    fixed->congestion = arguments[11] & 3;
    if (fixed->object == PART_OBJECT_STREAM) {
        fixed->stream_blocks = (uint32_t)MAX(wide(arguments[8]), 1ULL);
        fixed->stream_window_ms = (uint32_t)wide(arguments[9]);
        fixed->stream_slow = arguments[11] >> 2 & 1;
    } else {
        fixed->size_bytes = wide(arguments[5]) + arguments[6];
    }
    if (fixed->object == PART_OBJECT_DIRECTORY) {
        fixed->tree = arguments[3] >> 7 != 0 ? PART_TREE_ALL : 0;
        fixed->index_bytes = wide(arguments[8]);
    }
    strcpy(part.file, files[arguments[11] >> 3 & 7]);
    return control_part_encode(body, &part);
}

static size_t measurement_body(const struct bench *bench, const uint8_t *arguments, uint8_t *body)
{
    struct control_measurement report = {.fixed = {.job = bench_job(bench, arguments[1]),
                                                   .up_bps = wide(arguments[2]),
                                                   .down_bps = wide(arguments[3]),
                                                   .packets_ps = wide(arguments[10]),
                                                   .window_bytes = wide(arguments[11]),
                                                   .leaf = arguments[12] & 3,
                                                   .total = (uint16_t)wide(arguments[4]),
                                                   .count = arguments[5] % (CONTROL_MEASUREMENTS_MAX + 1)}};
    for (unsigned index = 0; index < report.fixed.count; index++)
        report.peers[index] = (struct wire_measured){.peer = name_of(peer_name(bench, index)),
                                                     .rtt_min_us = (uint32_t)wide(arguments[6]),
                                                     .rtt_smoothed_us = (uint32_t)wide(arguments[7]),
                                                     .answered = arguments[8],
                                                     .sent = arguments[8],
                                                     .mtu = (uint16_t)wide(arguments[9])};
    return control_measurement_encode(body, &report);
}

static size_t status_body(const struct bench *bench, const uint8_t *arguments, uint8_t *body)
{
    struct control_status status = {.fixed = {.job = bench_job(bench, arguments[1]),
                                              .state = arguments[2] & 3,
                                              .received_bytes = wide(arguments[3]) + arguments[4],
                                              .verified_bytes = wide(arguments[5]) + arguments[6],
                                              .elapsed_ns = wide(arguments[7]),
                                              .laggard = arguments[8],
                                              .child_count = arguments[9] % (CONTROL_CHILDREN_MAX + 1)}};
    for (unsigned child = 0; child < status.fixed.child_count; child++)
        status.edges[child] =
            (struct wire_edge){.limited_by = arguments[10], .rate_bps = wide(arguments[11])};
    strcpy(status.text, (arguments[2] & 4) != 0 ? "so it is" : "");
    return control_status_encode(body, &status);
}

static size_t hashes_body(const struct bench *bench, const uint8_t *arguments, uint8_t *body)
{
    struct control_hashes hashes = {.fixed = {.job = bench_job(bench, arguments[1]),
                                              .first_block = wide(arguments[3]),
                                              .count = arguments[4] % (CONTROL_HASHES_MAX + 1)}};
    memset(hashes.hashes, (arguments[2] & 1) != 0 ? BAD_BYTE : GOOD_BYTE, sizeof(hashes.hashes));
    return control_hashes_encode(body, &hashes);
}

static size_t blocks_body(const struct bench *bench, const uint8_t *arguments, uint8_t *body)
{
    struct wire_blocks blocks = {.job = bench_job(bench, arguments[1]),
                                 .first_block = wide(arguments[3]),
                                 .count = wide(arguments[4])};
    return control_blocks_encode(body, &blocks);
}

static size_t close_body(const struct bench *bench, const uint8_t *arguments, uint8_t *body)
{
    struct control_close_job close = {
        .fixed = {.job = bench_job(bench, arguments[1]), .outcome = arguments[2] & 3}, .text = "enough"};
    return control_close_job_encode(body, &close);
}

static size_t confirm_body(const struct bench *bench, const uint8_t *arguments, uint8_t *body)
{
    struct control_confirm confirm = {.fixed = {.job = bench_job(bench, arguments[1]),
                                                .epoch = arguments[3] + 1u,
                                                .answer = arguments[2] & 3},
                                      .text = "because"};
    return control_confirm_encode(body, &confirm);
}

static size_t adjust_body(const struct bench *bench, const uint8_t *arguments, uint8_t *body)
{
    struct wire_adjust adjust = {.job = bench_job(bench, arguments[1]),
                                 .revision = (uint32_t)wide(arguments[2]),
                                 .rate_cap_bps = wide(arguments[3]),
                                 .priority = arguments[4],
                                 .dscp = arguments[5],
                                 .paused = arguments[6]};
    return control_adjust_encode(body, &adjust);
}

/* Bytes: those of whole symbols of 1024 bytes, unless the step says another number. */
static size_t end_body(const struct bench *bench, const uint8_t *arguments, uint8_t *body)
{
    uint64_t symbols = wide(arguments[3]) + arguments[4];
    struct wire_stream_end end = {.job = bench_job(bench, arguments[1]),
                                  .symbols = symbols,
                                  .bytes = arguments[5] == 0 ? symbols * 1022 : wide(arguments[5])};
    memset(end.chain.bytes, (arguments[2] & 2) != 0 ? BAD_BYTE : GOOD_BYTE, WIRE_HASH_BYTES);
    return control_stream_end_encode(body, &end);
}

static size_t let_go_body(const struct bench *bench, const uint8_t *arguments, uint8_t *body)
{
    struct control_let_go let_go = {
        .fixed = {.job = bench_job(bench, arguments[1]), .child = arguments[2] % CONTROL_CHILDREN_MAX},
        .text = "too slow"};
    return control_let_go_encode(body, &let_go);
}

/* Of the train that the node sends now, or of another; arrivals at even distances, or as bytes that are none. */
static size_t train_report_body(const uint8_t *arguments, uint8_t *body)
{
    struct control_train_report report = {.fixed = {.train = (uint32_t)wide(arguments[1]),
                                                    .answer = arguments[2] & 3,
                                                    .stamp_kind = arguments[2] >> 2 & 1,
                                                    .batch = arguments[3],
                                                    .wait_ms = (uint32_t)wide(arguments[4]),
                                                    .total = (uint16_t)wide(arguments[6]),
                                                    .first = (uint16_t)wide(arguments[7])}};
    struct control_arrival last, next = {.index = arguments[8], .came_ns = wide(arguments[9])};
    for (unsigned count = 0; count < arguments[10]; count++) {
        control_arrival_add(&report, &last, &next);
        next.index = (uint16_t)(next.index + (arguments[11] & 7));
        next.came_ns += wide(arguments[12]);
    }
    if ((arguments[11] & 8) != 0)
        memset(report.arrivals, arguments[12], sizeof(report.arrivals));
    return control_train_report_encode(body, &report);
}

static size_t available_body(const struct bench *bench, const uint8_t *arguments, uint8_t *body)
{
    struct control_available available = {.fixed = {.count = arguments[2] % (CONTROL_AVAILABLES_MAX + 1)}};
    for (unsigned index = 0; index < available.fixed.count; index++)
        available.peers[index] = (struct wire_available_peer){.peer = name_of(peer_name(bench, index)),
                                                              .avail_kbps = (uint32_t)wide(arguments[3]),
                                                              .low_kbps = (uint32_t)wide(arguments[4]),
                                                              .high_kbps = (uint32_t)wide(arguments[5]),
                                                              .age_ms = (uint32_t)wide(arguments[6])};
    return control_available_encode(body, &available);
}

static size_t ask_body(const struct bench *bench, const uint8_t *arguments, uint8_t *body)
{
    struct wire_probe_ask ask = {.ask = arguments[1],
                                 .to = name_of(peer_name(bench, arguments[2])),
                                 .wait_us = (uint32_t)wide(arguments[3]),
                                 .lasts_ms = (uint32_t)wide(arguments[4]),
                                 .bytes = (uint32_t)wide(arguments[5]),
                                 .trains = arguments[6]};
    return control_probe_ask_encode(body, &ask);
}

/* Asks are numbered from 1: it may be one that the node waits for. */
static size_t answer_body(const uint8_t *arguments, uint8_t *body)
{
    struct control_probe_answer answer = {.fixed = {.ask = arguments[1],
                                                    .answer = arguments[2],
                                                    .kind = arguments[3],
                                                    .reason = arguments[4],
                                                    .avail_bps = wide(arguments[5]),
                                                    .low_bps = wide(arguments[6]),
                                                    .high_bps = wide(arguments[7]),
                                                    .capacity_bps = wide(arguments[8]),
                                                    .age_ns = wide(arguments[9]),
                                                    .window_ns = wide(arguments[10]),
                                                    .trains = arguments[11],
                                                    .rtt_ns = wide(arguments[12])}};
    return control_probe_answer_encode(body, &answer);
}

size_t message_body(const struct bench *bench, uint8_t peer, const uint8_t *arguments, uint8_t *body)
{
    uint32_t job = bench_job(bench, arguments[1]);
    switch ((enum control_kind)(arguments[0] % (CONTROL_KIND_COUNT + 1))) {
    case CONTROL_MEASURE:
        return control_measure_encode(body,
                                      &(struct wire_measure){.job = job,
                                                             .duration_ms = (uint32_t)wide(arguments[2]),
                                                             .age_ms = (uint32_t)wide(arguments[3])});
    case CONTROL_MEASUREMENT:
        return measurement_body(bench, arguments, body);
    case CONTROL_PART:
        return part_body(bench, peer, arguments, body);
    case CONTROL_TREE:
        return tree_body(bench, peer, arguments, body);
    case CONTROL_CONFIRM:
        return confirm_body(bench, arguments, body);
    case CONTROL_START:
        return control_start_encode(body,
                                    &(struct wire_start){.job = job, .epoch = (arguments[2] & 15) + 1u});
    case CONTROL_STATUS:
        return status_body(bench, arguments, body);
    case CONTROL_HASHES:
        return hashes_body(bench, arguments, body);
    case CONTROL_HAVE:
    case CONTROL_RESEND:
        return blocks_body(bench, arguments, body);
    case CONTROL_CLOSE_JOB:
        return close_body(bench, arguments, body);
    case CONTROL_ADJUST:
        return adjust_body(bench, arguments, body);
    case CONTROL_STREAM_ROOM:
        return control_stream_room_encode(
            body, &(struct wire_stream_room){.job = job, .blocks = wide(arguments[3]) + arguments[4]});
    case CONTROL_STREAM_END:
        return end_body(bench, arguments, body);
    case CONTROL_LET_GO:
        return let_go_body(bench, arguments, body);
    case CONTROL_TRAIN_REPORT:
        return train_report_body(arguments, body);
    case CONTROL_AVAILABLE:
        return available_body(bench, arguments, body);
    case CONTROL_PROBE_ASK:
        return ask_body(bench, arguments, body);
    case CONTROL_PROBE_ANSWER:
        return answer_body(arguments, body);
    case CONTROL_KIND_COUNT: /* of no kind that there is */
        return 4;
    }
    return 0;
}
