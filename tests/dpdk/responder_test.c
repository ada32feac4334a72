/* Two responders talk to each other: what one asks the other answers, and both learn; damaged, foreign and
 * oversize questions get no answer. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <string.h>

#include "base/bytes.h"
#include "base/units.h"
#include "dpdk/neighbour.h"
#include "dpdk/responder.h"

static struct responder here, there;
static uint8_t frame[2048], answer[2048];

static void make(const char *here_ip, const char *there_ip, uint16_t vlan)
{
    here = (struct responder){.mac = {2, 0, 0, 0, 0, 1}, .vlan = vlan};
    there = (struct responder){.mac = {2, 0, 0, 0, 0, 2}, .vlan = vlan};
    assert_true(address_parse(here_ip, &here.address));
    assert_true(address_parse(there_ip, &there.address));
}

static const struct {
    const char *here, *there;
    uint16_t vlan;
    enum responder_kind kind;
} links[] = {
    {"10.0.0.1", "10.0.0.2", 0, RESPONDER_ARP},
    {"10.0.0.1", "10.0.0.2", 7, RESPONDER_ARP},
    {"fd00::1", "fd00::2", 0, RESPONDER_ND},
    {"fd00::1", "fd00::1:2", 9, RESPONDER_ND},
};

static void responder__question_answer_both_learn(void **state)
{
    (void)state;
    for (size_t row = 0; row < sizeof(links) / sizeof(links[0]); row++) {
        make(links[row].here, links[row].there, links[row].vlan);
        size_t length = responder_ask(&here, &there.address, frame);
        struct responder_result asked = responder_answer(&there, frame, length, answer, sizeof(answer));
        assert_int_equal(asked.kind, links[row].kind);
        assert_true(asked.learnt);
        assert_memory_equal(asked.mac, here.mac, MAC_BYTES);
        assert_memory_equal(asked.address.ip, here.address.ip, 16);
        assert_true(asked.length > 0 && asked.length <= length + 8);
        struct responder_result told = responder_answer(&here, answer, asked.length, frame, sizeof(frame));
        assert_int_equal(told.kind, links[row].kind);
        assert_int_equal(told.length, 0);
        assert_true(told.learnt);
        assert_memory_equal(told.mac, there.mac, MAC_BYTES);
        assert_memory_equal(told.address.ip, there.address.ip, 16);
    }
}

static void responder__foreign_and_short_questions_are_ignored(void **state)
{
    (void)state;
    for (size_t row = 0; row < sizeof(links) / sizeof(links[0]); row++) {
        make(links[row].here, links[row].there, links[row].vlan);
        struct net_address other = there.address;
        other.ip[1] ^= 1;
        other.ip[15] ^= there.address.family == ADDRESS_IPV6;
        size_t length = responder_ask(&here, &other, frame);
        assert_int_equal(responder_answer(&there, frame, length, answer, sizeof(answer)).length, 0);
        length = responder_ask(&here, &there.address, frame);
        for (size_t shorter = 0; shorter < length; shorter++)
            assert_int_equal(responder_answer(&there, frame, shorter, answer, sizeof(answer)).length, 0);
        assert_int_equal(responder_answer(&there, frame, length, answer, 20).length, 0);
        there.vlan ^= 3;
        assert_int_equal(responder_answer(&there, frame, length, answer, sizeof(answer)).length, 0);
    }
}

/* An echo request from here to there, `data` bytes long. */
static size_t echo_make(bool six, size_t data)
{
    memset(frame, 0, sizeof(frame));
    memcpy(frame, there.mac, MAC_BYTES);
    memcpy(frame + 6, here.mac, MAC_BYTES);
    store_be16(frame + 12, six ? ETHERTYPE_IPV6 : ETHERTYPE_IPV4);
    uint8_t *ip = frame + 14, *icmp = ip + (six ? 40 : 20);
    size_t payload = 8 + data;
    for (size_t index = 0; index < data; index++)
        icmp[8 + index] = (uint8_t)index;
    icmp[0] = six ? 128 : 8;
    store_be16(icmp + 4, 0x1234);
    if (six) {
        ip[0] = 0x60;
        store_be16(ip + 4, (uint16_t)payload);
        ip[6] = 58;
        ip[7] = 64;
        memcpy(ip + 8, here.address.ip, 16);
        memcpy(ip + 24, there.address.ip, 16);
        uint8_t tail[8] = {0, 0, (uint8_t)(payload >> 8), (uint8_t)payload, 0, 0, 0, 58};
        uint32_t sum = checksum_add(checksum_add(0, ip + 8, 32), tail, 8);
        store_be16(icmp + 2, checksum_fold(checksum_add(sum, icmp, payload)));
        return 14 + 40 + payload;
    }
    ip[0] = 0x45;
    store_be16(ip + 2, (uint16_t)(20 + payload));
    ip[8] = 64;
    ip[9] = 1;
    memcpy(ip + 12, here.address.ip, 4);
    memcpy(ip + 16, there.address.ip, 4);
    store_be16(ip + 10, checksum_fold(checksum_add(0, ip, 20)));
    store_be16(icmp + 2, checksum_fold(checksum_add(0, icmp, payload)));
    return 14 + 20 + payload;
}

