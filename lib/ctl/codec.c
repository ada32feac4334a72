/* Control records between a node and its planner, little-endian:
 *
 *   0 length u32 (of the whole record) | 4 type u32 | 8 correlation u64
 *  16 sequence u32 | 20 crc32c u32 | 24 body
 *
 * The checksum covers everything but itself. */
#include "ctl/ctl.h"

#include "base/check.h"
#include "base/crc32c.h"
#include "plan/record.h"

#define SEQUENCE_OFFSET 16
#define CRC_OFFSET      20
_Static_assert(CRC_OFFSET + 4 == CTL_RECORD_HEADER_BYTES, "the checksum ends the header");
_Static_assert(PLAN_BYTES_MAX <= PLAN_REQUEST_BYTES_MAX && CTL_HISTORY_BYTES < PLAN_REQUEST_BYTES_MAX,
               "the request is the largest body");

static uint32_t load_le32(const uint8_t *in)
{
    struct record_reader reader = {.in = in, .length = sizeof(uint32_t)};
    return record_get_u32(&reader);
}

static uint32_t record_crc(const uint8_t *record, size_t length)
{
    uint32_t crc = crc32c(record, CRC_OFFSET);
    return crc32c_add(crc, record + CTL_RECORD_HEADER_BYTES, length - CTL_RECORD_HEADER_BYTES);
}

static bool intact(const uint8_t *in, size_t length)
{
    return length >= CTL_RECORD_HEADER_BYTES && length <= CTL_RECORD_BYTES_MAX && load_le32(in) == length &&
           load_le32(in + CRC_OFFSET) == record_crc(in, length);
}

bool ctl_record_valid(const uint8_t *in, size_t length, uint32_t sequence)
{
    return intact(in, length) && load_le32(in + SEQUENCE_OFFSET) == sequence;
}

static void put_plan_failed(struct record_writer *writer, const struct ctl_msg *msg)
{
    size_t bytes = strnlen(msg->body.plan_failed.text, ERR_TEXT_BYTES - 1);
    record_put_u32(writer, msg->body.plan_failed.job);
    record_put_u32(writer, msg->body.plan_failed.epoch);
    record_put_u16(writer, (uint16_t)bytes);
    record_put_bytes(writer, msg->body.plan_failed.text, bytes);
}

static bool get_plan_failed(struct ctl_msg *msg, const uint8_t *in, size_t length, struct err *err)
{
    struct record_reader reader = {.in = in, .length = length};
    msg->body.plan_failed.job = record_get_u32(&reader);
    msg->body.plan_failed.epoch = record_get_u32(&reader);
    uint16_t bytes = record_get_u16(&reader);
    memset(msg->body.plan_failed.text, 0, ERR_TEXT_BYTES);
    if (bytes >= ERR_TEXT_BYTES)
        return err_set(err, "a text of %u bytes, at most %u", bytes, ERR_TEXT_BYTES - 1);
    record_get_bytes(&reader, msg->body.plan_failed.text, bytes);
    if (reader.failed || reader.offset != length)
        return err_set(err, "text and length of the record differ");
    for (uint16_t index = 0; index < bytes; index++)
        if ((unsigned char)msg->body.plan_failed.text[index] < ' ')
            msg->body.plan_failed.text[index] = '?';
    return true;
}

static void put_history_ask(struct record_writer *writer, const struct ctl_msg *msg)
{
    record_put_bytes(writer, msg->body.history_ask.from, NAME_BYTES);
    record_put_bytes(writer, msg->body.history_ask.to, NAME_BYTES);
    record_put_u8(writer, (uint8_t)msg->body.history_ask.form);
}

static bool get_history_ask(struct ctl_msg *msg, const uint8_t *in, size_t length, struct err *err)
{
    struct record_reader reader = {.in = in, .length = length};
    char *from = msg->body.history_ask.from, *to = msg->body.history_ask.to;
    record_get_bytes(&reader, from, NAME_BYTES);
    record_get_bytes(&reader, to, NAME_BYTES);
    uint8_t form = record_get_u8(&reader);
    if (reader.failed || reader.offset != length || form > REPORT_JSON)
        return err_set(err, "no question of %zu bytes", length);
    msg->body.history_ask.form = (enum report_form)form;
    if (from[NAME_BYTES - 1] != '\0' || to[NAME_BYTES - 1] != '\0' || !name_valid(from) || !name_valid(to))
        return err_set(err, "not the name of a node");
    return true;
}

static void put_history(struct record_writer *writer, const struct ctl_msg *msg)
{
    size_t bytes = strnlen(msg->body.history.text, CTL_HISTORY_BYTES - 1);
    record_put_u8(writer, msg->body.history.known);
    record_put_u32(writer, (uint32_t)bytes);
    record_put_bytes(writer, msg->body.history.text, bytes);
}

