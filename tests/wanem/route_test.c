#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <cmocka.h>

#include "app/wanem/route.h"

#define SITES 5

static uint8_t frame[128];

static void ipv4_to(uint8_t a, uint8_t site, uint8_t d)
{
    memset(frame, 0, sizeof(frame));
    store_be16(frame + 12, ETHERTYPE_IPV4);
    frame[14] = 0x45;
    frame[30] = a;
    frame[32] = site;
    frame[33] = d;
}

static void ipv6_to(uint8_t first, uint16_t site)
{
    memset(frame, 0, sizeof(frame));
    store_be16(frame + 12, ETHERTYPE_IPV6);
    frame[14] = 0x60;
    frame[14 + 24] = first;
    store_be16(frame + 14 + 24 + 6, site);
}

static void arp(uint16_t operation, const char *sender, const char *target)
{
    struct net_address address;
    memset(frame, 0, sizeof(frame));
    store_be16(frame + 12, ETHERTYPE_ARP);
    store_be16(frame + 20, operation);
    assert_true(address_parse(sender, &address));
    memcpy(frame + 28, address.ip, 4);
    assert_true(address_parse(target, &address));
    memcpy(frame + 38, address.ip, 4);
}

static void route_frame__by_site_number(void **state)
{
    (void)state;
    static const struct {
        uint8_t a, site;
        enum route_kind kind;
        uint16_t to;
    } cases[] = {
        {10, 1, ROUTE_SITE, 0},   {10, 5, ROUTE_SITE, 4},     {192, 2, ROUTE_SITE, 1},
        {10, 3, ROUTE_ITSELF, 0}, {10, 0, ROUTE_NOBODY, 0},   {10, 6, ROUTE_NOBODY, 0},
        {224, 2, ROUTE_OTHER, 0}, {255, 255, ROUTE_OTHER, 0},
    };
    for (size_t index = 0; index < sizeof(cases) / sizeof(cases[0]); index++) {
        ipv4_to(cases[index].a, cases[index].site, 9);
        struct route route = route_frame(frame, 60, 2, SITES);
        assert_int_equal(route.kind, cases[index].kind);
        assert_int_equal(route.to, cases[index].to);
    }
    ipv6_to(0xfd, 4);
    assert_int_equal(route_frame(frame, 60, 2, SITES).kind, ROUTE_SITE);
    assert_int_equal(route_frame(frame, 60, 2, SITES).to, 3);
    ipv6_to(0xff, 4);
    assert_int_equal(route_frame(frame, 60, 2, SITES).kind, ROUTE_OTHER);
}

static void route_frame__questions(void **state)
{
    (void)state;
    arp(1, "10.0.3.2", "10.0.3.1");
    struct route route = route_frame(frame, 60, 2, SITES);
    assert_int_equal(route.kind, ROUTE_ASKS);
    struct net_address wanted = {0};
    assert_true(address_parse("10.0.3.1", &wanted));
    assert_true(address_equal(&route.target, &wanted));
    static const char *const silent[][2] = {{"0.0.0.0", "10.0.3.2"}, {"10.0.3.2", "10.0.3.2"}};
    for (int index = 0; index < 2; index++) {
        arp(1, silent[index][0], silent[index][1]);
        assert_int_equal(route_frame(frame, 60, 2, SITES).kind, ROUTE_OTHER);
    }
    arp(2, "10.0.3.2", "10.0.3.1");
    assert_int_equal(route_frame(frame, 60, 2, SITES).kind, ROUTE_OTHER);

    ipv6_to(0xff, 0);
    frame[14 + 6] = 58;
    frame[14 + 8] = 0xfd;
    frame[54] = 135;
    frame[62] = 0xfe;
    route = route_frame(frame, 86, 2, SITES);
    assert_int_equal(route.kind, ROUTE_ASKS);
    assert_int_equal(route.target.family, ADDRESS_IPV6);
    assert_int_equal(route.target.ip[0], 0xfe);
    frame[14 + 8] = 0; /* from nowhere: duplicate address detection */
    assert_int_equal(route_frame(frame, 86, 2, SITES).kind, ROUTE_OTHER);
}

static void route_frame__short_ones(void **state)
{
    (void)state;
    assert_int_equal(route_frame(frame, 13, 2, SITES).kind, ROUTE_TOO_SHORT);
    ipv4_to(10, 1, 2);
    assert_int_equal(route_frame(frame, 33, 2, SITES).kind, ROUTE_TOO_SHORT);
    assert_int_equal(route_frame(frame, 34, 2, SITES).kind, ROUTE_SITE);
    ipv6_to(0xfd, 1);
    assert_int_equal(route_frame(frame, 53, 2, SITES).kind, ROUTE_TOO_SHORT);
    arp(1, "10.0.3.2", "10.0.3.1");
    assert_int_equal(route_frame(frame, 41, 2, SITES).kind, ROUTE_TOO_SHORT);
    store_be16(frame + 12, 0x88cc);
    assert_int_equal(route_frame(frame, 60, 2, SITES).kind, ROUTE_OTHER);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(route_frame__by_site_number),
        cmocka_unit_test(route_frame__questions),
        cmocka_unit_test(route_frame__short_ones),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
