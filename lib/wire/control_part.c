#include "wire/control.h"

#include "wire/text.h"

#define FIXED(fields) ((size_t)WIRE_FIXED_BYTES(fields))

_Static_assert(WIRE_FIXED_BYTES(CONTROL_PART_FIELDS) + 2 + CONTROL_FILE_BYTES <= WIRE_MESSAGE_BODY_MAX,
               "a part with the longest path fits one message");
_Static_assert(WIRE_FIXED_BYTES(CONTROL_TREE_FIELDS) +
                       CONTROL_CHILDREN_MAX * (0 CONTROL_CHILD_FIELDS(WIRE_SIZE)) <=
                   WIRE_MESSAGE_BODY_MAX,
               "a tree with all children fits one message");

size_t control_part_encode(uint8_t *out, const struct control_part *message)
{
    int file = text_length(message->file, sizeof(message->file));
    if (file < 0)
        return 0;
    return (size_t)(text_put(wire_part_put(out, &message->fixed), message->file, file) - out);
}

static bool part_values_valid(const struct wire_part *part)
{
    if (word_of(part_hash_words, part->hash) == NULL || word_of(part_durable_words, part->durable) == NULL ||
        word_of(part_exists_words, part->exists) == NULL || part->keep > 1)
        return false;
    bool directory = part->object == PART_OBJECT_DIRECTORY;
    if (word_of(part_object_words, part->object) == NULL || (part->tree & ~PART_TREE_ALL) != 0)
        return false;
    if (part->index_bytes > part->size_bytes || (!directory && (part->index_bytes != 0 || part->tree != 0)))
        return false;
    if (part->mode > PART_MODE_MAX || (part->object != PART_OBJECT_FILE && part->mode != 0))
        return false;
    bool stream = part->object == PART_OBJECT_STREAM;
    if (word_of(part_slow_words, part->stream_slow) == NULL || stream != (part->stream_blocks != 0))
        return false;
    if (!stream && (part->stream_window_ms != 0 || part->stream_slow != 0))
        return false;
    if (!wire_rate_valid(part->start_bps))
        return false;
    if (part->stripes == 0 || part->stripes > CONTROL_STRIPES_MAX)
        return false;
    if (!wire_name_empty(&part->directory) && !wire_name_valid(&part->directory))
        return false;
    return wire_name_valid(&part->source) && wire_name_valid(&part->job_name);
}

enum wire_error control_part_decode(const uint8_t *body, size_t length, struct control_part *message)
{
    if (length < FIXED(CONTROL_PART_FIELDS))
        return WIRE_TOO_SHORT;
    const uint8_t *end = body + length;
    const uint8_t *in = wire_part_get(body, &message->fixed);
    if (!part_values_valid(&message->fixed))
        return WIRE_BAD_VALUE;
    enum wire_error error = text_get(&in, end, message->file, sizeof(message->file));
    if (error != WIRE_OK)
        return error;
    return in == end ? WIRE_OK : WIRE_BAD_LENGTH;
}

size_t control_tree_encode(uint8_t *out, const struct control_tree *message)
{
    if (message->fixed.child_count > CONTROL_CHILDREN_MAX)
        return 0;
    uint8_t *end = wire_tree_put(out, &message->fixed);
    for (unsigned index = 0; index < message->fixed.child_count; index++)
        end = wire_child_put(end, &message->children[index]);
    return (size_t)(end - out);
}

static bool name_or_none(const struct wire_name *name)
{
    return wire_name_empty(name) || wire_name_valid(name);
}

enum wire_error control_tree_decode(const uint8_t *body, size_t length, struct control_tree *message)
{
    if (length < FIXED(CONTROL_TREE_FIELDS))
        return WIRE_TOO_SHORT;
    const uint8_t *in = wire_tree_get(body, &message->fixed);
    const struct wire_tree *fixed = &message->fixed;
    if (fixed->stripe >= CONTROL_STRIPES_MAX || fixed->weight == 0 || fixed->weight > CONTROL_WEIGHT_MAX ||
        !name_or_none(&fixed->parent) || !name_or_none(&fixed->backup))
        return WIRE_BAD_VALUE;
    size_t count = fixed->child_count;
    if (count > CONTROL_CHILDREN_MAX ||
        length != FIXED(CONTROL_TREE_FIELDS) + count * FIXED(CONTROL_CHILD_FIELDS))
        return WIRE_BAD_LENGTH;
    for (unsigned index = 0; index < count; index++) {
        in = wire_child_get(in, &message->children[index]);
        if (!wire_name_valid(&message->children[index].name) ||
            !wire_rate_valid(message->children[index].rate_bps) || message->children[index].known > 1)
            return WIRE_BAD_VALUE;
    }
    return WIRE_OK;
}