static bool get_history(struct ctl_msg *msg, const uint8_t *in, size_t length, struct err *err)
{
    struct record_reader reader = {.in = in, .length = length};
    uint8_t known = record_get_u8(&reader);
    uint32_t bytes = record_get_u32(&reader);
    char *text = msg->body.history.text;
    if (known > 1 || bytes >= CTL_HISTORY_BYTES)
        return err_set(err, "a report of %u bytes, at most %u", bytes, CTL_HISTORY_BYTES - 1);
    record_get_bytes(&reader, text, bytes);
    if (reader.failed || reader.offset != length)
        return err_set(err, "text and length of the record differ");
    for (uint32_t at = 0; at < bytes; at++)
        if ((unsigned char)text[at] < ' ' && text[at] != '\n')
            text[at] = '?';
    text[bytes] = '\0';
    msg->body.history.known = known == 1;
    return true;
}

static void put_body(struct record_writer *writer, const struct ctl_msg *msg)
{
    uint8_t *out = writer->out + writer->length;
    size_t room = writer->room - writer->length, bytes = 0;
    switch (msg->type) {
    case CTL_PLANNER_HELLO:
        return;
    case CTL_PLAN_FAILED:
        put_plan_failed(writer, msg);
        return;
    case CTL_HISTORY_ASK:
        put_history_ask(writer, msg);
        return;
    case CTL_HISTORY:
        put_history(writer, msg);
        return;
    case CTL_PLAN:
        bytes = plan_encode(&msg->body.plan, out, room);
        break;
    case CTL_PLAN_REQUEST:
        bytes = plan_request_encode(&msg->body.plan_request, out, room);
        break;
    case CTL_ESTIMATE:
        bytes = ctl_estimate_encode(&msg->body.estimate, out, room);
        break;
    case CTL_SHOW:
    case CTL_JOB_RUN:
    case CTL_JOB_CANCEL:
    case CTL_JOB_SET:
    case CTL_PATHS:
    case CTL_PROBE:
    case CTL_TRAIN:
    case CTL_PROBE_ALL:
    case CTL_PLANNER_GONE:
    case CTL_PLANNER_NEWS:
    case CTL_KEYS:
    case CTL_TYPE_COUNT:
        break;
    }
    /* The others stay in their process. */
    CHECK(msg->type == CTL_PLAN || msg->type == CTL_PLAN_REQUEST || msg->type == CTL_ESTIMATE);
    writer->failed = bytes == 0;
    writer->length += bytes;
}

size_t ctl_encode(const struct ctl_msg *msg, uint32_t sequence, uint8_t *out, size_t room)
{
    if (room < CTL_RECORD_HEADER_BYTES)
        return 0;
    struct record_writer body = {.out = out, .room = room, .length = CTL_RECORD_HEADER_BYTES};
    put_body(&body, msg);
    if (body.failed)
        return 0;
    struct record_writer header = {.out = out, .room = CTL_RECORD_HEADER_BYTES};
    record_put_u32(&header, (uint32_t)body.length);
    record_put_u32(&header, msg->type);
    record_put_u64(&header, msg->correlation);
    record_put_u32(&header, sequence);
    record_put_u32(&header, record_crc(out, body.length));
    return body.length;
}

static bool get_body(struct ctl_msg *msg, uint32_t type, const uint8_t *in, size_t length, struct err *err)
{
    switch (type) {
    case CTL_PLANNER_HELLO:
        return length == 0 || err_set(err, "hello of %zu bytes, expected none", length);
    case CTL_PLAN:
        return plan_decode(&msg->body.plan, in, length, err) || err_context(err, "plan");
    case CTL_PLAN_FAILED:
        return get_plan_failed(msg, in, length, err) || err_context(err, "plan failed");
    case CTL_PLAN_REQUEST:
        return plan_request_decode(&msg->body.plan_request, in, length, err) ||
               err_context(err, "plan request");
    case CTL_HISTORY_ASK:
        return get_history_ask(msg, in, length, err) || err_context(err, "history");
    case CTL_HISTORY:
        return get_history(msg, in, length, err) || err_context(err, "history");
    case CTL_ESTIMATE:
        return ctl_estimate_decode(&msg->body.estimate, in, length, err) || err_context(err, "estimate");
    }
    return err_set(err, "type %u is none of the ring's", type);
}

bool ctl_decode(struct ctl_msg *msg, uint32_t *sequence, const uint8_t *in, size_t length, struct err *err)
{
    if (!intact(in, length))
        return err_set(err, "record of %zu bytes: wrong length or checksum", length);
    struct record_reader header = {.in = in, .length = CTL_RECORD_HEADER_BYTES, .offset = 4};
    uint32_t type = record_get_u32(&header);
    msg->correlation = record_get_u64(&header);
    *sequence = record_get_u32(&header);
    if (!get_body(msg, type, in + CTL_RECORD_HEADER_BYTES, length - CTL_RECORD_HEADER_BYTES, err))
        return false;
    msg->type = (enum ctl_type)type;
    return true;
}
