#include "conf/settings.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/check.h"

/* Lists as "a, b", maps as "a: b, c: d". */
static void put_value(struct conf_reader *reader, const yaml_node_t *node, FILE *out)
{
    const char *scalar = conf_scalar(node), *name;
    yaml_node_t *key, *value;
    if (scalar != NULL)
        fputs(scalar, out);
    for (size_t index = 0; index < conf_length(node); index++) {
        fputs(index > 0 ? ", " : "", out);
        put_value(reader, conf_at(reader, node, index), out);
    }
    for (size_t index = 0;
         node->type == YAML_MAPPING_NODE && conf_pair(reader, node, index, &name, &key, &value); index++) {
        fprintf(out, "%s%s: ", index > 0 ? ", " : "", name != NULL ? name : "?");
        put_value(reader, value, out);
    }
}

static void take_rows(struct conf_reader *reader, const struct conf_option *options, yaml_node_t *map,
                      FILE *out);

/* A list of maps: the rows of each. */
static void take_items(struct conf_reader *reader, const struct conf_option *option, yaml_node_t *list,
                       FILE *out)
{
    for (size_t index = 0; index < conf_length(list); index++) {
        size_t previous = conf_enter(reader, "[%zu]", index);
        take_rows(reader, option->options, conf_at(reader, list, index), out);
        conf_leave(reader, previous);
    }
}

static void take_option(struct conf_reader *reader, const struct conf_option *option, yaml_node_t *node,
                        FILE *out)
{
    bool items = option->type == OPTION_LIST && option->item == NULL && conf_length(node) > 0;
    if (option->type == OPTION_MAP)
        take_rows(reader, option->options, node, out);
    else if (items)
        take_items(reader, option, node, out);
    if (option->type == OPTION_MAP || items)
        return;
    fprintf(out, "%s%c%c", reader->where, '\0', node != NULL ? 'g' : 'd');
    if (node != NULL)
        put_value(reader, node, out);
    else if (option->initial != NULL)
        fputs(option->initial, out);
    fputc('\0', out);
}

static void take_rows(struct conf_reader *reader, const struct conf_option *options, yaml_node_t *map,
                      FILE *out)
{
    bool empty = map == NULL || map->type != YAML_MAPPING_NODE;
    for (const struct conf_option *option = options; option->type != OPTION_END; option++) {
        if (option->type == OPTION_INCLUDE)
            take_rows(reader, option->options, map, out);
        if (option->type == OPTION_INCLUDE || option->type == OPTION_LATER)
            continue;
        size_t previous = conf_enter(reader, "%s", option->key);
        take_option(reader, option, empty ? NULL : conf_find(reader, map, option->key), out);
        conf_leave(reader, previous);
    }
}

void settings_take(struct conf_reader *reader, const struct conf_option *options,
                   struct conf_settings *settings)
{
    FILE *out = open_memstream(&settings->text, &settings->bytes);
    CHECK(out != NULL);
    take_rows(reader, options, yaml_document_get_root_node(&reader->document), out);
    CHECK(fclose(out) == 0);
}

bool conf_settings_next(const struct conf_settings *settings, size_t *at, struct conf_setting *setting)
{
    if (*at >= settings->bytes)
        return false;
    setting->key = settings->text + *at;
    const char *value = setting->key + strlen(setting->key) + 1;
    setting->given = value[0] == 'g';
    setting->value = value + 1;
    *at = (size_t)(setting->value + strlen(setting->value) + 1 - settings->text);
    return true;
}

void conf_settings_free(struct conf_settings *settings)
{
    free(settings->text);
    *settings = (struct conf_settings){0};
}
