/* The history of edges: rows in and out, retention, how fast an edge changes, what plans get of it, and files that are
 * damaged, locked, full, or left by somebody who was killed. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <cmocka.h>

#include <math.h>
#include <signal.h>
#include <sqlite3.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "../plan/example.h"
#include "base/rng.h"
#include "base/units.h"
#include "planner/age.h"
#include "planner/history/history.h"
#include "planner/history/model.h"

#define NOW_MS  UINT64_C(1800000000000)
#define MEGABIT 1000000ULL

static char folder[] = "/tmp/sluice-history-test-XXXXXX", path[64];
static char said[8][400];
static unsigned said_count;

static void say(const char *text)
{
    snprintf(said[said_count++ % 8], sizeof(said[0]), "%s", text);
}

static void expect_said(unsigned index, const char *part)
{
    if (said_count <= index || strstr(said[index], part) == NULL)
        fail_msg("said %u: %s; expected %s", said_count, said_count > index ? said[index] : "", part);
}

/* A calendar that is right. */
static struct history_time at(uint64_t ms)
{
    return (struct history_time){.steady_ms = ms, .calendar_ms = ms};
}

static struct history opened(const char *file)
{
    struct history history;
    const struct history_options options = {.path = file, .rows = 50, .days = 30, .say = say};
    said_count = 0;
    history_open(&history, &options, at(NOW_MS));
    return history;
}

static void remove_file(void)
{
    char name[80];
    const char *const ends[] = {"", "-wal", "-shm"};
    for (unsigned i = 0; i < 3; i++) {
        snprintf(name, sizeof(name), "%s%s", path, ends[i]);
        unlink(name);
    }
}

static struct ctl_estimate estimate_of(const char *from, const char *to, uint64_t avail_bps,
                                       uint64_t half_bps)
{
    struct ctl_estimate record = {.rtt_ns = 30 * NS_PER_MS,
                                  .estimate = {.kind = ESTIMATE_VALUE,
                                               .flags = ESTIMATE_CHANGED | ESTIMATE_IN_BAND,
                                               .avail_bps = avail_bps,
                                               .low_bps = avail_bps - half_bps,
                                               .high_bps = avail_bps + half_bps,
                                               .capacity_bps = 1000 * MEGABIT,
                                               .loss_ppm = 12,
                                               .from_ns = 5 * NS_PER_S,
                                               .until_ns = 7 * NS_PER_S,
                                               .bytes = 1000000,
                                               .trains = 3}};
    strcpy(record.from, from);
    strcpy(record.to, to);
    return record;
}

static unsigned count_rows(struct history *history, const char *from, const char *to,
                           struct store_row *newest)
{
    static struct store_row rows[2000];
    struct err err;
    unsigned count = 2000;
    store_read(history->store, from, to, false, rows, &count, &err);
    if (newest != NULL)
        *newest = rows[0];
    return count;
}

static void history__keeps_what_it_is_told(void **state)
{
    (void)state;
    const char *const files[] = {path, NULL};
    for (unsigned i = 0; i < 2; i++) {
        struct history history = opened(files[i]);
        struct ctl_estimate record = estimate_of("a", "b", 400 * MEGABIT, MEGABIT);
        struct store_row newest;
        record.age_ns = 2 * NS_PER_S;
        history_take(&history, &record, at(NOW_MS));
        record = estimate_of("b", "a", 300 * MEGABIT, MEGABIT);
        history_take(&history, &record, at(NOW_MS));
        history_take(&history, &record, at(NOW_MS)); /* the same once more */
        assert_int_equal(count_rows(&history, "a", "b", &newest), 1);
        assert_int_equal(count_rows(&history, "b", "a", NULL), 1);
        assert_int_equal(count_rows(&history, "a", "c", NULL), 0);
        assert_int_equal(newest.at_ms, NOW_MS - 2000);
        assert_int_equal(newest.rtt_ns, 30 * NS_PER_MS);
        record = estimate_of("a", "b", 400 * MEGABIT, MEGABIT);
        record.estimate.until_ns = 2 * NS_PER_S; /* the window's length */
        record.estimate.from_ns = 0;
#define ASSERT_SAME(type, name) assert_int_equal(newest.estimate.name, record.estimate.name);
        ESTIMATE_FOUND(ASSERT_SAME)
        ESTIMATE_SPENT(ASSERT_SAME)
#undef ASSERT_SAME
        history_close(&history);
        assert_int_equal(said_count, 0);
    }
    struct history again = opened(path);
    assert_int_equal(count_rows(&again, "a", "b", NULL), 1);
    history_close(&again);
    remove_file();
}

