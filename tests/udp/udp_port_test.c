/* Ports on sockets of the loopback interface. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include <netinet/in.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "base/count.h"
#include "base/units.h"
#include "udp/udp_port.h"

#define BODY_BYTES 1000
#define WAIT_NS    (2 * NS_PER_S)

/* Two of them, a and b, which are each other's peer 0. */
static struct udp_port a, b;
static struct datagram_port from, to;
static struct tsc_clock ours;
static uint16_t udp_port_number;
static uint8_t body[BODY_BYTES];
static uint64_t next_cookie;

static struct net_address loopback(uint8_t last)
{
    return (struct net_address){.ip = {127, 0, 0, last}, .udp_port = udp_port_number, .family = ADDRESS_IPV4};
}

static struct udp_port_config config_of(struct net_address address)
{
    return (struct udp_port_config){.mtu = 1500,
                                    .rate_bps = 1000000000,
                                    .keeps = true,
                                    .gathers = true,
                                    .address = address,
                                    .clock = &ours};
}

static void open_port(struct udp_port *port, const struct udp_port_config *config, struct net_address peer)
{
    struct err err;
    if (!udp_port_open(port, config, calloc(1, udp_port_bytes(config)), &err))
        fail_msg("%s", err.text);
    struct datagram_port calls = udp_port_datagrams(port);
    assert_true(calls.calls->add_peer(port, 0, &peer, &err));
    assert_true(calls.calls->start(port, tsc_now_ns(&ours)));
}

static void nap(void)
{
    nanosleep(&(struct timespec){.tv_nsec = 1000000}, NULL);
}

static void open_world(void)
{
    udp_port_number = (uint16_t)(20000 + getpid() % 20000);
    tsc_clock_start(&ours);
    struct udp_port_config one = config_of(loopback(1)), two = config_of(loopback(2));
    open_port(&a, &one, loopback(2));
    open_port(&b, &two, loopback(1));
    from = udp_port_datagrams(&a);
    to = udp_port_datagrams(&b);
    memset(body, 0x5a, sizeof(body));
    for (int turn = 0; turn < 40; turn++, nap()) { /* the kernel's clock becomes known */
        from.calls->service(&a, false, tsc_now_ns(&ours));
        to.calls->service(&b, false, tsc_now_ns(&ours));
    }
}

static void close_world(void)
{
    free(a.bodies);
    free(b.bodies);
    from.calls->close(&a);
    to.calls->close(&b);
}

static struct tx_packet packet_of(uint32_t number, uint16_t body_bytes)
{
    struct tx_packet packet = {.head_bytes = sizeof(number),
                               .body_bytes = body_bytes,
                               .body = body,
                               .depart_ns = tsc_now_ns(&ours),
                               .cookie = next_cookie++,
                               .traffic_class = 0x28 | 2,
                               .to = loopback(2)};
    memcpy(packet.head, &number, sizeof(number));
    return packet;
}

static void send_some(uint32_t count, uint16_t body_bytes)
{
    for (uint32_t number = 0; number < count; number++) {
        struct tx_packet packet = packet_of(number, body_bytes);
        from.calls->send(&a, &packet, 1, tsc_now_ns(&ours));
    }
    from.calls->flush(&a, tsc_now_ns(&ours));
}

/* Until so many came, whose numbers go up; returns how many did. */
static uint32_t receive_all(uint32_t count, uint16_t body_bytes)
{
    uint32_t came = 0;
    struct rx_packet packets[PORT_RECEIVE_MAX];
    uint64_t begun_ns = tsc_now_ns(&ours);
    while (came < count && elapsed_ns(tsc_now_ns(&ours), begun_ns) < WAIT_NS) {
        uint16_t frames, taken = to.calls->receive(&b, packets, PORT_RECEIVE_MAX, &frames, tsc_now_ns(&ours));
        for (uint16_t index = 0; index < taken; index++, came++) {
            uint32_t number;
            struct net_address sender = loopback(1);
            memcpy(&number, packets[index].data, sizeof(number));
            assert_int_equal(number, came);
            assert_int_equal(packets[index].length, sizeof(number) + body_bytes);
            assert_true(address_equal(&packets[index].from, &sender));
            assert_int_equal(packets[index].ecn, 2);
            assert_true(packets[index].rx_ns <= tsc_now_ns(&ours));
            assert_memory_equal(packets[index].data + sizeof(number), body, body_bytes);
        }
        to.calls->receive_done(&b);
    }
    return came;
}

