/* Bodies of the messages by which one node has another measure a path. */
#include "base/stamp.h"
#include "wire/control.h"
#include "wire/text.h"

#define FIXED(fields) ((size_t)WIRE_FIXED_BYTES(fields))

_Static_assert(FIXED(CONTROL_PROBE_ANSWER_FIELDS) + 2 + CONTROL_TEXT_BYTES <= WIRE_MESSAGE_BODY_MAX,
               "an answer with the longest text fits one message");

size_t control_probe_ask_encode(uint8_t *out, const struct wire_probe_ask *message)
{
    return (size_t)(wire_probe_ask_put(out, message) - out);
}

enum wire_error control_probe_ask_decode(const uint8_t *body, size_t length, struct wire_probe_ask *message)
{
    if (length < FIXED(CONTROL_PROBE_ASK_FIELDS))
        return WIRE_TOO_SHORT;
    if (length > FIXED(CONTROL_PROBE_ASK_FIELDS))
        return WIRE_BAD_LENGTH;
    wire_probe_ask_get(body, message);
    bool part = message->what == PROBE_WHAT_PART;
    bool fits = message->what < PROBE_WHAT_COUNT && (!part || message->rate_kbps > 0);
    return wire_name_valid(&message->to) && fits ? WIRE_OK : WIRE_BAD_VALUE;
}

size_t control_probe_answer_encode(uint8_t *out, const struct control_probe_answer *message)
{
    int text = text_length(message->text, sizeof(message->text));
    if (text < 0)
        return 0;
    return (size_t)(text_put(wire_probe_answer_put(out, &message->fixed), message->text, text) - out);
}

/* What its kind, reason and rates mean is judged by who knows estimates. */
enum wire_error control_probe_answer_decode(const uint8_t *body, size_t length,
                                            struct control_probe_answer *message)
{
    if (length < FIXED(CONTROL_PROBE_ANSWER_FIELDS))
        return WIRE_TOO_SHORT;
    const uint8_t *in = wire_probe_answer_get(body, &message->fixed);
    if (word_of(probe_answer_words, message->fixed.answer) == NULL ||
        message->fixed.stamp_kind > STAMP_VIRTUAL)
        return WIRE_BAD_VALUE;
    return text_get_last(in, body + length, message->text, sizeof(message->text));
}
