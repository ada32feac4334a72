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
static int await_plan(struct client *client, const char *name, const char *asked)
{
    static struct job_view view;
    for (;;) {
        char *text = NULL;
        int result = client_ask(client, show_request(CTL_SHOW_jobs, asked, true), &text);
        bool found = result == EXIT_OK && job_view_parse(&view, text, asked) == VIEW_FOUND;
        free(text);
        if (result != EXIT_OK)
            return result;
        if (!found) {
            complain("the appliance no longer knows the job %s", name);
            return EXIT_JOB_FAILED;
        }
        if (job_view_over(&view))
            break;
        struct timespec pause = {.tv_nsec = (long)POLL_NS};
        nanosleep(&pause, NULL);
    }
    if (job_view_is(&view, JOB_DONE))
        return EXIT_OK;
    complain("job %s: %s: %s", name, job_view_is(&view, JOB_FAILED) ? "planning failed" : view.state,
             view.text);
    return EXIT_JOB_FAILED;
}

int job_plan_print(struct client *client, json_t *request, const char *name, enum ctl_show what, bool json)
{
    struct client_job job;
    char *text = NULL;
    client_be_patient(client, NULL);
    int result = client_ask_job(client, request, name, &job);
    if (result == EXIT_OK)
        result = await_plan(client, name, job.asked);
    if (result != EXIT_OK)
        return result;
    result = client_ask(client, show_request(what, job.asked, json), &text);
    if (result == EXIT_OK)
        answer_text(text);
    free(text);
    return result;
}
