#include "app/sim/recall.h"

#include <stdio.h>
#include <stdlib.h>

#include "base/check.h"
#include "base/units.h"
#include "planner/history/history.h"
#include "sim/scenario.h"

/* A run begins long after the calendar does, so that nothing is older than that. */
#define BEGIN_MS UINT64_C(1000000000000)

static struct history *histories[SCENARIO_NODES_MAX];

static struct history_time at(uint64_t now_ns)
{
    return (struct history_time){.steady_ms = now_ns / NS_PER_MS,
                                 .calendar_ms = BEGIN_MS + now_ns / NS_PER_MS};
}

static void say(const char *text)
{
    fprintf(stderr, "sluice-sim: %s\n", text);
}

void recall_learn(uint16_t host, const struct ctl_estimate *estimate, uint64_t now_ns)
{
    const struct history_options options = {.rows = HISTORY_ROWS, .days = HISTORY_DAYS, .say = say};
    if (histories[host] == NULL) {
        histories[host] = malloc(sizeof(struct history));
        CHECK(histories[host] != NULL);
        history_open(histories[host], &options, at(now_ns));
    }
    history_take(histories[host], estimate, at(now_ns));
}

void recall_complete(uint16_t host, struct plan_request *request, uint64_t now_ns)
{
    if (histories[host] != NULL)
        history_complete(histories[host], request, at(now_ns));
}

void recall_end(void)
{
    for (uint16_t host = 0; host < SCENARIO_NODES_MAX; host++) {
        if (histories[host] != NULL)
            history_close(histories[host]);
        free(histories[host]);
        histories[host] = NULL;
    }
}