/* An estimate a minute for three days, as they come: a day of all, two that are thinned; then as many rows as there may be,
 * and nothing that is too old. */
static void history__rows_days_and_thinning(void **state)
{
    (void)state;
    struct history history = opened(NULL);
    struct store_row newest;
    struct ctl_estimate record = estimate_of("a", "b", 400 * MEGABIT, MEGABIT),
                        other = estimate_of("b", "a", 400 * MEGABIT, MEGABIT);
    history.options.rows = 100000;
    history_take(&history, &other, at(NOW_MS));
    uint64_t now_ms = NOW_MS;
    for (unsigned minute = 0; minute < 3 * 1440; minute++)
        history_take(&history, &record, at(now_ms = NOW_MS + minute * 60000));
    unsigned kept = count_rows(&history, "a", "b", &newest);
    assert_in_range(kept, 1440 + 288 - 1, 1440 + 288 + 12);
    assert_int_equal(newest.at_ms, now_ms);
    assert_int_equal(count_rows(&history, "b", "a", NULL), 1);
    history.options.rows = 50;
    history_take(&history, &record, at(++now_ms));
    assert_int_equal(count_rows(&history, "a", "b", &newest), 50);
    assert_int_equal(newest.at_ms, now_ms);
    history_take(&history, &record, at(NOW_MS + 31 * 86400000ULL));
    assert_int_equal(count_rows(&history, "b", "a", NULL), 0);
    history_close(&history);
}

static double normal(struct rng *rng)
{
    double sum = -6;
    for (unsigned draw = 0; draw < 12; draw++)
        sum += (double)rng_below(rng, 1000001) / 1e6;
    return sum;
}

/* A walk of so much per square root of a second, measured with noise: the fit finds it; what does not move, nearly. */
static void model__finds_the_drift(void **state)
{
    (void)state;
    const struct {
        double drift_bps, noise_bps, low_bps, high_bps;
    } cases[] = {
        {1e6, 1e6, 0.7e6, 1.4e6}, {1e6, 5e6, 0.7e6, 1.6e6}, {5e6, 1e6, 3.5e6, 7e6}, {0, 5e6, 0.1e6, 0.8e6}};
    for (unsigned i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct rng rng;
        double drift2 = 0;
        rng_init(&rng, 11);
        for (unsigned round = 0; round < 50; round++) {
            struct store_row rows[MODEL_ROWS];
            double avail_bps = 500e6;
            for (unsigned row = MODEL_ROWS; row-- > 0;) {
                avail_bps += cases[i].drift_bps * sqrt(10) * normal(&rng);
                double found_bps = avail_bps + cases[i].noise_bps * normal(&rng);
                double half_bps = AGE_SIGMAS_OF_INTERVAL * cases[i].noise_bps;
                rows[row] = (struct store_row){.kept_ms = NOW_MS - row * 10000,
                                               .estimate = {.kind = ESTIMATE_VALUE,
                                                            .avail_bps = (uint64_t)found_bps,
                                                            .low_bps = (uint64_t)(found_bps - half_bps),
                                                            .high_bps = (uint64_t)(found_bps + half_bps)}};
            }
            double found = model_fit(rows, MODEL_ROWS).drift_bps;
            drift2 += found * found / 50;
        }
        assert_true(sqrt(drift2) >= cases[i].low_bps && sqrt(drift2) <= cases[i].high_bps);
    }
    /* Without a history the prior, which is that of plans without one. */
    struct store_row row = {.kept_ms = NOW_MS,
                            .estimate = {.kind = ESTIMATE_VALUE,
                                         .avail_bps = 500 * MEGABIT,
                                         .low_bps = 490 * MEGABIT,
                                         .high_bps = 510 * MEGABIT}};
    struct model model = model_fit(&row, 1);
    struct plan_path told = {
        .avb_kbps = 500000, .avb_low_kbps = 490000, .avb_high_kbps = 510000, .avb_age_s = 100};
    double low_bps, high_bps;
    model_widen(&model, &row, 100, &low_bps, &high_bps);
    assert_true(fabs(low_bps / 1000 - age_low_kbps(&told)) < 5000);
    assert_true(fabs(high_bps / 1000 - age_high_kbps(&told)) < 5000);
}

