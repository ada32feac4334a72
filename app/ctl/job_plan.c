#include "app/ctl/job_plan.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "app/ctl/job_view.h"
#include "base/units.h"
#include "ctl/command.h"

#define POLL_NS (100 * NS_PER_MS)

static json_t *show_request(enum ctl_show what, const char *name, bool json)
{
    return json_pack("{s:s, s:s, s:b, s:s}", "command", command_rows[COMMAND_SHOW].words, "what",
                     ctl_show_name(what), "json", json, "job", name);
}

/* Until the job has ended one way or the other. */
static int await_plan(struct client *client, const char *name)
{
    static struct job_view view;
    for (;;) {
        char *text = NULL;
        int result = client_ask(client, show_request(CTL_SHOW_jobs, name, true), &text);
        bool found = result == EXIT_OK && job_view_parse(&view, text, name) == VIEW_FOUND;
        free(text);
        if (result != EXIT_OK)
            return result;
        if (!found) {
            fprintf(stderr, "sluicectl: the appliance no longer knows the job %s\n", name);
            return EXIT_JOB_FAILED;
        }
        if (job_view_over(&view))
            break;
        struct timespec pause = {.tv_nsec = (long)POLL_NS};
        nanosleep(&pause, NULL);
    }
    if (job_view_is(&view, JOB_DONE))
        return EXIT_OK;
    fprintf(stderr, "sluicectl: job %s: %s: %s\n", name, view.state, view.text);
    return EXIT_JOB_FAILED;
}

int job_plan_print(struct client *client, json_t *request, const char *name, enum ctl_show what, bool json)
{
    char *text = NULL;
    client_be_patient(client, NULL);
    int result = client_ask(client, request, &text);
    free(text);
    if (result == EXIT_OK)
        result = await_plan(client, name);
    if (result != EXIT_OK)
        return result;
    text = NULL;
    result = client_ask(client, show_request(what, name, json), &text);
    if (result == EXIT_OK)
        printf("%s%s", text, text[0] != '\0' && text[strlen(text) - 1] != '\n' ? "\n" : "");
    free(text);
    return result;
}
