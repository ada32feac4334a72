/* Bad files: each case is a file and exactly the messages it gives, in order. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <cmocka.h>

#include "conf/conf.h"

static struct app_config config;
static struct scenario scenario;
static struct job_spec spec;
static struct plan_request request;
static struct conf_errors errors;

static bool read_node(const char *text)
{
    return conf_read_node("x", text, NULL, &config, &errors);
}

static bool read_job(const char *text)
{
    return conf_read_job("x", text, &spec, &errors);
}

static bool read_scenario(const char *text)
{
    return conf_read_scenario("x", text, &scenario, &errors);
}

static bool read_net(const char *text)
{
    return conf_read_net("x", text, &request, &errors);
}

/* A file of cases, each "=== name", the text to read, "messages:", and what it gives. */
struct bad_case {
    char name[80];
    char *text, *messages;
};

static bool next_line(char **rest, char **line)
{
    *line = *rest;
    *rest = strchr(*line, '\n');
    if (*rest == NULL)
        return false;
    (*rest)++;
    return true;
}

/* Cuts the next case out of the text, in place. */
static bool next_case(char **rest, struct bad_case *bad)
{
    char *line, *end;
    if (!next_line(rest, &line))
        return false;
    assert_int_equal(sscanf(line, "=== %79[^\n]", bad->name), 1);
    bad->text = *rest;
    bad->messages = strstr(bad->text, "messages:\n");
    assert_non_null(bad->messages);
    *bad->messages = '\0';
    bad->messages += strlen("messages:\n");
    char *tab = strstr(bad->text, "<TAB>");
    if (tab != NULL) {
        *tab = '\t';
        memmove(tab + 1, tab + strlen("<TAB>"), strlen(tab + strlen("<TAB>")) + 1);
    }
    end = strstr(bad->messages, "\n\n");
    assert_non_null(end);
    end[1] = '\0';
    *rest = end + 2;
    return true;
}

static char *read_cases(const char *path)
{
    char *text = calloc(1, 1 << 18);
    FILE *file = fopen(path, "r");
    assert_non_null(file);
    assert_true(fread(text, 1, (1 << 18) - 1, file) > 0);
    fclose(file);
    return text;
}

static char *messages_of(bool (*read)(const char *text), const char *text)
{
    char *got = NULL;
    size_t length;
    FILE *stream = open_memstream(&got, &length);
    assert_int_equal(read(text), errors.count == 0);
    conf_errors_print(&errors, stream);
    fclose(stream);
    return got;
}

/* Line by line; an expected line that ends with "…" says how the other one begins. */
static bool matches(const char *got, const char *expected)
{
    static const char more[] = "\u2026";
    while (*got != '\0' && *expected != '\0') {
        size_t got_length = strcspn(got, "\n"), length = strcspn(expected, "\n");
        bool open =
            length >= strlen(more) && memcmp(expected + length - strlen(more), more, strlen(more)) == 0;
        size_t compared = open ? length - strlen(more) : length;
        if (got_length < compared || (!open && got_length != length) || memcmp(got, expected, compared) != 0)
            return false;
        got += got_length + (got[got_length] == '\n');
        expected += length + (expected[length] == '\n');
    }
    return *got == *expected;
}

static void expect_cases(const char *path, bool (*read)(const char *text))
{
    char *text = read_cases(path);
    unsigned wrong = 0;
    struct bad_case bad;
    for (char *rest = text; next_case(&rest, &bad);) {
        char *got = messages_of(read, bad.text);
        if (!matches(got, bad.messages)) {
            fprintf(stderr, "%s: %s\n--- got:\n%s--- expected:\n%s", path, bad.name, got, bad.messages);
            wrong++;
        }
        free(got);
    }
    free(text);
    assert_int_equal(wrong, 0);
}

static void conf_read_job__bad(void **state)
{
    (void)state;
    expect_cases(CASES_DIRECTORY "/yaml.txt", read_job);
    expect_cases(CASES_DIRECTORY "/job.txt", read_job);
}

static void conf_read_node__bad(void **state)
{
    (void)state;
    expect_cases(CASES_DIRECTORY "/node.txt", read_node);
}

static void conf_read_scenario__bad(void **state)
{
    (void)state;
    expect_cases(CASES_DIRECTORY "/scenario.txt", read_scenario);
}

static void conf_read_net__bad(void **state)
{
    (void)state;
    expect_cases(CASES_DIRECTORY "/net.txt", read_net);
}

static void conf_load__no_such_file(void **state)
{
    (void)state;
    assert_false(conf_read_job("/nonexistent/job.yaml", NULL, &spec, &errors));
    assert_int_equal(errors.count, 1);
    assert_string_equal(errors.lines[0], "/nonexistent/job.yaml: No such file or directory");
}

/* Only what can be read to its end. */
static void conf_load__no_file(void **state)
{
    (void)state;
    char expected[128];
    const struct {
        const char *path, *what;
    } cases[] = {{"/dev/null", "a device or socket"}, {"/tmp", "a directory"}};
    for (size_t at = 0; at < sizeof(cases) / sizeof(cases[0]); at++) {
        snprintf(expected, sizeof(expected), "%s: %s, expected a file", cases[at].path, cases[at].what);
        assert_false(conf_read_node(cases[at].path, NULL, NULL, &config, &errors));
        assert_string_equal(errors.lines[0], expected);
        assert_false(conf_read_job(cases[at].path, NULL, &spec, &errors));
        assert_string_equal(errors.lines[0], expected);
        assert_false(conf_read_scenario(cases[at].path, NULL, &scenario, &errors));
        assert_string_equal(errors.lines[0], expected);
        assert_false(conf_read_net(cases[at].path, NULL, &request, &errors));
        assert_string_equal(errors.lines[0], expected);
    }
}

