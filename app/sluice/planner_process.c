#include "planner_process.h"

#include <stdio.h>

#define NEWS_MAX 16 /* a turn */

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
        fputs(news->text, stderr);
        return false;
    case STARTER_STARTED:
        snprintf(text, sizeof(text), "sluice-planner was started as process %d", (int)news->process);
        set_news(planner, node_name, text, "");
        return true;
    case STARTER_ENDED:
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

const char *planner_process_turn(struct planner_process *planner, struct starter *starter, bool needed,
                                 const char *node_name, uint64_t now_ns)
{
    static struct starter_news news;
    bool told = false;
    for (int taken = 0; taken < NEWS_MAX && starter_take(starter, &news); taken++)
        told |= take(planner, &news, node_name, now_ns);
    if (needed && !planner->under_way && retry_due(&planner->retry, now_ns)) {
        planner->under_way = true;
        retry_started(&planner->retry, now_ns);
        starter_ask(starter);
    }
    return told ? planner->news : NULL;
}
