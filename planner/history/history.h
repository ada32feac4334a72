/* The planner's memory of edges: takes estimates as nodes tell them, fills in what a request lacks, shows an edge's past.
 *
 * A history that can't be opened, is damaged, locked or out of space stops nobody: the planner goes on without, `say` is told
 * once why and once that it is over, and the file is tried again every HISTORY_RETRY_MS.
 *
 * The calendar may be wrong, and jump. Order, retention and drift go by the file's own time (store.h); what an earlier run has kept
 * is taken for as old as that or the calendar says, and for too old where its date is of the future. */
#pragma once

#include "base/report.h"
#include "plan/plan.h"
#include "planner/history/store.h"

#define HISTORY_RETRY_MS     10000
#define HISTORY_FORGET_MS    3600000u /* between looks for what is too old */
#define HISTORY_ROWS         2000     /* of an edge */
#define HISTORY_DAYS         30
#define HISTORY_THIN_MS      86400000u /* what is older than a day is kept … */
#define HISTORY_THIN_EACH_MS 600000u   /* … once in ten minutes */
#define HISTORY_PLAN_MS      86400000u /* no plan counts on what is older */
#define HISTORY_SHOW_ROWS    100

/* Given by the caller. */
struct history_time {
    uint64_t steady_ms;   /* since whenever: never steps, and goes on while the machine sleeps */
    uint64_t calendar_ms; /* since 1970, as well as the machine knows */
};

struct history_options {
    const char *path; /* NULL: in memory */
    unsigned rows, days;
    void (*say)(const char *text); /* a line without its end */
};

struct history {
    struct history_options options;
    struct store *store;        /* NULL: without, for now */
    struct history_time opened; /* when it was */
    bool failing;               /* `say` was told */
    uint64_t retry_ms;          /* steady time of the next try to open it */
    uint64_t forget_ms;         /* and of the next look for what is too old */
    uint64_t lost;              /* estimates since it fails */
};

void history_open(struct history *history, const struct history_options *options, struct history_time now);
void history_close(struct history *history);
/* The newest word on an edge. */
void history_take(struct history *history, const struct ctl_estimate *estimate, struct history_time now);
/* Into paths of the request of which nothing is told (age.h): the newest rate known of the edge, with the interval that its
 * age leaves by the edge's own model. What the request has measured itself, and is newer, gives way to the model's
 * interval only. */
void history_complete(struct history *history, struct plan_request *request, struct history_time now);
/* What is known of the edge, newest first, and its model. False: nothing is, and text says so. */
bool history_show(struct history *history, const char *from, const char *to, enum report_form form,
                  struct history_time now, char *text, size_t room);
