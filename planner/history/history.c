#include "planner/history/history.h"

#include <stdio.h>
#include <string.h>

#include "base/units.h"
#include "planner/age.h"
#include "planner/history/model.h"

#define DAY_MS         UINT64_C(86400000)
#define SQRT_OF_MINUTE 7.745967 /* seconds^(1/2): a random walk's deviation over 60 s */

/* ---- what fails ---- */

static const char *name_of(const struct history *history)
{
    return history->options.path == NULL ? "in memory" : history->options.path;
}

static void fail(struct history *history, const struct err *why, struct history_time now)
{
    char line[ERR_TEXT_BYTES + 600];
    history->retry_ms = now.steady_ms + HISTORY_RETRY_MS;
    if (history->failing)
        return;
    history->failing = true;
    snprintf(line, sizeof(line), "history %s: %s: plans are made without it for now", name_of(history),
             why->text);
    history->options.say(line);
}

static void recover(struct history *history)
{
    char line[700];
    if (!history->failing)
        return;
    snprintf(line, sizeof(line), "history %s: it is kept again; %llu estimates were lost", name_of(history),
             (unsigned long long)history->lost);
    history->options.say(line);
    history->failing = false;
    history->lost = 0;
}

/* What a call came to; true: it did what it should, or there was nothing. */
static bool judge(struct history *history, enum store_result result, const struct err *err,
                  struct history_time now)
{
    switch (result) {
    case STORE_DONE:
        recover(history);
        return true;
    case STORE_NONE:
        return true;
    case STORE_BROKEN:
        store_close(history->store);
        history->store = NULL;
        break;
    case STORE_FAILED:
        break;
    }
    fail(history, err, now);
    return false;
}

static bool ready(struct history *history, struct history_time now)
{
    struct err err;
    if (history->store != NULL)
        return true;
    if (now.steady_ms < history->retry_ms)
        return false;
    history->store = store_open(history->options.path, now.calendar_ms, &err);
    history->opened = now;
    if (history->store == NULL)
        fail(history, &err, now);
    return history->store != NULL;
}

/* ---- time ---- */

static uint64_t run_ms(const struct history *history, struct history_time now)
{
    return elapsed_ns(now.steady_ms, history->opened.steady_ms);
}

static uint64_t kept_ms(const struct history *history, struct history_time now)
{
    return store_kept_ms(history->store, run_ms(history, now));
}

/* How old a row is. What an earlier run has kept had its age by the calendar when this one began, or has it by now. False: both
 * times its date was of the future, and nobody knows; *age_ms is the least that it can be. */
static bool age_of(const struct history *history, const struct store_row *row, struct history_time now,
                   uint64_t *age_ms)
{
    *age_ms = elapsed_ns(kept_ms(history, now), row->kept_ms);
    if (!store_is_earlier(history->store, row))
        return true;
    bool then = row->at_ms <= history->opened.calendar_ms;
    uint64_t until_ms = then ? history->opened.calendar_ms + run_ms(history, now) : now.calendar_ms;
    *age_ms = MAX(*age_ms, elapsed_ns(until_ms, row->at_ms));
    return row->at_ms <= until_ms;
}

/* ---- open, close, take ---- */

void history_open(struct history *history, const struct history_options *options, struct history_time now)
{
    *history = (struct history){.options = *options};
    ready(history, now);
}

void history_close(struct history *history)
{
    if (history->store != NULL)
        store_close(history->store);
    history->store = NULL;
}

static void trim(struct history *history, const struct ctl_estimate *estimate, struct history_time now)
{
    struct err err;
    const struct store_limits limits = {
        .rows = history->options.rows, .thin_ms = HISTORY_THIN_MS, .thin_each_ms = HISTORY_THIN_EACH_MS};
    enum store_result result =
        store_trim(history->store, estimate->from, estimate->to, &limits, kept_ms(history, now), &err);
    if (!judge(history, result, &err, now) || now.steady_ms < history->forget_ms)
        return;
    history->forget_ms = now.steady_ms + HISTORY_FORGET_MS;
    result =
        store_forget(history->store, elapsed_ns(kept_ms(history, now), history->options.days * DAY_MS), &err);
    judge(history, result, &err, now);
}

