#include "app/ctl/send.h"

#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/check.h"
#include "base/name.h"

/* Keys of job files that are options of send. */
static const char *const keys[] = {"as", "directory", "rate", "priority"};
#define KEYS (sizeof(keys) / sizeof(keys[0]))

/* What YAML takes for a line break or no character: U+0080 to U+009F, U+2028, U+2029. Returns its bytes; 0: it is none. */
static unsigned put_escaped(FILE *out, const char *text)
{
    const unsigned char *byte = (const unsigned char *)text;
    bool control = byte[0] == 0xc2 && byte[1] >= 0x80 && byte[1] < 0xa0;
    bool separator = byte[0] == 0xe2 && byte[1] == 0x80 && (byte[2] == 0xa8 || byte[2] == 0xa9);
    if (control)
        fprintf(out, "\\x%02x", byte[1]);
    else if (separator)
        fprintf(out, "\\%c", byte[2] == 0xa8 ? 'L' : 'P');
    return control ? 2 : separator ? 3 : 0;
}

/* As a YAML scalar of any text that job files can hold. */
static void put_quoted(FILE *out, const char *text)
{
    fputc('"', out);
    for (; *text != '\0'; text++) {
        unsigned char byte = (unsigned char)*text;
        unsigned escaped = put_escaped(out, text);
        if (escaped > 0)
            text += escaped - 1;
        else if (byte < ' ' || byte == 0x7f)
            fprintf(out, "\\x%02x", byte);
        else
            fprintf(out, "%s%c", byte == '"' || byte == '\\' ? "\\" : "", byte);
    }
    fputc('"', out);
}

/* What of the file's own name can stand in a name. */
static void name_of_file(const char *path, char name[NAME_BYTES])
{
    const char *slash = strrchr(path, '/');
    size_t length = 0;
    for (const char *at = slash != NULL ? slash + 1 : path; *at != '\0' && length < NAME_BYTES - 1; at++) {
        char behind[3] = {'x', *at, '\0'}; /* some may not stand first */
        name[length++] = name_valid(behind) ? *at : '_';
    }
    name[length] = '\0';
    if (!name_valid(name))
        snprintf(name, NAME_BYTES, "file");
    if (name_is_number(name)) { /* as which the node takes it for an id */
        memmove(name + 1, name, NAME_BYTES - 1);
        name[0] = '_';
        name[NAME_BYTES - 1] = '\0';
    }
}

static int key_of(const char *word)
{
    for (unsigned key = 0; key < KEYS; key++)
        if (strncmp(word, "--", 2) == 0 && strcmp(word + 2, keys[key]) == 0)
            return (int)key;
    return -1;
}

/* The path as it was given, from the root on, so that a link keeps its name; one that ends in no name is resolved. */
static void find_absolute(const char *path, char absolute[2 * PATH_MAX])
{
    char here[PATH_MAX];
    const char *slash = strrchr(path, '/'), *last = slash != NULL ? slash + 1 : path;
    bool named = last[0] != '\0' && strcmp(last, ".") != 0 && strcmp(last, "..") != 0;
    if (!named && realpath(path, absolute) != NULL)
        return;
    bool relative = path[0] != '/' && getcwd(here, sizeof(here)) != NULL;
    snprintf(absolute, 2 * PATH_MAX, "%s%s%s", relative ? here : "", relative ? "/" : "", path);
}

static void put_file(FILE *out, const char *path)
{
    char absolute[2 * PATH_MAX], name[NAME_BYTES];
    find_absolute(path, absolute);
    name_of_file(absolute, name);
    fprintf(out, "name: \"%s\"\nfile: ", name);
    put_quoted(out, absolute);
}

static void put_sites(FILE *out, int count, char **sites)
{
    bool all = count == 1 && strcmp(sites[0], "all") == 0;
    fprintf(out, "\nto: %s", all ? "all" : "[");
    for (int index = 0; index < count && !all; index++) {
        fputs(index > 0 ? ", " : "", out);
        put_quoted(out, sites[index]);
    }
    fputs(all ? "\n" : "]\n", out);
}

/* Writes the options and leaves the other words, of which there are *plain, in front. NULL: good; else what is wrong. */
static const char *put_options(FILE *out, int count, char **words, int *plain, const char **word)
{
    *plain = 0;
    for (int index = 0; index < count; index++) {
        int key = key_of(words[index]);
        *word = words[index];
        if (key < 0 && strncmp(words[index], "--", 2) == 0)
            return "unknown option of send";
        if (key >= 0 && index + 1 == count)
            return "a value is missing behind";
        if (key < 0) {
            words[(*plain)++] = words[index];
            continue;
        }
        fprintf(out, "%s: ", keys[key]);
        put_quoted(out, words[++index]);
        fputc('\n', out);
    }
    *word = NULL;
    return *plain < 2 ? "send FILE SITE… expected" : NULL;
}

char *send_job_text(int count, char **words, const char **wrong, const char **word)
{
    char *text;
    size_t length;
    int plain;
    FILE *out = open_memstream(&text, &length);
    CHECK(out != NULL);
    *wrong = put_options(out, count, words, &plain, word);
    if (*wrong == NULL) {
        put_file(out, words[0]);
        put_sites(out, plain - 1, words + 1);
    }
    CHECK(fclose(out) == 0);
    if (*wrong == NULL)
        return text;
    free(text);
    return NULL;
}
