/* Reports that the program makes itself. Counters are read while the worker writes them (base/count.h). */
#include <stdio.h>
#include <string.h>

#include <rte_version.h>

#include "app/version.h"
#include "command.h"
#include "reload.h"

static void show_version(struct report *report)
{
    report_text(report, "sluice", version_text());
    report_text(report, "dpdk", rte_version());
    report_text(report, "dpdk_built_with",
                RTE_VER_PREFIX " " RTE_STR(RTE_VER_YEAR) "." RTE_STR(RTE_VER_MONTH));
}

static void show_config_ports(const struct app_config *config, struct report *report)
{
    char address[ADDRESS_TEXT_BYTES];
    report_table(report, "ports");
    for (uint16_t index = 0; index < config->node.port_count; index++) {
        address_format(&config->node.ports[index].address, address);
        report_row(report);
        report_text(report, "device", config->ports[index].device);
        report_text(report, "address", address);
        report_u64(report, "prefix_length", config->ports[index].prefix_length);
        report_u64(report, "mtu", config->node.ports[index].mtu);
        report_u64(report, "rate_bps", config->node.ports[index].rate_bps);
        report_u64(report, "vlan", config->ports[index].vlan);
        report_u64(report, "worker", config->ports[index].worker);
        report_row_end(report);
    }
    report_table_end(report);
}

static void show_config_peers(const struct app_config *config, struct report *report)
{
    char address[ADDRESS_TEXT_BYTES];
    report_table(report, "peers");
    for (uint16_t index = 0; index < config->node.peer_count; index++) {
        address_format(&config->node.peers[index].address, address);
        report_row(report);
        report_text(report, "name", config->node.peers[index].name);
        report_text(report, "address", address);
        report_u64(report, "port", config->node.peers[index].port);
        report_row_end(report);
    }
    report_table_end(report);
}

/* A site's name stands before its keys, which may have been read again since the start. */
static void take_keys_in_force(const struct app *app, struct conf_setting *setting, char name[NAME_BYTES],
                               char keys[KEYS_IN_FORCE_BYTES])
{
    const char *behind = strstr(setting->key, "].");
    if (behind != NULL && strcmp(behind, "].name") == 0)
        name_copy(name, NAME_BYTES, setting->value);
    if (behind == NULL || strcmp(behind, "].key") != 0 || !setting->given)
        return;
    reload_keys_in_force(app, name, keys);
    setting->value = keys;
}

/* Each key of the node file. */
static void show_options(const struct app *app, struct report *report)
{
    char name[NAME_BYTES] = "", keys[KEYS_IN_FORCE_BYTES];
    struct conf_setting setting;
    size_t at = 0;
    report_table(report, "options");
    while (conf_settings_next(&app->settings, &at, &setting)) {
        take_keys_in_force(app, &setting, name, keys);
        report_row(report);
        report_text(report, "key", setting.key);
        report_text(report, "from", setting.given ? "file" : "default");
        report_text(report, "value", setting.value);
        report_row_end(report);
    }
    report_table_end(report);
}

/* Above the keys what follows from them, and from the machine. */
static void show_config(const struct app *app, struct report *report)
{
    const struct app_config *config = &app->config;
    report_text(report, "name", config->node.name);
    report_text(report, "file", config->source_path);
    report_text(report, "control_ring", config->control_ring);
    report_text(report, "memory", app->memory_text);
    report_u64(report, "tsc_hz", tsc_clock_hz(&app->clock));
    show_config_ports(config, report);
    show_config_peers(config, report);
    show_options(app, report);
}

/* The workers beside the node's. */
static void show_port_workers(const struct app *app, struct report *report)
{
    report_table(report, "port_workers");
    for (uint16_t number = 1; number < APP_LCORES_MAX; number++) {
        if (app->port_workers[number].app == NULL)
            continue;
        report_row(report);
        report_u64(report, "worker", number);
        report_u64(report, "cpu", app->config.lcores[number]);
        turns_report(&app->port_workers[number].turns, report);
        report_row_end(report);
    }
    report_table_end(report);
}

static void show_ports(const struct app *app, struct report *report)
{
    report_table(report, "ports");
    for (uint16_t index = 0; index < app->config.node.port_count; index++) {
        report_row(report);
        app->ports[index].calls->report(app->ports[index].self, report);
        report_u64(report, "worker", app->config.ports[index].worker);
        if (app->crossings[index] != NULL)
            report_u64(report, "node_behind", count_get(&app->crossings[index]->node_behind));
        report_row_end(report);
    }
    report_table_end(report);
    show_port_workers(app, report);
    report_object(report, "worker");
    turns_report(&app->worker.turns, report);
    report_u64(report, "events_missed", count_get(&app->events.missed));
    report_object_end(report);
}

bool show_local(struct app *app, enum ctl_show what, enum report_form form, char *text, size_t room)
{
    struct report report;
    report_begin(&report, form, text, room);
    switch (what) {
    case CTL_SHOW_version:
        show_version(&report);
        break;
    case CTL_SHOW_config:
        show_config(app, &report);
        break;
    case CTL_SHOW_ports:
        show_ports(app, &report);
        break;
    case CTL_SHOW_disk:
        disk_report(app->disk, &app->disk_rates, &report);
        break;
        CTL_CASES_OF_NODE
    case CTL_SHOW_COUNT:
        break;
    }
    return report_end(&report);
}

/* One line; what does not fit is left out. */
static void help_line(char *text, size_t room, const char *name, const char *help)
{
    size_t length = strlen(text);
    snprintf(text + length, room - length, "%-24s %s\n", name, help);
}

static void counter_row(struct report *report, const char *of, const char *name, const char *help)
{
    report_row(report);
    report_text(report, "of", of);
    report_text(report, "name", name);
    report_text(report, "help", help);
    report_row_end(report);
}

static void counter_help_json(char *text, size_t room)
{
    static const struct port_counters none;
    struct report report;
    const char *name;
    uint64_t value;
    report_begin(&report, REPORT_JSON, text, room);
    report_table(&report, "counters");
#define COUNTER(name, help)       counter_row(&report, "node", #name, help);
#define STORE_COUNTER(name, help) COUNTER(name, help)
#include "node/counters.def"
#undef STORE_COUNTER
#undef COUNTER
    for (uint32_t index = 0; (name = port_counter(&none, index, &value)) != NULL; index++)
        counter_row(&report, "port", name, port_counter_help(index));
    report_table_end(&report);
    CHECK(report_end(&report));
}

void show_counter_help(enum report_form form, char *text, size_t room)
{
    static const struct port_counters none;
    const char *name;
    uint64_t value;
    if (form == REPORT_JSON) {
        counter_help_json(text, room);
        return;
    }
    text[0] = '\0';
    help_line(text, room, "show counters", "");
#define COUNTER(name, help)       help_line(text, room, "  " #name, help);
#define STORE_COUNTER(name, help) COUNTER(name, help)
#include "node/counters.def"
#undef STORE_COUNTER
#undef COUNTER
    help_line(text, room, "show ports", "");
    for (uint32_t index = 0; (name = port_counter(&none, index, &value)) != NULL; index++) {
        char indented[64];
        snprintf(indented, sizeof(indented), "  %s", name);
        help_line(text, room, indented, port_counter_help(index));
    }
}
