#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "wire/address.h"

static void address_parse__forms(void **state)
{
    static const struct {
        const char *text;
        uint8_t family; /* ADDRESS_NONE: refused */
        const char *formatted;
    } rows[] = {
        {"10.1.2.3", ADDRESS_IPV4, "10.1.2.3:7840"},
        {"255.255.255.255", ADDRESS_IPV4, "255.255.255.255:7840"},
        {"fd00::1", ADDRESS_IPV6, "[fd00::1]:7840"},
        {"::", ADDRESS_IPV6, "[::]:7840"},
        {"FD00:0:0:0:0:0:0:00a", ADDRESS_IPV6, "[fd00::a]:7840"},
        {"1111:2222:3333:4444:5555:6666:7777:8888", ADDRESS_IPV6,
         "[1111:2222:3333:4444:5555:6666:7777:8888]:7840"},
        {"::ffff:255.255.255.255", ADDRESS_IPV6, "[::ffff:255.255.255.255]:7840"},
        {"", ADDRESS_NONE, NULL},
        {"10.1.2", ADDRESS_NONE, NULL},
        {"10.1.2.3.4", ADDRESS_NONE, NULL},
        {"10.1.2.256", ADDRESS_NONE, NULL},
        {" 10.1.2.3", ADDRESS_NONE, NULL},
        {"10.1.2.3:7840", ADDRESS_NONE, NULL},
        {"[fd00::1]", ADDRESS_NONE, NULL},
        {"fd00::1%eth0", ADDRESS_NONE, NULL},
        {"fd00::1::2", ADDRESS_NONE, NULL},
        {"london", ADDRESS_NONE, NULL},
    };
    (void)state;
    for (unsigned index = 0; index < sizeof(rows) / sizeof(rows[0]); index++) {
        struct net_address address;
        memset(&address, 0xff, sizeof(address)); /* what was there before must not stay */
        address.udp_port = 7840;
        struct net_address before = address;
        print_message("\"%s\"\n", rows[index].text);
        assert_int_equal(address_parse(rows[index].text, &address), rows[index].family != ADDRESS_NONE);
        if (rows[index].family == ADDRESS_NONE) {
            assert_memory_equal(&address, &before, sizeof(address));
            continue;
        }
        char text[ADDRESS_TEXT_BYTES];
        assert_int_equal(address.family, rows[index].family);
        address_format(&address, text);
        assert_string_equal(text, rows[index].formatted);
    }
}

static void address_equal__tells_apart(void **state)
{
    struct net_address one = {.udp_port = 1};
    struct net_address other = {.udp_port = 1};
    (void)state;
    assert_true(address_parse("10.0.0.1", &one));
    assert_true(address_parse("10.0.0.1", &other));
    assert_true(address_equal(&one, &other));
    other.udp_port = 2;
    assert_false(address_equal(&one, &other));
    other.udp_port = 1;
    assert_true(address_parse("a00:1::", &other)); /* the same bytes, another family */
    assert_false(address_equal(&one, &other));
}

static void address_format__none_and_longest(void **state)
{
    struct net_address address = {0};
    char text[ADDRESS_TEXT_BYTES];
    (void)state;
    address_format(&address, text);
    assert_string_equal(text, "-:0");
    assert_true(address_parse("1111:2222:3333:4444:5555:6666:7777:8888", &address));
    address.udp_port = UINT16_MAX;
    address_format(&address, text);
    assert_string_equal(text, "[1111:2222:3333:4444:5555:6666:7777:8888]:65535");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(address_parse__forms),
        cmocka_unit_test(address_equal__tells_apart),
        cmocka_unit_test(address_format__none_and_longest),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
