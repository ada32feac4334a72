#include "wire/control.h"

#include "wire/text.h"

#define FIXED(fields) ((size_t)WIRE_FIXED_BYTES(fields))

_Static_assert(WIRE_FIXED_BYTES(CONTROL_MEASUREMENT_FIELDS) +
                       CONTROL_MEASUREMENTS_MAX * (0 CONTROL_MEASURED_FIELDS(WIRE_SIZE)) <=
                   WIRE_MESSAGE_BODY_MAX,
               "a full measurement fits one message");
_Static_assert(WIRE_FIXED_BYTES(CONTROL_HASHES_FIELDS) + CONTROL_HASHES_MAX * WIRE_HASH_BYTES <=
                   WIRE_MESSAGE_BODY_MAX,
               "a full set of hashes fits one message");

/* A body that is its fixed part and nothing more. */
static enum wire_error exact(size_t length, size_t expected)
{
    if (length < expected)
        return WIRE_TOO_SHORT;
    return length == expected ? WIRE_OK : WIRE_BAD_LENGTH;
}

size_t control_measure_encode(uint8_t *out, const struct wire_measure *message)
{
    return (size_t)(wire_measure_put(out, message) - out);
}

enum wire_error control_measure_decode(const uint8_t *body, size_t length, struct wire_measure *message)
{
    enum wire_error error = exact(length, FIXED(CONTROL_MEASURE_FIELDS));
    if (error == WIRE_OK)
        wire_measure_get(body, message);
    return error;
}

size_t control_measurement_encode(uint8_t *out, const struct control_measurement *message)
{
    if (message->fixed.count > CONTROL_MEASUREMENTS_MAX)
        return 0;
    uint8_t *end = wire_measurement_put(out, &message->fixed);
    for (unsigned index = 0; index < message->fixed.count; index++)
        end = wire_measured_put(end, &message->peers[index]);
    return (size_t)(end - out);
}

enum wire_error control_measurement_decode(const uint8_t *body, size_t length,
                                           struct control_measurement *message)
{
    if (length < FIXED(CONTROL_MEASUREMENT_FIELDS))
        return WIRE_TOO_SHORT;
    const uint8_t *in = wire_measurement_get(body, &message->fixed);
    unsigned count = message->fixed.count;
    if (count > CONTROL_MEASUREMENTS_MAX || count > message->fixed.total)
        return WIRE_BAD_LENGTH;
    if (length != FIXED(CONTROL_MEASUREMENT_FIELDS) + count * FIXED(CONTROL_MEASURED_FIELDS))
        return WIRE_BAD_LENGTH;
    bool rates = message->fixed.up_bps >= SEND_RATE_MIN_BPS && message->fixed.down_bps >= SEND_RATE_MIN_BPS;
    if (message->fixed.leaf > 1 || !rates)
        return WIRE_BAD_VALUE;
    for (unsigned index = 0; index < count; index++) {
        struct wire_measured *peer = &message->peers[index];
        in = wire_measured_get(in, peer);
        if (!wire_name_valid(&peer->peer) || peer->answered > peer->sent)
            return WIRE_BAD_VALUE;
    }
    return WIRE_OK;
}

size_t control_confirm_encode(uint8_t *out, const struct control_confirm *message)
{
    int text = text_length(message->text, sizeof(message->text));
    if (text < 0)
        return 0;
    return (size_t)(text_put(wire_confirm_put(out, &message->fixed), message->text, text) - out);
}

enum wire_error control_confirm_decode(const uint8_t *body, size_t length, struct control_confirm *message)
{
    if (length < FIXED(CONTROL_CONFIRM_FIELDS))
        return WIRE_TOO_SHORT;
    const uint8_t *in = wire_confirm_get(body, &message->fixed);
    if (word_of(confirm_answer_words, message->fixed.answer) == NULL)
        return WIRE_BAD_VALUE;
    return text_get_last(in, body + length, message->text, sizeof(message->text));
}

size_t control_start_encode(uint8_t *out, const struct wire_start *message)
{
    return (size_t)(wire_start_put(out, message) - out);
}

enum wire_error control_start_decode(const uint8_t *body, size_t length, struct wire_start *message)
{
    enum wire_error error = exact(length, FIXED(CONTROL_START_FIELDS));
    if (error == WIRE_OK)
        wire_start_get(body, message);
    return error;
}

size_t control_status_encode(uint8_t *out, const struct control_status *message)
{
    int text = text_length(message->text, sizeof(message->text));
    if (text < 0 || message->fixed.child_count > CONTROL_CHILDREN_MAX)
        return 0;
    uint8_t *end = wire_status_put(out, &message->fixed);
    for (unsigned index = 0; index < message->fixed.child_count; index++)
        end = wire_edge_put(end, &message->edges[index]);
    return (size_t)(text_put(end, message->text, text) - out);
}

enum wire_error control_status_decode(const uint8_t *body, size_t length, struct control_status *message)
{
    if (length < FIXED(CONTROL_STATUS_FIELDS))
        return WIRE_TOO_SHORT;
    const uint8_t *in = wire_status_get(body, &message->fixed);
    uint8_t laggard = message->fixed.laggard, child_count = message->fixed.child_count;
    if (word_of(site_state_words, message->fixed.state) == NULL)
        return WIRE_BAD_VALUE;
    if (child_count > CONTROL_CHILDREN_MAX || (laggard >= child_count && laggard != UINT8_MAX))
        return WIRE_BAD_VALUE;
    if (length < FIXED(CONTROL_STATUS_FIELDS) + child_count * FIXED(CONTROL_EDGE_FIELDS))
        return WIRE_TOO_SHORT;
    for (unsigned index = 0; index < child_count; index++)
        in = wire_edge_get(in, &message->edges[index]);
    return text_get_last(in, body + length, message->text, sizeof(message->text));
}

