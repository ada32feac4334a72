/* What a machine lacks for a port's device, on machines that are made up: a tree of files for each case. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <ftw.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "dpdk/machine.h"

#define MIB          (1ULL << 20)
#define LINES_MAX    3
#define FILES_MAX    8
#define PCI          "/sys/bus/pci/devices/0000:3b:00.0"
#define ROOT_RIGHTS  "CapPrm:\t0\nCapEff:\t000001ffffffffff\n"
#define NO_RIGHTS    "CapEff:\t0000000000000000\n"
#define RAW_RIGHTS   "CapEff:\t0000000000002000\n"
#define ADMIN_RIGHTS "CapEff:\t0000000000001000\n"
#define NET_RIGHTS   "CapEff:\t0000000000003000\n"
#define LIMITS(lock) "Limit Soft Hard Units\nMax locked memory         " lock "     bytes\nMax x 1 2\n"
#define INTERFACES   "Inter-|   Receive\n face |bytes\n    lo:       1    0\n  eth0:       1    0\n  eth1: 2\n"

static char root[] = "/tmp/sluice-machine-XXXXXX";

/* ---- trees ---- */

/* Content "> TARGET": a symbolic link; "/" : a folder. */
struct file {
    const char *path, *content;
};

static void make(const struct file *file)
{
    char path[PATH_MAX];
    snprintf(path, sizeof(path), "%s%s", root, file->path);
    for (char *slash = path + strlen(root) + 1; (slash = strchr(slash, '/')) != NULL; *slash++ = '/') {
        *slash = '\0';
        mkdir(path, 0755);
    }
    if (strcmp(file->content, "/") == 0) {
        assert_int_equal(mkdir(path, 0755), 0);
    } else if (file->content[0] == '>') {
        assert_int_equal(symlink(file->content + 2, path), 0);
    } else {
        FILE *stream = fopen(path, "w");
        assert_non_null(stream);
        fputs(file->content, stream);
        fclose(stream);
    }
}

static int remove_one(const char *path, const struct stat *status, int kind, struct FTW *place)
{
    (void)status;
    (void)kind;
    (void)place;
    return remove(path);
}

static void make_tree(const struct file *files)
{
    strcpy(root + strlen(root) - 6, "XXXXXX");
    assert_non_null(mkdtemp(root));
    for (unsigned file = 0; file < FILES_MAX && files[file].path != NULL; file++)
        make(&files[file]);
}

static void remove_tree(void)
{
    nftw(root, remove_one, 8, FTW_DEPTH | FTW_PHYS);
}

/* A line that begins with '!' is fatal; the text must contain what follows. */
static void expect(const struct machine *machine, const char *const *lines, unsigned row)
{
    unsigned count = 0;
    while (count < LINES_MAX && lines[count] != NULL)
        count++;
    if (machine->count != count)
        fprintf(stderr, "row %u: %u findings: %s\n", row, machine->count, machine->findings[0].text);
    assert_int_equal(machine->count, count);
    for (unsigned line = 0; line < count; line++) {
        bool fatal = lines[line][0] == '!';
        if (strstr(machine->findings[line].text, lines[line] + fatal) == NULL)
            fprintf(stderr, "row %u: \"%s\", expected \"%s\"\n", row, machine->findings[line].text,
                    lines[line] + fatal);
        assert_non_null(strstr(machine->findings[line].text, lines[line] + fatal));
        assert_int_equal(machine->findings[line].fatal, fatal);
    }
}

/* ---- devices ---- */

struct device_row {
    const char *device;
    struct file files[FILES_MAX];
    const char *lines[LINES_MAX];
};

static void expect_rows(const struct device_row *rows, unsigned count)
{
    for (unsigned row = 0; row < count; row++) {
        struct device device;
        struct err err;
        struct machine machine = {.root = root};
        assert_true(device_parse(&device, rows[row].device, 1514, 10000000000ULL, &err));
        make_tree(rows[row].files);
        machine_look_device(&machine, &device, 600 * MIB);
        remove_tree();
        expect(&machine, rows[row].lines, row);
    }
}

