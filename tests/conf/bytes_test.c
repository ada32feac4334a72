/* Job files with names that are no UTF-8, or that no terminal may have. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "conf/conf.h"
#include "ctl/job_spec.h"

static void conf_read_job__paths_of_any_bytes(void **state)
{
    static const struct {
        const char *file, *read; /* as YAML writes it, and what it is */
    } rows[] = {
        {"/a/caf\xe9.txt", "/a/caf\xe9.txt"},
        {"\"/a/\xff\xfe\"", "/a/\xff\xfe"},
        {"\"/a/new\\nline\\ttab\"", "/a/new\nline\ttab"},
        {"\"/a/\xf4\x8f\xbf\xa9\"", "/a/\xf4\x8f\xbf\xa9"}, /* a character that bytes are armoured with */
        {"b\xe4r", "/d\xe9/b\xe4r"},
        {"\"\\e[31m\"", "/d\xe9/\x1b[31m"},
    };
    static struct job_spec spec;
    struct conf_errors errors;
    char text[256];
    (void)state;
    for (size_t row = 0; row < sizeof(rows) / sizeof(rows[0]); row++) {
        snprintf(text, sizeof(text), "name: j\nsource: a\nto: all\nas: x\xe9\nfile: %s\n", rows[row].file);
        if (!conf_read_job("/d\xe9/job.yaml", text, &spec, &errors))
            fail_msg("row %zu: %s", row, errors.lines[0]);
        assert_string_equal(spec.file, rows[row].read);
        assert_string_equal(spec.target, "x\xe9");
    }
    /* Names are still names, and messages are still for a terminal. */
    assert_false(conf_read_job("/j", "name: caf\xe9\nsource: a\nto: all\nfile: f\n", &spec, &errors));
    assert_string_equal(errors.lines[0],
                        "/j:1: name: \"caf?\", expected a name (1 to 31 of a-z A-Z 0-9 . _ -)");
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(conf_read_job__paths_of_any_bytes)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
