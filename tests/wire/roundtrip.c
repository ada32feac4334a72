#include "roundtrip.h"

#include "base/check.h"
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

#define DATAGRAM_BYTES_MAX 65536

static void same(const uint8_t *one, size_t one_length, const uint8_t *other, size_t other_length)
{
    CHECK(one_length == other_length);
    CHECK(memcmp(one, other, one_length) == 0);
}

static enum wire_error hello(const struct wire_header *header, const uint8_t *data, size_t length)
{
    struct wire_hello hello;
    uint8_t out[WIRE_HELLO_BYTES];
    enum wire_error error = wire_hello_decode(data, length, &hello);
    if (error == WIRE_OK)
        same(data, length, out, wire_hello_encode(out, header, &hello));
    return error;
}

static enum wire_error handshake(const struct wire_header *header, const uint8_t *data, size_t length)
{
    uint8_t out[WIRE_INITIATION_BYTES];
    enum wire_error error = wire_handshake_check(header, length);
    if (error != WIRE_OK)
        return error;
    struct wire_initiation initiation;
    struct wire_response response;
    uint8_t *behind = wire_header_put(out, header);
    if (header->type == WIRE_INITIATION) {
        wire_initiation_get(data + WIRE_HEADER_BYTES, &initiation);
        behind = wire_initiation_put(behind, &initiation);
    } else {
        wire_response_get(data + WIRE_HEADER_BYTES, &response);
        behind = wire_response_put(behind, &response);
    }
    same(data, length, out, (size_t)(behind - out));
    return WIRE_OK;
}

static enum wire_error data_packet(const struct wire_header *header, const uint8_t *data, size_t length)
{
    struct wire_data_view view;
    uint8_t out[WIRE_DATA_HEADER_MAX];
    enum wire_error error = wire_data_decode(data, length, &view);
    if (error != WIRE_OK)
        return error;
    size_t head = wire_data_encode(out, header, &view.fixed, view.tags);
    same(data, head, out, head);
    CHECK(view.body == data + head && view.body_bytes == length - head);
    return error;
}

static enum wire_error ack(const struct wire_header *header, const uint8_t *data, size_t length)
{
    struct wire_ack_view view;
    uint8_t out[WIRE_ACK_BYTES_MAX];
    enum wire_error error = wire_ack_decode(data, length, &view);
    if (error != WIRE_OK)
        return error;
    struct wire_place places[WIRE_ACK_PLACES_MAX];
    const uint8_t *from = view.places;
    for (unsigned index = 0; index < view.fixed.place_count; index++)
        from = wire_place_get(from, &places[index]);
    same(data, length, out, wire_ack_encode(out, header, &view.fixed, view.runs, places));
    const uint8_t *in = view.runs;
    uint64_t sum = 0;
    while (in < view.runs + view.fixed.run_bytes)
        sum += wire_run_get(&in);
    CHECK(in == view.runs + view.fixed.run_bytes && sum < 1ULL << 31);
    return error;
}

/* A body whose texts are for people: where it comes back otherwise, a byte has become '?'. */
static void same_but_unprintable(const uint8_t *in, size_t in_length, const uint8_t *out, size_t out_length)
{
    CHECK(in_length == out_length);
    for (size_t index = 0; index < in_length; index++)
        CHECK(in[index] == out[index] || (out[index] == '?' && (in[index] < 0x20 || in[index] >= 0x7f)));
}

#define BODY(same, decode, encode, type)                                                                     \
    {                                                                                                        \
        struct type message;                                                                                 \
        error = decode(body, length, &message);                                                              \
        if (error == WIRE_OK)                                                                                \
            same(body, length, out, encode(out, &message));                                                  \
        return error;                                                                                        \
    }

