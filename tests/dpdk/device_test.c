#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "dpdk/device.h"
#include "dpdk/eal.h"
#include "dpdk/memory.h"
#include "dpdk/resident.h"
#include "dpdk/socket_file.h"

#define GBPS 1000000000ULL

static void device__parse_completes_arguments(void **state)
{
    (void)state;
    const struct {
        const char *text;
        uint32_t frame_bytes;
        uint64_t rate_bps;
        const char *name, *args;
        enum device_kind kind;
        bool redials;
    } rows[] = {
        {"net_memif0,role=client", 1514, GBPS / 2, "net_memif0", "role=client,bsize=2048,rsize=10",
         DEVICE_MEMIF, true},
        {"net_memif0,role=server", 1518, GBPS, "net_memif0", "role=server,bsize=2048,rsize=11", DEVICE_MEMIF,
         false},
        {"net_memif1", 9014, 10 * GBPS, "net_memif1", "bsize=9216,rsize=12", DEVICE_MEMIF, true},
        {"net_memif1,bsize=16384,rsize=9", 9014, GBPS, "net_memif1", "bsize=16384,rsize=9", DEVICE_MEMIF,
         true},
        {"net_memif0,role=master,socket=/run/m", 1514, GBPS / 2, "net_memif0",
         "role=master,socket=/run/m,socket-abstract=no,bsize=2048,rsize=10", DEVICE_MEMIF, false},
        {"net_memif0,socket=/run/m,socket-abstract=yes", 1514, GBPS / 2, "net_memif0",
         "socket=/run/m,socket-abstract=yes,bsize=2048,rsize=10", DEVICE_MEMIF, true},
        {"net_memif0,socket=@m", 1514, GBPS / 2, "net_memif0", "socket=@m,bsize=2048,rsize=10", DEVICE_MEMIF,
         true},
        {"net_af_packet0,iface=v0", 1514, GBPS, "net_af_packet0", "iface=v0,framecnt=2048", DEVICE_AF_PACKET,
         false},
        {"net_af_packet0,iface=v0,framecnt=64", 1514, GBPS, "net_af_packet0", "iface=v0,framecnt=64",
         DEVICE_AF_PACKET, false},
        {"net_af_packet0,iface=v0", 1514, GBPS / 10, "net_af_packet0", "iface=v0,framecnt=512",
         DEVICE_AF_PACKET, false},
        {"net_af_packet0,iface=v0", 1514, 100 * GBPS, "net_af_packet0", "iface=v0,framecnt=16384",
         DEVICE_AF_PACKET, false},
        {"net_af_packet0,iface=v0", 9014, GBPS, "net_af_packet0",
         "iface=v0,framecnt=512,framesz=16384,blocksz=65536", DEVICE_AF_PACKET, false},
        {"net_af_packet0,iface=v0", 3014, GBPS, "net_af_packet0",
         "iface=v0,framecnt=1024,framesz=4096,blocksz=65536", DEVICE_AF_PACKET, false},
        {"net_af_packet0,iface=v0,framesz=8192,blocksz=8192", 1514, GBPS, "net_af_packet0",
         "iface=v0,framesz=8192,blocksz=8192,framecnt=2048", DEVICE_AF_PACKET, false},
        {"net_tap0,iface=t0", 1514, GBPS, "net_tap0", "iface=t0", DEVICE_TAP, false},
        {"net_ring0", 9014, GBPS, "net_ring0", "", DEVICE_RING, false},
        {"net_vhost0,iface=/run/v", 9014, GBPS, "net_vhost0", "iface=/run/v", DEVICE_VHOST, false},
        {"net_vhost0,iface=/run/v,client=1", 9014, GBPS, "net_vhost0", "iface=/run/v,client=1", DEVICE_VHOST,
         false},
        {"net_virtio_user0,path=/run/v,server=1", 1514, GBPS, "net_virtio_user0",
         "path=/run/v,server=1,queue_size=1024", DEVICE_VIRTIO_USER, false},
        {"net_virtio_user0,path=/run/v", 1514, GBPS, "net_virtio_user0", "path=/run/v,queue_size=1024",
         DEVICE_VIRTIO_USER, false},
        {"net_virtio_user0,path=/run/v", 9014, 10 * GBPS, "net_virtio_user0", "path=/run/v,queue_size=4096",
         DEVICE_VIRTIO_USER, false},
        {"virtio_user0,path=/run/v,queue_size=256", 1514, GBPS, "virtio_user0", "path=/run/v,queue_size=256",
         DEVICE_VIRTIO_USER, false},
        {"0000:3b:02.0", 9014, GBPS, "0000:3b:02.0", "", DEVICE_NIC, false},
    };
    for (size_t row = 0; row < sizeof(rows) / sizeof(rows[0]); row++) {
        struct device device;
        struct err err;
        assert_true(device_parse(&device, rows[row].text, rows[row].frame_bytes, rows[row].rate_bps, &err));
        assert_string_equal(device.name, rows[row].name);
        assert_string_equal(device.args, rows[row].args);
        assert_int_equal(device.kind, rows[row].kind);
        assert_int_equal(device.redials, rows[row].redials);
        bool makes_socket = device.kind == DEVICE_VHOST ? strstr(rows[row].text, "client=1") == NULL
                                                        : strstr(rows[row].text, "server=1") != NULL;
        assert_int_equal(device.listens != NULL, makes_socket);
        assert_int_equal(device.vdev, rows[row].kind != DEVICE_NIC);
    }
}