static void machine_look_device__nic(void **state)
{
    (void)state;
    static const struct file vfio = {PCI "/driver", "> ../../../bus/pci/drivers/vfio-pci"};
    static const struct file group = {"/sys/kernel/iommu_groups/17", "/"};
    const struct device_row rows[] = {
        {"0000:3b:00.0", {{"/sys/bus/pci/devices/0000:00:00.0", "/"}}, {"no PCI device 0000:3b:00.0: lspci"}},
        {"3b:00.0",
         {{PCI "/driver", "> ../drivers/ixgbe"}, {PCI "/net/eth1", "/"}, {PCI "/vendor", "0x8086\n"}},
         {"!bound to ixgbe, as interface eth1: modprobe vfio-pci; dpdk-devbind.py -b vfio-pci 0000:3b:00.0"}},
        {"0000:3B:00.0", {{PCI "/vendor", "0x8086\n"}}, {"!bound to no driver: modprobe vfio-pci; "}},
        {"0000:3b:00.0", {vfio, group, {"/proc/self/status", ROOT_RIGHTS}}, {NULL}},
        {"0000:3b:00.0", {vfio}, {"!no IOMMU, which vfio-pci needs: boot with intel_iommu=on"}},
        {"0000:3b:00.0", {vfio, {"/sys/kernel/iommu_groups", "/"}}, {"!no IOMMU"}},
        {"0000:3b:00.0", {vfio, {"/sys/module/vfio/parameters/enable_unsafe_noiommu_mode", "Y\n"}}, {NULL}},
        {"0000:3b:00.0",
         {vfio, {"/sys/module/vfio/parameters/enable_unsafe_noiommu_mode", "N\n"}},
         {"!no IOMMU"}},
        {"0000:3b:00.0",
         {vfio, group, {"/proc/self/status", NO_RIGHTS}, {"/proc/self/limits", LIMITS("8388608 8388608")}},
         {"locks 600 MiB (what the NIC reaches), and ulimit -l allows 8192 KiB: needs CAP_IPC_LOCK, or "
          "LimitMEMLOCK=600M"}},
        {"0000:3b:00.0",
         {vfio,
          group,
          {"/proc/self/status", NO_RIGHTS},
          {"/proc/self/limits", LIMITS("unlimited unlimited")}},
         {NULL}},
        {"0000:3b:00.0", {{PCI "/driver", "> ../drivers/igb_uio"}}, {NULL}},
        {"0000:3b:00.0", {{PCI "/driver", "> ../drivers/mlx5_core"}, {PCI "/vendor", "0x15b3\n"}}, {NULL}},
        {"0000:3b:00.0",
         {vfio, group, {PCI "/vendor", "0x15b3\n"}},
         {"!bound to vfio-pci: modprobe mlx5_core; dpdk-devbind.py -b mlx5_core 0000:3b:00.0"}},
        {"vmbus-0001", {{PCI "/vendor", "0x15b3\n"}}, {NULL}},
    };
    expect_rows(rows, sizeof(rows) / sizeof(rows[0]));
}

