/* Two responders talk to each other: what one asks the other answers, and both learn; damaged, foreign and
 * oversize questions get no answer. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <string.h>

#include "base/units.h"
#include "dpdk/answer_budget.h"
#include "dpdk/neighbour.h"
#include "dpdk/responder.h"
#include "frames.h"

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
        size_t length = responder_ask(&here, &there.address, NULL, frame);
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
        size_t length = responder_ask(&here, &other, NULL, frame);
        assert_int_equal(responder_answer(&there, frame, length, answer, sizeof(answer)).length, 0);
        length = responder_ask(&here, &there.address, NULL, frame);
        for (size_t shorter = 0; shorter < length; shorter++)
            assert_int_equal(responder_answer(&there, frame, shorter, answer, sizeof(answer)).length, 0);
        assert_int_equal(responder_answer(&there, frame, length, answer, 20).length, 0);
        there.vlan ^= 3;
        assert_int_equal(responder_answer(&there, frame, length, answer, sizeof(answer)).length, 0);
    }
}

static void responder__echo(void **state)
{
    (void)state;
    const size_t sizes[] = {0, 1, 56, 1400};
    for (int six = 0; six < 2; six++)
        for (int row = 0; row < 4; row++) {
            make(six ? "fd00::1" : "10.0.0.1", six ? "fd00::2" : "10.0.0.2", 0);
            size_t length = frame_echo(frame, &here, &there, sizes[row]);
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
        size_t length = kind < 2 ? frame_echo(frame, &here, &there, 20)
                                 : responder_ask(&here, &there.address, NULL, frame);
        for (size_t bit = 0; bit < length * 8; bit++) {
            frame[bit / 8] ^= (uint8_t)(1 << bit % 8);
            struct responder_result result = responder_answer(&there, frame, length, answer, sizeof(answer));
            assert_true(result.length <= length + 8);
            frame[bit / 8] ^= (uint8_t)(1 << bit % 8);
        }
    }
}

/* An announcement is learnt from, of our own address it is a conflict; nothing of it is answered. */
static void responder__announcements(void **state)
{
    (void)state;
    static const struct {
        bool six, reply, ours, override, conflict, weak;
    } rows[] = {
        {.override = true},
        {.reply = true, .override = true},
        {.ours = true, .override = true, .conflict = true},
        {.ours = true, .reply = true, .override = true, .conflict = true},
        {.six = true, .override = true},
        {.six = true, .weak = true},
        {.six = true, .ours = true, .override = true, .conflict = true},
    };
    for (size_t row = 0; row < sizeof(rows) / sizeof(rows[0]); row++) {
        make(rows[row].six ? "fd00::1" : "10.0.0.1", rows[row].six ? "fd00::2" : "10.0.0.2", 0);
        const struct net_address *whose = rows[row].ours ? &there.address : &here.address;
        size_t length = rows[row].six ? frame_advertise(frame, here.mac, whose, rows[row].override)
                                      : frame_announce(frame, here.mac, whose, rows[row].reply);
        struct responder_result result = responder_answer(&there, frame, length, answer, sizeof(answer));
        assert_int_equal(result.kind, rows[row].six ? RESPONDER_ND : RESPONDER_ARP);
        assert_int_equal(result.length, 0);
        assert_int_equal(result.learnt, !rows[row].conflict);
        assert_int_equal(result.conflict, rows[row].conflict);
        assert_int_equal(result.weak, rows[row].weak);
        assert_memory_equal(result.mac, here.mac, MAC_BYTES);
    }
}

/* Whether our address is free is asked in the name of nobody: who has it says so, nobody learns from it, and the answer is a
 * conflict, whoever's address it goes to. */