static uint32_t reports_of(struct tx_report *reports, uint32_t room)
{
    uint32_t count = 0;
    for (uint16_t more = 1; more > 0; count += more)
        more = from.calls->reports(&a, reports + count, (uint16_t)(room - count));
    return count;
}

static void udp_port__sends_what_is_due_in_few_calls(void **state)
{
    struct tx_report reports[256];
    (void)state;
    open_world();
    send_some(100, BODY_BYTES);
    assert_int_equal(receive_all(100, BODY_BYTES), 100);
    assert_int_equal(count_get(&from.counters->tx_packets), 100);
    if (a.segments) /* 64 and 36 */
        assert_int_equal(count_get(&from.counters->tx_calls), 2);
    assert_int_equal(reports_of(reports, 256), 100);
    for (uint32_t index = 0; index < 100; index++) {
        assert_int_equal(reports[index].status, TX_SENT);
        assert_int_equal(reports[index].released, 1);
    }
    assert_int_equal(from.calls->waiting(&a), 0);
    close_world();
}

static void udp_port__tells_when_each_packet_of_a_train_left_and_came(void **state)
{
    struct tx_report reports[16];
    struct rx_packet packets[PORT_RECEIVE_MAX];
    (void)state;
    open_world();
    to.calls->service(&b, true, tsc_now_ns(&ours));
    assert_false(b.merging);
    uint64_t begun_ns = tsc_now_ns(&ours);
    for (uint32_t number = 0; number < 8; number++) {
        struct tx_packet packet = packet_of(number, BODY_BYTES);
        packet.cookie = TX_COOKIE_TIMED | number;
        from.calls->send(&a, &packet, 1, tsc_now_ns(&ours));
    }
    from.calls->flush(&a, tsc_now_ns(&ours));
    assert_int_equal(count_get(&from.counters->tx_calls), 8);
    assert_int_equal(reports_of(reports, 16), 8);
    for (uint32_t index = 0; index < 8; index++) {
        assert_int_equal(reports[index].cookie, TX_COOKIE_TIMED | index);
        assert_int_equal(reports[index].stamp_kind, STAMP_HARDWARE);
        assert_in_range(reports[index].sent_ns, begun_ns, tsc_now_ns(&ours));
        assert_true(index == 0 || reports[index].sent_ns >= reports[index - 1].sent_ns);
    }
    nap(); /* it is long past when they are read */
    uint16_t frames, taken = to.calls->receive(&b, packets, PORT_RECEIVE_MAX, &frames, tsc_now_ns(&ours));
    assert_int_equal(taken, 8);
    for (uint16_t index = 0; index < taken; index++) {
        assert_int_equal(packets[index].stamp_kind, STAMP_HARDWARE);
        assert_true(packets[index].rx_ns < reports[index].sent_ns + 1000000);
        assert_true(packets[index].noise_ns > 0);
    }
    to.calls->receive_done(&b);
    to.calls->service(&b, false, tsc_now_ns(&ours));
    assert_true(b.merging == b.merges);
    close_world();
}

static void udp_port__lends_what_came_until_it_is_given_back(void **state)
{
    struct rx_packet packets[PORT_RECEIVE_MAX];
    void *kept[PORT_RECEIVE_MAX];
    (void)state;
    open_world();
    send_some(50, BODY_BYTES);
    uint32_t count = 0, free_count = b.free_count;
    for (uint64_t begun_ns = tsc_now_ns(&ours);
         count < 50 && elapsed_ns(tsc_now_ns(&ours), begun_ns) < WAIT_NS;) {
        uint16_t frames;
        uint16_t taken =
            to.calls->receive(&b, &packets[count], (uint16_t)MIN(7u, 50 - count), &frames, tsc_now_ns(&ours));
        assert_int_equal(to.calls->receive_keep(&b, &kept[count]), taken);
        count += taken;
    }
    assert_int_equal(count, 50);
    assert_true(b.free_count < free_count);
    send_some(10, BODY_BYTES); /* others than those that are kept */
    for (uint32_t index = 0; index < count; index++)
        assert_memory_equal(packets[index].data, &index, sizeof(index));
    to.calls->release(&b, kept, (uint16_t)count);
    assert_int_equal(receive_all(10, BODY_BYTES), 10);
    assert_int_equal(b.free_count, free_count);
    close_world();
}

