#include "conf/reader.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/check.h"
#include "base/near.h"
#include "base/text.h"

#define FORM_BYTES 200

/* ---- errors ---- */

/* Keeps the lines in order; when the table is full the last one makes room for an earlier one. */
static void keep_error(struct conf_reader *reader, int line, const char *text)
{
    struct conf_errors *errors = reader->errors;
    unsigned kept = MIN(errors->count, (unsigned)CONF_ERRORS_MAX);
    for (unsigned index = 0; index < kept; index++)
        if (strcmp(errors->lines[index], text) == 0)
            return;
    errors->count++;
    unsigned place = kept;
    while (place > 0 && reader->error_lines[place - 1] > line)
        place--;
    if (place == CONF_ERRORS_MAX)
        return;
    unsigned moved = MIN(kept, (unsigned)CONF_ERRORS_MAX - 1) - place;
    memmove(errors->lines[place + 1], errors->lines[place], moved * sizeof(errors->lines[0]));
    memmove(&reader->error_lines[place + 1], &reader->error_lines[place], moved * sizeof(int));
    name_copy(errors->lines[place], sizeof(errors->lines[0]), text);
    reader->error_lines[place] = line;
}

static void add_error(struct conf_reader *reader, int line, const char *where, const char *format,
                      va_list arguments)
{
    char text[sizeof(reader->errors->lines[0])];
    int length =
        snprintf(text, sizeof(text), "%s:%d: %s%s", reader->path, line, where, where[0] != '\0' ? ": " : "");
    if (length > 0 && (size_t)length < sizeof(text))
        vsnprintf(text + length, sizeof(text) - (size_t)length, format, arguments);
    text_make_printable(text); /* values are quoted in messages: nothing may steer a terminal */
    keep_error(reader, line, text);
}

void conf_error(struct conf_reader *reader, const yaml_node_t *node, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    add_error(reader, conf_line(node), reader->where, format, arguments);
    va_end(arguments);
}

void conf_error_line(struct conf_reader *reader, int line, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    add_error(reader, line, "", format, arguments);
    va_end(arguments);
}

/* One step of a key path: "[3]" into a list, "key" or ".key" into a map. NULL: the file has no such place. */
static const yaml_node_t *step(struct conf_reader *reader, const yaml_node_t *node, const char **where)
{
    char key[CONF_WHERE_BYTES];
    char *end;
    if (**where == '[') {
        unsigned long index = strtoul(*where + 1, &end, 10);
        *where = end + 1;
        return conf_at(reader, node, index);
    }
    *where += **where == '.';
    size_t length = strcspn(*where, ".[");
    snprintf(key, sizeof(key), "%.*s", (int)length, *where);
    *where += length;
    return conf_find(reader, node, key);
}

int conf_where_line(struct conf_reader *reader, const char *where)
{
    const yaml_node_t *found = yaml_document_get_root_node(&reader->document);
    const yaml_node_t *node = found;
    for (const char *rest = where; *rest != '\0' && node != NULL;) {
        found = node;
        node = step(reader, node, &rest);
    }
    return conf_line(node != NULL ? node : found);
}

void conf_fault(struct conf_reader *reader, const char *where, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    add_error(reader, conf_where_line(reader, where), where, format, arguments);
    va_end(arguments);
}

size_t conf_enter(struct conf_reader *reader, const char *format, ...)
{
    size_t previous = strlen(reader->where), length = previous;
    if (length > 0 && format[0] != '[' && length + 1 < sizeof(reader->where))
        reader->where[length++] = '.';
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(reader->where + length, sizeof(reader->where) - length, format, arguments);
    va_end(arguments);
    return previous;
}

void conf_leave(struct conf_reader *reader, size_t previous)
{
    CHECK(previous <= strlen(reader->where));
    reader->where[previous] = '\0';
}

/* ---- the document ---- */

int conf_line(const yaml_node_t *node)
{
    return (int)node->start_mark.line + 1;
}

const char *conf_scalar(const yaml_node_t *node)
{
    if (node->type != YAML_SCALAR_NODE)
        return NULL;
    const char *text = (const char *)node->data.scalar.value;
    return strlen(text) == node->data.scalar.length ? text : NULL;
}

bool conf_is_null(const yaml_node_t *node)
{
    const char *text = conf_scalar(node);
    return text != NULL && node->data.scalar.style == YAML_PLAIN_SCALAR_STYLE &&
           (text[0] == '\0' || strcmp(text, "~") == 0 || strcmp(text, "null") == 0);
}

