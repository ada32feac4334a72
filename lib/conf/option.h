/* The option table: one row says all there is to know about one key. The rows drive reading and checking
 * (reader.c) and the printed reference (reference.c); no key is known anywhere else.
 *
 * A map in a file is described by an array of rows that ends with a row without key. Rows are read in the
 * order of the table, not of the file, so a row may rely on those above it. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <yaml.h>

#include "base/word.h"

enum option_type {
    OPTION_END = 0,
    /* scalars */
    OPTION_UINT,   /* stored in 1, 2, 4 or 8 bytes */
    OPTION_BOOL,   /* true or false */
    OPTION_NAME,   /* base/name.h */
    OPTION_TEXT,   /* anything printable that fits */
    OPTION_FILE,   /* a path: any bytes that fit */
    OPTION_PATH,   /* the same, and absolute */
    OPTION_RATE,   /* bit/s */
    OPTION_TIME,   /* ns */
    OPTION_SIZE,   /* bytes */
    OPTION_SHARE,  /* parts per 10^9 */
    OPTION_WORD,   /* one of `words` */
    OPTION_SCALAR, /* read by `parse`, described by `form` */
    /* structures */
    OPTION_MAP,     /* a map of `options`, stored from `offset` on */
    OPTION_LIST,    /* at most `max` maps of `options`, or scalars `item`, `stride` bytes apart */
    OPTION_INCLUDE, /* no key of its own: `options` belong to this map */
    OPTION_CUSTOM,  /* read by `read`, described by `form` and, where they help, `options` */
    OPTION_LATER,   /* known, and refused as not supported yet */
};

/* A word for later: known, not supported yet. */
#define WORD_LATER (-1)

struct conf_reader;

struct conf_option {
    const char *key;
    enum option_type type;
    bool required;
    bool zero_unlimited; /* RATE, TIME, SIZE: "unlimited" stores 0 */
    bool max_unlimited;  /* the same: "unlimited" stores UINT64_MAX */
    bool home;           /* PATH: may begin with ~/ */
    size_t offset;       /* of the field in the structure that its map fills */
    size_t bytes;        /* of the field */
    uint64_t min, max;   /* UINT, RATE, TIME, SIZE; max 0: no bound but the field's size. LIST: places */
    const char *initial; /* the default, as it would stand in the file; NULL: none */
    const char *help;
    const struct word *words;
    const struct conf_option *options;
    const struct conf_option *item;
    size_t stride;
    size_t count_offset; /* LIST: of the uint16_t that takes the number of items */
    const char *form;    /* SCALAR, CUSTOM: what is expected */
    const char *below;   /* CUSTOM: what stands between key and options in a path: "[]", ".NAME" */
    const char *same_as; /* CUSTOM, INCLUDE, LIST: where the reference already has these options */
    bool (*parse)(const struct conf_option *option, const char *text, void *field);
    void (*read)(struct conf_reader *reader, const struct conf_option *option, yaml_node_t *node,
                 void *field);
};

/* A default that is a number of the code's. */
#define OPTION_INITIAL(number)  OPTION_INITIAL_(number)
#define OPTION_INITIAL_(number) #number

#define FIELD(type, member) .offset = offsetof(type, member), .bytes = sizeof(((type *)0)->member)
/* A list in an array member with its number in another. */
#define LIST_FIELD(type, member, count)                                                                      \
    .offset = offsetof(type, member), .bytes = sizeof(((type *)0)->member),                                  \
    .stride = sizeof(((type *)0)->member[0]),                                                                \
    .max = sizeof(((type *)0)->member) / sizeof(((type *)0)->member[0]),                                     \
    .count_offset = offsetof(type, count)

/* Stores a scalar; false when it is not of the row's form or out of its bounds. `later` is set when it is a
 * word for later. */
bool option_parse(const struct conf_option *option, const char *text, void *field, bool *later);
/* What the row expects, as text: "a whole number from 1 to 65535". */
void option_form(const struct conf_option *option, char *text, size_t room);
/* Prints the rows as reference text, every key with `prefix` before it. */
void option_print(const struct conf_option *options, const char *prefix, FILE *stream);