/* A body is copied where it is only lent for the call. */
static void udp_port__copies_bodies_that_are_only_lent(void **state)
{
    uint8_t lent[BODY_BYTES];
    (void)state;
    open_world();
    memcpy(lent, body, sizeof(lent));
    struct tx_packet packet = packet_of(0, BODY_BYTES);
    packet.body = lent;
    packet.cookie = TX_COOKIE_NONE;
    from.calls->send(&a, &packet, 1, tsc_now_ns(&ours));
    memset(lent, 0, sizeof(lent));
    from.calls->flush(&a, tsc_now_ns(&ours));
    assert_int_equal(receive_all(1, BODY_BYTES), 1);
    struct tx_report report;
    assert_int_equal(from.calls->reports(&a, &report, 1), 0);
    close_world();
}

static void udp_port__drops_what_no_packet_can_be(void **state)
{
    static uint8_t bytes[RUN_BYTES_MAX];
    const size_t lengths[] = {0, 1, 1473, sizeof(bytes)};
    struct rx_packet packets[PORT_RECEIVE_MAX];
    struct sockaddr_in target = {.sin_family = AF_INET};
    (void)state;
    open_world();
    target.sin_port = htons(udp_port_number);
    target.sin_addr.s_addr = htonl(0x7f000002);
    int other = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    for (size_t row = 0; row < sizeof(lengths) / sizeof(lengths[0]); row++)
        assert_int_equal(sendto(other, bytes, lengths[row], 0, (struct sockaddr *)&target, sizeof(target)),
                         lengths[row]);
    uint16_t seen = 0, given = 0;
    for (uint64_t begun_ns = tsc_now_ns(&ours);
         seen < 4 && elapsed_ns(tsc_now_ns(&ours), begun_ns) < WAIT_NS;) {
        uint16_t frames;
        given += to.calls->receive(&b, packets, PORT_RECEIVE_MAX, &frames, tsc_now_ns(&ours));
        to.calls->receive_done(&b);
        seen += frames;
    }
    assert_int_equal(seen, 4);
    assert_int_equal(given, 1);
    assert_int_equal(count_get(&to.counters->rx_drop_too_short), 1);
    assert_int_equal(count_get(&to.counters->rx_drop_too_long), 2);
    close(other);
    close_world();
}

/* An unreachable of one peer fails no packet to another, and is said. */
static void udp_port__loses_nothing_by_what_icmp_says(void **state)
{
    struct net_address nobody = loopback(3);
    struct err err;
    char text[256];
    (void)state;
    open_world();
    assert_true(from.calls->add_peer(&a, 1, &nobody, &err));
    uint32_t number = 0;
    for (; number < 20; number++) {
        struct tx_packet lost = packet_of(0, 0), packet = packet_of(number, BODY_BYTES);
        lost.peer = 1;
        lost.to = nobody;
        from.calls->send(&a, &lost, 1, tsc_now_ns(&ours));
        from.calls->send(&a, &packet, 1, tsc_now_ns(&ours));
        from.calls->flush(&a, tsc_now_ns(&ours));
    }
    assert_int_equal(receive_all(number, BODY_BYTES), number);
    from.calls->service(&a, false, tsc_now_ns(&ours) + NS_PER_S);
    assert_true(count_get(&from.counters->rx_unreachable) > 0);
    assert_int_equal(count_get(&from.counters->tx_drop_refused), 0);
    assert_true(datagram_link_up(&from));
    assert_true(from.calls->word(&a, text, sizeof(text), NS_PER_S));
    assert_non_null(strstr(text, "127.0.0.3"));
    assert_false(from.calls->word(&a, text, sizeof(text), NS_PER_S));
    close_world();
}