void history_take(struct history *history, const struct ctl_estimate *estimate, struct history_time now)
{
    struct err err;
    if (!ready(history, now)) {
        history->lost++;
        return;
    }
    if (judge(history, store_add(history->store, estimate, run_ms(history, now), now.calendar_ms, &err), &err,
              now))
        trim(history, estimate, now);
    else
        history->lost++;
}

/* ---- plans ---- */

static uint32_t kbps_of(double bps)
{
    double kbps = MIN(bps / 1000, (double)UINT32_MAX);
    return (uint32_t)MAX(kbps, 1.0);
}

/* How old the row will be taken for: the request's own value, where it is the newer one, says how old it is. */
static void complete_path(const struct store_row *rows, unsigned count, uint64_t age_ms,
                          struct plan_path *path)
{
    struct model model = model_fit(rows, count);
    struct store_row row = rows[0];
    double age_s = (double)age_ms / 1000, low_bps, high_bps;
    if (path->avb_kbps != 0 && !plan_path_told(path) && path->avb_age_s < age_s) {
        age_s = path->avb_age_s;
        row.estimate.kind = path->avb_high_kbps != 0 ? ESTIMATE_VALUE : ESTIMATE_AT_LEAST;
        row.estimate.avail_bps = path->avb_kbps * UINT64_C(1000);
        row.estimate.low_bps = path->avb_low_kbps * UINT64_C(1000);
        row.estimate.high_bps = path->avb_high_kbps * UINT64_C(1000);
    }
    model_widen(&model, &row, age_s, &low_bps, &high_bps);
    path->avb_kbps = kbps_of((double)row.estimate.avail_bps);
    path->avb_low_kbps = MIN(kbps_of(low_bps), path->avb_kbps);
    path->avb_high_kbps = row.estimate.kind == ESTIMATE_VALUE ? MAX(kbps_of(high_bps), path->avb_kbps) : 0;
    path->avb_age_s = (uint32_t)MIN(age_s, (double)UINT32_MAX);
    path->avb_widened = true;
}

/* Edges of the request that the history has anything of: most plans are made before there is one. */
struct wanted {
    const struct plan_request *request;
    uint64_t known[PLAN_NODES_MAX]; /* [from]: bit `to` */
};
_Static_assert(PLAN_NODES_MAX <= 64, "one bit each");

static uint16_t node_of(const struct plan_request *request, const char *name)
{
    uint16_t node = 0;
    while (node < request->node_count && strcmp(request->nodes[node].name, name) != 0)
        node++;
    return node;
}

static bool want_edge(void *user, const char *from_name, const char *to_name)
{
    struct wanted *wanted = user;
    uint16_t from = node_of(wanted->request, from_name), to = node_of(wanted->request, to_name);
    if (from < wanted->request->node_count && to < wanted->request->node_count)
        wanted->known[from] |= UINT64_C(1) << to;
    return true;
}

/* False: it can't be read for now. */
static bool complete_edge(struct history *history, struct plan_request *request, uint16_t from, uint16_t to,
                          struct history_time now)
{
    struct store_row rows[MODEL_ROWS];
    struct err err;
    uint64_t age_ms;
    unsigned count = MODEL_ROWS;
    struct plan_path *path = &request->paths[from][to];
    bool told = path->avb_kbps != 0 && plan_path_told(path);
    if (told && request->avb_of == PLAN_AVB_ANY)
        return true;
    enum store_result result = store_read(history->store, request->nodes[from].name, request->nodes[to].name,
                                          true, rows, &count, &err);
    if (!judge(history, result, &err, now))
        return false;
    if (count > 0 && age_of(history, &rows[0], now, &age_ms) && age_ms <= HISTORY_PLAN_MS)
        complete_path(rows, count, age_ms, path);
    return true;
}