static void responder__echo(void **state)
{
    (void)state;
    const size_t sizes[] = {0, 1, 56, 1400};
    for (int six = 0; six < 2; six++)
        for (int row = 0; row < 4; row++) {
            make(six ? "fd00::1" : "10.0.0.1", six ? "fd00::2" : "10.0.0.2", 0);
            size_t length = echo_make(six, sizes[row]);
            struct responder_result result = responder_answer(&there, frame, length, answer, sizeof(answer));
            assert_int_equal(result.kind, RESPONDER_ECHO);
            assert_int_equal(result.length, length);
            assert_memory_equal(answer, here.mac, MAC_BYTES);
            size_t icmp = six ? 54 : 34;
            assert_int_equal(answer[icmp], six ? 129 : 0);
            assert_memory_equal(answer + icmp + 4, frame + icmp + 4, sizes[row] + 4);
            frame[icmp + 4] ^= 1; /* its checksum is wrong now */
            result = responder_answer(&there, frame, length, answer, sizeof(answer));
            assert_int_equal(result.kind, RESPONDER_BAD);
            assert_int_equal(result.length, 0);
        }
}

/* No damaged question is answered with more than it is long plus 8, and nothing reads beyond the frame. */
static void responder__damaged_questions(void **state)
{
    (void)state;
    for (int kind = 0; kind < 4; kind++) {
        bool six = kind % 2;
        make(six ? "fd00::1" : "10.0.0.1", six ? "fd00::2" : "10.0.0.2", 0);
        size_t length = kind < 2 ? echo_make(six, 20) : responder_ask(&here, &there.address, frame);
        for (size_t bit = 0; bit < length * 8; bit++) {
            frame[bit / 8] ^= (uint8_t)(1 << bit % 8);
            struct responder_result result = responder_answer(&there, frame, length, answer, sizeof(answer));
            assert_true(result.length <= length + 8);
            frame[bit / 8] ^= (uint8_t)(1 << bit % 8);
        }
    }
}

static void neighbour__asked_until_known_then_refreshed(void **state)
{
    (void)state;
    static struct neighbour_table table;
    const uint8_t mac[MAC_BYTES] = {2, 0, 0, 0, 0, 9}, other[MAC_BYTES] = {2, 0, 0, 0, 0, 8};
    struct net_address address = {.udp_port = 5};
    uint64_t now_ns = NS_PER_S;
    assert_true(address_parse("10.0.0.9", &address));
    uint16_t index = neighbour_add(&table, &address);
    assert_int_equal(neighbour_add(&table, &address), index);
    assert_null(neighbour_mac(&table, index));
    assert_int_equal(neighbour_next(&table, now_ns), index);
    assert_int_equal(neighbour_next(&table, now_ns), NEIGHBOUR_NONE);
    now_ns += NEIGHBOUR_RETRY_NS;
    assert_int_equal(neighbour_next(&table, now_ns), index);
    neighbour_learn(&table, &address, mac, now_ns);
    assert_memory_equal(neighbour_mac(&table, index), mac, MAC_BYTES);
    uint32_t version = table.version;
    neighbour_learn(&table, &address, mac, now_ns);
    assert_int_equal(table.version, version);
    neighbour_learn(&table, &address, other, now_ns);
    assert_int_not_equal(table.version, version);
    assert_int_equal(neighbour_next(&table, now_ns + NEIGHBOUR_FRESH_NS - 1), NEIGHBOUR_NONE);
    now_ns += NEIGHBOUR_FRESH_NS;
    for (int try = 0; try < NEIGHBOUR_TRIES; try++) {
        assert_non_null(neighbour_mac(&table, index));
        assert_int_equal(neighbour_next(&table, now_ns), index);
        now_ns += NEIGHBOUR_RETRY_NS;
    }
    assert_null(neighbour_mac(&table, index)); /* silent for too long */
    assert_int_equal(neighbour_next(&table, now_ns), NEIGHBOUR_NONE);
    assert_int_equal(neighbour_next(&table, now_ns + NEIGHBOUR_SLOW_NS), index);
}

static void neighbour__fixed_and_strangers(void **state)
{
    (void)state;
    static struct neighbour_table table;
    const uint8_t mac[MAC_BYTES] = {2, 0, 0, 0, 0, 9}, other[MAC_BYTES] = {2, 0, 0, 0, 0, 8};
    struct net_address address = {0};
    assert_true(address_parse("fd00::9", &address));
    neighbour_learn(&table, &address, mac, 0);
    assert_int_equal(table.count, 0);
    uint16_t index = neighbour_add(&table, &address);
    neighbour_fix(&table, index, mac);
    neighbour_learn(&table, &address, other, 0);
    assert_memory_equal(neighbour_mac(&table, index), mac, MAC_BYTES);
    assert_int_equal(neighbour_next(&table, TIME_NEVER - 1), NEIGHBOUR_NONE);
    while (table.count < NEIGHBOURS_MAX) {
        address.ip[14] = (uint8_t)(table.count + 1);
        assert_int_not_equal(neighbour_add(&table, &address), NEIGHBOUR_NONE);
    }
    address.ip[13] = 1;
    assert_int_equal(neighbour_add(&table, &address), NEIGHBOUR_NONE);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(responder__question_answer_both_learn),
        cmocka_unit_test(responder__foreign_and_short_questions_are_ignored),
        cmocka_unit_test(responder__echo),
        cmocka_unit_test(responder__damaged_questions),
        cmocka_unit_test(neighbour__asked_until_known_then_refreshed),
        cmocka_unit_test(neighbour__fixed_and_strangers),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
