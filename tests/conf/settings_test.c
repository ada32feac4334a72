/* What is told of a file's settings: all keys of the reference, with their values. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "conf/conf.h"

static struct app_config config;

/* Between them every list has an item: peers and a roster exclude each other. */
static const char *const files[] = {
    "node: {name: a, seed: 7, insecure: benchmark}\n"
    "ports: [{device: d, address: 10.0.0.1/24}]\n"
    "peers: [{name: b, address: 10.0.0.2}, {name: c, address: 10.0.0.3, probe: off}]\n"
    "directories: [{name: in, path: /in, sources: [b, c]}, {name: all, path: /all, sources: any}]\n"
    "outgoing: [{path: /out, users: [root, '@staff']}]\n"
    "manifests: /manifests\n"
    "probe: {load: 2%}\n"
    "timeouts:\n"
    "eal: {no-pci: true, vdev: [x, y]}\n",
    "ports: [{device: d}]\n"
    "roster:\n"
    "  - {name: a, address: 10.0.0.1/24, key: slk1:AAMGCQwPEhUYGx4hJCcqLTAzNjk8P0JFSEtOUVRXWl2eSIj2}\n"
    "  - {name: b, address: 10.0.0.2, key: slk1:ERYbICUqLzQ5PkNITVJXXGFma3B1en-EiY6TmJ2ip6xvnH1d}\n",
};

static void take(unsigned file, struct conf_settings *settings)
{
    struct conf_errors errors;
    bool good = conf_read_node_settings("x", files[file], file == 0 ? NULL : "a", &config, settings, &errors);
    if (!good)
        fail_msg("%s", errors.lines[0]);
}

/* That key, or, of a list of maps, its first item's first key. */
static bool find(const struct conf_settings *settings, const char *key, struct conf_setting *setting)
{
    size_t at = 0, length = strlen(key);
    while (conf_settings_next(settings, &at, setting))
        if (strncmp(setting->key, key, length) == 0 &&
            (setting->key[length] == '\0' || setting->key[length] == '['))
            return true;
    return false;
}

static void settings__values_and_defaults(void **state)
{
    static const struct {
        const char *key, *value;
        bool given;
    } rows[] = {
        {"node.name", "a", true},
        {"node.seed", "7", true},
        {"node.udp_port", "7840", false},
        {"ports[0].address", "10.0.0.1/24", true},
        {"ports[0].rate", "10Gbps", false},
        {"ports[0].gateway", "", false},
        {"peers[1].probe", "off", true},
        {"peers[0].probe", "on", false},
        {"directories[0].sources", "b, c", true},
        {"directories[1].sources", "any", true},
        {"directories[0].accept.owner", "false", false},
        {"outgoing[0].users", "root, @staff", true},
        {"roster", "", false},
        {"manifests", "/manifests", true},
        {"probe.load", "2%", true},
        {"probe.width", "0.5%", false},
        {"timeouts.stall", "20s", false},
        {"eal", "no-pci: true, vdev: x, y", true},
        {"disk.cpus", "", false},
    };
    struct conf_settings settings = {0};
    struct conf_setting setting;
    (void)state;
    take(0, &settings);
    for (unsigned row = 0; row < sizeof(rows) / sizeof(rows[0]); row++) {
        if (!find(&settings, rows[row].key, &setting))
            fail_msg("%s is missing", rows[row].key);
        assert_string_equal(setting.value, rows[row].value);
        assert_int_equal(setting.given, rows[row].given);
    }
    assert_false(find(&settings, "ports[1].rate", &setting));
    conf_settings_free(&settings);
}

/* "ports[].rate" is there as "ports[0].rate". */
static bool is_told(const struct conf_settings settings[2], const char *key)
{
    char first[256] = "";
    struct conf_setting setting;
    for (const char *at = key; *at != '\0'; at++)
        snprintf(first + strlen(first), sizeof(first) - strlen(first), "%c%s", *at, *at == '[' ? "0" : "");
    return find(&settings[0], first, &setting) || find(&settings[1], first, &setting);
}

static void settings__every_key_of_the_reference(void **state)
{
    struct conf_settings settings[2] = {0};
    char *reference, *rest = NULL;
    size_t length;
    unsigned count = 0;
    (void)state;
    FILE *out = open_memstream(&reference, &length);
    assert_true(conf_print_help("node", out));
    fclose(out);
    take(0, &settings[0]);
    take(1, &settings[1]);
    strtok_r(reference, "\n", &rest); /* what the file is */
    for (char *line; (line = strtok_r(NULL, "\n", &rest)) != NULL;) {
        char *form = strstr(line, ": ");
        if (line[0] == ' ' || form == NULL || strncmp(form, ": a map", 7) == 0 ||
            strncmp(form, ": the keys of", 13) == 0)
            continue;
        *form = '\0';
        if (!is_told(settings, line))
            fail_msg("%s is not told", line);
        count++;
    }
    assert_true(count > 60);
    free(reference);
    conf_settings_free(&settings[0]);
    conf_settings_free(&settings[1]);
}

static void settings__none_of_a_bad_file(void **state)
{
    struct conf_settings settings = {0};
    struct conf_errors errors;
    (void)state;
    assert_false(conf_read_node_settings("x", "ports: 3\n", "a", &config, &settings, &errors));
    assert_null(settings.text);
    conf_settings_free(&settings);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(settings__values_and_defaults),
        cmocka_unit_test(settings__every_key_of_the_reference),
        cmocka_unit_test(settings__none_of_a_bad_file),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
