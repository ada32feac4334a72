#include "planner_process.h"

#include <stdio.h>

#include "app/log.h"

#define NEWS_MAX 16 /* a turn */

/* More of what it says, or NULL. */
static void take_said(struct planner_process *planner, const char *text, uint64_t now_ns)
{
    char line[SAID_LINE_BYTES];
    while (said_next(&planner->said, &text, now_ns, line))
        fprintf(stderr, "%s\n", line);
}

static void end_said(struct planner_process *planner, uint64_t now_ns)
{
    char line[SAID_LINE_BYTES];
    while (said_end(&planner->said, now_ns, line))
        fprintf(stderr, "%s\n", line);
}

/* The news' own text, and what comes of it. */
static void set_news(struct planner_process *planner, const char *node_name, const char *what,
                     const char *consequence)
{
    snprintf(planner->news, sizeof(planner->news), "%.90s%s", what, consequence);
    fprintf(stderr, "%s: %s\n", node_name, planner->news);
}

/* True: jobs are to be told. */
static bool take(struct planner_process *planner, const struct starter_news *news, const char *node_name,
                 uint64_t now_ns)
{
    char text[64];
    switch (news->kind) {
    case STARTER_SAID:
        take_said(planner, news->text, now_ns);
        return false;
    case STARTER_STARTED:
        snprintf(text, sizeof(text), "sluice-planner was started as process %d", (int)news->process);
        set_news(planner, node_name, text, "");
        return true;
    case STARTER_ENDED:
        end_said(planner, now_ns);
        planner->under_way = false;
        snprintf(text, sizeof(text), ", tried again after %u s",
                 (unsigned)(retry_ended(&planner->retry, now_ns) / NS_PER_S));
        set_news(planner, node_name, news->text, text);
        return true;
    case STARTER_GONE:
        planner->under_way = true; /* nobody is left to be asked */
        set_news(planner, node_name, news->text, ": start a planner, or this appliance again");
        return true;
    }
    return false;
}

/* One that does not attach although it is there is ended: another one takes its place as if it had ended by itself. */
static void look_absent(struct planner_process *planner, const struct starter *starter,
                        enum planner_need need, const char *node_name, uint64_t now_ns)
{
    if (!planner->under_way || need == PLANNER_NONE_MISSED)
        planner->absent_ns = now_ns;
    if (need != PLANNER_NEEDED || elapsed_ns(now_ns, planner->absent_ns) < PLANNER_ABSENT_NS ||
        starter->socket < 0)
        return;
    fprintf(stderr, LOG_WARNING "%s: sluice-planner has not attached for %u s: it is killed\n", node_name,
            (unsigned)(PLANNER_ABSENT_NS / NS_PER_S));
    planner->absent_ns = now_ns;
    starter_kill(starter);
}

const char *planner_process_turn(struct planner_process *planner, struct starter *starter,
                                 enum planner_need need, const char *node_name, uint64_t now_ns)
{
    static struct starter_news news;
    bool told = false;
    take_said(planner, NULL, now_ns);
    for (int taken = 0; taken < NEWS_MAX && starter_take(starter, &news); taken++)
        told |= take(planner, &news, node_name, now_ns);
    look_absent(planner, starter, need, node_name, now_ns);
    if (need == PLANNER_NEEDED && !planner->under_way && retry_due(&planner->retry, now_ns)) {
        planner->under_way = true;
        retry_started(&planner->retry, now_ns);
        starter_ask(starter);
    }
    return told ? planner->news : NULL;
}