static void machine_look_device__kernel(void **state)
{
    (void)state;
    static const struct file interfaces = {"/proc/net/dev", INTERFACES};
    static const struct file tun = {"/dev/net/tun", ""};
    static char many[400 * 40] = "Inter-|   Receive\n face |bytes\n";
    for (unsigned index = 0; index < 400; index++)
        snprintf(many + strlen(many), sizeof(many) - strlen(many), "  veth%u:       1    0    0\n", index);
    const struct device_row rows[] = {
        {"net_af_packet0,iface=veth399",
         {{"/proc/net/dev", many}, {"/proc/self/status", ROOT_RIGHTS}},
         {NULL}},
        {"net_af_packet0,iface=eth1", {interfaces, {"/proc/self/status", ROOT_RIGHTS}}, {NULL}},
        {"net_af_packet0,iface=eth9",
         {interfaces, {"/proc/self/status", ROOT_RIGHTS}},
         {"no interface eth9, there are lo, eth0, eth1; see ip link"}},
        {"net_af_packet0,iface=eth9",
         {{"/proc/net/dev", "x\ny\n a:1\n b:1\n c:1\n d:1\n e:1\n f:1\n g:1\n"}},
         {"no interface eth9, there are a, b, c, d, e, f, …; see ip link"}},
        {"net_af_packet0,iface=eth1",
         {interfaces, {"/proc/self/status", NO_RIGHTS}, {"/proc/self/limits", LIMITS("8388608 8388608")}},
         {"needs CAP_NET_RAW and CAP_NET_ADMIN: start it as root, or with AmbientCapabilities= in its unit",
          "locks 64 MiB (its rings; framecnt=512 makes small ones), and ulimit -l allows 8192 KiB: needs "
          "CAP_IPC_LOCK"}},
        {"net_af_packet0,iface=eth1,framecnt=512",
         {interfaces, {"/proc/self/status", RAW_RIGHTS}, {"/proc/self/limits", LIMITS("8388608 8388608")}},
         {"needs CAP_NET_ADMIN: start"}},
        {"net_af_packet0,iface=eth1,framecnt=512",
         {interfaces, {"/proc/self/status", NET_RIGHTS}, {"/proc/self/limits", LIMITS("65536 65536")}},
         {"locks 2 MiB"}},
        {"net_af_xdp0,iface=eth9",
         {interfaces, {"/proc/self/status", ADMIN_RIGHTS}},
         {"no interface eth9", "needs CAP_NET_RAW: "}},
        {"net_tap0,iface=new", {tun, {"/proc/self/status", ADMIN_RIGHTS}}, {NULL}},
        {"net_tap0,iface=new",
         {{"/proc/self/status", RAW_RIGHTS}},
         {"!no /dev/net/tun: modprobe tun", "needs CAP_NET_ADMIN: "}},
    };
    expect_rows(rows, sizeof(rows) / sizeof(rows[0]));
}

static void machine_look_device__socket(void **state)
{
    (void)state;
    static const struct file folder = {"/run/lab", "/"};
    const struct device_row rows[] = {
        {"net_memif0,role=server,socket=/run/lab/a.sock", {folder}, {NULL}},
        {"net_memif0,role=server,socket=/run/other/a.sock",
         {folder},
         {"no directory /run/other for its socket: mkdir -p /run/other"}},
        {"net_memif0,socket=@abstract", {folder}, {NULL}},
        {"net_memif0,socket=/a.sock", {folder}, {NULL}},
        {"net_vhost0,iface=/run/other/v", {folder}, {"no directory /run/other"}},
        {"net_virtio_user0,path=/run/other/v", {folder}, {"no directory /run/other"}},
        {"net_ring0", {folder}, {NULL}},
    };
    expect_rows(rows, sizeof(rows) / sizeof(rows[0]));
}

/* ---- hugepages ---- */

static void machine_look_hugepages__free(void **state)
{
    (void)state;
    static const struct {
        const char *meminfo;
        uint64_t need_bytes;
        const char *lines[LINES_MAX];
    } rows[] = {
        {"MemTotal: 5 kB\nHugePages_Total:     300\nHugePages_Free:      300\nHugepagesize:       2048 kB\n",
         600 * MIB,
         {NULL}},
        {"HugePages_Total:     10\nHugePages_Free:      4\nHugepagesize:       2048 kB\n",
         601 * MIB,
         {"8 MiB of hugepages free, 601 needed; others are taken, which cost speed: echo 307 > "
          "/proc/sys/vm/nr_hugepages"}},
        {"HugePages_Total:     0\nHugePages_Free:      0\nHugepagesize:       1048576 kB\n",
         601 * MIB,
         {"0 MiB of hugepages free, 601 needed; others are taken, which cost speed: echo 1 > "}},
        {"MemTotal: 5 kB\n", 601 * MIB, {NULL}}, /* a kernel without hugepages */
    };
    for (unsigned row = 0; row < sizeof(rows) / sizeof(rows[0]); row++) {
        const struct file files[FILES_MAX] = {{"/proc/meminfo", rows[row].meminfo}};
        struct machine machine = {.root = root};
        make_tree(files);
        machine_look_hugepages(&machine, rows[row].need_bytes);
        remove_tree();
        expect(&machine, rows[row].lines, row);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(machine_look_device__nic), cmocka_unit_test(machine_look_device__kernel),
        cmocka_unit_test(machine_look_device__socket), cmocka_unit_test(machine_look_hugepages__free)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