static void history__completes_requests(void **state)
{
    (void)state;
    struct history history = opened(NULL);
    struct ctl_estimate record;
    for (unsigned i = 0; i < 10;
         i++) { /* an edge that moves by hundreds of Mbit/s each minute, one that stands still */
        record = estimate_of("n0", "n1", (300 + i % 2 * 400) * MEGABIT, MEGABIT);
        history_take(&history, &record, at(NOW_MS + i * 60000));
        record = estimate_of("n0", "n2", 700 * MEGABIT + i % 2, MEGABIT);
        history_take(&history, &record, at(NOW_MS + i * 60000));
    }
    record = estimate_of("n1", "n2", 100 * MEGABIT, MEGABIT);
    history_take(&history, &record, at(NOW_MS));
    record.estimate = (struct estimate){.kind = ESTIMATE_REFUSED, .reason = ESTIMATE_NOISE};
    history_take(&history, &record, at(NOW_MS + 540000)); /* what is known stays known */
    struct plan_request request = example_request(4);
    struct plan_path told = {
        .rtt_us = 10000, .avb_kbps = 5, .avb_low_kbps = 5, .avb_high_kbps = 5, .avb_age_s = 9};
    struct plan_path measured = {
        .rtt_us = 10000, .avb_kbps = 650000, .avb_low_kbps = 640000, .avb_high_kbps = 660000, .avb_age_s = 0};
    request.paths[2][0] = told;
    history_complete(&history, &request, at(NOW_MS + 600000));
    assert_memory_equal(&request.paths[2][0], &told, sizeof(told));
    assert_int_equal(request.paths[0][3].avb_kbps, 0);
    assert_int_equal(request.paths[0][1].avb_kbps, 700000);
    assert_int_equal(request.paths[0][2].avb_kbps, 700000);
    assert_int_equal(request.paths[1][2].avb_kbps, 100000);
    assert_int_equal(request.paths[0][1].avb_age_s, 60);
    assert_true(request.paths[0][1].avb_widened);
    /* A minute later the one may have lost a third and more, the other a fortieth, of which the prior is all. */
    assert_true(age_planned_kbps(&request.paths[0][1]) < 500000);
    assert_true(age_planned_kbps(&request.paths[0][2]) > 680000);
    /* What the request measured itself is newer: its value, and the edge's own drift. */
    request.paths[0][1] = measured;
    request.paths[0][1].avb_age_s = 30;
    request.paths[0][2] = measured;
    history_complete(&history, &request, at(NOW_MS + 600000));
    assert_int_equal(request.paths[0][1].avb_kbps, 650000);
    assert_true(age_planned_kbps(&request.paths[0][1]) < 520000);
    assert_in_range(request.paths[0][2].avb_low_kbps, 639000, 640000);
    struct err err;
    assert_true(plan_request_validate(&request, &err));
    /* Whose word a job counts on. */
    request.paths[2][0] = told;
    request.paths[0][2] = (struct plan_path){.rtt_us = 10000, .avb_kbps = 5};
    request.avb_of = PLAN_AVB_TOLD;
    history_complete(&history, &request, at(NOW_MS + 600000));
    assert_int_equal(request.paths[0][2].avb_kbps, 5);
    request.avb_of = PLAN_AVB_MEASURED;
    history_complete(&history, &request, at(NOW_MS + 600000));
    assert_int_equal(request.paths[0][2].avb_kbps, 700000);
    assert_memory_equal(&request.paths[2][0], &told,
                        sizeof(told)); /* nobody has measured it: it will not count */
    /* What is a day old counts no more. */
    request = example_request(4);
    history_complete(&history, &request, at(NOW_MS + 600000 + HISTORY_PLAN_MS));
    assert_int_equal(request.paths[0][1].avb_kbps, 0);
    history_close(&history);
}

