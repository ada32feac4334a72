/* Two ports joined by rings inside this process. */
#pragma once

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <cmocka.h>

#include "dpdk/port.h"

#include "base/units.h"
#include "eal_fixture.h"

#define FRAME_MAX 1514
#define T0        (10 * NS_PER_S)

static struct port left, right;
static struct rx_packet incoming[PORT_RECEIVE_MAX];

static inline struct net_address address_of(const char *text)
{
    struct net_address address = {.udp_port = NODE_UDP_PORT};
    assert_true(address_parse(text, &address));
    return address;
}

static inline struct port_config config_of(const char *device, uint16_t index, const char *ip)
{
    return (struct port_config){
        .device = device,
        .index = index,
        .frame_bytes_max = FRAME_MAX,
        .address = address_of(ip),
        .prefix_length = strchr(ip, ':') != NULL ? 64 : 24,
    };
}

static inline void open_pair(const char *left_ip, const char *right_ip, bool chains)
{
    static unsigned serial;
    static struct err err;
    char names[4][32];
    struct rte_ring *rings[2];
    const char *stems[] = {"net_ring_left", "net_ring_right", "to_right", "to_left"};
    serial++;
    for (int index = 0; index < 4; index++)
        snprintf(names[index], sizeof(names[index]), "%s%u", stems[index], serial);
    for (int index = 0; index < 2; index++) {
        rings[index] = rte_ring_create(names[2 + index], 1024, 0, RING_F_SP_ENQ | RING_F_SC_DEQ);
        assert_non_null(rings[index]);
    }
    struct port_config configs[] = {config_of(names[0], 0, left_ip), config_of(names[1], 1, right_ip)};
    configs[0].no_chains = configs[1].no_chains = !chains;
    assert_true(port_open_rings(&left, &configs[0], rings[1], rings[0], &err));
    assert_true(port_open_rings(&right, &configs[1], rings[0], rings[1], &err));
    assert_true(port_start(&left, T0));
    assert_true(port_start(&right, T0));
    assert_true(port_add_peer(&left, 0, &configs[1].address, &err));
    assert_true(port_add_peer(&right, 0, &configs[0].address, &err));
    assert_true(port_link_up(&left) && port_link_up(&right));
}

static inline void close_pair(void)
{
    port_close(&left);
    port_close(&right);
}

/* Lets both ports ask and answer until each knows the other. */
static inline uint64_t settle(uint64_t now_ns)
{
    uint16_t frames;
    for (int turn = 0; turn < 6; turn++) {
        now_ns += PORT_LINK_POLL_NS;
        port_service(&left, now_ns);
        port_service(&right, now_ns);
        for (int pass = 0; pass < 2; pass++) {
            assert_int_equal(port_receive(&right, incoming, PORT_RECEIVE_MAX, &frames, now_ns), 0);
            port_receive_done(&right);
            assert_int_equal(port_receive(&left, incoming, PORT_RECEIVE_MAX, &frames, now_ns), 0);
            port_receive_done(&left);
        }
    }
    return now_ns;
}
