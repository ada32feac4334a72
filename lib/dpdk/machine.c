#include "dpdk/machine.h"

#include <ctype.h>
#include <dirent.h>
#include <limits.h>
#include <linux/capability.h>
#include <net/if.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/name.h"
#include "base/units.h"

#define PCI_FOLDER       "/sys/bus/pci/devices"
#define VENDOR_MELLANOX  0x15b3 /* its drivers work beside the kernel's, and need them */
#define INTERFACES_NAMED 6
#define KIB              1024ULL
#define MIB_UP(bytes)    ((unsigned long long)(((bytes) + (1 << 20) - 1) >> 20))
#define FILE_BYTES_MAX   8192

static void found(struct machine *machine, bool fatal, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

static void found(struct machine *machine, bool fatal, const char *format, ...)
{
    CHECK(machine->count < MACHINE_FINDINGS_MAX);
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(machine->findings[machine->count].text, MACHINE_TEXT_BYTES, format, arguments);
    va_end(arguments);
    machine->findings[machine->count++].fatal = fatal;
}

/* ---- files ---- */

static void path_of(const struct machine *machine, const char *below, char path[PATH_MAX])
{
    snprintf(path, PATH_MAX, "%s%s", machine->root, below);
}

static bool there(const struct machine *machine, const char *below)
{
    char path[PATH_MAX];
    path_of(machine, below, path);
    return access(path, F_OK) == 0;
}

/* As much as fits; "" where it can't be read. */
static void read_file(const struct machine *machine, const char *below, char *text, size_t room)
{
    char path[PATH_MAX];
    path_of(machine, below, path);
    FILE *file = fopen(path, "re");
    size_t length = file != NULL ? fread(text, 1, room - 1, file) : 0;
    text[length] = '\0';
    if (file != NULL)
        fclose(file);
}

/* The number behind `key` at the beginning of a line; `otherwise` where there is none, "unlimited" included. */
static uint64_t number_in(const struct machine *machine, const char *file, const char *key, int base,
                          uint64_t otherwise)
{
    char text[FILE_BYTES_MAX], *end;
    read_file(machine, file, text, sizeof(text));
    for (const char *line = text; line != NULL && *line != '\0';) {
        if (strncmp(line, key, strlen(key)) == 0) {
            uint64_t number = strtoull(line + strlen(key), &end, base);
            return end != line + strlen(key) ? number : otherwise;
        }
        line = strchr(line, '\n');
        line += line != NULL;
    }
    return otherwise;
}

/* The first entry of a folder that is no dot. */
static bool first_in(const struct machine *machine, const char *below, char *name, size_t room)
{
    char path[PATH_MAX];
    path_of(machine, below, path);
    DIR *folder = opendir(path);
    struct dirent *entry = NULL;
    while (folder != NULL && (entry = readdir(folder)) != NULL && entry->d_name[0] == '.')
        continue;
    if (entry != NULL)
        name_copy(name, room, entry->d_name);
    if (folder != NULL)
        closedir(folder);
    return entry != NULL;
}

/* ---- rights ---- */

static bool capable(const struct machine *machine, unsigned capability)
{
    return number_in(machine, "/proc/self/status", "CapEff:", 16, UINT64_MAX) >> capability & 1;
}

static const struct capability {
    unsigned number;
    const char *name;
} net_raw = {CAP_NET_RAW, "CAP_NET_RAW"}, net_admin = {CAP_NET_ADMIN, "CAP_NET_ADMIN"};

/* `other` NULL: one alone is needed. */
static void need_capabilities(struct machine *machine, const struct capability *one,
                              const struct capability *other)
{
    char names[64] = "";
    if (!capable(machine, one->number))
        snprintf(names, sizeof(names), "%s", one->name);
    if (other != NULL && !capable(machine, other->number))
        snprintf(names + strlen(names), sizeof(names) - strlen(names), "%s%s",
                 names[0] != '\0' ? " and " : "", other->name);
    if (names[0] != '\0')
        found(machine, false, "needs %s: start it as root, or with AmbientCapabilities= in its unit", names);
}

static void need_lock(struct machine *machine, uint64_t bytes, const char *whose)
{
    uint64_t limit = number_in(machine, "/proc/self/limits", "Max locked memory", 10, UINT64_MAX);
    if (limit < bytes && !capable(machine, CAP_IPC_LOCK))
        found(machine, false,
              "locks %llu MiB (%s), and ulimit -l allows %llu KiB: needs CAP_IPC_LOCK, or LimitMEMLOCK=%lluM "
              "in its unit",
              MIB_UP(bytes), whose, (unsigned long long)(limit / KIB), MIB_UP(bytes));
}

/* ---- devices of the kernel ---- */

/* Those of this network namespace, which /sys need not be of, however many. True: `name` is one; else some of them are
 * listed. */
static bool has_interface(const struct machine *machine, const char *name, char *list, size_t room)
{
    char path[PATH_MAX], *line = NULL;
    size_t line_room = 0;
    unsigned listed = 0;
    bool is_there = false;
    list[0] = '\0';
    path_of(machine, "/proc/net/dev", path);
    FILE *file = fopen(path, "re");
    while (!is_there && file != NULL && getline(&line, &line_room, file) > 0) {
        char *colon = strchr(line, ':');
        if (colon == NULL)
            continue;
        *colon = '\0';
        const char *own = line + strspn(line, " ");
        size_t length = strlen(list);
        is_there = strcmp(own, name) == 0;
        if (++listed <= INTERFACES_NAMED)
            snprintf(list + length, room - length, "%s%s", length > 0 ? ", " : "", own);
    }
    if (listed > INTERFACES_NAMED)
        snprintf(list + strlen(list), room - strlen(list), ", …");
    free(line);
    if (file != NULL)
        fclose(file);
    return is_there;
}

static void look_interface(struct machine *machine, const struct device *device)
{
    char name[64], list[INTERFACES_NAMED * IF_NAMESIZE + 64];
    if (device_argument(device, "iface", name, sizeof(name)) &&
        !has_interface(machine, name, list, sizeof(list)))
        found(machine, false, "no interface %s%s%s; see ip link", name, list[0] != '\0' ? ", there are " : "",
              list);
}

static void look_af_packet(struct machine *machine, const struct device *device)
{
    uint64_t frames = device_argument_number(device, "framecnt", 0);
    look_interface(machine, device);
    need_capabilities(machine, &net_raw, &net_admin); /* to open a packet socket; to start the interface */
    need_lock(machine, 2 * frames * device_argument_number(device, "framesz", DEVICE_AF_PACKET_FRAME_BYTES),
              "its rings; framecnt=512 makes small ones");
}

static void look_tap(struct machine *machine)
{
    if (!there(machine, "/dev/net/tun"))
        found(machine, true, "no /dev/net/tun: modprobe tun");
    need_capabilities(machine, &net_admin, NULL);
}

/* The folder of the socket that argument `key` names. */
static void look_socket(struct machine *machine, const struct device *device, const char *key)
{
    char path[DEVICE_ARGS_BYTES];
    if (!device_argument(device, key, path, sizeof(path)) || path[0] != '/')
        return;
    char *slash = strrchr(path, '/');
    *slash = '\0';
    if (path[0] != '\0' && !there(machine, path))
        found(machine, false, "no directory %s for its socket: mkdir -p %s", path, path);
}

/* ---- NICs ---- */

/* "3b:00.0" is "0000:3b:00.0". False: no PCI address. */
static bool pci_address(const char *name, char address[16])
{
    static const char form[] = "xxxx:xx:xx.x", domain[] = "0000:";
    size_t bytes = strlen(name), before = bytes == strlen(form) - strlen(domain) ? strlen(domain) : 0;
    if (before + bytes != strlen(form))
        return false;
    memcpy(address, domain, before);
    memcpy(address + before, name, bytes + 1);
    for (unsigned index = 0; form[index] != '\0'; index++) {
        char lower = (char)tolower((unsigned char)address[index]);
        if (form[index] == 'x' ? !isxdigit((unsigned char)lower) : lower != form[index])
            return false;
        address[index] = lower;
    }
    return true;
}

/* "" where it has none. */
static void driver_of(const struct machine *machine, const char *address, char driver[64])
{
    char below[PATH_MAX], path[PATH_MAX], target[PATH_MAX];
    snprintf(below, sizeof(below), PCI_FOLDER "/%s/driver", address);
    path_of(machine, below, path);
    ssize_t length = readlink(path, target, sizeof(target) - 1);
    target[MAX(length, (ssize_t)0)] = '\0';
    const char *slash = strrchr(target, '/');
    snprintf(driver, 64, "%.63s", slash != NULL ? slash + 1 : target);
}

static void look_driver(struct machine *machine, const char *address, const char *driver)
{
    char below[128], interface[64], vendor[16];
    snprintf(below, sizeof(below), PCI_FOLDER "/%s/vendor", address);
    read_file(machine, below, vendor, sizeof(vendor));
    bool mellanox = strtoul(vendor, NULL, 16) == VENDOR_MELLANOX;
    bool bound = mellanox ? strncmp(driver, "mlx", 3) == 0
                          : strstr(driver, "vfio") != NULL || strstr(driver, "uio") != NULL;
    if (bound)
        return;
    snprintf(below, sizeof(below), PCI_FOLDER "/%s/net", address);
    bool kernel = first_in(machine, below, interface, sizeof(interface));
    const char *wanted = mellanox ? "mlx5_core" : "vfio-pci";
    found(machine, true, "bound to %s%s%s: modprobe %s; dpdk-devbind.py -b %s %s",
          driver[0] != '\0' ? driver : "no driver", kernel ? ", as interface " : "", kernel ? interface : "",
          wanted, wanted, address);
}

static void look_iommu(struct machine *machine)
{
    char entry[8];
    if (first_in(machine, "/sys/kernel/iommu_groups", entry, sizeof(entry)))
        return;
    read_file(machine, "/sys/module/vfio/parameters/enable_unsafe_noiommu_mode", entry, sizeof(entry));
    if (entry[0] != 'Y')
        found(machine, true,
              "no IOMMU, which vfio-pci needs: boot with intel_iommu=on (amd_iommu=on) iommu=pt; where there "
              "is none: echo 1 > /sys/module/vfio/parameters/enable_unsafe_noiommu_mode");
}

static void look_nic(struct machine *machine, const struct device *device, uint64_t pinned_bytes)
{
    char address[16], below[128], driver[64];
    if (!pci_address(device->name, address))
        return;
    snprintf(below, sizeof(below), PCI_FOLDER "/%s", address);
    if (!there(machine, below)) {
        found(machine, false, "no PCI device %s: lspci -D -d ::0200 lists the network devices", address);
        return;
    }
    driver_of(machine, address, driver);
    look_driver(machine, address, driver);
    if (strcmp(driver, "vfio-pci") != 0)
        return;
    look_iommu(machine);
    need_lock(machine, pinned_bytes, "what the NIC reaches");
}

/* ---- verbs ---- */

void machine_look_device(struct machine *machine, const struct device *device, uint64_t pinned_bytes)
{
    machine->count = 0;
    switch (device->kind) {
    case DEVICE_NIC:
        look_nic(machine, device, pinned_bytes);
        return;
    case DEVICE_AF_PACKET:
        look_af_packet(machine, device);
        return;
    case DEVICE_AF_XDP:
        look_interface(machine, device);
        need_capabilities(machine, &net_raw, &net_admin);
        return;
    case DEVICE_TAP:
        look_tap(machine);
        return;
    case DEVICE_MEMIF:
        look_socket(machine, device, "socket");
        return;
    case DEVICE_VHOST:
        look_socket(machine, device, "iface");
        return;
    case DEVICE_VIRTIO_USER:
        look_socket(machine, device, "path");
        return;
    case DEVICE_RING:
    case DEVICE_OTHER_VDEV:
        return;
    }
    CHECK(false);
}

void machine_look_hugepages(struct machine *machine, uint64_t need_bytes)
{
    static const char file[] = "/proc/meminfo";
    uint64_t page_bytes = number_in(machine, file, "Hugepagesize:", 10, 0) * KIB;
    uint64_t total = number_in(machine, file, "HugePages_Total:", 10, 0);
    uint64_t free_bytes = number_in(machine, file, "HugePages_Free:", 10, 0) * page_bytes;
    machine->count = 0;
    if (page_bytes == 0 || free_bytes >= need_bytes)
        return;
    uint64_t missing = (need_bytes - free_bytes + page_bytes - 1) / page_bytes;
    found(machine, false,
          "%llu MiB of hugepages free, %llu needed; others are taken, which cost speed: echo %llu > "
          "/proc/sys/vm/nr_hugepages",
          (unsigned long long)(free_bytes >> 20), MIB_UP(need_bytes), (unsigned long long)(total + missing));
}