static void responder__probe_of_our_own_address(void **state)
{
    (void)state;
    for (size_t row = 0; row < sizeof(links) / sizeof(links[0]); row++) {
        make(links[row].here, links[row].there, links[row].vlan);
        size_t length = responder_probe(&here, frame);
        assert_true(length <= RESPONDER_FRAME_BYTES_MIN);
        struct responder_result other = responder_answer(&there, frame, length, answer, sizeof(answer));
        assert_false(other.learnt || other.conflict || other.length > 0);
        struct responder_result own = responder_answer(&here, frame, length, answer, sizeof(answer));
        assert_false(own.conflict); /* a frame of ours that came back */
        there.address = here.address;
        other = responder_answer(&there, frame, length, answer, sizeof(answer));
        assert_int_equal(other.kind, links[row].kind);
        assert_false(other.learnt || other.conflict);
        assert_true(other.length > 0);
        struct responder_result told = responder_answer(&here, answer, other.length, frame, sizeof(frame));
        assert_int_equal(told.kind, links[row].kind);
        assert_true(told.conflict);
        assert_false(told.learnt);
        assert_int_equal(told.length, 0);
        assert_memory_equal(told.mac, there.mac, MAC_BYTES);
    }
}

/* Another host with our address asks for others: that shows it. */
static void responder__questions_in_our_name(void **state)
{
    (void)state;
    for (size_t row = 0; row < sizeof(links) / sizeof(links[0]); row++) {
        make(links[row].here, links[row].there, links[row].vlan);
        struct net_address third = there.address;
        third.ip[there.address.family == ADDRESS_IPV6 ? 15 : 3] ^= 0x40;
        there.address = here.address;
        size_t length = responder_ask(&there, &third, NULL, frame);
        struct responder_result told = responder_answer(&here, frame, length, answer, sizeof(answer));
        assert_int_equal(told.kind, links[row].kind);
        assert_true(told.conflict);
        assert_false(told.learnt);
        assert_int_equal(told.length, 0);
        assert_memory_equal(told.mac, there.mac, MAC_BYTES);
        length = responder_ask(&here, &third, NULL, frame);
        assert_int_equal(responder_answer(&here, frame, length, answer, sizeof(answer)).kind,
                         RESPONDER_IGNORED);
    }
}

/* A question to one holder goes to its MAC (and, over IPv6, its address), and it answers as to any other. */
static void responder__question_to_the_holder_alone(void **state)
{
    (void)state;
    for (size_t row = 0; row < sizeof(links) / sizeof(links[0]); row++) {
        make(links[row].here, links[row].there, links[row].vlan);
        size_t length = responder_ask(&here, &there.address, there.mac, frame);
        assert_memory_equal(frame, there.mac, MAC_BYTES);
        struct responder_result asked = responder_answer(&there, frame, length, answer, sizeof(answer));
        assert_int_equal(asked.kind, links[row].kind);
        assert_true(asked.length > 0);
        assert_memory_equal(answer, here.mac, MAC_BYTES);
    }
}

static const uint8_t mac_a[MAC_BYTES] = {2, 0, 0, 0, 0, 9}, mac_b[MAC_BYTES] = {2, 0, 0, 0, 0, 8},
                     mac_c[MAC_BYTES] = {2, 0, 0, 0, 0, 7};

