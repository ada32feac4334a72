/* Changes of a scenario from a command line. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include "conf/conf.h"

static const char base[] = "name: s\n"
                           "nodes: {a: {uplink: 1Gbps}, b.c: , d: }\n"
                           "links:\n"
                           "  default: {owd: 10ms}\n"
                           "  list:\n"
                           "    - {from: a, to: d, loss: 1%}\n"
                           "jobs: [{name: j, source: a, to: all, size: 1MB}]\n";

static struct scenario scenario;
static struct conf_errors errors;

static bool read_with(const char *set)
{
    errors = (struct conf_errors){0};
    return conf_read_scenario_set("x", base, &set, set != NULL, &scenario, &errors);
}

static void expect_good(const char *set)
{
    if (!read_with(set))
        fail_msg("%s: %s", set, errors.lines[0]);
}

static void conf_change__replaces_and_adds(void **state)
{
    (void)state;
    expect_good("links.default.owd=20ms");
    assert_int_equal(scenario.links[1][0].delay_ns, 20000000);
    expect_good("links.default.loss=2%");
    assert_int_equal(scenario.links[1][0].loss_ppb, 20000000);
    assert_int_equal(scenario.links[0][2].loss_ppb, 10000000);
    expect_good("links.list[0].loss=3%");
    assert_int_equal(scenario.links[0][2].loss_ppb, 30000000);
    expect_good("links.default.policer={rate: 1Mbps, depth: 2KB}");
    assert_int_equal(scenario.links[1][0].policer_depth_bytes, 2000);
    expect_good("links.list=[{from: d, to: a, owd: 1ms}]");
    assert_int_equal(scenario.links[2][0].delay_ns, 1000000);
    expect_good("links.default.loss_model.gilbert_elliott={p: 1%, r: 2%}");
    assert_int_equal(scenario.links[0][1].burst.leave_ppb, 20000000);
    expect_good("nodes.b.c.uplink=2Gbps"); /* a name with a dot, and a place that was empty */
    assert_int_equal(scenario.nodes[1].uplink.rate_bps, 2000000000);
    expect_good("node_defaults.downlink=3Gbps");
    assert_int_equal(scenario.nodes[0].downlink.rate_bps, 3000000000);
    expect_good("jobs[0].size=7");
    assert_int_equal(scenario.jobs[0].size_bytes, 7);
    expect_good("expect.time=<= 5s");
    assert_int_equal(scenario.expects[0].value, 5000000000);
    expect_good("name=\"t\"");
    assert_string_equal(scenario.name, "t");
}

static void conf_change__in_order(void **state)
{
    (void)state;
    const char *const sets[] = {"links.default={owd: 5ms}", "links.default.jitter=1ms",
                                "links.default.owd=6ms"};
    errors = (struct conf_errors){0};
    assert_true(conf_read_scenario_set("x", base, sets, 3, &scenario, &errors));
    assert_int_equal(scenario.links[0][1].delay_ns, 6000000);
    assert_int_equal(scenario.links[0][1].jitter_ns, 1000000);
}

static void conf_change__bad(void **state)
{
    (void)state;
    static const struct {
        const char *set, *message;
    } rows[] = {
        {"loss", "x:1: --set loss: expected PATH=VALUE"},
        {"=1", "x:1: --set =1: expected PATH=VALUE"},
        {"l\xff=1", "x:1: --set l?=1: a key that is not UTF-8"},
        {"limit=\xff", "x:1: --set limit=?: what follows \"=\" is no value"},
        {"limit=", "x:1: --set limit=: what follows \"=\" is no value"},
        {"limit={", "x:1: --set limit={: what follows \"=\" is no value"},
        {"limit=&a [*a]", "x:1: --set limit=&a [*a]: what follows \"=\" is no value"},
        {"links..loss=1%", "x:4: --set links..loss=1%: expected a path like links.default.loss before \"=\""},
        {"links.list[1].loss=1%", "x:6: --set links.list[1].loss=1%: no such item"},
        {"links.default[0]=1", "x:4: --set links.default[0]=1: […] does not stand for a list"},
        {"jobs[x].size=1", "x:7: --set jobs[x].size=1: expected a path like links.list[0].rate before \"=\""},
        {"jobs[0]size=1", "x:7: --set jobs[0]size=1: expected a path like links.list[0].rate before \"=\""},
        {"jobs.size=1", "x:7: --set jobs.size=1: part of the path stands for no map"},
        {"name.x=1", "x:1: --set name.x=1: part of the path stands for no map"},
        {"links.default.los=1%", "x:4: links.default: unknown key \"los\", did you mean \"loss\"?"},
        {"links.default.owd=fast",
         "x:4: links.default.owd: \"fast\", expected a time like 40ms or 2s, at most 100s"},
    };
    for (size_t row = 0; row < sizeof(rows) / sizeof(rows[0]); row++) {
        assert_false(read_with(rows[row].set));
        assert_string_equal(errors.lines[0], rows[row].message);
        assert_int_equal(errors.count, 1);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(conf_change__replaces_and_adds),
        cmocka_unit_test(conf_change__in_order),
        cmocka_unit_test(conf_change__bad),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