static void history_show__an_edge(void **state)
{
    (void)state;
    static char text[65536];
    struct history history = opened(NULL);
    struct ctl_estimate record = estimate_of("a", "b", 400 * MEGABIT, MEGABIT);
    for (unsigned i = 0; i < 3; i++)
        history_take(&history, &record, at(NOW_MS + i * 1000));
    assert_true(history_show(&history, "a", "b", REPORT_TEXT, at(NOW_MS + 3000), text, sizeof(text)));
    assert_non_null(strstr(text, "400.0 Mbit/s"));
    assert_non_null(strstr(text, "changed in-band"));
    assert_true(history_show(&history, "a", "b", REPORT_JSON, at(NOW_MS + 3000), text, sizeof(text)));
    assert_non_null(
        strstr(text, "\"estimates\":[{\"age_s\":1.000,\"kind\":\"value\",\"avail_bps\":400000000,"));
    assert_false(history_show(&history, "b", "a", REPORT_TEXT, at(NOW_MS), text, sizeof(text)));
    assert_string_equal(text, "nothing was measured from b to a yet");
    history_close(&history);
}

#define YEAR_MS (365 * UINT64_C(86400000))

/* The calendar jumps to and fro, while it is kept and between two runs: what was told last is the newest, nothing is forgotten
 * and nobody is blind. */
static void history__calendar_jumps(void **state)
{
    (void)state;
    static char text[65536];
    static const struct {
        int64_t years; /* that the calendar is wrong by */
        bool anew;     /* another run keeps it from here on */
        uint64_t mbit; /* measured now; 0: nothing */
        unsigned rows; /* then kept */
        uint64_t planned_mbit;
    } steps[] = {
        {0, false, 400, 1, 400},  {10, false, 0, 1, 400}, {10, false, 500, 2, 500}, {10, true, 0, 2, 500},
        {10, true, 600, 3, 600},  {0, true, 0, 3, 0}, /* of the future: nobody knows how old */
        {0, false, 700, 4, 700},  {0, true, 0, 4, 700},   {-20, false, 0, 4, 700},  {-20, false, 800, 5, 800},
        {0, false, 900, 6, 900},  {10, true, 0, 6, 0}, /* ten years old, as it seems */
        {10, false, 300, 3, 300},                      /* a day later, as it seems: thinned */
    };
    struct history_time now = {.steady_ms = 1000};
    struct history history = {.store = NULL};
    for (unsigned i = 0; i < sizeof(steps) / sizeof(steps[0]); i++) {
        struct store_row newest;
        struct plan_request request = example_request(3);
        struct ctl_estimate record = estimate_of("n0", "n1", steps[i].mbit * MEGABIT, MEGABIT);
        now.steady_ms = steps[i].anew ? 5 : now.steady_ms + 1000;
        now.calendar_ms = (uint64_t)((int64_t)NOW_MS + steps[i].years * (int64_t)YEAR_MS + i * 1000);
        if (i == 0 || steps[i].anew) {
            const struct history_options options = {.path = path, .rows = 50, .days = 30, .say = say};
            if (i > 0)
                history_close(&history);
            history_open(&history, &options, now);
        }
        if (steps[i].mbit != 0) {
            record.age_ns = 20 * NS_PER_MS;
            history_take(&history, &record, now);
        }
        assert_int_equal(count_rows(&history, "n0", "n1", &newest), steps[i].rows);
        history_complete(&history, &request, now);
        assert_int_equal(request.paths[0][1].avb_kbps, steps[i].planned_mbit * 1000);
        assert_true(history_show(&history, "n0", "n1", REPORT_JSON, now, text, sizeof(text)));
        if (steps[i].mbit != 0)
            assert_int_equal(newest.estimate.avail_bps, steps[i].mbit * MEGABIT);
    }
    history_close(&history);
    assert_int_equal(said_count, 0);
    remove_file();
}