static void neighbour__asked_until_known_then_refreshed(void **state)
{
    (void)state;
    static struct neighbour_table table;
    struct net_address address = {.udp_port = 5};
    const uint8_t *holder;
    uint64_t now_ns = NS_PER_S;
    assert_true(address_parse("10.0.0.9", &address));
    uint16_t index = neighbour_add(&table, &address);
    assert_int_equal(neighbour_add(&table, &address), index);
    assert_null(neighbour_mac(&table, index));
    assert_int_equal(neighbour_next(&table, now_ns, &holder), index);
    assert_null(holder);
    assert_int_equal(neighbour_next(&table, now_ns, &holder), NEIGHBOUR_NONE);
    now_ns += NEIGHBOUR_RETRY_NS;
    assert_int_equal(neighbour_next(&table, now_ns, &holder), index);
    neighbour_learn(&table, &address, mac_a, false, now_ns);
    assert_memory_equal(neighbour_mac(&table, index), mac_a, MAC_BYTES);
    uint32_t version = table.version;
    neighbour_learn(&table, &address, mac_a, true, now_ns);
    assert_int_equal(table.version, version);
    assert_int_equal(neighbour_next(&table, now_ns + NEIGHBOUR_FRESH_NS - 1, &holder), NEIGHBOUR_NONE);
    now_ns += NEIGHBOUR_FRESH_NS;
    for (int try = 0; try < NEIGHBOUR_TRIES; try++) {
        assert_non_null(neighbour_mac(&table, index));
        assert_int_equal(neighbour_next(&table, now_ns, &holder), index);
        now_ns += NEIGHBOUR_RETRY_NS;
    }
    assert_null(neighbour_mac(&table, index)); /* silent for too long */
    assert_int_equal(neighbour_next(&table, now_ns, &holder), NEIGHBOUR_NONE);
    assert_int_equal(neighbour_next(&table, now_ns + NEIGHBOUR_SLOW_NS, &holder), index);
    neighbour_learn(&table, &address, mac_b, true, now_ns); /* nobody is there to be asked */
    assert_memory_equal(neighbour_mac(&table, index), mac_b, MAC_BYTES);
}

/* What a neighbour known as `a` is known as after a few events; the table is looked at each 100 ms. */
static void neighbour__claims(void **state)
{
    (void)state;
    static const struct {
        const char *what;
        struct {
            uint32_t at_ms;
            const uint8_t *mac; /* that says it has the address */
            bool weak;
        } events[4];
        uint32_t until_ms;
        const uint8_t *mac; /* in use then */
        uint32_t asks, conflicts, moves;
    } cases[] = {
        {"nothing happens", {{0}}, 5000, mac_a, 0, 0, 0},
        {"a claim does not count at once", {{100, mac_b, false}}, 1000, mac_a, 3, 0, 0},
        {"the holder is silent", {{100, mac_b, false}}, 1200, mac_b, 3, 0, 1},
        {"the holder answers", {{100, mac_b, false}, {350, mac_a, false}}, 5000, mac_a, 1, 1, 0},
        {"it answers the last question", {{100, mac_b, false}, {1050, mac_a, false}}, 5000, mac_a, 3, 1, 0},
        {"the first claim is the one examined",
         {{100, mac_b, false}, {500, mac_c, false}, {900, mac_c, false}},
         1200,
         mac_b,
         3,
         0,
         1},
        {"without override nothing is claimed", {{100, mac_b, true}}, 5000, mac_a, 0, 0, 0},
        {"a claim after a conflict waits a second, then it counts",
         {{100, mac_b, false}, {150, mac_a, false}, {200, mac_b, false}},
         2300,
         mac_b,
         4,
         1,
         1},
        {"there and back again", {{100, mac_b, false}, {2000, mac_a, false}}, 3200, mac_a, 6, 0, 2},
    };
    for (size_t row = 0; row < sizeof(cases) / sizeof(cases[0]); row++) {
        struct neighbour_table table = {0};
        struct net_address address = {0};
        uint32_t asks = 0, event = 0;
        const uint8_t *holder;
        assert_true(address_parse("10.0.0.9", &address));
        uint16_t index = neighbour_add(&table, &address);
        neighbour_learn(&table, &address, mac_a, true, NS_PER_S);
        for (uint32_t ms = 0; ms <= cases[row].until_ms; ms += 50) {
            uint64_t now_ns = NS_PER_S + ms * NS_PER_MS;
            for (; event < 4 && cases[row].events[event].mac != NULL && cases[row].events[event].at_ms <= ms;
                 event++)
                neighbour_learn(&table, &address, cases[row].events[event].mac,
                                !cases[row].events[event].weak, now_ns);
            while (ms % 100 == 0 && neighbour_next(&table, now_ns, &holder) == index) {
                asks++;
                assert_memory_equal(holder, neighbour_mac(&table, index), MAC_BYTES);
            }
        }
        print_message("%s\n", cases[row].what);
        assert_memory_equal(neighbour_mac(&table, index), cases[row].mac, MAC_BYTES);
        assert_int_equal(asks, cases[row].asks);
        assert_int_equal(table.conflicts, cases[row].conflicts);
        assert_int_equal(table.moves, cases[row].moves);
    }
}

