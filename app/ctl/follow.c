#include "app/ctl/follow.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <time.h>
#include <unistd.h>

#include "base/units.h"
#include "ctl/command.h"
#include "ctl/ctl.h"
#include "app/ctl/progress.h"

#define POLL_NS (200 * NS_PER_MS)
/* Of a site, to a log: a line when it has come so much further, or so long after the last one. */
#define PLAIN_PERCENT  5
#define PLAIN_EVERY_NS (10 * NS_PER_S)
#define COLUMNS_USUAL  80

struct follow {
    const char *name, *asked; /* of the job in messages, and in requests */
    bool json;
    bool terminal;  /* bars, redrawn in place */
    unsigned drawn; /* lines on the screen that the next drawing goes over */
    bool seen;      /* `last` holds the drawing before */
    struct {
        uint64_t at_ns;
        unsigned percent;
    } printed[VIEW_SITES_MAX]; /* plain: the last line of each site; at_ns 0: none yet */
    struct job_view job, last;
    struct progress_rate rates[VIEW_SITES_MAX];
};

static volatile sig_atomic_t interrupted;

static void on_interrupt(int signal_number)
{
    (void)signal_number;
    interrupted = 1;
}

/* ---- drawing ---- */

static void terminal_size(unsigned *columns, unsigned *rows)
{
    struct winsize size;
    bool known = ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0;
    *columns = known ? size.ws_col : COLUMNS_USUAL;
    *rows = known && size.ws_row > 0 ? size.ws_row : 24;
}

/* Lines never reach the last column, where some terminals wrap. */
static void draw_bars(struct follow *follow)
{
    char line[PROGRESS_LINE];
    unsigned columns, rows;
    terminal_size(&columns, &rows);
    columns = MIN(columns - 1, (unsigned)sizeof(line) - 1);
    unsigned shown = MIN(follow->job.site_count, rows > 3 ? rows - 3 : 0);
    unsigned width = progress_name_width(&follow->job);
    if (follow->drawn > 0)
        printf("\033[%uA", follow->drawn);
    progress_job_line(&follow->job, line, sizeof(line));
    printf("\r\033[J%.*s\n", (int)columns, line);
    for (unsigned site = 0; site < shown; site++) {
        progress_bar_line(&follow->job.sites[site], follow->job.size_bytes, follow->rates[site].bps, width,
                          columns, line, sizeof(line));
        printf("%s\n", line);
    }
    follow->drawn = shown + 1;
    if (shown < follow->job.site_count) {
        printf("and %u more\n", follow->job.site_count - shown);
        follow->drawn++;
    }
}

static const struct site_view *find_site(const struct job_view *job, const char *name)
{
    for (unsigned site = 0; site < job->site_count; site++)
        if (strcmp(job->sites[site].name, name) == 0)
            return &job->sites[site];
    return NULL;
}

static bool is_due(const struct follow *follow, unsigned site)
{
    const struct job_view *job = &follow->job;
    unsigned percent = progress_percent(&job->sites[site], job->size_bytes);
    return follow->printed[site].at_ns == 0 || percent >= follow->printed[site].percent + PLAIN_PERCENT ||
           elapsed_ns(job->now_ns, follow->printed[site].at_ns) >= PLAIN_EVERY_NS;
}

/* State changes at once, numbers now and then. */
static void print_plain(struct follow *follow)
{
    char line[PROGRESS_LINE];
    const struct job_view *job = &follow->job;
    if (!follow->seen || strcmp(job->state, follow->last.state) != 0) {
        progress_job_line(job, line, sizeof(line));
        printf("%s\n", line);
    }
    for (unsigned site = 0; site < job->site_count; site++) {
        const struct site_view *now = &job->sites[site];
        const struct site_view *before = follow->seen ? find_site(&follow->last, now->name) : NULL;
        bool state = before != NULL && strcmp(before->state, now->state) != 0;
        bool moving = job->running_ns > 0 && site_view_going(now) && is_due(follow, site);
        if (!state && !moving)
            continue;
        progress_plain_line(job, now, follow->rates[site].bps, line, sizeof(line));
        printf("%s\n", line);
        follow->printed[site].at_ns = job->now_ns;
        follow->printed[site].percent = progress_percent(now, job->size_bytes);
    }
}

static void show_progress(struct follow *follow)
{
    for (unsigned site = 0; site < follow->job.site_count; site++)
        progress_rate_update(&follow->rates[site], follow->job.sites[site].received_bytes,
                             follow->job.now_ns);
    if (follow->json)
        return;
    if (follow->terminal)
        draw_bars(follow);
    else
        print_plain(follow);
    fflush(stdout);
    follow->last = follow->job;
    follow->seen = true;
}

/* ---- the end ---- */