/* Retention is of the time that it was kept; a calendar that is wrong for an hour and more takes nothing. */
static void history__days_are_those_it_was_kept(void **state)
{
    (void)state;
    struct history history = opened(NULL);
    struct ctl_estimate record = estimate_of("a", "b", 400 * MEGABIT, MEGABIT);
    for (unsigned minute = 0; minute < 200; minute += 40) {
        struct history_time now = at(NOW_MS + minute * 60000);
        now.calendar_ms += minute > 60 ? 10 * YEAR_MS : 0;
        history_take(&history, &record, now);
    }
    assert_int_equal(count_rows(&history, "a", "b", NULL), 5);
    history_close(&history);
}

/* A file of version 1, which knew the calendar alone: its rows go on, in order; one of the future is left behind. */
static void history__a_file_of_before(void **state)
{
    (void)state;
    static const char columns[] =
        "at_ms, rtt_ns, kind, reason, stamp_kind, flags, avail_bps, low_bps, high_bps, capacity_bps, "
        "depth_bytes, loss_ppm, window_ns, busy_ns, bytes, trains, discarded";
    sqlite3 *file = NULL;
    char sql[1024];
    for (unsigned wrong = 0; wrong < 2; wrong++) { /* the calendar, now: all rows seem to be of the future */
        assert_int_equal(sqlite3_open(path, &file), SQLITE_OK);
        snprintf(sql, sizeof(sql),
                 "CREATE TABLE edges(id INTEGER PRIMARY KEY, from_name TEXT, to_name TEXT, UNIQUE(from_name, "
                 "to_name));"
                 "CREATE TABLE estimates(edge INTEGER NOT NULL, %s, PRIMARY KEY(edge, at_ms)) WITHOUT ROWID;"
                 "INSERT INTO edges VALUES(1, 'a', 'b'); PRAGMA user_version = 1",
                 columns);
        assert_int_equal(sqlite3_exec(file, sql, NULL, NULL, NULL), SQLITE_OK);
        for (unsigned row = 0; row < 3; row++) {
            uint64_t at_ms = (wrong == 1 || row == 2 ? 99 : 1) * 100000000000ULL + row * 1000000;
            snprintf(
                sql, sizeof(sql),
                "INSERT INTO estimates VALUES(1, %llu, 0, 1, 0, 0, 0, %u, 0, 900, 0, 0, 0, 0, 0, 0, 0, 0)",
                (unsigned long long)at_ms, 300 + row);
            assert_int_equal(sqlite3_exec(file, sql, NULL, NULL, NULL), SQLITE_OK);
        }
        sqlite3_close(file);
        struct history history = opened(path);
        struct store_row newest;
        assert_int_equal(said_count, 0);
        assert_int_equal(count_rows(&history, "a", "b", &newest), 2 + wrong);
        assert_int_equal(newest.estimate.avail_bps, 301 + wrong);
        struct ctl_estimate record = estimate_of("a", "b", 400 * MEGABIT, MEGABIT);
        history_take(&history, &record, at(NOW_MS));
        assert_int_equal(count_rows(&history, "a", "b", &newest), 3 + wrong);
        assert_int_equal(newest.estimate.avail_bps, 400 * MEGABIT);
        history_close(&history);
        remove_file();
    }
}

