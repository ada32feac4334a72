#include "conf/change.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#define DEPTH_MAX 16

/* Nodes are numbers here: adding one may move all of them. 0: none. */
struct change {
    struct conf_reader *reader;
    const char *assignment; /* for messages */
    const char *rest;       /* of the path */
    const char *end;
    yaml_mark_t mark; /* of the deepest place found: where messages point to */
};

static yaml_document_t *document(struct change *change)
{
    return &change->reader->document;
}

static bool fail(struct change *change, const char *reason)
{
    conf_error_line(change->reader, (int)change->mark.line + 1, "--set %s: %s", change->assignment, reason);
    return false;
}

/* A node added last gets the line of the place it belongs to. 0, for text that is not UTF-8, stays 0. */
static int added(struct change *change, int number)
{
    if (number == 0)
        return 0;
    yaml_node_t *node = yaml_document_get_node(document(change), number);
    node->start_mark = node->end_mark = change->mark;
    return number;
}

static int add_text(struct change *change, const char *text, size_t length, yaml_scalar_style_t style)
{
    return added(change, yaml_document_add_scalar(document(change), NULL, (const yaml_char_t *)text,
                                                  (int)length, style));
}

/* Copies a node of the value's document; 0: nested too deep, as a value that contains itself is. */
static int copy_node(struct change *change, yaml_document_t *from, int number, unsigned depth)
{
    const yaml_node_t *node = yaml_document_get_node(from, number);
    if (depth > DEPTH_MAX)
        return 0;
    if (node->type == YAML_SCALAR_NODE)
        return add_text(change, (const char *)node->data.scalar.value, node->data.scalar.length,
                        node->data.scalar.style);
    if (node->type == YAML_SEQUENCE_NODE) {
        int list = added(change, yaml_document_add_sequence(document(change), NULL, YAML_ANY_SEQUENCE_STYLE));
        for (const int *item = node->data.sequence.items.start; item < node->data.sequence.items.top;
             item++) {
            int copy = copy_node(change, from, *item, depth + 1);
            if (copy == 0)
                return 0;
            CHECK(yaml_document_append_sequence_item(document(change), list, copy));
        }
        return list;
    }
    int map = added(change, yaml_document_add_mapping(document(change), NULL, YAML_ANY_MAPPING_STYLE));
    for (const yaml_node_pair_t *pair = node->data.mapping.pairs.start; pair < node->data.mapping.pairs.top;
         pair++) {
        int key = copy_node(change, from, pair->key, depth + 1);
        int value = copy_node(change, from, pair->value, depth + 1);
        if (key == 0 || value == 0)
            return 0;
        CHECK(yaml_document_append_mapping_pair(document(change), map, key, value));
    }
    return map;
}

static int parse_value(struct change *change, const char *text)
{
    yaml_parser_t parser;
    yaml_document_t value;
    int number = 0;
    CHECK(yaml_parser_initialize(&parser));
    yaml_parser_set_input_string(&parser, (const unsigned char *)text, strlen(text));
    if (yaml_parser_load(&parser, &value)) {
        if (yaml_document_get_root_node(&value) != NULL)
            number = copy_node(change, &value, 1, 0);
        yaml_document_delete(&value);
    }
    yaml_parser_delete(&parser);
    return number;
}

/* ---- the path ---- */

static bool ends_step(const struct change *change, const char *at)
{
    return at == change->end || *at == '.' || *at == '[';
}

/* The longest key of the map that the rest of the path begins with: names may hold dots. */
static yaml_node_pair_t *find_pair(struct change *change, const yaml_node_t *map, size_t *length)
{
    yaml_node_pair_t *found = NULL;
    size_t left = (size_t)(change->end - change->rest);
    for (yaml_node_pair_t *pair = map->data.mapping.pairs.start; pair < map->data.mapping.pairs.top; pair++) {
        const char *key = conf_scalar(yaml_document_get_node(document(change), pair->key));
        size_t bytes = key == NULL ? 0 : strlen(key);
        if (bytes == 0 || bytes > left || memcmp(key, change->rest, bytes) != 0 ||
            !ends_step(change, change->rest + bytes) || (found != NULL && bytes <= *length))
            continue;
        found = pair;
        *length = bytes;
    }
    return found;
}

/* Where the number of the next step's node stands; NULL after an error. */
static int *step_list(struct change *change, yaml_node_t *list)
{
    char *after;
    unsigned long index = strtoul(change->rest + 1, &after, 10);
    if (!isdigit((unsigned char)change->rest[1]) || *after != ']' || !ends_step(change, after + 1)) {
        fail(change, "expected a path like links.list[0].rate before \"=\"");
        return NULL;
    }
    if (list->type != YAML_SEQUENCE_NODE || index >= conf_length(list)) {
        fail(change, list->type != YAML_SEQUENCE_NODE ? "[…] does not stand for a list" : "no such item");
        return NULL;
    }
    change->rest = after + 1;
    return &list->data.sequence.items.start[index];
}

/* The value of a new key, for now an empty map; NULL: the key is no text. */
static yaml_node_pair_t *add_pair(struct change *change, int map, size_t length)
{
    int key = add_text(change, change->rest, length, YAML_PLAIN_SCALAR_STYLE);
    int below = added(change, yaml_document_add_mapping(document(change), NULL, YAML_ANY_MAPPING_STYLE));
    CHECK(below != 0);
    if (key == 0) {
        fail(change, "a key that is not UTF-8");
        return NULL;
    }
    CHECK(yaml_document_append_mapping_pair(document(change), map, key, below));
    return yaml_document_get_node(document(change), map)->data.mapping.pairs.top - 1;
}

static int *step_map(struct change *change, int number)
{
    const yaml_node_t *map = yaml_document_get_node(document(change), number);
    if (map->type != YAML_MAPPING_NODE) {
        fail(change, "part of the path stands for no map");
        return NULL;
    }
    size_t length = 0;
    yaml_node_pair_t *pair = find_pair(change, map, &length);
    if (pair == NULL) {
        while (!ends_step(change, change->rest + length))
            length++;
        if (length == 0) {
            fail(change, "expected a path like links.default.loss before \"=\"");
            return NULL;
        }
        pair = add_pair(change, number, length);
        if (pair == NULL)
            return NULL;
    }
    change->rest += length;
    return &pair->value;
}

/* A step further, to the place that holds the number of a node; a place without a value ("links:") becomes an
 * empty map. */
static int *step(struct change *change, int *place)
{
    if (conf_is_null(yaml_document_get_node(document(change), *place)))
        *place = added(change, yaml_document_add_mapping(document(change), NULL, YAML_ANY_MAPPING_STYLE));
    yaml_node_t *node = yaml_document_get_node(document(change), *place);
    change->mark = node->start_mark;
    if (*change->rest == '[')
        return step_list(change, node);
    change->rest += *change->rest == '.' && change->rest > change->assignment;
    return step_map(change, *place);
}

bool conf_change(struct conf_reader *reader, const char *assignment)
{
    const char *equals = strchr(assignment, '=');
    struct change change = {.reader = reader, .assignment = assignment, .rest = assignment, .end = equals};
    if (equals == NULL || equals == assignment)
        return fail(&change, "expected PATH=VALUE");
    int root = 1; /* the document's own number of it */
    int *place = &root;
    while (place != NULL && change.rest < change.end)
        place = step(&change, place);
    if (place == NULL)
        return false;
    change.mark = yaml_document_get_node(document(&change), *place)->start_mark;
    int value = parse_value(&change, equals + 1);
    if (value == 0)
        return fail(&change, "what follows \"=\" is no value");
    *place = value;
    return true;
}
