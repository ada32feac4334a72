#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

#include "base/crc32c.h"

static void crc32c__known_values(void **state)
{
    (void)state;
    uint8_t zeros[32] = {0}, ones[32], up[32];
    memset(ones, 0xff, sizeof(ones));
    for (uint8_t i = 0; i < 32; i++)
        up[i] = i;
    assert_int_equal(crc32c((const uint8_t *)"123456789", 9), 0xe3069283);
    assert_int_equal(crc32c(zeros, 32), 0x8a9136aa); /* RFC 3720, B.4 */
    assert_int_equal(crc32c(ones, 32), 0x62a8ab43);
    assert_int_equal(crc32c(up, 32), 0x46dd794e);
    assert_int_equal(crc32c(up, 0), 0);
    assert_int_equal(crc32c_add(crc32c(up, 13), up + 13, 19), 0x46dd794e);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(crc32c__known_values),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