static enum wire_error control_body(enum control_kind kind, const uint8_t *body, size_t length)
{
    enum wire_error error;
    uint8_t out[WIRE_MESSAGE_BODY_MAX];
    switch (kind) {
    case CONTROL_MEASURE:
        BODY(same, control_measure_decode, control_measure_encode, wire_measure)
    case CONTROL_MEASUREMENT:
        BODY(same, control_measurement_decode, control_measurement_encode, control_measurement)
    case CONTROL_PART:
        BODY(same, control_part_decode, control_part_encode, control_part)
    case CONTROL_TREE:
        BODY(same, control_tree_decode, control_tree_encode, control_tree)
    case CONTROL_CONFIRM:
        BODY(same_but_unprintable, control_confirm_decode, control_confirm_encode, control_confirm)
    case CONTROL_START:
        BODY(same, control_start_decode, control_start_encode, wire_start)
    case CONTROL_STATUS:
        BODY(same_but_unprintable, control_status_decode, control_status_encode, control_status)
    case CONTROL_HASHES:
        BODY(same, control_hashes_decode, control_hashes_encode, control_hashes)
    case CONTROL_HAVE:
    case CONTROL_RESEND:
        BODY(same, control_blocks_decode, control_blocks_encode, wire_blocks)
    case CONTROL_CLOSE_JOB:
        BODY(same_but_unprintable, control_close_job_decode, control_close_job_encode, control_close_job)
    case CONTROL_ADJUST:
        BODY(same, control_adjust_decode, control_adjust_encode, wire_adjust)
    case CONTROL_STREAM_ROOM:
        BODY(same, control_stream_room_decode, control_stream_room_encode, wire_stream_room)
    case CONTROL_STREAM_END:
        BODY(same, control_stream_end_decode, control_stream_end_encode, wire_stream_end)
    case CONTROL_LET_GO:
        BODY(same_but_unprintable, control_let_go_decode, control_let_go_encode, control_let_go)
    case CONTROL_TRAIN_REPORT:
        BODY(same, control_train_report_decode, control_train_report_encode, control_train_report)
    case CONTROL_AVAILABLE:
        BODY(same, control_available_decode, control_available_encode, control_available)
    case CONTROL_PROBE_ASK:
        BODY(same, control_probe_ask_decode, control_probe_ask_encode, wire_probe_ask)
    case CONTROL_PROBE_ANSWER:
        BODY(same_but_unprintable, control_probe_answer_decode, control_probe_answer_encode,
             control_probe_answer)
    case CONTROL_KIND_COUNT:
        break;
    }
    CHECK((unsigned)kind == WIRE_MESSAGE_ACK && (length == 0 || length == WIRE_GAPS_BYTES));
    if (length != 0) {
        struct wire_gaps gaps;
        wire_gaps_get(body, &gaps);
        same(body, length, out, (size_t)(wire_gaps_put(out, &gaps) - out));
    }
    return WIRE_OK;
}

static enum wire_error message(const struct wire_header *header, const uint8_t *data, size_t length)
{
    struct wire_message_view view;
    uint8_t out[WIRE_MESSAGE_BYTES + WIRE_MESSAGE_BODY_MAX];
    enum wire_error error = wire_message_decode(data, length, &view);
    if (error != WIRE_OK)
        return error;
    same(data, length, out, wire_message_encode(out, header, &view.fixed, view.body));
    return control_body((enum control_kind)view.fixed.kind, view.body, view.fixed.length);
}

static enum wire_error probe(const struct wire_header *header, const uint8_t *data, size_t length)
{
    struct wire_probe probe;
    uint8_t out[WIRE_PROBE_BYTES];
    enum wire_error error = wire_probe_decode(data, length, &probe);
    if (error == WIRE_OK)
        same(data, length - probe.padding, out, wire_probe_encode(out, header, &probe));
    return error;
}

static enum wire_error train(const struct wire_header *header, const uint8_t *data, size_t length)
{
    struct wire_train train;
    uint8_t out[WIRE_TRAIN_BYTES];
    enum wire_error error = wire_train_decode(data, length, &train);
    if (error == WIRE_OK)
        same(data, length - train.padding, out, wire_train_encode(out, header, &train));
    return error;
}

