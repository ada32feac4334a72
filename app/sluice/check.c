#include "check.h"

#include <stdio.h>

#include "directories.h"
#include "dpdk/machine.h"

static bool print(const struct app *app, const struct machine *machine, const char *of)
{
    bool good = true;
    for (uint16_t index = 0; index < machine->count; index++) {
        fprintf(stderr, "%s: %s: %s\n", app->config.node.name, of, machine->findings[index].text);
        good &= !machine->findings[index].fatal;
    }
    return good;
}

static bool check_port(const struct app *app, uint16_t index, bool virtual_only, bool *has_nic)
{
    const struct app_port_config *port = &app->config.ports[index];
    struct machine machine = {.root = ""};
    struct device device;
    struct err err;
    char of[24];
    snprintf(of, sizeof(of), "ports[%u]", index);
    if (!device_parse(&device, port->device, port->frame_bytes_max, app->config.node.ports[index].rate_bps,
                      &err)) {
        fprintf(stderr, "%s: %s: %s\n", app->config.node.name, of, err.text);
        return false;
    }
    *has_nic |= !device.vdev;
    if (virtual_only && !device.vdev)
        return true;
    machine_look_device(&machine, &device, app->memory_bytes);
    return print(app, &machine, of);
}

bool check_machine(const struct app *app)
{
    struct machine machine = {.root = ""};
    bool good = true, has_nic = false;
    for (uint16_t index = 0; index < app->config.node.port_count; index++)
        good &= check_port(app, index, false, &has_nic);
    if (has_nic && app->config.hugepages && !app->hugepages) {
        machine_look_hugepages(&machine, app->memory_bytes);
        good &= print(app, &machine, "memory");
    }
    directories_warn(&app->config.node);
    return good;
}

void check_started(const struct app *app)
{
    bool has_nic = false;
    for (uint16_t index = 0; index < app->config.node.port_count; index++)
        check_port(app, index, true, &has_nic);
}
