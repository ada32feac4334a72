#include "conf/option.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/check.h"
#include "base/name.h"
#include "base/text.h"
#include "conf/value.h"

static enum value_kind kind_of(enum option_type type)
{
    if (type == OPTION_RATE)
        return VALUE_RATE;
    if (type == OPTION_TIME)
        return VALUE_TIME;
    if (type == OPTION_SIZE)
        return VALUE_SIZE;
    CHECK(type == OPTION_SHARE);
    return VALUE_SHARE;
}

static uint64_t max_of(const struct conf_option *option)
{
    if (option->max != 0)
        return option->max;
    if (option->type == OPTION_SHARE)
        return 1000000000;
    return option->bytes >= 8 ? UINT64_MAX : (1ULL << (8 * option->bytes)) - 1;
}

static void store(const struct conf_option *option, uint64_t value, void *field)
{
    CHECK(option->bytes == 1 || option->bytes == 2 || option->bytes == 4 || option->bytes == 8);
    memcpy(field, &value, option->bytes); /* little-endian, asserted in base/bytes.h */
}

static bool parse_number(const struct conf_option *option, const char *text, void *field)
{
    uint64_t value;
    if ((option->zero_unlimited || option->max_unlimited) && strcmp(text, "unlimited") == 0) {
        store(option, option->max_unlimited ? UINT64_MAX : 0, field);
        return true;
    }
    bool parsed = option->type == OPTION_UINT ? value_parse_decimal(text, 0, &value)
                                              : value_parse(kind_of(option->type), text, &value);
    if (!parsed || value < option->min || value > max_of(option))
        return false;
    store(option, value, field);
    return true;
}

/* "~/…" is below the home of whoever reads the file; without one it is refused. */
static bool parse_path(const struct conf_option *option, const char *text, void *field)
{
    const char *home = getenv("HOME");
    if (text[0] == '/')
        return name_copy(field, option->bytes, text);
    if (!option->home || strncmp(text, "~/", 2) != 0 || home == NULL || home[0] != '/')
        return false;
    return (size_t)snprintf(field, option->bytes, "%s%s", home, text + 1) < option->bytes;
}

static bool parse_text(const struct conf_option *option, const char *text, void *field)
{
    if (option->type != OPTION_FILE && !text_printable(text))
        return false;
    if (option->type == OPTION_NAME && !name_valid(text))
        return false;
    return text[0] != '\0' && name_copy(field, option->bytes, text);
}

static bool parse_bool(const char *text, void *field)
{
    bool value = strcmp(text, "true") == 0;
    memcpy(field, &value, sizeof(value));
    return value || strcmp(text, "false") == 0;
}

static bool parse_word(const struct conf_option *option, const char *text, void *field, bool *later)
{
    for (const struct word *word = option->words; word->word != NULL; word++) {
        if (strcmp(word->word, text) != 0)
            continue;
        *later = word->value == WORD_LATER;
        if (!*later)
            store(option, (uint64_t)word->value, field);
        return !*later;
    }
    return false;
}

bool option_parse(const struct conf_option *option, const char *text, void *field, bool *later)
{
    *later = false;
    switch (option->type) {
    case OPTION_UINT:
    case OPTION_RATE:
    case OPTION_TIME:
    case OPTION_SIZE:
    case OPTION_SHARE:
        return parse_number(option, text, field);
    case OPTION_NAME:
    case OPTION_TEXT:
    case OPTION_FILE:
        return parse_text(option, text, field);
    case OPTION_PATH:
        return parse_path(option, text, field);
    case OPTION_BOOL:
        return parse_bool(text, field);
    case OPTION_WORD:
        return parse_word(option, text, field, later);
    case OPTION_SCALAR:
        return option->parse(option, text, field);
    case OPTION_END:
    case OPTION_MAP:
    case OPTION_LIST:
    case OPTION_INCLUDE:
    case OPTION_CUSTOM:
    case OPTION_LATER:
        break;
    }
    CHECK(!"a scalar row");
    return false;
}