/* ---- what may happen to a file ---- */

static void history__a_damaged_file(void **state)
{
    (void)state;
    static const char *const contents[] = {
        "this is no database, but it is longer than a header would be, well over "
        "one hundred bytes of plain text in it",
        "SQLite format 3"};
    for (unsigned i = 0; i < 2; i++) {
        FILE *file = fopen(path, "w");
        assert_non_null(file);
        fwrite(contents[i], 1, strlen(contents[i]) + i, file);
        for (unsigned byte = 0; byte < 8192; byte++)
            fputc((int)(byte * 7 + 13) & 0xff, file);
        fclose(file);
        struct history history = opened(path);
        struct ctl_estimate record = estimate_of("n0", "n1", 400 * MEGABIT, MEGABIT);
        struct plan_request request = example_request(3);
        for (unsigned tries = 0; tries < 5; tries++)
            history_take(&history, &record, at(NOW_MS + tries));
        history_complete(&history, &request, at(NOW_MS));
        assert_int_equal(request.paths[0][1].avb_kbps, 0);
        assert_int_equal(said_count, 1); /* once, not five times */
        expect_said(0, path);
        expect_said(0, "plans are made without it");
        /* Somebody moves it away: it is made anew. */
        remove_file();
        history_take(&history, &record, at(NOW_MS + HISTORY_RETRY_MS + 10));
        expect_said(1, "it is kept again; 5 estimates were lost");
        assert_int_equal(count_rows(&history, "n0", "n1", NULL), 1);
        history_close(&history);
        remove_file();
    }
}

static void history__damaged_while_it_is_open(void **state)
{
    (void)state;
    struct history history = opened(path);
    struct ctl_estimate record = estimate_of("n0", "n1", 400 * MEGABIT, MEGABIT);
    for (unsigned i = 0; i < 200; i++)
        history_take(&history, &record, at(NOW_MS + i));
    history_close(&history);
    FILE *file = fopen(path, "r+");
    fseek(file, 4096, SEEK_SET);
    for (unsigned byte = 0; byte < 40000; byte++)
        fputc((int)(byte * 7 + 13) & 0xff, file);
    fclose(file);
    history = opened(path);
    for (unsigned i = 0; i < 5; i++)
        history_take(&history, &record, at(NOW_MS + 1000 + i));
    assert_int_equal(said_count, 1);
    expect_said(0, "malformed");
    history_close(&history);
    remove_file();
}

static void history__a_locked_file(void **state)
{
    (void)state;
    sqlite3 *other = NULL;
    struct history history = opened(path);
    struct ctl_estimate record = estimate_of("n0", "n1", 400 * MEGABIT, MEGABIT);
    history_take(&history, &record, at(NOW_MS));
    assert_int_equal(sqlite3_open(path, &other), SQLITE_OK);
    assert_int_equal(sqlite3_exec(other, "BEGIN IMMEDIATE", NULL, NULL, NULL), SQLITE_OK);
    history_take(&history, &record, at(NOW_MS + 1));
    history_take(&history, &record, at(NOW_MS + 2));
    assert_int_equal(said_count, 1);
    expect_said(0, "locked");
    /* It can be read meanwhile. */
    struct plan_request request = example_request(2);
    history_complete(&history, &request, at(NOW_MS + 3));
    assert_int_equal(request.paths[0][1].avb_kbps, 400000);
    assert_int_equal(sqlite3_exec(other, "ROLLBACK", NULL, NULL, NULL), SQLITE_OK);
    sqlite3_close(other);
    history_take(&history, &record, at(NOW_MS + 4));
    expect_said(1, "2 estimates were lost");
    assert_int_equal(count_rows(&history, "n0", "n1", NULL), 2);
    history_close(&history);
    remove_file();
}

