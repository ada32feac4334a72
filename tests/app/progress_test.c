/* What sluicectl shows, as pure functions: tables of state in, line out. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <cmocka.h>

#include "app/ctl/progress.h"
#include "base/units.h"

#define MIB (1ULL << 20)

static void progress_format__table(void **state)
{
    (void)state;
    static const struct {
        void (*format)(uint64_t value, char *text, size_t room);
        uint64_t value;
        const char *text;
    } cases[] = {
        {progress_format_rate, 0, "0 bit/s"},
        {progress_format_rate, 999, "999 bit/s"},
        {progress_format_rate, 1000, "1.0 kbit/s"},
        {progress_format_rate, 443260000, "443.2 Mbit/s"},
        {progress_format_rate, 999999999, "999.9 Mbit/s"},
        {progress_format_rate, 10000000000, "10.0 Gbit/s"},
        {progress_format_rate, UINT64_MAX, "18446744.0 Tbit/s"},
        {progress_format_size, 0, "0 bytes"},
        {progress_format_size, 1023, "1023 bytes"},
        {progress_format_size, 1024, "1.0 KiB"},
        {progress_format_size, 64 * MIB, "64.0 MiB"},
        {progress_format_size, 1536 * MIB, "1.5 GiB"},
        {progress_format_size, 1ULL << 50, "1.0 PiB"},
        {progress_format_duration, 0, "0:00"},
        {progress_format_duration, 1, "0:01"},
        {progress_format_duration, 7 * NS_PER_S, "0:07"},
        {progress_format_duration, 59 * NS_PER_S + 1, "1:00"},
        {progress_format_duration, 3723 * NS_PER_S, "1:02:03"},
    };
    for (size_t index = 0; index < sizeof(cases) / sizeof(cases[0]); index++) {
        char text[64];
        cases[index].format(cases[index].value, text, sizeof(text));
        assert_string_equal(text, cases[index].text);
    }
}

static void progress_percent__table(void **state)
{
    (void)state;
    static const struct {
        const char *site_state;
        uint64_t received, size;
        unsigned percent;
    } cases[] = {
        {"receiving", 0, 0, 0},
        {"verified", 0, 0, 100},
        {"receiving", 0, 100, 0},
        {"receiving", 50, 100, 50},
        {"receiving", 100, 100, 99},
        {"receiving", 200, 100, 99},
        {"verified", 100, 100, 100},
        {"skipped", 0, 100, 100},
        {"failed", 30, 100, 30},
        {"receiving", 999, 1000, 99},
        {"receiving", 1ULL << 49, 1ULL << 50, 50},
    };
    for (size_t index = 0; index < sizeof(cases) / sizeof(cases[0]); index++) {
        struct site_view site = {.received_bytes = cases[index].received};
        snprintf(site.state, sizeof(site.state), "%s", cases[index].site_state);
        assert_int_equal(progress_percent(&site, cases[index].size), cases[index].percent);
    }
}

static void progress_rate_update__steps(void **state)
{
    (void)state;
    /* polls every 200 ms: 10 MB each, then 20 MB each, a pause, and a restart of the counter */
    static const struct {
        uint64_t at_ms, bytes, bps;
    } steps[] = {
        {1000, 0, 0},
        {1200, 10000000, 400000000},
        {1400, 20000000, 400000000},
        {1600, 40000000, 480000000},
        {1600, 40000000, 480000000}, /* the same moment again changes nothing */
        {2600, 40000000, 0},
        {2800, 50000000, 400000000},
        {3000, 0, 0},
    };
    struct progress_rate rate = {0};
    for (size_t index = 0; index < sizeof(steps) / sizeof(steps[0]); index++) {
        progress_rate_update(&rate, steps[index].bytes, steps[index].at_ms * NS_PER_MS);
        assert_int_equal(rate.bps, steps[index].bps);
    }
}

