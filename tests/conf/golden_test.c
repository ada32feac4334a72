/* Good files, and the printed references, against golden files. After a wanted change run the test with
 * GOLDEN_UPDATE=1 and read the difference before it is committed. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "conf/conf.h"
#include "node/node.h"
#include "dump.h"

static struct app_config config;
static struct scenario scenario;
static struct job_spec spec;
static struct plan_request request;
static struct conf_errors errors;

static void update_golden(const char *path, const char *text)
{
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    fputs(text, file);
    fclose(file);
}

static void expect_golden(const char *name, const char *text)
{
    char path[512];
    static char golden[1 << 18];
    snprintf(path, sizeof(path), "%s/%s.txt", GOLDEN_DIRECTORY, name);
    if (getenv("GOLDEN_UPDATE") != NULL)
        update_golden(path, text);
    FILE *file = fopen(path, "r");
    assert_non_null(file);
    golden[fread(golden, 1, sizeof(golden) - 1, file)] = '\0';
    fclose(file);
    assert_string_equal(text, golden);
}

/* Reads GOLDEN_DIRECTORY/`file` and compares its dump with `file`.txt. */
static void expect_file(const char *file, bool (*read)(const char *path), void (*dump)(FILE *out))
{
    char path[512], *text = NULL;
    size_t length;
    snprintf(path, sizeof(path), "%s/%s", GOLDEN_DIRECTORY, file);
    bool good = read(path);
    conf_errors_print(&errors, stderr);
    assert_true(good);
    FILE *out = open_memstream(&text, &length);
    dump(out);
    fclose(out);
    expect_golden(file, text);
    free(text);
}

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

static void print_node(FILE *out)
{
    dump_node(out, &config);
}

/* A relative file is found beside the job file; that place is no part of the golden file. */
static void print_job(FILE *out)
{
    struct job_spec plain = spec;
    size_t directory = strlen(GOLDEN_DIRECTORY "/");
    if (strncmp(plain.file, GOLDEN_DIRECTORY "/", directory) == 0)
        memmove(plain.file, spec.file + directory, sizeof(plain.file) - directory);
    dump_job(out, &plain);
}

static void print_scenario(FILE *out)
{
    dump_scenario(out, &scenario);
}

static void print_net(FILE *out)
{
    dump_net(out, &request);
}

static void conf_read_node__golden(void **state)
{
    (void)state;
    expect_file("node.yaml", read_node, print_node);
    expect_file("node_minimal.yaml", read_node, print_node);
    expect_file("node_roster.yaml", read_node, print_node);
}

static void conf_read_job__golden(void **state)
{
    (void)state;
    expect_file("job.yaml", read_job, print_job);
    expect_file("job_minimal.yaml", read_job, print_job);
    expect_file("job_plan.yaml", read_job, print_job);
}

static void conf_read_scenario__golden(void **state)
{
    (void)state;
    expect_file("scenario.yaml", read_scenario, print_scenario);
}

static void conf_read_net__golden(void **state)
{
    (void)state;
    expect_file("net.json", read_net, print_net);
    expect_file("net_tree.yaml", read_net, print_net);
    expect_file("net_rows.yaml", read_net, print_net);
}

static void conf_print_help__golden(void **state)
{
    (void)state;
    static const char *const kinds[] = {"node", "job", "scenario", "net"};
    for (unsigned index = 0; index < 4; index++) {
        char name[32], *text = NULL;
        size_t length;
        FILE *out = open_memstream(&text, &length);
        assert_true(conf_print_help(kinds[index], out));
        fclose(out);
        snprintf(name, sizeof(name), "help_%s", kinds[index]);
        expect_golden(name, text);
        free(text);
    }
    assert_false(conf_print_help("cheese", stderr));
}

/* The node's own defaults and those of the table are the same: a file without a key and a node made without a
 * file behave alike. */
