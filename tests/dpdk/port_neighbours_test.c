/* Two ports joined by rings inside this process: questions of the link are answered, and neighbours move. */
#include "port_pair.h"
#include "frames.h"

static void give_frame(struct port *port, const uint8_t *frame, size_t length)
{
    struct rte_mbuf *mbuf = rte_pktmbuf_alloc(port->pool);
    assert_non_null(mbuf);
    memcpy(rte_pktmbuf_append(mbuf, (uint16_t)length), frame, length);
    assert_int_equal(port_tx_burst(port, &mbuf, 1), 1);
}

/* What `port` got is read, answered and gone. Returns how many questions it answered. */
static uint64_t answered_by(struct port *port, uint64_t now_ns)
{
    uint64_t before = port->counters.rx_answered;
    uint16_t frames;
    do {
        assert_int_equal(port_receive(port, incoming, PORT_RECEIVE_MAX, &frames, now_ns), 0);
        port_receive_done(port);
    } while (frames > 0);
    return port->counters.rx_answered - before;
}

static const char *const families[][2] = {{"10.0.0.1", "10.0.0.2"}, {"fd00::1", "fd00::2"}};

/* 20,000 pings a second, and a question for the MAC between them: it is answered. */
static void port__ping_flood_leaves_neighbours_alone(void **state)
{
    (void)state;
    for (int family = 0; family < 2; family++) {
        open_pair(families[family][0], families[family][1], false);
        uint64_t now_ns = settle(T0), pings = 0;
        uint8_t frame[256];
        size_t length = frame_echo(frame, &left.responder, &right.responder, 56);
        for (int ping = 0; ping < 2000; ping++) {
            give_frame(&left, frame, length);
            pings += answered_by(&right, now_ns);
            answered_by(&left, now_ns);
        }
        assert_true(pings > 0 && pings < 2000);
        assert_int_equal(right.counters.rx_drop_echo_limit, 2000 - pings);
        left.neighbours.entries[0].ask_ns = 0; /* asks again */
        port_service(&left, now_ns + PORT_LINK_POLL_NS);
        assert_int_equal(answered_by(&right, now_ns + PORT_LINK_POLL_NS), 1);
        close_pair();
    }
}

/* The left port's neighbour says, by an announcement of another MAC, that it has moved. */
static void port__neighbour_moves_after_a_second(void **state)
{
    (void)state;
    static const uint8_t other[MAC_BYTES] = {2, 0, 0, 0, 0, 99};
    for (int family = 0; family < 2; family++)
        for (int alive = 0; alive < 2; alive++) {
            open_pair(families[family][0], families[family][1], false);
            uint64_t now_ns = settle(T0);
            uint8_t frame[256], holder[MAC_BYTES];
            memcpy(holder, neighbour_mac(&left.neighbours, 0), MAC_BYTES);
            assert_memory_equal(holder, right.mac, MAC_BYTES);
            size_t length = family == 0 ? frame_announce(frame, other, &right.config.address, false)
                                        : frame_advertise(frame, other, &right.config.address, true);
            give_frame(&right, frame, length);
            answered_by(&left, now_ns);
            assert_memory_equal(neighbour_mac(&left.neighbours, 0), holder, MAC_BYTES);
            for (int turn = 0; turn < 13; turn++) { /* 1.3 s */
                now_ns += PORT_LINK_POLL_NS;
                port_service(&left, now_ns);
                struct rte_mbuf *unread[PORT_BURST];
                if (alive)
                    answered_by(&right, now_ns);
                else
                    rte_pktmbuf_free_bulk(unread, port_rx_burst(&right, unread, PORT_BURST));
                answered_by(&left, now_ns);
            }
            assert_memory_equal(neighbour_mac(&left.neighbours, 0), alive ? holder : other, MAC_BYTES);
            assert_int_equal(left.counters.neighbour_conflicts, alive);
            assert_int_equal(left.counters.neighbour_moves, !alive);
            close_pair();
        }
}

/* Two hosts with one address: each is told by the other's answer to its probe, which nothing waits for, and by no more than
 * PORT_PROBES of them. */
static void port__two_with_one_address(void **state)
{
    (void)state;
    for (int family = 0; family < 2; family++)
        for (int same = 0; same < 2; same++) {
            open_pair(families[family][0], families[family][1], false);
            if (same)
                right.config.address = right.responder.address = left.config.address;
            char mac[PORT_MAC_TEXT_BYTES], expected[PORT_MAC_TEXT_BYTES];
            const uint8_t *m = right.mac;
            snprintf(expected, sizeof(expected), "%02x:%02x:%02x:%02x:%02x:%02x", m[0], m[1], m[2], m[3],
                     m[4], m[5]);
            uint64_t now_ns = T0;
            assert_int_equal(left.probes_left, PORT_PROBES);
            for (int look = 0; look < 50; look++) { /* 5 s */
                now_ns += PORT_LINK_POLL_NS;
                port_service(&left, now_ns);
                answered_by(&right, now_ns);
                answered_by(&left, now_ns);
                if (look == 0)
                    assert_int_equal(left.counters.address_conflicts, same);
            }
            assert_int_equal(left.probes_left, 0);
            assert_int_equal(left.counters.address_conflicts, same ? PORT_PROBES : 0);
            port_holder(&left, mac);
            assert_string_equal(mac, same ? expected : "");
            close_pair();
        }
}

int main(void)
{
    if (!fixture_eal_start("port_neighbours_test"))
        return 1;
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(port__ping_flood_leaves_neighbours_alone),
        cmocka_unit_test(port__neighbour_moves_after_a_second),
        cmocka_unit_test(port__two_with_one_address),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