static void progress_bar_line__table(void **state)
{
    (void)state;
    static const struct {
        const char *site_state;
        uint64_t received, rate;
        unsigned columns;
        const char *line;
    } cases[] = {
        {"receiving", 0, 0, 60, "canada [....................]   0%  0 bit/s  ETA -          "},
        {"receiving", 32 * MIB, 443200000, 60,
         "canada [##########..........]  50%  443.2 Mbit/s  ETA 0:01  "},
        {"receiving", 64 * MIB, 443200000, 60,
         "canada [###################.]  99%  443.2 Mbit/s  verifying "},
        {"verified", 64 * MIB, 0, 60, "canada [####################] 100%  verified                "},
        {"failed", 16 * MIB, 1, 60, "canada [#####...............]  25%  failed                  "},
        {"paused", 16 * MIB, 5000000, 60, "canada [#####...............]  25%  paused                  "},
        {"not started", 0, 0, 60, "canada [....................]   0%  not started             "},
        /* one column short of a bar of 8; a terminal of 20 columns */
        {"receiving", 32 * MIB, 443200000, 47, "canada  50%  443.2 Mbit/s  ETA 0:01  "},
        {"receiving", 32 * MIB, 443200000, 20, "canada  50%  443.2 M"},
    };
    for (size_t index = 0; index < sizeof(cases) / sizeof(cases[0]); index++) {
        struct site_view site = {.name = "canada", .received_bytes = cases[index].received};
        char line[PROGRESS_LINE];
        snprintf(site.state, sizeof(site.state), "%s", cases[index].site_state);
        progress_bar_line(&site, 64 * MIB, cases[index].rate, 6, cases[index].columns, line, sizeof(line));
        assert_string_equal(line, cases[index].line);
    }
}

/* For how long nothing has come, and why, instead of a rate and a time that nobody knows; the bar makes room. */
static void progress_bar_line__stalled(void **state)
{
    (void)state;
    static const struct {
        unsigned columns;
        const char *line;
    } cases[] = {
        {79, "singapore [##########...........]  50%  stalled 12 s: singapore does not answer"},
        {60, "singapore  50%  stalled 12 s: singapore does not answer"},
        {40, "singapore  50%  stalled 12 s: singapore "},
    };
    for (size_t index = 0; index < sizeof(cases) / sizeof(cases[0]); index++) {
        struct site_view site = {.name = "singapore",
                                 .state = "stalled",
                                 .received_bytes = 32 * MIB,
                                 .stalled_ns = 12900 * NS_PER_MS,
                                 .text = "singapore does not answer"};
        char line[PROGRESS_LINE];
        progress_bar_line(&site, 64 * MIB, 5000000, 9, cases[index].columns, line, sizeof(line));
        assert_string_equal(line, cases[index].line);
    }
}

/* A line never is wider than the terminal, whatever its width. */
static void progress_bar_line__never_wider(void **state)
{
    (void)state;
    struct site_view site = {.name = "singapore", .state = "receiving", .received_bytes = MIB};
    for (unsigned columns = 1; columns < PROGRESS_LINE - 1; columns++) {
        char line[PROGRESS_LINE];
        progress_bar_line(&site, 1ULL << 50, 999900000, 31, columns, line, sizeof(line));
        assert_true(strlen(line) <= columns);
    }
}

static void progress_plain_line__table(void **state)
{
    (void)state;
    const struct job_view job = {.name = "demo", .size_bytes = 64 * MIB};
    static const struct {
        struct site_view site;
        uint64_t rate;
        const char *line;
    } cases[] = {
        {{.name = "canada", .state = "receiving", .received_bytes = 32 * MIB},
         44320000,
         "demo: canada 50% 44.3 Mbit/s ETA 0:07"},
        {{.name = "canada", .state = "receiving", .received_bytes = 32 * MIB},
         1,
         "demo: canada 50% 1 bit/s ETA -"},
        {{.name = "canada", .state = "paused", .received_bytes = 32 * MIB},
         5000000,
         "demo: canada 50% paused"},
        {{.name = "canada",
          .state = "stalled",
          .stalled_ns = 12 * NS_PER_S,
          .text = "london > canada: credit"},
         5000000,
         "demo: canada 0% stalled 12 s: london > canada: credit"},
        {{.name = "canada", .state = "not started", .text = "cancelled by the operator"},
         0,
         "demo: canada 0% not started: cancelled by the operator"},
        {{.name = "canada", .state = "verified", .text = "/srv/x"}, 0, "demo: canada 100% verified"},
        {{.name = "canada", .state = "failed", .text = "no space left"},
         0,
         "demo: canada 0% failed: no space left"},
    };
    for (size_t index = 0; index < sizeof(cases) / sizeof(cases[0]); index++) {
        char line[PROGRESS_LINE];
        progress_plain_line(&job, &cases[index].site, cases[index].rate, line, sizeof(line));
        assert_string_equal(line, cases[index].line);
    }
}