static enum wire_error piece(const struct wire_header *header, const uint8_t *data, size_t length)
{
    struct wire_piece_view view;
    uint8_t out[WIRE_PIECE_BYTES];
    enum wire_error error = wire_piece_decode(data, length, &view);
    if (error != WIRE_OK)
        return error;
    CHECK(view.length > 0 && view.from + view.length <= view.fixed.total);
    same(data, length - view.length, out, wire_piece_encode(out, header, &view.fixed));
    return WIRE_OK;
}

static enum wire_error close_packet(const struct wire_header *header, const uint8_t *data, size_t length)
{
    struct wire_close close;
    uint8_t out[WIRE_CLOSE_BYTES];
    enum wire_error error = wire_close_decode(data, length, &close);
    if (error == WIRE_OK)
        same(data, length, out, wire_close_encode(out, header, &close));
    return error;
}

enum wire_error roundtrip_datagram(const uint8_t *data, size_t length)
{
    struct wire_header header;
    enum wire_error error = wire_header_decode(data, length, &header);
    if (error != WIRE_OK)
        return error;
    switch ((enum wire_type)header.type) {
    case WIRE_HELLO:
        return hello(&header, data, length);
    case WIRE_DATA:
        return data_packet(&header, data, length);
    case WIRE_ACK:
        return ack(&header, data, length);
    case WIRE_MESSAGE:
        return message(&header, data, length);
    case WIRE_PROBE:
    case WIRE_PROBE_REPLY:
        return probe(&header, data, length);
    case WIRE_CLOSE:
        return close_packet(&header, data, length);
    case WIRE_TRAIN:
        return train(&header, data, length);
    case WIRE_PIECE:
        return piece(&header, data, length);
    case WIRE_INITIATION:
    case WIRE_RESPONSE:
        return handshake(&header, data, length);
    case WIRE_TYPE_COUNT:
        break;
    }
    CHECK(!"a type that the header's decoder lets through");
    return WIRE_BAD_TYPE;
}

/* Frames the view's datagram anew and parses that; the head may have any length, odd ones included. A checksum that was
 * wrong stays wrong where the new one is reckoned from it. */
static void reframe(const uint8_t *frame, const struct frame_view *view, bool wrong)
{
    static uint8_t out[FRAME_HEADER_MAX + DATAGRAM_BYTES_MAX];
    struct frame_header header;
    frame_header_init(&header, frame + MAC_BYTES, frame, view->vlan, &view->source, &view->target);
    size_t head = view->payload_bytes / 3;
    struct frame_datagram datagram = {.head = view->payload,
                                      .body = view->payload + head,
                                      .head_bytes = (uint32_t)head,
                                      .body_bytes = view->payload_bytes - (uint32_t)head};
    if (head % 2 == 0)
        datagram.body_sum = checksum_without(view->payload_sum, view->payload, head);
    size_t start = frame_header_write(out, &header, view->traffic_class, &datagram, true);
    CHECK(start <= FRAME_HEADER_MAX);
    memcpy(out + start, view->payload, view->payload_bytes);
    struct frame_view again;
    enum frame_error error = frame_parse(out, start + view->payload_bytes, true, &again);
    CHECK(error == (wrong && datagram.body_sum != 0 ? FRAME_BAD_UDP : FRAME_OK));
    CHECK(memcmp(out, frame, 2 * MAC_BYTES) == 0);
    CHECK(address_equal(&again.source, &view->source) && address_equal(&again.target, &view->target));
    CHECK(again.vlan == view->vlan && again.ethertype == view->ethertype);
    CHECK(again.traffic_class == view->traffic_class);
    same(again.payload, again.payload_bytes, view->payload, view->payload_bytes);
}

enum frame_error roundtrip_frame(const uint8_t *frame, size_t length)
{
    struct frame_view plain;
    struct frame_view view;
    enum frame_error trusting = frame_parse(frame, length, false, &plain);
    enum frame_error error = frame_parse(frame, length, true, &view);
    CHECK(error == trusting || (trusting == FRAME_OK && error == FRAME_BAD_UDP));
    if (trusting != FRAME_OK)
        return error;
    CHECK(plain.payload >= frame && plain.payload + plain.payload_bytes <= frame + length);
    reframe(frame, &plain, error != FRAME_OK);
    return error;
}