/* Longer than the interface carries in one piece; what else is due leaves. */
static void udp_port__refuses_by_name_what_the_kernel_does_not_take(void **state)
{
    struct tx_report reports[16];
    struct net_address far = {.ip = {255, 255, 255, 255}, .udp_port = 1, .family = ADDRESS_IPV4};
    struct err err;
    (void)state;
    open_world();
    assert_true(from.calls->add_peer(&a, 1, &far, &err)); /* a broadcast, which the socket may not send */
    struct tx_packet refused = packet_of(0, 10), packet = packet_of(0, BODY_BYTES);
    refused.peer = 1;
    refused.to = far;
    from.calls->send(&a, &refused, 1, tsc_now_ns(&ours));
    from.calls->send(&a, &refused, 1, tsc_now_ns(&ours));
    from.calls->send(&a, &packet, 1, tsc_now_ns(&ours));
    from.calls->flush(&a, tsc_now_ns(&ours));
    assert_int_equal(receive_all(1, BODY_BYTES), 1);
    assert_int_equal(reports_of(reports, 16), 3);
    assert_int_equal(reports[0].status, TX_REFUSED);
    assert_int_equal(reports[1].status, TX_REFUSED);
    assert_int_equal(reports[2].status, TX_SENT);
    assert_int_equal(count_get(&from.counters->tx_drop_filtered), 2); /* EACCES */
    close_world();
}

/* As the kernel says it of one peer's way: the others' packets leave, its own wait, and are lost at last. */
static void udp_port__waits_for_a_full_queue_by_peer(void **state)
{
    struct tx_report reports[256];
    struct net_address other = loopback(3);
    struct err err;
    (void)state;
    open_world();
    assert_true(from.calls->add_peer(&a, 1, &other, &err));
    uint64_t now_ns = tsc_now_ns(&ours);
    a.queues[1].full_ns = now_ns; /* as after ENOBUFS */
    a.queues[1].retry_ns = now_ns + NS_PER_S;
    uint32_t sent = 0, lost;
    for (uint32_t number = 0; number < 100; number++) {
        struct tx_packet waits = packet_of(number, 10), packet = packet_of(number, BODY_BYTES);
        waits.peer = 1;
        waits.to = other;
        from.calls->send(&a, &waits, 1, now_ns);
        from.calls->send(&a, &packet, 1, now_ns);
    }
    from.calls->flush(&a, tsc_now_ns(&ours));
    assert_int_equal(receive_all(100, BODY_BYTES), 100);
    lost = (uint32_t)count_get(&from.counters->tx_drop_queue);
    assert_in_range(lost, 1, 99);                      /* others want their places in the lane */
    assert_int_equal(a.queues[1].waiting, 100 - lost); /* the rest waits */
    uint32_t count = reports_of(reports, 256);
    assert_int_equal(count, 100 + lost);
    for (uint32_t index = 0; index < count; index++)
        sent += reports[index].status == TX_SENT && reports[index].released == 1;
    assert_int_equal(sent, count); /* what was lost is the path's loss */
    a.queues[1].retry_ns = 0;      /* there is room again */
    from.calls->flush(&a, tsc_now_ns(&ours));
    assert_int_equal(a.queues[1].waiting, 0);
    assert_int_equal(a.queues[1].full_ns, 0);
    assert_int_equal(from.calls->waiting(&a), 0);
    close_world();
}

static void udp_port__says_who_is_to_do_what(void **state)
{
    struct err err;
    (void)state;
    open_world();
    struct udp_port_config config = config_of(loopback(1));
    assert_false(udp_port_open(&b, &config, NULL, &err));
    assert_non_null(strstr(err.text, "is taken: ss -lunp"));
    config.address =
        (struct net_address){.ip = {192, 0, 2, 1}, .udp_port = udp_port_number, .family = ADDRESS_IPV4};
    assert_false(udp_port_open(&b, &config, NULL, &err));
    assert_non_null(strstr(err.text, "does not have that address"));
    config.address = (struct net_address){.ip = {0xfe, 0x80}, .family = ADDRESS_IPV6};
    strcpy(config.interface, "nowhere0");
    assert_false(udp_port_open(&b, &config, NULL, &err));
    assert_non_null(strstr(err.text, "no interface nowhere0"));
    free(a.bodies);
    from.calls->close(&a);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(udp_port__sends_what_is_due_in_few_calls),
        cmocka_unit_test(udp_port__tells_when_each_packet_of_a_train_left_and_came),
        cmocka_unit_test(udp_port__lends_what_came_until_it_is_given_back),
        cmocka_unit_test(udp_port__copies_bodies_that_are_only_lent),
        cmocka_unit_test(udp_port__drops_what_no_packet_can_be),
        cmocka_unit_test(udp_port__loses_nothing_by_what_icmp_says),
        cmocka_unit_test(udp_port__refuses_by_name_what_the_kernel_does_not_take),
        cmocka_unit_test(udp_port__waits_for_a_full_queue_by_peer),
        cmocka_unit_test(udp_port__says_who_is_to_do_what),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