static void conf_read_node__defaults_are_the_nodes(void **state)
{
    (void)state;
    struct node_config defaults;
    node_config_defaults(&defaults);
    assert_true(conf_read_node("x", "node: {name: a}\nports: [{device: d, address: 10.0.0.1/24}]\n", NULL,
                               &config, &errors));
    const struct node_config *node = &config.node;
    assert_int_equal(node->store, defaults.store);
    assert_int_equal(node->probe.period_ns, defaults.probe.period_ns);
    assert_int_equal(node->probe.load_ppb, defaults.probe.load_ppb);
    assert_int_equal(node->probe.width_ppb, defaults.probe.width_ppb);
    assert_int_equal(node->seed, defaults.seed);
    assert_int_equal(node->buffer_bytes, defaults.buffer_bytes);
    assert_int_equal(node->blocks_max, defaults.blocks_max);
#define TIMEOUT(key, field, least, least_unit, most, most_unit, initial, unit, help)                         \
    assert_int_equal(node->field, defaults.field);
#include "node/timeouts.def"
#undef TIMEOUT
    assert_int_equal(node->ports[0].address.udp_port, NODE_UDP_PORT);
    assert_int_equal(node->ports[0].rate_bps, APP_CONFIG_PORT_RATE_DEFAULT);
}

/* What a file may say, a node takes, and nothing beyond. */
static void node_config_check__bounds_of_timeouts(void **state)
{
    struct err err;
    char key[64];
    (void)state;
    assert_true(conf_read_node("x", "node: {name: a}\nports: [{device: d, address: 10.0.0.1/24}]\n", NULL,
                               &config, &errors));
    struct node_config *node = &config.node;
    node->incarnation = 1;
#define TIMEOUT(name, field, least, least_unit, most, most_unit, initial, unit, help)                        \
    for (int row = 0; row < 4; row++) {                                                                      \
        const uint64_t low = least * NS_PER_##least_unit, high = most * NS_PER_##most_unit;                  \
        const uint64_t values[] = {low, high, low - 1, high + 1}, before = node->field;                      \
        node->field = values[row];                                                                           \
        snprintf(key, sizeof(key), "timeouts.%s:", #name);                                                   \
        assert_int_equal(node_config_check(node, &err), row < 2);                                            \
        assert_true(row < 2 || strncmp(err.text, key, strlen(key)) == 0);                                    \
        node->field = before;                                                                                \
    }
#include "node/timeouts.def"
#undef TIMEOUT
}

/* A file that names no ring gets one beside its socket. */
static void node__ring(void **state)
{
    static const struct {
        const char *control, *ring;
    } cases[] = {
        {"", ""}, /* by the node's name (places.h) */
        {"control: {socket: /tmp/a.sock}", "/tmp/a.ring"},
        {"control: {socket: /tmp/a}", "/tmp/a.ring"},
        {"control: {socket: /tmp/.sock}", "/tmp/.ring"},
        {"control: {socket: /tmp/a.sock, ring: /tmp/b}", "/tmp/b"},
        {"control: {ring: none}", ""},
    };
    (void)state;
    for (unsigned index = 0; index < sizeof(cases) / sizeof(cases[0]); index++) {
        char text[256];
        snprintf(text, sizeof(text), "node: {name: a}\nports: [{device: d, address: 10.0.0.1/24}]\n%s\n",
                 cases[index].control);
        errors.count = 0;
        assert_true(conf_read_node("x", text, NULL, &config, &errors));
        assert_string_equal(config.control_ring, cases[index].ring);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(node__ring),
        cmocka_unit_test(conf_read_node__golden),
        cmocka_unit_test(conf_read_job__golden),
        cmocka_unit_test(conf_read_scenario__golden),
        cmocka_unit_test(conf_read_net__golden),
        cmocka_unit_test(conf_print_help__golden),
        cmocka_unit_test(conf_read_node__defaults_are_the_nodes),
        cmocka_unit_test(node_config_check__bounds_of_timeouts),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
