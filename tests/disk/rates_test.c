/* What a disk tells of itself. */
#include "fixture.h"

#include "base/units.h"
#include "disk/rates.h"

static uint64_t number_after(const char *text, const char *key)
{
    char quoted[64];
    unsigned long long value = 0;
    snprintf(quoted, sizeof(quoted), "\"%s\":", key);
    const char *at = strstr(text, quoted);
    assert_non_null(at);
    assert_int_equal(sscanf(at + strlen(quoted), "%llu", &value), 1);
    return value;
}

/* Two looks, 2 s apart: what was read, written and hashed between them. A look too soon changes nothing. */
static void disk_report__rates_since_the_look_before(void **state)
{
    (void)state;
    static struct disk_rates rates;
    static uint8_t data[BLOCK] = "content";
    static char text[16384];
    struct fixture fixture;
    struct report report;
    memset(&rates, 0, sizeof(rates));
    fixture_start(&fixture, 1, false);
    disk_rates_look(&rates, fixture.disk, 5 * NS_PER_S);
    assert_int_equal(ask_target(&fixture, 0, "file", 2 * BLOCK).status, DISK_OK);
    assert_int_equal(ask_write(&fixture, 0, data, BLOCK, 0).status, DISK_OK);
    assert_int_equal(ask_write(&fixture, 0, data, BLOCK, BLOCK).status, DISK_OK);
    assert_int_equal(ask_read(&fixture, 0, data, BLOCK, BLOCK).status, DISK_OK);
    disk_rates_look(&rates, fixture.disk, 7 * NS_PER_S);
    disk_rates_look(&rates, fixture.disk, 7 * NS_PER_S + NS_PER_MS);
    report_begin(&report, REPORT_JSON, text, sizeof(text));
    disk_report(fixture.disk, &rates, &report);
    assert_true(report_end(&report));
    assert_int_equal(number_after(text, "written_bps"), 2 * BLOCK * 8 / 2);
    assert_int_equal(number_after(text, "read_bps"), BLOCK * 8 / 2);
    assert_int_equal(number_after(text, "hashed_bps"), 3 * BLOCK * 8 / 2);
    assert_int_equal(number_after(text, "requests"), 3);
    assert_int_equal(number_after(text, "queue"), 0);
    assert_int_equal(number_after(text, "queue_most"), 1);
    assert_int_equal(number_after(text, "stuck"), 0);
    assert_true(number_after(text, "slowest_ns") > 0);
    assert_true(number_after(text, "hash_bps") > 0);
    assert_non_null(strstr(text, "\"name\":\"disk-0-0\",\"filesystem\":\""));
    assert_non_null(strstr(text, "\"name\":\"disk-slow-0\",\"filesystem\":\"\""));
    assert_null(strstr(text, "disk-1-0")); /* has served nothing */
    fixture_stop(&fixture);
}

static void disk_start__refuses_a_cpu_that_is_not_there(void **state)
{
    (void)state;
    struct err err;
    assert_null(disk_start(&(struct disk_config){.threads = 1, .cpu_count = 1, .cpus = {1023}}, &err));
    assert_string_equal(err.text, "disk.cpus: CPU 1023 does not exist or is not permitted to this process");
}

int run_rates_tests(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(disk_report__rates_since_the_look_before),
        cmocka_unit_test(disk_start__refuses_a_cpu_that_is_not_there),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
