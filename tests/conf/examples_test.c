/* The example files in conf/ are what operators copy: each must pass as it is. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <glob.h>
#include <stdio.h>
#include <string.h>
#include <cmocka.h>

#include "conf/conf.h"

static struct app_config config;
static struct scenario scenario;
static struct job_spec spec;
static struct plan_request request;
static struct conf_errors errors;

static bool read_node(const char *path)
{
    return conf_read_node(path, NULL, NULL, &config, &errors);
}

static bool read_job(const char *path)
{
    return conf_read_job(path, NULL, &spec, &errors);
}

static bool read_scenario(const char *path)
{
    return conf_read_scenario(path, NULL, &scenario, &errors);
}

static bool read_net(const char *path)
{
    return conf_read_net(path, NULL, &request, &errors);
}

static void expect_all(const char *pattern, bool (*read)(const char *path))
{
    glob_t found;
    assert_int_equal(glob(pattern, 0, NULL, &found), 0);
    for (size_t index = 0; index < found.gl_pathc; index++) {
        bool good = read(found.gl_pathv[index]);
        conf_errors_print(&errors, stderr);
        assert_true(good);
        assert_int_equal(errors.count, 0);
    }
    globfree(&found);
}

static void examples__nodes(void **state)
{
    (void)state;
    expect_all(CONF_DIRECTORY "/nodes/*.yaml", read_node);
}

/* Nobody's keys stand in them, so that two of these files that were copied as they are do not start. */
static void expect_keys_missing(void)
{
    assert_int_equal(errors.count, 2);
    assert_non_null(
        strstr(errors.lines[0],
               "roster[0]: key missing: at that site `sluicectl key show -c FILE -n london` prints it"));
    assert_non_null(
        strstr(errors.lines[1],
               "roster[1]: key missing: at that site `sluicectl key show -c FILE -n tokyo` prints it"));
}

/* One file for all sites: each finds itself by its name. All files of the folder describe the same two. */
static void examples__two_sites(void **state)
{
    static const char *const names[] = {"london", "tokyo"};
    glob_t found;
    (void)state;
    assert_int_equal(glob(CONF_DIRECTORY "/nodes/two-sites/*.yaml", 0, NULL, &found), 0);
    assert_int_equal(found.gl_pathc, 3);
    for (size_t place = 0; place < 2 * found.gl_pathc; place++) {
        size_t own = place % 2;
        errors.count = 0;
        assert_false(conf_read_node(found.gl_pathv[place / 2], NULL, names[own], &config, &errors));
        expect_keys_missing();
        assert_string_equal(config.node.name, names[own]);
        assert_int_equal(config.node.peer_count, 1);
        assert_string_equal(config.node.peers[0].name, names[1 - own]);
        assert_int_equal(config.node.ports[0].address.ip[3], own == 0 ? 10 : 20);
        assert_int_equal(config.node.peers[0].address.ip[3], own == 0 ? 20 : 10);
        assert_int_equal(config.ports[0].prefix_length, app_port_is_socket(&config.ports[0]) ? 0 : 24);
        assert_true(config.ring_by_name || strcmp(config.control_ring, "/run/sluice/london.ring") == 0);
    }
    globfree(&found);
}

static void examples__jobs(void **state)
{
    (void)state;
    expect_all(CONF_DIRECTORY "/jobs/*.yaml", read_job);
}

static void examples__scenarios(void **state)
{
    (void)state;
    expect_all(CONF_DIRECTORY "/scenarios/*.yaml", read_scenario);
}

static void examples__nets(void **state)
{
    (void)state;
    expect_all(CONF_DIRECTORY "/nets/*.yaml", read_net);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(examples__nodes), cmocka_unit_test(examples__two_sites),
        cmocka_unit_test(examples__jobs),  cmocka_unit_test(examples__scenarios),
        cmocka_unit_test(examples__nets),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