bool conf_pair(struct conf_reader *reader, const yaml_node_t *map, size_t index, const char **key,
               yaml_node_t **key_node, yaml_node_t **value)
{
    if (map == NULL || map->type != YAML_MAPPING_NODE)
        return false;
    const yaml_node_pair_t *pair = map->data.mapping.pairs.start + index;
    if (pair >= map->data.mapping.pairs.top)
        return false;
    *key_node = yaml_document_get_node(&reader->document, pair->key);
    *value = yaml_document_get_node(&reader->document, pair->value);
    *key = conf_scalar(*key_node);
    return true;
}

yaml_node_t *conf_find(struct conf_reader *reader, const yaml_node_t *map, const char *key)
{
    const char *name;
    yaml_node_t *key_node, *value;
    for (size_t index = 0; conf_pair(reader, map, index, &name, &key_node, &value); index++)
        if (name != NULL && strcmp(name, key) == 0)
            return value;
    return NULL;
}

size_t conf_length(const yaml_node_t *list)
{
    if (list == NULL || list->type != YAML_SEQUENCE_NODE)
        return 0;
    return (size_t)(list->data.sequence.items.top - list->data.sequence.items.start);
}

yaml_node_t *conf_at(struct conf_reader *reader, const yaml_node_t *list, size_t index)
{
    if (index >= conf_length(list))
        return NULL;
    return yaml_document_get_node(&reader->document, list->data.sequence.items.start[index]);
}

#define WRITER_MS 2000 /* so long somebody has to begin to write to a pipe */

/* What is written to a pipe (`<(...)`) is as good as a file, but it must be written. */
static bool await_writer(int fd, struct err *err)
{
    struct pollfd pipe = {.fd = fd, .events = POLLIN};
    bool came = poll(&pipe, 1, WRITER_MS) == 1 && fcntl(fd, F_SETFL, 0) == 0;
    if (!came)
        errno = EINVAL;
    return came || err_set(err, "a pipe that nobody writes to, expected a file");
}