void history_complete(struct history *history, struct plan_request *request, struct history_time now)
{
    struct wanted wanted = {.request = request};
    struct err err;
    if (request->avb_of == PLAN_AVB_TOLD || request->avb_of == PLAN_AVB_NONE || !ready(history, now) ||
        !judge(history, store_edges(history->store, want_edge, &wanted, &err), &err, now))
        return;
    for (uint16_t from = 0; from < request->node_count; from++)
        for (uint64_t left = wanted.known[from]; left != 0; left &= left - 1)
            if (!complete_edge(history, request, from, (uint16_t)__builtin_ctzll(left), now))
                return;
}

/* ---- what people are shown ---- */

static void report_flags(struct report *report, uint32_t flags)
{
    char text[ESTIMATE_FLAGS_BYTES];
    estimate_flags_text(flags, text);
    report_text(report, "flags", text);
}

static void report_row_of(struct report *report, const struct store_row *row, uint64_t age_ms)
{
    const struct estimate *estimate = &row->estimate;
    report_row(report);
    report_fixed(report, "age_s", age_ms, 3);
    report_text(report, "kind", estimate_kind_word(estimate->kind));
    report_u64(report, "avail_bps", estimate->avail_bps);
    report_u64(report, "low_bps", estimate->low_bps);
    report_u64(report, "high_bps", estimate->high_bps);
    report_u64(report, "capacity_bps", estimate->capacity_bps);
    report_fixed(report, "rtt_ms", row->rtt_ns / NS_PER_US, 3);
    report_u64(report, "loss_ppm", estimate->loss_ppm);
    report_fixed(report, "window_s", estimate->until_ns / NS_PER_MS, 3);
    report_u64(report, "sent_bytes", estimate->bytes);
    report_u64(report, "trains", estimate->trains);
    report_text(report, "reason", estimate_reason_word(estimate->reason));
    report_flags(report, estimate->flags);
    report_row_end(report);
}

static void report_model(struct report *report, const struct model *model, const struct store_row *newest,
                         double age_s)
{
    double low_bps, high_bps;
    model_widen(model, newest, age_s, &low_bps, &high_bps);
    report_object(report, "by_now");
    report_u64(report, "avail_bps", newest->estimate.avail_bps);
    report_u64(report, "low_bps", (uint64_t)low_bps);
    report_u64(report, "high_bps", (uint64_t)high_bps);
    report_u64(report, "drift_a_minute_bps", (uint64_t)(model->drift_bps * SQRT_OF_MINUTE));
    report_u64(report, "drift_at_most_bps", (uint64_t)model->most_bps);
    report_object_end(report);
}

bool history_show(struct history *history, const char *from, const char *to, enum report_form form,
                  struct history_time now, char *text, size_t room)
{
    static struct store_row rows[HISTORY_SHOW_ROWS], values[MODEL_ROWS];
    unsigned count = HISTORY_SHOW_ROWS, value_count = MODEL_ROWS;
    uint64_t age_ms;
    struct report report;
    struct err err = {"it can't be opened for now"};
    if (!ready(history, now) ||
        !judge(history, store_read(history->store, from, to, false, rows, &count, &err), &err, now) ||
        !judge(history, store_read(history->store, from, to, true, values, &value_count, &err), &err, now)) {
        snprintf(text, room, "history %s: %s", name_of(history), err.text);
        return false;
    }
    if (count == 0) {
        snprintf(text, room, "nothing was measured from %s to %s yet", from, to);
        return false;
    }
    report_begin(&report, form, text, room);
    report_text(&report, "from", from);
    report_text(&report, "to", to);
    if (value_count > 0) {
        struct model model = model_fit(values, value_count);
        age_of(history, &values[0], now, &age_ms);
        report_model(&report, &model, &values[0], (double)age_ms / 1000);
    }
    report_table(&report, "estimates");
    for (unsigned row = 0; row < count; row++) {
        age_of(history, &rows[row], now, &age_ms);
        report_row_of(&report, &rows[row], age_ms);
    }
    report_table_end(&report);
    report_end(&report);
    return true;
}
