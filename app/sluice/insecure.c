#include "insecure.h"

#include <stdio.h>
#include <string.h>

#include "app/log.h"
#include "base/units.h"

#define REMIND_NS (60 * NS_PER_S)
#define WORDS     "packets are neither authenticated nor encrypted (node.insecure: benchmark)"

bool insecure_remind(const char *name, uint64_t *due_ns, uint64_t now_ns)
{
    if (now_ns < *due_ns)
        return false;
    *due_ns = now_ns + REMIND_NS;
    fprintf(stderr, LOG_WARNING "%s: %s\n", name, WORDS);
    return true;
}

bool insecure_mark(enum report_form form, char *text, size_t room)
{
    static const char line[] = "insecure: " WORDS "\n", value[] = "\"insecure\":\"benchmark\"";
    bool json = form == REPORT_JSON;
    size_t length = strlen(text) + 1, at = json ? 1 : 0; /* behind the brace */
    bool alone = json && text[1] == '}';
    size_t added = json ? sizeof(value) - alone : sizeof(line) - 1; /* with a comma, unless it is alone */
    if (length < at + 1 || length + added > room)
        return false;
    memmove(text + at + added, text + at, length - at);
    memcpy(text + at, json ? value : line, added);
    if (json && !alone)
        text[at + added - 1] = ',';
    return true;
}