static void conf_slurp__pipe(void **state)
{
    (void)state;
    struct err err;
    char directory[] = "/tmp/sluice-conf-XXXXXX", fifo[64], end[32];
    assert_non_null(mkdtemp(directory));
    snprintf(fifo, sizeof(fifo), "%s/fifo", directory);
    assert_int_equal(mkfifo(fifo, 0600), 0);
    assert_null(conf_slurp(fifo, 100, &err));
    assert_string_equal(err.text, "a pipe that nobody writes to, expected a file");
    unlink(fifo);
    rmdir(directory);
    int ends[2];
    assert_int_equal(pipe(ends), 0);
    assert_int_equal(write(ends[1], "name: x", 7), 7);
    close(ends[1]);
    snprintf(end, sizeof(end), "/dev/fd/%d", ends[0]);
    char *text = conf_slurp(end, 100, &err);
    assert_non_null(text);
    assert_string_equal(text, "name: x");
    free(text);
    close(ends[0]);
}

static void conf_slurp__length(void **state)
{
    (void)state;
    struct err err;
    char path[] = "/tmp/sluice-conf-XXXXXX";
    int fd = mkstemp(path);
    assert_true(fd >= 0 && ftruncate(fd, 2048) == 0);
    close(fd);
    assert_null(conf_slurp(path, 2047, &err));
    assert_string_equal(err.text, "longer than 1 KiB");
    char *text = conf_slurp(path, 2048, &err);
    assert_non_null(text);
    free(text);
    unlink(path);
}

/* More errors than are kept: the first of them by line, and how many more. */
static void conf_errors__more_than_kept(void **state)
{
    (void)state;
    char *text = NULL, *got = NULL;
    size_t length;
    FILE *stream = open_memstream(&text, &length);
    for (int line = 1; line <= CONF_ERRORS_MAX + 7; line++)
        fprintf(stream, "key%d: 1\n", line);
    fclose(stream);
    assert_false(read_job(text));
    /* name, to and file are missing as well */
    assert_int_equal(errors.count, CONF_ERRORS_MAX + 7 + 3);
    assert_memory_equal(errors.lines[0], "x:1: unknown key \"key1\"", 23);
    assert_memory_equal(errors.lines[CONF_ERRORS_MAX - 1], "x:29: unknown key \"key29\"", 24);
    stream = open_memstream(&got, &length);
    conf_errors_print(&errors, stream);
    fclose(stream);
    assert_non_null(strstr(got, "\n10 more errors\n"));
    free(got);
    free(text);
}

/* Twice 100,000 keys, first those that there are not: each is looked at a few times, not 100,000 times. */
static void conf_read_map__many_keys(void **state)
{
    (void)state;
    char *text = NULL;
    size_t length;
    FILE *stream = open_memstream(&text, &length);
    fprintf(stream, "{");
    for (unsigned key = 0; key < 100000; key++)
        fprintf(stream, "k%u: 1,\n", key);
    for (unsigned key = 0; key < 100000; key++)
        fprintf(stream, "name: 1,\n");
    fprintf(stream, "}\n");
    fclose(stream);
    assert_false(read_scenario(text));
    assert_in_range(errors.count, 199999, 200010);
    free(text);
}

/* What a client of the control socket may send; the second and third would take libyaml minutes. */
static void conf_read_job__foreign_text(void **state)
{
    static const struct {
        const char *unit, *message;
        unsigned count;
    } rows[] = {{"# comment\n", "x:1: 80000 bytes, at most 65536", 8000},
                {"[", "x:1: 60000 of the characters [ { &, at most 256", 60000},
                {"- &a 1\n", "x:1: 9000 of the characters [ { &, at most 256", 9000},
                {"{", "x:1: 257 of the characters [ { &, at most 256", 257},
                {"{", "x:2: not YAML: did not find expected node content", 256}};
    (void)state;
    for (unsigned row = 0; row < sizeof(rows) / sizeof(rows[0]); row++) {
        char *text = NULL;
        size_t length;
        FILE *stream = open_memstream(&text, &length);
        for (unsigned place = 0; place < rows[row].count; place++)
            fputs(rows[row].unit, stream);
        fclose(stream);
        assert_false(read_job(text));
        assert_string_equal(errors.lines[0], rows[row].message);
        free(text);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(conf_read_map__many_keys),
        cmocka_unit_test(conf_read_job__foreign_text),
        cmocka_unit_test(conf_load__no_file),
        cmocka_unit_test(conf_slurp__length),
        cmocka_unit_test(conf_slurp__pipe),
        cmocka_unit_test(conf_load__no_such_file),
        cmocka_unit_test(conf_errors__more_than_kept),
        cmocka_unit_test(conf_read_node__bad),
        cmocka_unit_test(conf_read_job__bad),
        cmocka_unit_test(conf_read_scenario__bad),
        cmocka_unit_test(conf_read_net__bad),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