static void progress_job_line__grows_with_what_is_known(void **state)
{
    (void)state;
    char line[PROGRESS_LINE];
    struct job_view job = {.name = "demo", .state = "accepted"};
    progress_job_line(&job, line, sizeof(line));
    assert_string_equal(line, "demo: accepted");
    job = (struct job_view){.name = "demo",
                            .state = "running",
                            .size_bytes = 64 * MIB,
                            .rate_bps = 444000000,
                            .site_count = 2,
                            .sites = {{.state = "verified"}, {.state = "receiving"}}};
    progress_job_line(&job, line, sizeof(line));
    assert_string_equal(line, "demo: running, 64.0 MiB, 1 of 2 sites complete, plan 444.0 Mbit/s");
}

static void progress_result_line__table(void **state)
{
    (void)state;
    const struct job_view job = {.size_bytes = 64 * MIB, .running_ns = 5 * NS_PER_S};
    char line[PROGRESS_LINE + VIEW_TEXT];
    struct site_view site = {.name = "canada",
                             .state = "verified",
                             .complete_ns = 6250 * NS_PER_MS,
                             .text = "/srv/incoming/demo.bin"};
    progress_result_line(&job, &site, 9, line, sizeof(line));
    assert_string_equal(line, "canada     verified     429.4 Mbit/s     1.250 s  /srv/incoming/demo.bin");
    strcpy(site.limited_from, "london");
    strcpy(site.limited_to, "canada");
    strcpy(site.limited_by, "cap");
    progress_result_line(&job, &site, 9, line, sizeof(line));
    assert_string_equal(
        line,
        "canada     verified     429.4 Mbit/s     1.250 s  /srv/incoming/demo.bin  (london > canada: cap)");
    site = (struct site_view){.name = "oregon", .state = "failed", .text = "Permission denied"};
    progress_result_line(&job, &site, 9, line, sizeof(line));
    assert_string_equal(line, "oregon     failed                  -           -  Permission denied");
}

/* ---- job_view ---- */

#define SITES                                                                                                \
    "\"sites\":[{\"name\":\"b\",\"state\":\"verified\",\"received_bytes\":7,\"verified_bytes\":6,"           \
    "\"complete_ns\":5,\"limited_from\":\"a\",\"limited_to\":\"b\",\"limited_by\":\"cap\",\"text\":\"/f\"}]"

static void job_view_parse__whole(void **state)
{
    (void)state;
    struct job_view view;
    static const char json[] = "{\"jobs\":[{\"name\":\"j\",\"state\":\"done\",\"text\":\"t\",\"source\":true,"
                               "\"size_bytes\":1099511627776,"
                               "\"created_ns\":1,\"running_ns\":2,\"ended_ns\":3,\"now_ns\":4,\"tree\":"
                               "\"a\\n\u2514\u2500\u2500 b\\n\","
                               "\"plan\":{\"rate_bps\":4,\"common_rate_bps\":9}," SITES "}]}";
    assert_int_equal(job_view_parse(&view, json, "j"), VIEW_FOUND);
    assert_string_equal(view.name, "j");
    assert_string_equal(view.text, "t");
    assert_int_equal(view.size_bytes, 1ULL << 40);
    assert_int_equal(view.running_ns, 2);
    assert_int_equal(view.now_ns, 4);
    assert_int_equal(view.rate_bps, 9);
    assert_string_equal(view.tree, "a\n\u2514\u2500\u2500 b\n");
    assert_int_equal(view.site_count, 1);
    assert_string_equal(view.sites[0].text, "/f");
    assert_int_equal(view.sites[0].verified_bytes, 6);
    assert_string_equal(view.sites[0].limited_to, "b");
    assert_string_equal(view.sites[0].limited_by, "cap");
    assert_true(job_view_over(&view));
    assert_true(job_view_good(&view));
}