static void device__parse_refuses(void **state)
{
    (void)state;
    const struct {
        const char *text;
        uint32_t frame_bytes;
        const char *says;
    } rows[] = {
        {"", 1514, "expected"},
        {",role=client", 1514, "expected"},
        {"net_memif0,bsize=2048", 9014, "bsize=2048 is too small"},
        {"net_af_packet0,iface=v0,framesz=4096", 9014, "framesz=4096 is too small"},
        {"net_vhost0,client=1", 1514, "iface=PATH"},
        {"net_virtio_user0,queues=1", 1514, "path=PATH"},
        {"net_af_packet0,iface=v0,framesz=10000", 9014, "framesz=10000 is no fraction of blocksz=65536"},
        {"net_af_packet0,iface=v0,framesz=131072,blocksz=131072", 1514, "framesz=131072 is too large"},
    };
    for (size_t row = 0; row < sizeof(rows) / sizeof(rows[0]); row++) {
        struct device device;
        struct err err;
        assert_false(device_parse(&device, rows[row].text, rows[row].frame_bytes, GBPS, &err));
        assert_non_null(strstr(err.text, rows[row].says));
    }
}

/* The pool behind a device holds its frames, and af_packet's whole ring frames. */
static void device__buffers(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        uint32_t frame_bytes, buffer_bytes;
    } rows[] = {
        {"net_memif0", 1514, 2048},
        {"net_memif0", 9014, 9216},
        {"net_ring0", 9014, 9216},
        {"net_af_packet0,iface=v0", 1514, 2048},
        {"net_af_packet0,iface=v0", 1952, 2048},
        {"net_af_packet0,iface=v0", 1953, 4096},
        {"net_af_packet0,iface=v0", 9014, 16384},
        {"net_af_packet0,iface=v0,framesz=16384", 1514, 16384},
        {"net_af_packet0,iface=v0,framesz=32768", 9014, 32768},
    };
    for (size_t row = 0; row < sizeof(rows) / sizeof(rows[0]); row++) {
        struct device device;
        struct err err;
        assert_true(device_parse(&device, rows[row].text, rows[row].frame_bytes, GBPS, &err));
        assert_int_equal(device.buffer_bytes, rows[row].buffer_bytes);
    }
}

