/* af_packet on the loopback interface of a network namespace of its own: a port opens whatever its MTU, and
 * frames of that size come back unharmed. Skipped (77) where no namespace may be made. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <cmocka.h>

#include <fcntl.h>
#include <net/if.h>
#include <sched.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/bytes.h"
#include "base/units.h"
#include "dpdk/port.h"
#include "dpdk/tsc.h"
#include "eal_fixture.h"

#define SKIPPED        77
#define FRAMES         2000 /* several rounds of the ring */
#define WAIT_NS        (20 * NS_PER_S)
#define CLOCK_ERROR_NS DEVICE_CLOCK_JUMP_NS
#define ETHERTYPE      0x88b5 /* for experiments: the kernel has no use for it */

static struct port port;
static struct tsc_clock tsc;

static bool write_file(const char *path, const char *text)
{
    int fd = open(path, O_WRONLY | O_CLOEXEC);
    bool good = fd >= 0 && write(fd, text, strlen(text)) == (ssize_t)strlen(text);
    close(fd);
    return good;
}

/* Alone on a network whose only interface is lo, up. */
static bool enter_namespace(void)
{
    char map[32];
    snprintf(map, sizeof(map), "0 %u 1", getuid());
    if (unshare(CLONE_NEWNET) != 0 &&
        (unshare(CLONE_NEWUSER | CLONE_NEWNET) != 0 || !write_file("/proc/self/uid_map", map)))
        return false;
    struct ifreq request = {.ifr_name = "lo", .ifr_flags = IFF_UP};
    int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    bool up = fd >= 0 && ioctl(fd, SIOCSIFFLAGS, &request) == 0;
    close(fd);
    return up;
}

static struct rte_mbuf *frame_make(uint32_t number, uint16_t length)
{
    struct rte_mbuf *mbuf = rte_pktmbuf_alloc(port.pool);
    assert_non_null(mbuf);
    uint8_t *frame = (uint8_t *)rte_pktmbuf_append(mbuf, length);
    assert_non_null(frame);
    for (uint16_t at = 0; at < length; at++)
        frame[at] = (uint8_t)(number * 31 + at);
    memset(frame, 0, 2 * MAC_BYTES);
    store_be16(frame + 12, ETHERTYPE);
    store_be32(frame + 14, number);
    return mbuf;
}

/* How often the frame of that number came now. An interface may give a frame to its sockets on the way out,
 * too: the copy of an earlier one is looked at, but not counted. */
static uint32_t frames_check(uint32_t number, uint16_t length)
{
    struct rte_mbuf *mbufs[PORT_BURST];
    uint16_t count = port_rx_burst(&port, mbufs, PORT_BURST);
    uint32_t good = 0;
    for (uint16_t index = 0; index < count; index++) {
        const uint8_t *frame = rte_pktmbuf_mtod(mbufs[index], const uint8_t *);
        if (load_be16(frame + 12) != ETHERTYPE)
            continue;
        assert_int_equal(mbufs[index]->pkt_len, length);
        for (uint16_t at = 18; at < length; at++)
            assert_int_equal(frame[at], (uint8_t)(load_be32(frame + 14) * 31 + at));
        good += load_be32(frame + 14) == number;
    }
    rte_pktmbuf_free_bulk(mbufs, count);
    return good;
}

static void round_trips(const char *device, uint32_t frame_bytes)
{
    struct port_config config = {.device = device, .frame_bytes_max = frame_bytes, .rate_bps = NS_PER_S};
    struct err err;
    if (!port_open(&port, &config, &err))
        fail_msg("%s", err.text);
    assert_true(port_start(&port, tsc_now_ns(&tsc)));
    uint64_t limit_ns = tsc_now_ns(&tsc) + WAIT_NS;
    for (uint32_t number = 0; number < FRAMES; number++) {
        struct rte_mbuf *mbuf = frame_make(number, (uint16_t)frame_bytes);
        while (port_tx_burst(&port, &mbuf, 1) == 0)
            assert_true(tsc_now_ns(&tsc) < limit_ns);
        while (frames_check(number, (uint16_t)frame_bytes) == 0) {
            assert_true(tsc_now_ns(&tsc) < limit_ns);
            sched_yield();
        }
    }
    assert_int_equal(port.counters.tx_drop_link_down, 0);
    port_close(&port);
}

static void af_packet__frames_of_every_size(void **state)
{
    (void)state;
    /* What is given keeps the ring within the memory that may be locked without privilege. */
    round_trips("net_af_packet0,iface=lo,framecnt=512", 1514);
    round_trips("net_af_packet1,iface=lo,framecnt=64", 3014);
    round_trips("net_af_packet2,iface=lo,framecnt=64", 9014);
    round_trips("net_af_packet3,iface=lo,framecnt=64", 9234);
    round_trips("net_af_packet4,iface=lo,framecnt=64,framesz=16384,blocksz=65536", 1514);
}

/* Sends so many frames, of which the ring of 64 takes what it holds; what comes out afterwards. */
static uint64_t send_unread(uint32_t count)
{
    struct rte_mbuf *mbufs[PORT_BURST];
    for (uint32_t number = 0; number < count; number++) {
        struct rte_mbuf *mbuf = frame_make(number, 200);
        while (port_tx_burst(&port, &mbuf, 1) == 0)
            sched_yield();
    }
    uint64_t came = 0;
    uint16_t taken;
    while ((taken = port_rx_burst(&port, mbufs, PORT_BURST)) > 0) {
        rte_pktmbuf_free_bulk(mbufs, taken);
        came += taken;
    }
    return came;
}

