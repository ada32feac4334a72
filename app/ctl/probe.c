#include "app/ctl/probe.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/name.h"
#include "base/units.h"
#include "ctl/command.h"
#include "ctl/ctl.h"
#include "probe/estimate.h"

#define POLL_NS (100 * NS_PER_MS)

json_t *probe_ask_all(struct client *client, int *result)
{
    json_t *request = json_pack("{s:s, s:s, s:b}", "command", command_rows[COMMAND_SHOW].words, "what",
                                ctl_show_name(CTL_SHOW_probes), "json", true);
    char *text = NULL;
    *result = client_ask(client, request, &text);
    if (*result != EXIT_OK)
        return NULL;
    json_t *all = json_loads(text, 0, NULL);
    free(text);
    if (all == NULL)
        *result = EXIT_UNREACHABLE;
    return all;
}

static const char *word(const json_t *row, const char *key)
{
    const char *value = json_string_value(json_object_get(row, key));
    return value != NULL ? value : "";
}

static bool is(const json_t *row, const char *key, const char *value)
{
    return strcmp(word(row, key), value) == 0;
}

/* The path's row, to be released. NULL with an exit status. */
static json_t *ask_row(struct client *client, const char *peer, const char *to, int *result)
{
    json_t *all = probe_ask_all(client, result), *found = NULL, *row;
    bool line = strcmp(peer, to) == 0, own = !line && (to[0] == '\0' || is(all, "node", peer));
    const char *end = line ? CTL_LINE : to[0] == '\0' ? peer : to;
    size_t index;
    if (all == NULL)
        return NULL;
    json_array_foreach(json_object_get(all, own ? "probes" : "pairs"), index, row)
    {
        if (is(row, "to", end) && (own || is(row, "from", peer)))
            found = json_incref(row);
    }
    json_decref(all);
    *result = found != NULL ? EXIT_OK : EXIT_JOB_FAILED;
    if (found == NULL)
        complain("the appliance tells nothing of the path to %s", end);
    return found;
}

static double gbps(const json_t *row, const char *key)
{
    return (double)json_integer_value(json_object_get(row, key)) / 1e9;
}

static bool says(const json_t *row, const char *key)
{
    return is(row, key, "value") || is(row, key, "at-least");
}

/* Of a path that another node measures the newest may have come to nothing while older ones are known. */
bool probe_row_is_known(const json_t *row)
{
    return says(row, json_object_get(row, "newest") != NULL ? "newest" : "kind");
}

static const char *why_of(const json_t *row)
{
    const char *why = word(row, "why");
    return why[0] != '\0' ? why : word(row, "reason");
}

const char *probe_row_help(const json_t *row)
{
    return probe_row_is_known(row) ? "" : estimate_reason_help(why_of(row));
}

static void print_rate(const json_t *row, const char *name)
{
    if (is(row, "kind", "value"))
        printf("%s: %.3f Gbit/s available, %.3f to %.3f", name, gbps(row, "avail_bps"), gbps(row, "low_bps"),
               gbps(row, "high_bps"));
    else
        printf("%s: at least %.3f Gbit/s available", name, gbps(row, "avail_bps"));
}

void probe_print_row(const json_t *row, const char *name, bool older_too)
{
    bool newest = probe_row_is_known(row), rate = newest || (older_too && says(row, "kind"));
    if (rate)
        print_rate(row, name);
    else
        printf("%s: %s: %s", name, is(row, "kind", "none") ? "none" : "refused", why_of(row));
    if (json_integer_value(json_object_get(row, "capacity_bps")) != 0)
        printf(", of %.3f", gbps(row, "capacity_bps"));
    long long discarded = (long long)json_integer_value(json_object_get(row, "discarded"));
    printf(" (on the wire; %lld trains, ", (long long)json_integer_value(json_object_get(row, "trains")));
    if (discarded > 0)
        printf("%lld discarded, ", discarded);
    printf("%.3f MB, stamps: %s%s%s)", (double)json_integer_value(json_object_get(row, "bytes")) / 1e6,
           word(row, "stamps"), word(row, "flags")[0] != '\0' ? "; " : "", word(row, "flags"));
    if (rate && !newest)
        printf("; the newest: %s", why_of(row));
    putchar('\n');
}

static int write_file(const char *path, const char *text)
{
    FILE *stream = fopen(path, "w");
    bool whole = stream != NULL && fputs(text, stream) >= 0;
    int error = errno;
    if (stream != NULL && fclose(stream) != 0 && whole) {
        error = errno;
        whole = false;
    }
    if (whole)
        return EXIT_OK;
    complain("the picture can't be written: %s: %s", path, strerror(error));
    return EXIT_USAGE;
}

static int write_plot(struct client *client, const char *peer, const char *path)
{
    char *text = NULL;
    json_t *request =
        json_pack("{s:s, s:s}", "command", command_rows[COMMAND_SHOW_TRAIN].words, "peer", peer);
    int result = client_ask(client, request, &text);
    if (result == EXIT_OK)
        result = write_file(path, text);
    free(text);
    return result;
}

int probe_and_print(struct client *client, json_t *request, const char *peer, const char *to, bool json,
                    const char *plot)
{
    char *text = NULL, name[2 * NAME_BYTES + 4];
    client_be_patient(client, NULL);
    int result = client_ask(client, request, &text);
    json_t *row = NULL;
    free(text);
    while (result == EXIT_OK) {
        json_decref(row);
        row = ask_row(client, peer, to, &result);
        if (row == NULL || !json_is_true(json_object_get(row, "measuring")))
            break;
        struct timespec pause = {.tv_nsec = (long)POLL_NS};
        nanosleep(&pause, NULL);
    }
    if (row == NULL)
        return result;
    snprintf(name, sizeof(name), "%s%s%s", peer, to[0] != '\0' ? " > " : "", to);
    if (json) {
        answer_json(row);
    } else {
        const char *help = probe_row_help(row);
        probe_print_row(row, name, false);
        if (help[0] != '\0')
            printf("  %s: %s\n", why_of(row), help);
    }
    bool known = probe_row_is_known(row);
    json_decref(row);
    result = plot != NULL ? write_plot(client, peer, plot) : EXIT_OK;
    return known || result != EXIT_OK ? result : EXIT_JOB_FAILED;
}
