/* A memif link between two processes: the server answers with what it gets. Frames up to the port's largest
 * arrive unharmed after the ring has wrapped many times; a server that dies and comes back is dialled again.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <rte_log.h>

#include "base/units.h"
#include "dpdk/port.h"
#include "dpdk/tsc.h"
#include "eal_fixture.h"

#define FRAME_MAX 9014
#define FRAMES    6000
#define WAIT_NS   (60 * NS_PER_S) /* only a fault waits as long */

static struct port port;
static struct tsc_clock tsc;
static char device_args[2][128];

static bool open_end(const char *device)
{
    struct port_config config = {.device = device, .frame_bytes_max = FRAME_MAX, .rate_bps = NS_PER_S};
    struct err err;
    if (!port_open(&port, &config, &err)) {
        fprintf(stderr, "%s\n", err.text);
        return false;
    }
    port_start(&port, tsc_now_ns(&tsc));
    return true;
}

static void send_all(struct rte_mbuf **mbufs, uint16_t count)
{
    for (uint16_t done = 0; done < count;) {
        uint64_t now_ns = tsc_now_ns(&tsc);
        port_service(&port, now_ns);
        uint16_t sent = port_tx_burst(&port, mbufs + done, (uint16_t)(count - done));
        done = (uint16_t)(done + sent);
        if (sent == 0)
            sched_yield();
    }
}

/* The echoing end, a process of its own, made before this one has an EAL. Starts when it is told to on `go`,
 * and says so on `ready` when it has. */
struct server {
    pid_t pid;
    int go, ready;
};

static int serve(int go, int ready)
{
    char byte;
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (read(go, &byte, 1) != 1)
        return 1;
    if (!fixture_eal_start("memif_server"))
        return 1;
    tsc_clock_start(&tsc);
    if (!open_end(device_args[0]) || write(ready, "r", 1) != 1)
        return 1;
    for (;;) {
        struct rte_mbuf *mbufs[PORT_BURST];
        uint16_t count = port_rx_burst(&port, mbufs, PORT_BURST);
        port_service(&port, tsc_now_ns(&tsc));
        if (count > 0)
            send_all(mbufs, count);
        else
            sched_yield();
    }
}

static struct server server_make(void)
{
    int go[2], ready[2];
    assert_int_equal(pipe(go), 0);
    assert_int_equal(pipe(ready), 0);
    pid_t pid = fork();
    if (pid == 0)
        _exit(serve(go[0], ready[1]));
    close(go[0]);
    close(ready[1]);
    return (struct server){pid, go[1], ready[0]};
}

static void server_start(const struct server *server)
{
    char byte = 'g';
    assert_int_equal(write(server->go, &byte, 1), 1);
    assert_int_equal(read(server->ready, &byte, 1), 1);
}

static void server_kill(const struct server *server)
{
    kill(server->pid, SIGKILL);
    waitpid(server->pid, NULL, 0);
}

static void wait_link(bool up)
{
    uint64_t limit_ns = tsc_now_ns(&tsc) + WAIT_NS;
    while (port_link_up(&port) != up) {
        assert_true(tsc_now_ns(&tsc) < limit_ns);
        port_service(&port, tsc_now_ns(&tsc));
        usleep(1000);
    }
}

/* Frame `number`: its length and every byte follow from the number. */
static uint16_t frame_length(uint32_t number)
{
    static const uint16_t lengths[] = {60, 1514, 2047, 2048, 2049, 9000, FRAME_MAX, 14};
    return lengths[number % 8];
}

static struct rte_mbuf *frame_make(uint32_t number)
{
    struct rte_mbuf *mbuf = rte_pktmbuf_alloc(port.pool);
    assert_non_null(mbuf);
    uint16_t length = frame_length(number);
    uint8_t *bytes = (uint8_t *)rte_pktmbuf_append(mbuf, length);
    for (uint16_t index = 0; index < length; index++)
        bytes[index] = (uint8_t)(number + index * 3u);
    return mbuf;
}

static void frame_check(const struct rte_mbuf *mbuf, uint32_t number)
{
    assert_int_equal(mbuf->pkt_len, frame_length(number));
    const uint8_t *bytes = rte_pktmbuf_mtod(mbuf, const uint8_t *);
    for (uint16_t index = 0; index < mbuf->pkt_len; index++)
        if (bytes[index] != (uint8_t)(number + index * 3u))
            fail_msg("frame %u differs at byte %u", number, index);
}

static void echo_frames(uint32_t frames)
{
    uint32_t sent = 0, back = 0;
    uint64_t limit_ns = tsc_now_ns(&tsc) + WAIT_NS;
    while (back < frames && tsc_now_ns(&tsc) < limit_ns) {
        struct rte_mbuf *mbufs[PORT_BURST];
        if (sent < frames && sent - back < 512) {
            mbufs[0] = frame_make(sent++);
            send_all(mbufs, 1);
        }
        uint16_t count = port_rx_burst(&port, mbufs, PORT_BURST);
        for (uint16_t index = 0; index < count; index++)
            frame_check(mbufs[index], back++);
        rte_pktmbuf_free_bulk(mbufs, count);
        if (count == 0)
            sched_yield();
    }
    assert_int_equal(back, frames);
}

/* Nobody is there for an hour: the driver's line about it comes at once, and then ever more rarely. */
static void redial_for_an_hour(void)
{
    char *said = NULL;
    size_t length;
    unsigned lines = 0;
    FILE *log = open_memstream(&said, &length);
    uint64_t redials = port.counters.redials, now_ns = tsc_now_ns(&tsc);
    rte_openlog_stream(log);
    for (unsigned second = 0; second < 3600; second++)
        port_service(&port, now_ns += NS_PER_S + NS_PER_MS);
    rte_openlog_stream(NULL);
    fclose(log);
    for (const char *at = said; (at = strstr(at, "Failed to connect")) != NULL; at++)
        lines++;
    free(said);
    assert_true(port.counters.redials - redials > 3000);
    assert_in_range(lines, 1, 10);
    port.redial_ns = port.link_since_ns = port.link_poll_ns = 0;
}

static void memif__frames_survive_ring_wraps_and_a_dead_server(void **state)
{
    (void)state;
    struct server first = server_make(), second = server_make();
    server_start(&first);
    assert_true(fixture_eal_start("memif_client"));
    tsc_clock_start(&tsc);
    assert_true(open_end(device_args[1]));
    wait_link(true);
    echo_frames(FRAMES);
    server_kill(&first);
    wait_link(false);
    redial_for_an_hour();
    server_start(&second);
    wait_link(true);
    echo_frames(100);
    assert_true(port.counters.redials > 0);
    server_kill(&second);
    port_close(&port);
}

int main(void)
{
    const char *roles[] = {"server", "client"};
    for (int end = 0; end < 2; end++)
        snprintf(device_args[end], sizeof(device_args[end]),
                 "net_memif0,role=%s,socket-abstract=yes,socket=@memif_test-%d", roles[end], (int)getpid());
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(memif__frames_survive_ring_wraps_and_a_dead_server),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