/* What a full ring loses is counted, frame by frame. lo gives its sockets each frame once or twice. */
static void af_packet__counts_what_its_ring_loses(void **state)
{
    (void)state;
    struct port_config config = {
        .device = "net_af_packet5,iface=lo,framecnt=64", .frame_bytes_max = 1514, .rate_bps = NS_PER_S};
    struct err err;
    if (!port_open(&port, &config, &err))
        fail_msg("%s", err.text);
    uint64_t now_ns = tsc_now_ns(&tsc);
    assert_true(port_start(&port, now_ns));
    uint64_t times = send_unread(16) / 16;
    assert_in_range(times, 1, 2);
    port_service(&port, now_ns + PORT_LINK_POLL_NS);
    assert_int_equal(port.counters.rx_missed, 0);
    for (uint32_t round = 1; round <= 2; round++) {
        uint64_t before = port.counters.rx_missed, came = send_unread(900);
        assert_in_range(came, 32, 64);
        port_service(&port, now_ns + (1 + round) * PORT_LINK_POLL_NS);
        assert_int_equal(port.counters.rx_missed - before, 900 * times - came);
    }
    port_close(&port);
}

/* A port whose arrivals the kernel tells, its clock known. */
static void open_stamping(const char *device)
{
    struct port_config config = {
        .device = device, .frame_bytes_max = 1514, .rate_bps = NS_PER_S, .clock = &tsc};
    struct err err;
    if (!port_open(&port, &config, &err))
        fail_msg("%s", err.text);
    uint64_t now_ns = tsc_now_ns(&tsc);
    assert_true(port_start(&port, now_ns));
    usleep(50000); /* it is known behind a second look */
    port_service(&port, now_ns + 2 * PORT_LINK_POLL_NS);
    assert_true(stamps_arrive(&port.stamps));
}

static void send_frame(uint32_t number)
{
    struct rte_mbuf *mbuf = frame_make(number, (uint16_t)(100 + number));
    while (port_tx_burst(&port, &mbuf, 1) == 0)
        sched_yield();
}

/* Takes what is there and checks the time of each frame, which came not before from_ns; returns how many were stamped. */
static uint32_t stamped_since(uint64_t from_ns)
{
    struct rte_mbuf *mbufs[PORT_BURST];
    uint32_t stamped = 0;
    uint16_t taken;
    while ((taken = port_rx_burst(&port, mbufs, PORT_BURST)) > 0) {
        uint64_t taken_ns = tsc_now_ns(&tsc);
        for (uint16_t index = 0; index < taken; index++) {
            uint8_t kind;
            uint64_t came_ns = stamps_get(&port.stamps, mbufs[index], taken_ns, &kind);
            stamped += kind == STAMP_HARDWARE;
            assert_true(came_ns + CLOCK_ERROR_NS >= from_ns && came_ns <= taken_ns);
        }
        rte_pktmbuf_free_bulk(mbufs, taken);
    }
    return stamped;
}

/* The kernel's time of each frame is that of its arrival, not of when it was taken, round after round of the ring. */
static void af_packet__tells_when_frames_came(void **state)
{
    (void)state;
    open_stamping("net_af_packet6,iface=lo,framecnt=64");
    for (uint32_t number = 0; number < 200; number++) {
        uint64_t from_ns = tsc_now_ns(&tsc);
        send_frame(number);
        if (number % 50 == 49)
            usleep(20000);
        assert_in_range(stamped_since(from_ns), 1, 2);
    }
    /* Somebody sets the kernel's clock: what it tells counts for nothing until it is known again. */
    uint64_t jumps = port.stamps.clock.jumps;
    port.stamps.clock.last.ns += 5 * NS_PER_MS;
    send_frame(0);
    assert_int_equal(stamped_since(0), 0);
    assert_int_equal(port.stamps.clock.jumps, jumps + 1);
    port_close(&port);
}

/* Frames of many lengths overrun a ring that nobody reads: those that it holds have their own times, and later ones, too. A place
 * that tells another length is not the driver's, and no more is read. */
static void af_packet__a_full_ring_keeps_its_times(void **state)
{
    (void)state;
    open_stamping("net_af_packet7,iface=lo,framecnt=64");
    for (unsigned round = 0; round < 20; round++) {
        uint64_t from_ns = tsc_now_ns(&tsc);
        for (uint32_t number = 0; number < 300; number++)
            send_frame(number);
        assert_in_range(stamped_since(from_ns), 32, 64);
        assert_non_null(port.arrivals.ring);
    }
    struct rte_mbuf *other = frame_make(0, 60);
    uint64_t time_ns;
    send_frame(20);
    arrivals_note(&port.arrivals, 1);
    assert_int_equal(port.arrivals.noted, 1);
    assert_false(arrivals_took(&port.arrivals, &other, 1, &time_ns));
    assert_null(port.arrivals.ring);
    rte_pktmbuf_free(other);
    port_close(&port);
}

int main(void)
{
    if (!enter_namespace()) {
        printf("skipped: no permission to make a network namespace\n");
        return SKIPPED;
    }
    if (!fixture_eal_start("af_packet_test"))
        return 1;
    tsc_clock_start(&tsc);
    const struct CMUnitTest tests[] = {cmocka_unit_test(af_packet__frames_of_every_size),
                                       cmocka_unit_test(af_packet__counts_what_its_ring_loses),
                                       cmocka_unit_test(af_packet__tells_when_frames_came),
                                       cmocka_unit_test(af_packet__a_full_ring_keeps_its_times)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
