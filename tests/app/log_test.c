/* What lines of the log look like, and where they go. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <cmocka.h>

#include "app/log.h"

static FILE *first_stderr;
static int first_fd;

/* A pipe becomes descriptor 2; returns its end to read from. */
static int take_stderr(bool journal)
{
    int ends[2];
    char stream[64];
    struct stat stat;
    assert_int_equal(pipe2(ends, O_NONBLOCK), 0);
    assert_int_equal(fstat(ends[1], &stat), 0);
    snprintf(stream, sizeof(stream), "%llu:%llu", (unsigned long long)stat.st_dev,
             (unsigned long long)stat.st_ino + !journal);
    setenv("JOURNAL_STREAM", stream, 1);
    first_stderr = stderr;
    first_fd = dup(STDERR_FILENO);
    dup2(ends[1], STDERR_FILENO);
    close(ends[1]);
    log_begin();
    return ends[0];
}

static void give_back(int end)
{
    fclose(stderr);
    stderr = first_stderr;
    dup2(first_fd, STDERR_FILENO);
    close(first_fd);
    close(end);
}

/* All that is there by now. */
static const char *take(int end)
{
    static char text[16384];
    ssize_t count = read(end, text, sizeof(text) - 1);
    text[count > 0 ? count : 0] = '\0';
    return text;
}

/* "2026-11-27T04:07:38.123Z " and no more in front of it. */
static const char *behind_time(const char *line)
{
    static const char form[] = "dddd-dd-ddTdd:dd:dd.dddZ ";
    for (size_t at = 0; form[at] != '\0'; at++) {
        if (form[at] == 'd')
            assert_in_range(line[at], '0', '9');
        else
            assert_int_equal(line[at], form[at]);
    }
    return line + sizeof(form) - 1;
}

static void log_time__table(void **state)
{
    (void)state;
    static const struct {
        long long seconds;
        unsigned milliseconds;
        const char *text;
    } cases[] = {{0, 0, "1970-01-01T00:00:00.000Z "},
                 {951782399, 7, "2000-02-28T23:59:59.007Z "},
                 {1795752458, 999, "2026-11-27T04:07:38.999Z "}};
    for (size_t row = 0; row < sizeof(cases) / sizeof(cases[0]); row++) {
        char text[LOG_TIME_BYTES];
        log_time(text, cases[row].seconds, cases[row].milliseconds);
        assert_string_equal(text, cases[row].text);
    }
}

static void log__every_line_has_its_time(void **state)
{
    (void)state;
    int end = take_stderr(false);
    fprintf(stderr, "n1: %s\n", "one");
    assert_string_equal(behind_time(take(end)), "n1: one\n");
    fprintf(stderr, LOG_WARNING "n1: two\nthree\n");
    const char *text = behind_time(take(end));
    assert_memory_equal(text, "n1: two\n", 8);
    assert_string_equal(behind_time(text + 8), "three\n");
    fprintf(stderr, "half");
    fprintf(stderr, " and half\n");
    assert_string_equal(behind_time(take(end)), "half and half\n");
    give_back(end);
}

static void log__the_journal_gets_priorities(void **state)
{
    (void)state;
    int end = take_stderr(true);
    char text[LOG_TIME_BYTES] = "x";
    fprintf(stderr, "one\n" LOG_ERROR "two\n");
    assert_string_equal(take(end), "one\n<3>two\n");
    log_time_now(text);
    assert_string_equal(text, "");
    give_back(end);
}

static void log__a_long_line_has_one_time(void **state)
{
    (void)state;
    char line[9000];
    int end = take_stderr(false);
    memset(line, 'x', sizeof(line));
    line[sizeof(line) - 1] = '\0';
    fprintf(stderr, "%s\n", line);
    const char *text = behind_time(take(end));
    assert_int_equal(strspn(text, "x"), sizeof(line) - 1);
    assert_string_equal(text + sizeof(line) - 1, "\n");
    give_back(end);
}

static void log__what_is_lost_is_counted(void **state)
{
    (void)state;
    int end = take_stderr(false);
    char line[2048];
    unsigned lost = 0;
    log_never_wait();
    memset(line, 'x', sizeof(line));
    line[sizeof(line) - 1] = '\0';
    for (; lost < 100; lost++)
        fprintf(stderr, "%s\n", line);
    while (take(end)[0] != '\0')
        ;
    fprintf(stderr, "after\n");
    const char *text = behind_time(take(end));
    assert_int_equal(sscanf(text, "%u lines of the log were lost\n", &lost), 1);
    assert_in_range(lost, 1, 99);
    assert_string_equal(behind_time(strchr(text, '\n') + 1), "after\n");
    give_back(end);
}

static void log__diverted_and_back(void **state)
{
    (void)state;
    int end = take_stderr(false), ends[2];
    assert_int_equal(pipe2(ends, O_NONBLOCK), 0);
    log_divert(ends[1]);
    fprintf(stderr, LOG_ERROR "one\n");
    assert_string_equal(take(end), "");
    assert_string_equal(behind_time(take(ends[0])), "one\n");
    log_divert(-1);
    fprintf(stderr, "two\n");
    assert_string_equal(take(ends[0]), "");
    assert_string_equal(behind_time(take(end)), "two\n");
    close(ends[0]);
    close(ends[1]);
    give_back(end);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(log_time__table),
        cmocka_unit_test(log__every_line_has_its_time),
        cmocka_unit_test(log__the_journal_gets_priorities),
        cmocka_unit_test(log__a_long_line_has_one_time),
        cmocka_unit_test(log__what_is_lost_is_counted),
        cmocka_unit_test(log__diverted_and_back),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