/* What a driver offers and must not be used all the same. */
static void device__refusals(void **state)
{
    (void)state;
    static const struct {
        enum device_kind kind;
        bool chains, checksums;
        enum device_reach reach;
    } rows[] = {
        {DEVICE_NIC, true, true, DEVICE_READS_MAPPED},
        {DEVICE_MEMIF, false, true, DEVICE_READS_ALL},
        {DEVICE_RING, true, true, DEVICE_READS_ALL},
        {DEVICE_AF_PACKET, true, true, DEVICE_READS_ALL},
        {DEVICE_AF_XDP, false, true, DEVICE_READS_ALL},
        {DEVICE_TAP, true, false, DEVICE_READS_ALL},
        {DEVICE_VHOST, true, true, DEVICE_READS_ALL},
        {DEVICE_VIRTIO_USER, true, true, DEVICE_READS_EAL},
        {DEVICE_OTHER_VDEV, true, true, DEVICE_READS_MAPPED},
    };
    for (size_t row = 0; row < sizeof(rows) / sizeof(rows[0]); row++) {
        assert_int_equal(device_chains(rows[row].kind), rows[row].chains);
        assert_int_equal(device_checksums(rows[row].kind), rows[row].checksums);
        assert_int_equal(device_reach(rows[row].kind), rows[row].reach);
    }
}

static int listen_at(const char *path)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    int fd = socket(AF_UNIX, SOCK_STREAM, 0);
    snprintf(address.sun_path, sizeof(address.sun_path), "%s", path);
    assert_int_equal(bind(fd, (struct sockaddr *)&address, sizeof(address)), 0);
    assert_int_equal(listen(fd, 1), 0);
    return fd;
}

/* Only a socket that nobody serves gives way. */
static void socket_file__clear(void **state)
{
    (void)state;
    char folder[] = "/tmp/sluice-socket-XXXXXX", path[64];
    assert_non_null(mkdtemp(folder));
    snprintf(path, sizeof(path), "%s/s", folder);
    socket_file_clear(path); /* nothing there */
    int fd = listen_at(path);
    socket_file_clear(path);
    assert_int_equal(access(path, F_OK), 0);
    close(fd);
    socket_file_clear(path);
    assert_int_not_equal(access(path, F_OK), 0);
    fd = open(path, O_CREAT | O_WRONLY, 0600);
    close(fd);
    socket_file_clear(path);
    assert_int_equal(unlink(path), 0);
    rmdir(folder);
}

static void memory__choice(void **state)
{
    (void)state;
    const struct memory_need need = {
        .packet_bytes = 10 << 20, .node_bytes = 80 << 20, .overhead_bytes = 10 << 20};
    const struct {
        uint64_t huge_mib, available_mib;
        bool wanted, good, hugepages;
    } rows[] = {
        {0, 1000, true, true, false},    {100, 1000, true, true, true}, {99, 1000, true, true, false},
        {100, 1000, false, true, false}, {100, 0, true, true, true},    {99, 99, true, false, false},
        {100, 99, false, false, false},
    };
    for (size_t row = 0; row < sizeof(rows) / sizeof(rows[0]); row++) {
        struct memory_host host = {.hugepage_free_bytes = rows[row].huge_mib << 20,
                                   .available_bytes = rows[row].available_mib << 20};
        struct err err;
        bool hugepages;
        assert_int_equal(memory_choose(&need, &host, rows[row].wanted, &hugepages, &err), rows[row].good);
        if (rows[row].good)
            assert_int_equal(hugepages, rows[row].hugepages);
    }
}

