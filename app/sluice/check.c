#include "check.h"

#include <linux/ethtool.h>
#include <linux/sockios.h>
#include <net/if.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/name.h"
#include "directories.h"
#include "dpdk/machine.h"

#define NOTHING "net_null" /* a device that carries nothing */

static bool print(const struct app *app, const struct machine *machine, const char *of)
{
    bool good = true;
    for (uint16_t index = 0; index < machine->count; index++) {
        fprintf(stderr, "%s: %s: %s\n", app->config.node.name, of, machine->findings[index].text);
        good &= !machine->findings[index].fatal;
    }
    return good;
}

/* No more than a word: the file may be another machine's. */
static void warn_socket(const struct app *app, uint16_t index)
{
    const struct node_port_config *node = &app->config.node.ports[index];
    struct udp_port_config config = {.mtu = node->mtu, .rate_bps = node->rate_bps, .address = node->address};
    struct err err;
    memcpy(config.interface, app->config.ports[index].interface, sizeof(config.interface));
    if (!udp_port_check(&config, &err))
        fprintf(stderr, "%s: ports[%u]: %s\n", app->config.node.name, index, err.text);
}

static bool check_port(const struct app *app, uint16_t index, bool virtual_only, bool *has_nic)
{
    const struct app_port_config *port = &app->config.ports[index];
    struct machine machine = {.root = ""};
    struct device device;
    struct err err;
    char of[24];
    if (app_port_is_socket(port)) {
        if (!virtual_only)
            warn_socket(app, index);
        return true;
    }
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

static bool is_veth(const char *interface)
{
    struct ethtool_drvinfo driver = {.cmd = ETHTOOL_GDRVINFO};
    struct ifreq request = {.ifr_data = (char *)&driver};
    int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    bool known = fd >= 0 && name_copy(request.ifr_name, sizeof(request.ifr_name), interface) &&
                 ioctl(fd, SIOCETHTOOL, &request) == 0;
    if (fd >= 0)
        close(fd);
    return known && strcmp(driver.driver, "veth") == 0;
}

/* Whatever it carries stays on this machine, as far as that can be told from here. */
static bool stays_here(const struct device *device)
{
    char interface[IFNAMSIZ];
    switch (device->kind) {
    case DEVICE_MEMIF:
    case DEVICE_RING:
        return true;
    case DEVICE_AF_PACKET:
        return device_argument(device, "iface", interface, sizeof(interface)) && is_veth(interface);
    case DEVICE_OTHER_VDEV:
        return strncmp(device->name, NOTHING, strlen(NOTHING)) == 0;
    case DEVICE_NIC:
    case DEVICE_AF_XDP:
    case DEVICE_TAP:
    case DEVICE_VHOST:
    case DEVICE_VIRTIO_USER:
        break;
    }
    return false;
}

static bool is_loopback(const struct net_address *address)
{
    static const uint8_t six[16] = {[15] = 1};
    return address->family == ADDRESS_IPV4 ? address->ip[0] == 127
                                           : memcmp(address->ip, six, sizeof(six)) == 0;
}

bool check_insecure(const struct app_config *config, struct err *err)
{
    if (!config->insecure || config->node.store == NODE_STORE_NONE)
        return true;
    for (uint16_t index = 0; index < config->node.port_count; index++) {
        struct device device;
        bool is_socket = app_port_is_socket(&config->ports[index]);
        if (is_socket && is_loopback(&config->node.ports[index].address))
            continue;
        if (is_socket)
            return err_set(
                err,
                "node.insecure: benchmark, but anybody could send through ports[%u] what is written "
                "to the disk: store: none, or an address of 127.0.0.0/8 or ::1, or keys: "
                "`sluicectl key show`",
                index);
        if (!device_parse(&device, config->ports[index].device, config->ports[index].frame_bytes_max,
                          config->node.ports[index].rate_bps, err))
            return err_context(err, "ports[%u]", index);
        if (!stays_here(&device))
            return err_set(
                err,
                "node.insecure: benchmark, but anybody could send through ports[%u], \"%s\", what is written "
                "to the disk: store: none, or a memif, a ring or af_packet on a veth, or keys: "
                "`sluicectl key show`",
                index, config->ports[index].device);
    }
    return true;
}
