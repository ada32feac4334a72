/* Bodies of the messages about trains: how the packets of one came, and what is known from such. */
#include "base/stamp.h"
#include "wire/control.h"

#define FIXED(fields)    ((size_t)WIRE_FIXED_BYTES(fields))
#define VARINT_BITS      7
#define VARINT_BYTES_MAX 10

_Static_assert(FIXED(CONTROL_TRAIN_REPORT_FIELDS) + CONTROL_ARRIVAL_BYTES_MAX == WIRE_MESSAGE_BODY_MAX,
               "arrivals fill what a message has room for");
_Static_assert(FIXED(CONTROL_AVAILABLE_FIELDS) +
                       CONTROL_AVAILABLES_MAX * FIXED(CONTROL_AVAILABLE_PEER_FIELDS) <=
                   WIRE_MESSAGE_BODY_MAX,
               "a full list fits one message");

static uint8_t *varint_put(uint8_t *out, uint64_t value)
{
    for (; value >= 1u << VARINT_BITS; value >>= VARINT_BITS)
        *out++ = (uint8_t)(value | 1u << VARINT_BITS);
    *out = (uint8_t)value;
    return out + 1;
}

/* False: it does not end before `end`, or is longer than any number. */
static bool varint_get(const uint8_t **in, const uint8_t *end, uint64_t *value)
{
    *value = 0;
    for (unsigned bytes = 0; bytes < VARINT_BYTES_MAX && *in < end; bytes++) {
        uint8_t byte = *(*in)++;
        *value |= (uint64_t)(byte & 0x7f) << bytes * VARINT_BITS;
        if (byte < 1u << VARINT_BITS)
            return true;
    }
    return false;
}

/* Small numbers of either sign become small ones. */
static uint64_t zigzag(uint64_t difference)
{
    return difference << 1 ^ (difference >> 63 != 0 ? UINT64_MAX : 0);
}

static uint64_t unzigzag(uint64_t value)
{
    return value >> 1 ^ ((value & 1) != 0 ? UINT64_MAX : 0);
}

bool control_arrival_add(struct control_train_report *report, struct control_arrival *last,
                         const struct control_arrival *next)
{
    struct wire_train_report *fixed = &report->fixed;
    if (fixed->count == 0) {
        fixed->index = next->index;
        fixed->came_ns = next->came_ns;
    } else {
        uint8_t bytes[2 * VARINT_BYTES_MAX];
        uint8_t *end = varint_put(bytes, zigzag((uint64_t)next->index - last->index - 1));
        end = varint_put(end, zigzag(next->came_ns - last->came_ns));
        size_t length = (size_t)(end - bytes);
        if (length > (size_t)(CONTROL_ARRIVAL_BYTES_MAX - fixed->bytes))
            return false;
        memcpy(report->arrivals + fixed->bytes, bytes, length);
        fixed->bytes = (uint16_t)(fixed->bytes + length);
    }
    fixed->count++;
    *last = *next;
    return true;
}

bool control_arrival_next(const struct control_train_report *report, struct control_arrivals *at,
                          struct control_arrival *next)
{
    const struct wire_train_report *fixed = &report->fixed;
    if (at->taken == fixed->count)
        return false;
    if (at->taken == 0) {
        at->last = (struct control_arrival){.index = fixed->index, .came_ns = fixed->came_ns};
    } else {
        const uint8_t *in = report->arrivals + at->bytes;
        uint64_t index, passed;
        if (!varint_get(&in, report->arrivals + fixed->bytes, &index) ||
            !varint_get(&in, report->arrivals + fixed->bytes, &passed))
            return false;
        index = at->last.index + 1u + unzigzag(index);
        at->last.index = (uint16_t)MIN(index, (uint64_t)UINT16_MAX);
        at->last.came_ns += unzigzag(passed);
        at->bytes = (uint16_t)(in - report->arrivals);
    }
    at->taken++;
    *next = at->last;
    return next->index < WIRE_TRAIN_PACKETS_MAX;
}

size_t control_train_report_encode(uint8_t *out, const struct control_train_report *message)
{
    if (message->fixed.bytes > CONTROL_ARRIVAL_BYTES_MAX)
        return 0;
    uint8_t *end = wire_train_report_put(out, &message->fixed);
    memcpy(end, message->arrivals, message->fixed.bytes);
    return (size_t)(end - out) + message->fixed.bytes;
}

static bool arrivals_valid(const struct control_train_report *message)
{
    struct control_arrivals at = {0};
    struct control_arrival arrival = {0};
    while (control_arrival_next(message, &at, &arrival))
        continue;
    return at.taken == message->fixed.count && at.bytes == message->fixed.bytes &&
           (at.taken == 0 || arrival.index < WIRE_TRAIN_PACKETS_MAX);
}

enum wire_error control_train_report_decode(const uint8_t *body, size_t length,
                                            struct control_train_report *message)
{
    if (length < FIXED(CONTROL_TRAIN_REPORT_FIELDS))
        return WIRE_TOO_SHORT;
    const uint8_t *in = wire_train_report_get(body, &message->fixed);
    const struct wire_train_report *fixed = &message->fixed;
    if (length != FIXED(CONTROL_TRAIN_REPORT_FIELDS) + fixed->bytes)
        return WIRE_BAD_LENGTH;
    memcpy(message->arrivals, in, fixed->bytes);
    bool places = fixed->total <= WIRE_TRAIN_PACKETS_MAX && fixed->first + fixed->count <= fixed->total &&
                  (fixed->count > 0 || fixed->total == 0);
    if (word_of(train_answer_words, fixed->answer) == NULL || fixed->stamp_kind > STAMP_VIRTUAL || !places)
        return WIRE_BAD_VALUE;
    return arrivals_valid(message) ? WIRE_OK : WIRE_BAD_VALUE;
}

size_t control_available_encode(uint8_t *out, const struct control_available *message)
{
    if (message->fixed.count > CONTROL_AVAILABLES_MAX)
        return 0;
    uint8_t *end = wire_available_put(out, &message->fixed);
    for (unsigned index = 0; index < message->fixed.count; index++)
        end = wire_available_peer_put(end, &message->peers[index]);
    return (size_t)(end - out);
}

enum wire_error control_available_decode(const uint8_t *body, size_t length,
                                         struct control_available *message)
{
    if (length < FIXED(CONTROL_AVAILABLE_FIELDS))
        return WIRE_TOO_SHORT;
    const uint8_t *in = wire_available_get(body, &message->fixed);
    unsigned count = message->fixed.count;
    if (count > CONTROL_AVAILABLES_MAX ||
        length != FIXED(CONTROL_AVAILABLE_FIELDS) + count * FIXED(CONTROL_AVAILABLE_PEER_FIELDS))
        return WIRE_BAD_LENGTH;
    for (unsigned index = 0; index < count; index++) {
        struct wire_available_peer *peer = &message->peers[index];
        in = wire_available_peer_get(in, peer);
        bool interval = peer->low_kbps <= peer->avail_kbps && peer->avail_kbps <= peer->high_kbps;
        if (!wire_name_valid(&peer->peer) || !interval || peer->avail_kbps == 0 || peer->line_in > 1)
            return WIRE_BAD_VALUE;
    }
    return WIRE_OK;
}