static void job_view_parse__which_job(void **state)
{
    (void)state;
    struct job_view view;
    /* the newest of the name; jobs that only pass through this node do not count */
    static const char json[] = "{\"jobs\":[{\"name\":\"j\",\"state\":\"failed\",\"created_ns\":5},"
                               "{\"name\":\"j\",\"state\":\"running\",\"created_ns\":9},"
                               "{\"name\":\"j\",\"state\":\"done\",\"created_ns\":7},"
                               "{\"name\":\"k\",\"state\":\"done\",\"created_ns\":99,\"source\":false}]}";
    assert_int_equal(job_view_parse(&view, json, "j"), VIEW_FOUND);
    assert_string_equal(view.state, "running");
    assert_int_equal(job_view_parse(&view, json, "k"), VIEW_NO_SUCH_JOB);
    static const char ids[] =
        "{\"jobs\":[{\"name\":\"j\",\"id\":7,\"state\":\"done\"},{\"name\":\"j\",\"id\":8,"
        "\"created_ns\":2}],\"plans\":[{\"name\":\"j\",\"id\":4294967295,\"created_ns\":1}]}";
    assert_int_equal(job_view_parse(&view, ids, "7"), VIEW_FOUND);
    assert_string_equal(view.state, "done");
    assert_int_equal(job_view_parse(&view, ids, "4294967295"), VIEW_FOUND);
    assert_int_equal(view.id, 4294967295);
    assert_int_equal(job_view_parse(&view, ids, "j"), VIEW_FOUND);
    assert_int_equal(view.id, 8);
    assert_int_equal(job_view_parse(&view, ids, "9"), VIEW_NO_SUCH_JOB);
    assert_int_equal(job_view_parse(&view, "{\"jobs\":[]}", "j"), VIEW_NO_SUCH_JOB);
    assert_int_equal(job_view_parse(&view, "{}", "j"), VIEW_MALFORMED);
    assert_int_equal(job_view_parse(&view, "nonsense", "j"), VIEW_MALFORMED);
    assert_int_equal(
        job_view_parse(&view, "{\"jobs\":[{\"name\":\"j\",\"sites\":3,\"size_bytes\":-1}]}", "j"),
        VIEW_FOUND);
    assert_int_equal(view.size_bytes, 0);
}

static void job_view_good__table(void **state)
{
    (void)state;
    static const struct {
        const char *job_state, *first, *second;
        bool over, good, incomplete;
    } cases[] = {
        {"done", "verified", "verified", true, true, false},
        {"done", "verified", "skipped", true, true, false},
        {"done", "verified", "failed", true, false, true},
        {"done", "receiving", "verified", true, false, true},
        {"failed", "skipped", "failed", true, false, true},
        {"failed", "failed", "failed", true, false, false},
        {"failed", "verified", "verified", true, false, false},
        {"cancelled", "receiving", "verified", true, false, false},
        {"running", "verified", "failed", false, false, false},
    };
    for (size_t index = 0; index < sizeof(cases) / sizeof(cases[0]); index++) {
        struct job_view view = {.site_count = 2};
        snprintf(view.state, sizeof(view.state), "%s", cases[index].job_state);
        snprintf(view.sites[0].state, sizeof(view.sites[0].state), "%s", cases[index].first);
        snprintf(view.sites[1].state, sizeof(view.sites[1].state), "%s", cases[index].second);
        assert_int_equal(job_view_over(&view), cases[index].over);
        assert_int_equal(job_view_good(&view), cases[index].good);
        assert_int_equal(job_view_incomplete(&view), cases[index].incomplete);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(progress_format__table),
        cmocka_unit_test(progress_percent__table),
        cmocka_unit_test(progress_rate_update__steps),
        cmocka_unit_test(progress_bar_line__table),
        cmocka_unit_test(progress_bar_line__stalled),
        cmocka_unit_test(progress_bar_line__never_wider),
        cmocka_unit_test(progress_plain_line__table),
        cmocka_unit_test(progress_job_line__grows_with_what_is_known),
        cmocka_unit_test(progress_result_line__table),
        cmocka_unit_test(job_view_parse__whole),
        cmocka_unit_test(job_view_parse__which_job),
        cmocka_unit_test(job_view_good__table),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
