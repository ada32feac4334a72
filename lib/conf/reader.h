/* One YAML file while it is read: the parsed document, where in it we are, and the errors found so far.
 * The document lives from conf_load to conf_unload; nothing read points into it. */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <yaml.h>

#include "conf/conf.h"
#include "conf/option.h"

#define CONF_FILE_BYTES_MAX (4u << 20)
#define CONF_WHERE_BYTES    160
/* Of a text that others sent. A job of 64 nodes with a given tree takes 5 KB and 70 openings. */
#define CONF_FOREIGN_BYTES_MAX    (64u << 10)
#define CONF_FOREIGN_OPENINGS_MAX 256u

struct conf_reader {
    const char *path; /* in messages */
    yaml_document_t document;
    struct conf_errors *errors;
    int error_lines[CONF_ERRORS_MAX];
    char where[CONF_WHERE_BYTES]; /* key path of what is being read: "ports[0].rate" */
    void *context;                /* the structure a whole file fills, for OPTION_CUSTOM rows */
};

/* Reads `path`, or `text` under that name. False: an error was added and there is no document. */
bool conf_load(struct conf_reader *reader, const char *path, const char *text, struct conf_errors *errors);
/* The same for a text that others sent. The time that libyaml takes grows with the square of nested brackets
 * and of anchors (100 s for 128 KiB of "["), so the number of characters that open one is bounded. */
bool conf_load_foreign(struct conf_reader *reader, const char *path, const char *text,
                       struct conf_errors *errors);
void conf_unload(struct conf_reader *reader);

/* Fills `base` from the whole document: defaults first, then what the file says. False: the document is no
 * map, so that nothing else is to be checked. */
bool conf_read_document(struct conf_reader *reader, const struct conf_option *options, void *base);
void conf_apply_defaults(const struct conf_option *options, void *base);
/* What the map says, over what is in `base`; unknown, duplicate and missing keys are errors. A null node is
 * an empty map. */
void conf_read_map(struct conf_reader *reader, const struct conf_option *options, yaml_node_t *map,
                   void *base);
/* A list of at most `places` names, each once; returns how many. */
uint16_t conf_read_names(struct conf_reader *reader, yaml_node_t *list, char (*names)[NAME_BYTES],
                         uint16_t places);

/* Reads [from, to] of two different names. */
bool conf_read_name_pair(struct conf_reader *reader, const yaml_node_t *node, char pair[2][NAME_BYTES]);

/* Errors about the value at `node`, at the key path of the moment. Equal messages are kept once. */
void conf_error(struct conf_reader *reader, const yaml_node_t *node, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
/* Errors found after reading: `where` is a key path as "peers[2].address" and gives the line as well: that
 * of the deepest part of it that the file has. */
void conf_fault(struct conf_reader *reader, const char *where, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
/* … that line. */
int conf_where_line(struct conf_reader *reader, const char *where);
void conf_error_line(struct conf_reader *reader, int line, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* Goes down to `key` (a map's) or `[index]` in messages; conf_leave goes back to where that was. */
size_t conf_enter(struct conf_reader *reader, const char *format, ...) __attribute__((format(printf, 2, 3)));
void conf_leave(struct conf_reader *reader, size_t previous);

/* ---- the document ---- */

int conf_line(const yaml_node_t *node);
/* The value of a scalar, NULL when it is none (or holds a zero byte). */
const char *conf_scalar(const yaml_node_t *node);
bool conf_is_null(const yaml_node_t *node);
/* Below, a NULL map or list is an empty one. */
/* The value of a map's key, NULL when there is none. */
yaml_node_t *conf_find(struct conf_reader *reader, const yaml_node_t *map, const char *key);
size_t conf_length(const yaml_node_t *list);
yaml_node_t *conf_at(struct conf_reader *reader, const yaml_node_t *list, size_t index);
/* Pair `index` of a map; false beyond the last. The key is NULL when it is not a scalar. */
bool conf_pair(struct conf_reader *reader, const yaml_node_t *map, size_t index, const char **key,
               yaml_node_t **key_node, yaml_node_t **value);

/* ---- probe.c: rows of one struct node_probe_config, and the words of what may be switched off ---- */
extern const struct conf_option conf_probe_options[];
extern const struct word conf_off_words[];
