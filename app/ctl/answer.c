#include "app/ctl/answer.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#define COMPLAINT_BYTES 16384 /* all errors of a job file */

static bool as_json, answered;
static char complaints[COMPLAINT_BYTES];

void answer_as_json(bool json)
{
    as_json = json;
}

void answer_text(const char *text)
{
    size_t length = strlen(text);
    printf("%s%s", text, length > 0 && text[length - 1] != '\n' ? "\n" : "");
    answered = true;
}

void answer_json(const json_t *document)
{
    json_dumpf(document, stdout, JSON_COMPACT);
    putchar('\n');
    answered = true;
}

void answer_keep(const char *complaint)
{
    size_t before = strlen(complaints);
    snprintf(complaints + before, sizeof(complaints) - before, "%s%s", before > 0 ? "\n" : "", complaint);
}

void complain(const char *format, ...)
{
    char text[COMPLAINT_BYTES];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(text, sizeof(text), format, arguments);
    va_end(arguments);
    size_t length = strlen(text);
    if (length > 0 && text[length - 1] == '\n')
        text[length - 1] = '\0';
    fprintf(stderr, "sluicectl: %s\n", text);
    answer_keep(text);
}

int answer_end(int status)
{
    if (!as_json || answered || status == EXIT_OK)
        return status;
    json_t *document = json_pack("{s:b, s:s}", "ok", 0, "error", complaints);
    if (document != NULL)
        answer_json(document);
    else
        printf("{\"ok\":false,\"error\":\"\"}\n"); /* the words are no UTF-8 */
    json_decref(document);
    return status;
}