/* Lines of /proc/self/maps, one after the other. */
static void resident_parse__rows(void **state)
{
    (void)state;
    static const struct {
        const char *line;
        enum resident_kind kind;
    } rows[] = {
        {"55d0c0000000-55d0c0020000 r--p 00000000 fe:01 11 /usr/bin/sluice", RESIDENT_NONE},
        {"55d0c0020000-55d0c0021000 rw-p 00020000 fe:01 11 /usr/bin/sluice", RESIDENT_DATA},
        {"55d0c0021000-55d0c0800000 rw-p 00000000 00:00 0 ", RESIDENT_DATA}, /* its zeros */
        {"55d0c0900000-55d0c0910000 rw-p 00000000 00:00 0 ", RESIDENT_NONE}, /* lies by itself */
        {"55d0c1000000-55d0c1021000 rw-p 00000000 00:00 0                          [heap]", RESIDENT_DATA},
        {"7f0000000000-7f0000021000 rw-p 00000000 00:00 0", RESIDENT_NONE},
        {"7f0000021000-7f0004000000 ---p 00000000 00:00 0", RESIDENT_NONE},
        {"7f0004000000-7f0004200000 rw-s 00000000 00:01 5                          /memfd:memif_region_0 "
         "(deleted)",
         RESIDENT_MEMIF},
        {"7f0004200000-7f0004210000 rw-p 00000000 00:00 0 ", RESIDENT_NONE},
        {"7f0005000000-7f0005200000 rw-s 00000000 00:01 6                          /memfd:nohuge (deleted)",
         RESIDENT_NONE},
        {"7fff00000000-7fff00021000 rw-p 00000000 00:00 0                          [stack]", RESIDENT_NONE},
        {"no line of it", RESIDENT_NONE},
        {"", RESIDENT_NONE},
    };
    struct resident_range range = {.kind = RESIDENT_NONE};
    for (size_t row = 0; row < sizeof(rows) / sizeof(rows[0]); row++) {
        range = resident_parse(rows[row].line, &range);
        assert_int_equal(range.kind, rows[row].kind);
        if (range.kind == RESIDENT_MEMIF)
            assert_int_equal(range.end - range.first, 2 << 20);
    }
}

static bool has_argument(const struct eal *eal, const char *text)
{
    for (int index = 0; index < eal->argument_count; index++)
        if (strcmp(eal->argument_list[index], text) == 0)
            return true;
    return false;
}

static void eal__arguments(void **state)
{
    (void)state;
    static struct eal eal;
    struct err err;
    static const char options[][APP_DEVICE_BYTES] = {"log-level=eal:8"};
    char extra_word[] = "--match-allocations";
    char *extra[] = {extra_word};
    struct eal_options wanted = {.program = "p",
                                 .memory_bytes = (64 << 20) + 1,
                                 .option_count = 1,
                                 .options = options,
                                 .extra_count = 1,
                                 .extra = extra};
    assert_true(eal_arguments(&eal, &wanted, &err));
    const char *small[] = {"--no-huge",         "--no-shconf",        "65", "--no-pci", "--no-telemetry",
                           "--log-level=eal:8", "--match-allocations"};
    for (int index = 0; index < 7; index++)
        assert_true(has_argument(&eal, small[index]));
    assert_false(has_argument(&eal, "--in-memory"));
    wanted.hugepages = true;
    wanted.pci_count = 1;
    wanted.pci[0] = "0000:3b:02.0";
    assert_true(eal_arguments(&eal, &wanted, &err));
    assert_true(has_argument(&eal, "--in-memory") && has_argument(&eal, "0000:3b:02.0"));
    assert_true(has_argument(&eal, "--single-file-segments"));
    assert_false(has_argument(&eal, "--no-huge") || has_argument(&eal, "--no-pci"));
    wanted.lcore_count = 1;
    wanted.lcores[0] = CPU_SETSIZE - 1;
    assert_false(eal_arguments(&eal, &wanted, &err));
    assert_non_null(strstr(err.text, "not permitted"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(device__parse_completes_arguments),
        cmocka_unit_test(device__parse_refuses),
        cmocka_unit_test(device__buffers),
        cmocka_unit_test(device__refusals),
        cmocka_unit_test(socket_file__clear),
        cmocka_unit_test(memory__choice),
        cmocka_unit_test(resident_parse__rows),
        cmocka_unit_test(eal__arguments),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