size_t control_hashes_encode(uint8_t *out, const struct control_hashes *message)
{
    if (message->fixed.count > CONTROL_HASHES_MAX)
        return 0;
    uint8_t *end = wire_hashes_put(out, &message->fixed);
    for (unsigned index = 0; index < message->fixed.count; index++)
        end = wire_put_hash(end, message->hashes[index]);
    return (size_t)(end - out);
}

enum wire_error control_hashes_decode(const uint8_t *body, size_t length, struct control_hashes *message)
{
    if (length < FIXED(CONTROL_HASHES_FIELDS))
        return WIRE_TOO_SHORT;
    const uint8_t *in = wire_hashes_get(body, &message->fixed);
    unsigned count = message->fixed.count;
    if (count > CONTROL_HASHES_MAX || length != FIXED(CONTROL_HASHES_FIELDS) + count * WIRE_HASH_BYTES)
        return WIRE_BAD_LENGTH;
    if (message->fixed.first_block > UINT64_MAX - count)
        return WIRE_BAD_VALUE;
    for (unsigned index = 0; index < count; index++)
        in = wire_get_hash(in, &message->hashes[index]);
    return WIRE_OK;
}

size_t control_blocks_encode(uint8_t *out, const struct wire_blocks *message)
{
    return (size_t)(wire_blocks_put(out, message) - out);
}

enum wire_error control_blocks_decode(const uint8_t *body, size_t length, struct wire_blocks *message)
{
    enum wire_error error = exact(length, FIXED(CONTROL_BLOCKS_FIELDS));
    if (error != WIRE_OK)
        return error;
    wire_blocks_get(body, message);
    return message->first_block > UINT64_MAX - message->count ? WIRE_BAD_VALUE : WIRE_OK;
}

size_t control_close_job_encode(uint8_t *out, const struct control_close_job *message)
{
    int text = text_length(message->text, sizeof(message->text));
    if (text < 0)
        return 0;
    return (size_t)(text_put(wire_close_job_put(out, &message->fixed), message->text, text) - out);
}

enum wire_error control_close_job_decode(const uint8_t *body, size_t length,
                                         struct control_close_job *message)
{
    if (length < FIXED(CONTROL_CLOSE_JOB_FIELDS))
        return WIRE_TOO_SHORT;
    const uint8_t *in = wire_close_job_get(body, &message->fixed);
    if (word_of(close_outcome_words, message->fixed.outcome) == NULL)
        return WIRE_BAD_VALUE;
    return text_get_last(in, body + length, message->text, sizeof(message->text));
}

size_t control_adjust_encode(uint8_t *out, const struct wire_adjust *message)
{
    return (size_t)(wire_adjust_put(out, message) - out);
}

enum wire_error control_adjust_decode(const uint8_t *body, size_t length, struct wire_adjust *message)
{
    enum wire_error error = exact(length, FIXED(CONTROL_ADJUST_FIELDS));
    if (error != WIRE_OK)
        return error;
    wire_adjust_get(body, message);
    bool valid = wire_rate_valid(message->rate_cap_bps) && message->priority <= CONTROL_PRIORITY_MAX &&
                 message->dscp <= CONTROL_DSCP_MAX && message->paused <= 1;
    return valid ? WIRE_OK : WIRE_BAD_VALUE;
}

size_t control_stream_room_encode(uint8_t *out, const struct wire_stream_room *message)
{
    return (size_t)(wire_stream_room_put(out, message) - out);
}

enum wire_error control_stream_room_decode(const uint8_t *body, size_t length,
                                           struct wire_stream_room *message)
{
    enum wire_error error = exact(length, FIXED(CONTROL_STREAM_ROOM_FIELDS));
    if (error == WIRE_OK)
        wire_stream_room_get(body, message);
    return error;
}

size_t control_stream_end_encode(uint8_t *out, const struct wire_stream_end *message)
{
    return (size_t)(wire_stream_end_put(out, message) - out);
}

enum wire_error control_stream_end_decode(const uint8_t *body, size_t length, struct wire_stream_end *message)
{
    enum wire_error error = exact(length, FIXED(CONTROL_STREAM_END_FIELDS));
    if (error == WIRE_OK)
        wire_stream_end_get(body, message);
    return error;
}

size_t control_let_go_encode(uint8_t *out, const struct control_let_go *message)
{
    int text = text_length(message->text, sizeof(message->text));
    if (text < 0)
        return 0;
    return (size_t)(text_put(wire_let_go_put(out, &message->fixed), message->text, text) - out);
}

enum wire_error control_let_go_decode(const uint8_t *body, size_t length, struct control_let_go *message)
{
    if (length < FIXED(CONTROL_LET_GO_FIELDS))
        return WIRE_TOO_SHORT;
    const uint8_t *in = wire_let_go_get(body, &message->fixed);
    if (message->fixed.child >= CONTROL_CHILDREN_MAX)
        return WIRE_BAD_VALUE;
    return text_get_last(in, body + length, message->text, sizeof(message->text));
}