/* However many claims come while the holder lives, it is asked a few times a second. */
static void neighbour__flood_of_claims(void **state)
{
    (void)state;
    static struct neighbour_table table;
    struct net_address address = {0};
    const uint8_t *holder;
    uint32_t asks = 0;
    assert_true(address_parse("10.0.0.9", &address));
    uint16_t index = neighbour_add(&table, &address);
    neighbour_learn(&table, &address, mac_a, true, NS_PER_S);
    for (uint64_t now_ns = NS_PER_S; now_ns < 11 * NS_PER_S; now_ns += NS_PER_MS) {
        neighbour_learn(&table, &address, mac_b, true, now_ns);
        if (neighbour_next(&table, now_ns, &holder) == index) {
            asks++;
            neighbour_learn(&table, &address, mac_a, true, now_ns);
        }
    }
    assert_memory_equal(neighbour_mac(&table, index), mac_a, MAC_BYTES);
    assert_in_range(asks, 9, 11);
    assert_int_equal(table.conflicts, asks);
}

static void neighbour__fixed_and_strangers(void **state)
{
    (void)state;
    static struct neighbour_table table;
    struct net_address address = {0};
    const uint8_t *holder;
    assert_true(address_parse("fd00::9", &address));
    neighbour_learn(&table, &address, mac_a, true, 0);
    assert_int_equal(table.count, 0);
    uint16_t index = neighbour_add(&table, &address);
    neighbour_fix(&table, index, mac_a);
    neighbour_learn(&table, &address, mac_b, true, 0);
    assert_memory_equal(neighbour_mac(&table, index), mac_a, MAC_BYTES);
    assert_int_equal(neighbour_next(&table, TIME_NEVER - 1, &holder), NEIGHBOUR_NONE);
    while (table.count < NEIGHBOURS_MAX) {
        address.ip[14] = (uint8_t)(table.count + 1);
        assert_int_not_equal(neighbour_add(&table, &address), NEIGHBOUR_NONE);
    }
    address.ip[13] = 1;
    assert_int_equal(neighbour_add(&table, &address), NEIGHBOUR_NONE);
}

static void answer_budget__kinds_have_their_own(void **state)
{
    (void)state;
    static const enum responder_kind kinds[] = {RESPONDER_ARP, RESPONDER_ND, RESPONDER_ECHO};
    struct answer_budget budget = {0};
    uint32_t given[3] = {0};
    for (int burst = 0; burst < 3; burst++)
        for (uint32_t question = 0; question < 20000; question++)
            for (int kind = 2; kind >= 0; kind--)
                given[kind] += answer_budget_take(&budget, kinds[kind], (10 + (uint64_t)burst) * NS_PER_S);
    for (int kind = 0; kind < 3; kind++)
        assert_int_equal(given[kind], 3 * answer_budget_max(kinds[kind]));
    assert_true(answer_budget_max(RESPONDER_ECHO) < answer_budget_max(RESPONDER_ARP));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(responder__question_answer_both_learn),
        cmocka_unit_test(responder__foreign_and_short_questions_are_ignored),
        cmocka_unit_test(responder__echo),
        cmocka_unit_test(responder__damaged_questions),
        cmocka_unit_test(responder__announcements),
        cmocka_unit_test(responder__probe_of_our_own_address),
        cmocka_unit_test(responder__questions_in_our_name),
        cmocka_unit_test(responder__question_to_the_holder_alone),
        cmocka_unit_test(answer_budget__kinds_have_their_own),
        cmocka_unit_test(neighbour__claims),
        cmocka_unit_test(neighbour__flood_of_claims),
        cmocka_unit_test(neighbour__asked_until_known_then_refreshed),
        cmocka_unit_test(neighbour__fixed_and_strangers),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