static int exit_status(const struct job_view *job)
{
    if (job_view_good(job))
        return EXIT_OK;
    return job_view_incomplete(job) ? EXIT_INCOMPLETE : EXIT_JOB_FAILED;
}

static int finish(const struct follow *follow)
{
    char line[PROGRESS_LINE + VIEW_TEXT];
    const struct job_view *job = &follow->job;
    unsigned width = progress_name_width(job);
    bool good = job_view_good(job);
    if (follow->json)
        return exit_status(job);
    if (job->tree[0] != '\0')
        printf("\n%s%s", job->tree, job->tree[strlen(job->tree) - 1] == '\n' ? "" : "\n");
    printf("\n");
    for (unsigned site = 0; site < job->site_count; site++) {
        progress_result_line(job, &job->sites[site], width, line, sizeof(line));
        printf("%s\n", line);
    }
    fflush(stdout);
    if (job->note[0] != '\0')
        complain("job %s: %s", job->name, job->note);
    if (!good)
        complain("job %s: %s%s%s", job->name,
                 job_view_is(job, JOB_DONE) ? "not every site has everything" : job->state,
                 job->text[0] != '\0' ? ": " : "", job->text);
    return exit_status(job);
}

static void say_how_to_go_on(const struct client *client, const char *name)
{
    fprintf(stderr,
            "  follow it again:  sluicectl -s %s job watch %s\n"
            "  cancel it:        sluicectl -s %s job cancel %s\n",
            client->path, name, client->path, name);
}

static int detach(const struct client *client, const char *name)
{
    fputc('\n', stderr);
    complain("detached; the job goes on");
    say_how_to_go_on(client, name);
    return EXIT_DETACHED;
}

/* The stream ends where this program does: without this the job would fail, which is told as an error. */
static int cancel(struct client *client, const char *name)
{
    char *text = NULL;
    client->stop = NULL;
    int result = client_ask(
        client, json_pack("{s:s, s:s}", "command", command_rows[COMMAND_JOB_CANCEL].words, "name", name),
        &text);
    if (result == EXIT_OK)
        complain("cancelled: the input of job %s ends with sluicectl", name);
    free(text);
    return EXIT_DETACHED;
}

/* The same while a reply is still to come on this connection. */
static int cancel_anew(struct client *client, const char *name)
{
    client_close(client);
    return client_open(client, client->path) == EXIT_OK ? cancel(client, name) : EXIT_DETACHED;
}

/* ---- polling ---- */

static int poll_job(struct client *client, struct follow *follow, bool fresh)
{
    char *text = NULL;
    json_t *request = json_pack("{s:s, s:s, s:b, s:s}", "command", command_rows[COMMAND_SHOW].words, "what",
                                ctl_show_name(CTL_SHOW_jobs), "json", 1, "job", follow->asked);
    int result = client_ask(client, request, &text);
    if (result != EXIT_OK)
        return result;
    switch (job_view_parse(&follow->job, text, follow->asked)) {
    case VIEW_FOUND:
        break;
    case VIEW_NO_SUCH_JOB:
        complain(fresh ? "the appliance no longer knows the job %s"
                       : "there is no job %s of which this appliance is the source",
                 follow->name);
        result = fresh ? EXIT_JOB_FAILED : EXIT_REFUSED;
        break;
    case VIEW_MALFORMED:
        complain("%s: the reply is no list of jobs", client->path);
        result = EXIT_UNREACHABLE;
        break;
    }
    if (result == EXIT_OK && follow->json && job_view_over(&follow->job))
        answer_text(text);
    free(text);
    return result;
}

int follow_job(struct client *client, const char *name, const char *asked, bool fresh, bool feeds, bool json)
{
    static struct follow follow;
    const char *kind = getenv("TERM");
    bool terminal = isatty(STDOUT_FILENO) && kind != NULL && strcmp(kind, "dumb") != 0;
    follow = (struct follow){.name = name, .asked = asked, .json = json, .terminal = terminal};
    struct sigaction action = {.sa_handler = on_interrupt};
    sigaction(SIGINT, &action, NULL);
    client_be_patient(client, &interrupted);
    for (;;) {
        int result = poll_job(client, &follow, fresh);
        if (result == EXIT_DETACHED)
            return feeds ? cancel_anew(client, name) : detach(client, name);
        if (result == EXIT_UNREACHABLE && !feeds) {
            fprintf(stderr, "The job may go on.\n");
            say_how_to_go_on(client, name);
        }
        if (result != EXIT_OK)
            return result;
        fresh = true;
        show_progress(&follow);
        if (job_view_over(&follow.job))
            return finish(&follow);
        struct timespec pause = {.tv_nsec = (long)POLL_NS};
        if (!interrupted)
            nanosleep(&pause, NULL);
        if (interrupted)
            return feeds ? cancel(client, name) : detach(client, name);
    }
}