/* -1: err. Nothing that could make us wait for ever: neither the opening, nor a device. */
static int open_readable(const char *path, struct err *err)
{
    struct stat stat;
    int fd = open(path, O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
    if (fd < 0 || fstat(fd, &stat) != 0) {
        err_set(err, "%s", strerror(errno));
    } else if (S_ISREG(stat.st_mode) || (S_ISFIFO(stat.st_mode) && await_writer(fd, err))) {
        return fd;
    } else if (!S_ISFIFO(stat.st_mode)) {
        err_set(err, "%s, expected a file", S_ISDIR(stat.st_mode) ? "a directory" : "a device or socket");
        errno = EINVAL;
    }
    int cause = errno;
    if (fd >= 0)
        close(fd);
    errno = cause;
    return -1;
}

char *conf_slurp(const char *path, size_t bytes_max, struct err *err)
{
    int fd = open_readable(path, err);
    if (fd < 0)
        return NULL;
    char *text = malloc(bytes_max + 1);
    CHECK(text != NULL);
    size_t length = 0;
    ssize_t got;
    do {
        got = read(fd, text + length, bytes_max + 1 - length);
        length += got < 0 ? 0 : (size_t)got;
    } while ((got > 0 && length <= bytes_max) || (got < 0 && errno == EINTR));
    int error = got < 0 ? errno : length > bytes_max ? EFBIG : 0;
    close(fd);
    if (error == 0) {
        text[length] = '\0';
        return text;
    }
    if (error == EFBIG)
        err_set(err, "longer than %zu KiB", bytes_max >> 10);
    else
        err_set(err, "%s", strerror(error));
    free(text);
    errno = error;
    return NULL;
}

/* The parser marks no place for characters that YAML has not, only an offset. */
static int problem_line(const yaml_parser_t *parser, const char *text)
{
    if (parser->error != YAML_READER_ERROR)
        return (int)parser->problem_mark.line + 1;
    int line = 1;
    for (size_t index = 0; index < parser->problem_offset && text[index] != '\0'; index++)
        line += text[index] == '\n';
    return line;
}

/* What follows the first document must be the end: a second one would go unread. */
static bool ends_here(struct conf_reader *reader, yaml_parser_t *parser, const char *text)
{
    yaml_document_t next;
    if (yaml_parser_load(parser, &next) != 1) {
        conf_error_line(reader, problem_line(parser, text), "not YAML: %s", parser->problem);
        return false;
    }
    const yaml_node_t *root = yaml_document_get_root_node(&next);
    if (root != NULL)
        conf_error_line(reader, conf_line(root), "a second document begins here, a file has one");
    yaml_document_delete(&next);
    return root == NULL;
}

/* Values are the bytes that the file has. */
static void disarm_scalars(const yaml_document_t *document)
{
    for (yaml_node_t *node = document->nodes.start; node < document->nodes.top; node++) {
        char *text = node->type == YAML_SCALAR_NODE ? (char *)node->data.scalar.value : NULL;
        if (text != NULL && strlen(text) == node->data.scalar.length)
            node->data.scalar.length = text_disarm(text);
    }
}

static bool load_armoured(struct conf_reader *reader, const char *text)
{
    yaml_parser_t parser;
    CHECK(yaml_parser_initialize(&parser) == 1);
    yaml_parser_set_input_string(&parser, (const unsigned char *)text, strlen(text));
    bool loaded = false;
    if (yaml_parser_load(&parser, &reader->document) != 1) {
        conf_error_line(reader, problem_line(&parser, text), "not YAML: %s", parser.problem);
    } else {
        if (yaml_document_get_root_node(&reader->document) == NULL)
            conf_error_line(reader, 1, "the file is empty");
        else
            loaded = ends_here(reader, &parser, text);
        if (!loaded)
            yaml_document_delete(&reader->document);
    }
    yaml_parser_delete(&parser);
    if (loaded)
        disarm_scalars(&reader->document);
    return loaded;
}

static bool load_text(struct conf_reader *reader, const char *text)
{
    char *armoured = malloc(TEXT_ARMOUR_MOST * strlen(text) + 1);
    CHECK(armoured != NULL);
    text_armour(armoured, text);
    bool loaded = load_armoured(reader, armoured);
    free(armoured);
    return loaded;
}

bool conf_load(struct conf_reader *reader, const char *path, const char *text, struct conf_errors *errors)
{
    *reader = (struct conf_reader){.path = path, .errors = errors};
    errors->count = 0;
    if (text != NULL)
        return load_text(reader, text);
    struct err err;
    char *file = conf_slurp(path, CONF_FILE_BYTES_MAX, &err);
    if (file == NULL) {
        char message[sizeof(errors->lines[0])];
        snprintf(message, sizeof(message), "%s: %s", path, err.text);
        keep_error(reader, 0, message);
        return false;
    }
    bool loaded = load_text(reader, file);
    free(file);
    return loaded;
}

bool conf_load_foreign(struct conf_reader *reader, const char *path, const char *text,
                       struct conf_errors *errors)
{
    size_t length = strlen(text), openings = 0;
    for (const char *c = strpbrk(text, "[{&"); c != NULL; c = strpbrk(c + 1, "[{&"))
        openings++;
    if (length <= CONF_FOREIGN_BYTES_MAX && openings <= CONF_FOREIGN_OPENINGS_MAX)
        return conf_load(reader, path, text, errors);
    *reader = (struct conf_reader){.path = path, .errors = errors};
    errors->count = 0;
    if (length > CONF_FOREIGN_BYTES_MAX)
        conf_error_line(reader, 1, "%zu bytes, at most %u", length, CONF_FOREIGN_BYTES_MAX);
    else
        conf_error_line(reader, 1, "%zu of the characters [ { &, at most %u", openings,
                        CONF_FOREIGN_OPENINGS_MAX);
    return false;
}

void conf_unload(struct conf_reader *reader)
{
    yaml_document_delete(&reader->document);
}

/* ---- rows ---- */

static void *at(void *base, size_t offset)
{
    return (uint8_t *)base + offset;
}

void conf_apply_defaults(const struct conf_option *options, void *base)
{
    bool later;
    for (const struct conf_option *option = options; option->type != OPTION_END; option++) {
        void *field = at(base, option->offset);
        if (option->type == OPTION_MAP || option->type == OPTION_INCLUDE)
            conf_apply_defaults(option->options, field);
        else if (option->initial != NULL && option->type < OPTION_MAP)
            CHECK(option_parse(option, option->initial, field, &later));
    }
}

static void read_scalar(struct conf_reader *reader, const struct conf_option *option, yaml_node_t *node,
                        void *field)
{
    char form[FORM_BYTES];
    bool later = false;
    const char *text = conf_scalar(node);
    if (text != NULL && option_parse(option, text, field, &later))
        return;
    option_form(option, form, sizeof(form));
    if (text == NULL)
        conf_error(reader, node, "expected %s", form);
    else if (option->home && strncmp(text, "~/", 2) == 0 && getenv("HOME") == NULL)
        conf_error(reader, node, "\"%s\", but HOME is not set, which has to say where that is", text);
    else if (later)
        conf_error(reader, node, "\"%s\" is not supported yet, expected %s", text, form);
    else if (conf_is_null(node))
        conf_error(reader, node, "no value, expected %s", form);
    else
        conf_error(reader, node, "\"%s\", expected %s", text, form);
}

static void read_option(struct conf_reader *reader, const struct conf_option *option, yaml_node_t *node,
                        void *base);

static void read_list(struct conf_reader *reader, const struct conf_option *option, yaml_node_t *list,
                      void *base)
{
    if (list->type != YAML_SEQUENCE_NODE) {
        conf_error(reader, list, "expected a list");
        return;
    }
    size_t length = conf_length(list);
    if (length > option->max) {
        conf_error(reader, list, "%zu items, at most %u", length, (unsigned)option->max);
        length = option->max;
    }
    for (size_t index = 0; index < length; index++) {
        void *place = at(base, option->offset + index * option->stride);
        yaml_node_t *node = conf_at(reader, list, index);
        size_t previous = conf_enter(reader, "[%zu]", index);
        if (option->item != NULL) {
            read_option(reader, option->item, node, place);
        } else {
            conf_apply_defaults(option->options, place);
            conf_read_map(reader, option->options, node, place);
        }
        conf_leave(reader, previous);
    }
    *(uint16_t *)at(base, option->count_offset) = (uint16_t)length;
}

static void read_option(struct conf_reader *reader, const struct conf_option *option, yaml_node_t *node,
                        void *base)
{
    void *field = at(base, option->offset);
    if (option->type == OPTION_MAP)
        conf_read_map(reader, option->options, node, field);
    else if (option->type == OPTION_LIST)
        read_list(reader, option, node, base);
    else if (option->type == OPTION_CUSTOM)
        option->read(reader, option, node, field);
    else if (option->type == OPTION_LATER)
        conf_error(reader, node, "not supported yet");
    else
        read_scalar(reader, option, node, field);
}

static bool knows(const struct conf_option *options, const char *key)
{
    for (const struct conf_option *option = options; option->type != OPTION_END; option++)
        if (option->type == OPTION_INCLUDE ? knows(option->options, key) : strcmp(option->key, key) == 0)
            return true;
    return false;
}

static void list_keys(const struct conf_option *options, char *text, size_t room)
{
    for (const struct conf_option *option = options; option->type != OPTION_END; option++) {
        size_t length = strlen(text);
        if (option->type == OPTION_INCLUDE)
            list_keys(option->options, text, room);
        else if (option->type != OPTION_LATER)
            snprintf(text + length, room - length, "%s%s", length > 0 ? ", " : "", option->key);
    }
}

static void look_near(struct near *near, const struct conf_option *options, const char *key)
{
    for (const struct conf_option *option = options; option->type != OPTION_END; option++)
        if (option->type == OPTION_INCLUDE)
            look_near(near, option->options, key);
        else if (option->type != OPTION_LATER)
            near_look(near, key, option->key);
}

static void check_unknown(struct conf_reader *reader, const struct conf_option *options, yaml_node_t *map)
{
    const char *key;
    yaml_node_t *key_node, *value;
    char keys[FORM_BYTES] = "";
    list_keys(options, keys, sizeof(keys));
    for (size_t index = 0; conf_pair(reader, map, index, &key, &key_node, &value); index++) {
        struct near near = {0};
        if (key != NULL && knows(options, key))
            continue;
        if (key != NULL)
            look_near(&near, options, key);
        if (near.word != NULL)
            conf_error(reader, key_node, "unknown key \"%s\", did you mean \"%s\"?", key, near.word);
        else
            conf_error(reader, key_node, "unknown key \"%s\", expected one of %s", key != NULL ? key : "?",
                       keys);
    }
}

/* Row by row, so that the work grows with the keys of the map, not with their square. */
static void check_twice(struct conf_reader *reader, const struct conf_option *options, yaml_node_t *map)
{
    const char *key;
    yaml_node_t *key_node, *value;
    for (const struct conf_option *option = options; option->type != OPTION_END; option++) {
        const yaml_node_t *first = NULL;
        if (option->type == OPTION_INCLUDE) {
            check_twice(reader, option->options, map);
            continue;
        }
        for (size_t index = 0; conf_pair(reader, map, index, &key, &key_node, &value); index++) {
            if (key == NULL || strcmp(key, option->key) != 0)
                continue;
            if (first != NULL)
                conf_error(reader, key_node, "\"%s\" is given twice, first in line %d", key,
                           conf_line(first));
            else
                first = key_node;
        }
    }
}

static void read_rows(struct conf_reader *reader, const struct conf_option *options, yaml_node_t *map,
                      void *base)
{
    for (const struct conf_option *option = options; option->type != OPTION_END; option++) {
        if (option->type == OPTION_INCLUDE) {
            read_rows(reader, option->options, map, at(base, option->offset));
            continue;
        }
        yaml_node_t *node = conf_find(reader, map, option->key);
        if (node == NULL && option->required) {
            conf_error(reader, map, "\"%s\" is missing: %s", option->key, option->help);
        } else if (node != NULL && !(option->type == OPTION_MAP && conf_is_null(node))) {
            size_t previous = conf_enter(reader, "%s", option->key);
            read_option(reader, option, node, base);
            conf_leave(reader, previous);
        }
    }
}

void conf_read_map(struct conf_reader *reader, const struct conf_option *options, yaml_node_t *map,
                   void *base)
{
    if (map->type != YAML_MAPPING_NODE && !conf_is_null(map)) {
        conf_error(reader, map, "expected a map (key: value)");
        return;
    }
    check_unknown(reader, options, map);
    check_twice(reader, options, map);
    read_rows(reader, options, map, base);
}

bool conf_read_document(struct conf_reader *reader, const struct conf_option *options, void *base)
{
    yaml_node_t *root = yaml_document_get_root_node(&reader->document);
    conf_apply_defaults(options, base);
    conf_read_map(reader, options, root, base);
    return root->type == YAML_MAPPING_NODE;
}

uint16_t conf_read_names(struct conf_reader *reader, yaml_node_t *list, char (*names)[NAME_BYTES],
                         uint16_t places)
{
    if (list->type != YAML_SEQUENCE_NODE) {
        conf_error(reader, list, "expected a list of names");
        return 0;
    }
    uint16_t count = 0;
    for (size_t index = 0; index < conf_length(list); index++) {
        const yaml_node_t *node = conf_at(reader, list, index);
        const char *name = conf_scalar(node);
        bool twice = false;
        for (uint16_t other = 0; name != NULL && other < count; other++)
            twice = twice || strcmp(names[other], name) == 0;
        if (name == NULL || !name_valid(name))
            conf_error(reader, node, "\"%s\" is not a name", name != NULL ? name : "?");
        else if (twice)
            conf_error(reader, node, "\"%s\" is there twice", name);
        else if (count == places)
            conf_error(reader, node, "more than %u names", places);
        else
            name_copy(names[count++], NAME_BYTES, name);
    }
    return count;
}

bool conf_read_name_pair(struct conf_reader *reader, const yaml_node_t *node, char pair[2][NAME_BYTES])
{
    const char *ends[2] = {NULL, NULL};
    for (size_t end = 0; conf_length(node) == 2 && end < 2; end++)
        ends[end] = conf_scalar(conf_at(reader, node, end));
    if (ends[0] == NULL || ends[1] == NULL || !name_valid(ends[0]) || !name_valid(ends[1])) {
        conf_error(reader, node, "expected [from, to], two names of nodes");
        return false;
    }
    if (strcmp(ends[0], ends[1]) == 0) {
        conf_error(reader, node, "from and to are both \"%s\"", ends[0]);
        return false;
    }
    return name_copy(pair[0], NAME_BYTES, ends[0]) && name_copy(pair[1], NAME_BYTES, ends[1]);
}

void conf_errors_print(const struct conf_errors *errors, FILE *stream)
{
    for (unsigned index = 0; index < errors->count && index < CONF_ERRORS_MAX; index++)
        fprintf(stream, "%s\n", errors->lines[index]);
    if (errors->count > CONF_ERRORS_MAX)
        fprintf(stream, "%u more errors\n", errors->count - CONF_ERRORS_MAX);
}