/* No file may grow beyond 64 KB: what a full disk answers, but for the words. */
static void history__a_full_disk(void **state)
{
    (void)state;
    struct rlimit before, small;
    struct history history = opened(path);
    struct ctl_estimate record = estimate_of("n0", "n1", 400 * MEGABIT, MEGABIT);
    signal(SIGXFSZ, SIG_IGN);
    getrlimit(RLIMIT_FSIZE, &before);
    small = before;
    small.rlim_cur = 65536;
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &small), 0);
    for (unsigned i = 0; i < 100; i++)
        history_take(&history, &record, at(NOW_MS + i));
    setrlimit(RLIMIT_FSIZE, &before);
    assert_int_equal(said_count, 1);
    expect_said(0, "plans are made without it");
    history_take(&history, &record, at(NOW_MS + 1000));
    expect_said(1, "it is kept again");
    assert_true(count_rows(&history, "n0", "n1", NULL) > 1);
    history_close(&history);
    remove_file();
}

static void history__no_such_folder(void **state)
{
    (void)state;
    struct history history = opened("/nowhere/at/all");
    struct plan_request request = example_request(3);
    history_complete(&history, &request, at(NOW_MS));
    assert_int_equal(said_count, 1);
    expect_said(0, "unable to open");
    history_close(&history);
}

/* kill -9 in the middle of writing, again and again: it opens, and what was told as kept is there. */
static void history__writer_killed(void **state)
{
    (void)state;
    unsigned rows = 0;
    for (unsigned kills = 0; kills < 10; kills++) {
        int pipes[2];
        char byte;
        assert_int_equal(pipe(pipes), 0);
        pid_t child = fork();
        if (child == 0) {
            struct history history = opened(path);
            struct ctl_estimate record = estimate_of("n0", "n1", 400 * MEGABIT, MEGABIT);
            for (unsigned i = 0;; i++) {
                record.age_ns = 0;
                store_add(history.store, &record, i, NOW_MS, &(struct err){""});
                if (write(pipes[1], "x", 1) != 1)
                    _exit(1);
            }
        }
        for (unsigned kept = 0; kept < 20 + 7 * kills; kept++)
            assert_int_equal(read(pipes[0], &byte, 1), 1);
        kill(child, SIGKILL);
        waitpid(child, NULL, 0);
        close(pipes[0]);
        close(pipes[1]);
        rows += 20 + 7 * kills;
        struct history history = opened(path);
        assert_non_null(history.store);
        assert_true(count_rows(&history, "n0", "n1", NULL) >= MIN(rows, 2000u));
        assert_int_equal(said_count, 0);
        history_close(&history);
    }
    remove_file();
}

int main(void)
{
    assert_non_null(mkdtemp(folder));
    snprintf(path, sizeof(path), "%s/history", folder);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(history__keeps_what_it_is_told),
        cmocka_unit_test(history__rows_days_and_thinning),
        cmocka_unit_test(model__finds_the_drift),
        cmocka_unit_test(history__completes_requests),
        cmocka_unit_test(history_show__an_edge),
        cmocka_unit_test(history__calendar_jumps),
        cmocka_unit_test(history__days_are_those_it_was_kept),
        cmocka_unit_test(history__a_file_of_before),
        cmocka_unit_test(history__a_damaged_file),
        cmocka_unit_test(history__damaged_while_it_is_open),
        cmocka_unit_test(history__a_locked_file),
        cmocka_unit_test(history__a_full_disk),
        cmocka_unit_test(history__no_such_folder),
        cmocka_unit_test(history__writer_killed),
    };
    int failed = cmocka_run_group_tests(tests, NULL, NULL);
    remove_file();
    rmdir(folder);
    return failed;
}