static void form_number(const struct conf_option *option, char *text, size_t room)
{
    if (option->type == OPTION_UINT && max_of(option) == UINT64_MAX) {
        snprintf(text, room, option->min > 0 ? "a whole number above 0" : "a whole number");
        return;
    }
    if (option->type == OPTION_UINT) {
        snprintf(text, room, "a whole number from %" PRIu64 " to %" PRIu64, option->min, max_of(option));
        return;
    }
    char low[VALUE_TEXT_BYTES], high[VALUE_TEXT_BYTES];
    enum value_kind kind = kind_of(option->type);
    value_format(kind, option->min, low);
    value_format(kind, max_of(option), high);
    size_t length = (size_t)snprintf(text, room, "%s", value_form(kind));
    if (option->min > 0 && option->max > 0)
        length += (size_t)snprintf(text + length, room - length, ", %s to %s", low, high);
    else if (option->min > 0)
        length += (size_t)snprintf(text + length, room - length, ", at least %s", low);
    else if (option->max > 0)
        length += (size_t)snprintf(text + length, room - length, ", at most %s", high);
    if (option->zero_unlimited || option->max_unlimited)
        snprintf(text + length, room - length, ", or unlimited");
}

static void form_words(const struct word *words, char *text, size_t room)
{
    const char *separator = "";
    text[0] = '\0';
    for (const struct word *word = words; word->word != NULL; word++) {
        if (word->value == WORD_LATER)
            continue;
        size_t length = strlen(text);
        snprintf(text + length, room - length, "%s%s", separator, word->word);
        separator = " | ";
    }
}

void option_form(const struct conf_option *option, char *text, size_t room)
{
    switch (option->type) {
    case OPTION_UINT:
    case OPTION_RATE:
    case OPTION_TIME:
    case OPTION_SIZE:
    case OPTION_SHARE:
        form_number(option, text, room);
        return;
    case OPTION_NAME:
        snprintf(text, room, "a name (1 to 31 of a-z A-Z 0-9 . _ -)");
        return;
    case OPTION_TEXT:
    case OPTION_FILE:
        snprintf(text, room, "text of 1 to %zu characters", option->bytes - 1);
        return;
    case OPTION_PATH:
        snprintf(text, room, "an absolute path%s of at most %zu characters",
                 option->home ? ", or one like ~/in," : "", option->bytes - 1);
        return;
    case OPTION_BOOL:
        snprintf(text, room, "true | false");
        return;
    case OPTION_WORD:
        form_words(option->words, text, room);
        return;
    case OPTION_SCALAR:
    case OPTION_CUSTOM:
        snprintf(text, room, "%s", option->form);
        return;
    case OPTION_MAP:
        snprintf(text, room, "a map");
        return;
    case OPTION_LIST:
        snprintf(text, room, "a list of at most %" PRIu64, option->max);
        return;
    case OPTION_LATER:
        snprintf(text, room, "not supported yet");
        return;
    case OPTION_END:
    case OPTION_INCLUDE:
        break;
    }
    CHECK(!"a row with a key");
}

static void print_row(const struct conf_option *option, const char *path, FILE *stream)
{
    char form[200], item[120];
    option_form(option, form, sizeof(form));
    fprintf(stream, "%s: %s", path, form);
    if (option->item != NULL) {
        option_form(option->item, item, sizeof(item));
        fprintf(stream, ", each %s", item);
    }
    if (option->required)
        fprintf(stream, "; required");
    if (option->initial != NULL)
        fprintf(stream, "; default %s", option->initial);
    fprintf(stream, "\n    %s\n", option->help);
}

void option_print(const struct conf_option *options, const char *prefix, FILE *stream)
{
    char path[256];
    for (const struct conf_option *option = options; option->type != OPTION_END; option++) {
        if (option->type == OPTION_INCLUDE) {
            if (option->same_as != NULL)
                fprintf(stream, "%s…: the keys of %s as well\n", prefix, option->same_as);
            else
                option_print(option->options, prefix, stream);
            continue;
        }
        snprintf(path, sizeof(path), "%s%s", prefix, option->key);
        print_row(option, path, stream);
        if (option->options == NULL)
            continue;
        const char *below = option->below != NULL ? option->below : option->type == OPTION_LIST ? "[]" : "";
        snprintf(path, sizeof(path), "%s%s%s.", prefix, option->key, below);
        if (option->same_as != NULL)
            fprintf(stream, "%s…: the keys of %s\n", path, option->same_as);
        else
            option_print(option->options, path, stream);
    }
}
