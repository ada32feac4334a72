#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <cmocka.h>

#include <rte_lcore.h>
#include <rte_malloc.h>

#include "dpdk/pool.h"
#include "eal_fixture.h"

static uint64_t eal_bytes_used(void)
{
    struct rte_malloc_socket_stats stats;
    assert_int_equal(rte_malloc_get_socket_stats((int)rte_socket_id(), &stats), 0);
    return stats.heap_allocsz_bytes;
}

/* A program that gives the EAL what was said beforehand must not run out of it; nor may it hold much for nothing. */
static void pool_eal_bytes__holds_what_a_pool_takes(void **state)
{
    (void)state;
    static const struct {
        uint32_t count, buffer_bytes;
        bool for_device;
        uint64_t unused_bytes_max;
    } cases[] = {
        {512, 2048, false, 1 << 20},  {8192, 2048, false, 1 << 20}, {20000, 1600, false, 1 << 20},
        {4096, 9300, false, 1 << 20}, {512, 2048, true, 2 << 20},   {4096, 2048, true, 4 << 20},
    };
    for (unsigned i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct err err;
        uint64_t before = eal_bytes_used();
        struct rte_mempool *pool =
            pool_create("pool", cases[i].count, cases[i].buffer_bytes, cases[i].for_device, &err);
        assert_non_null(pool);
        uint64_t taken = eal_bytes_used() - before;
        uint64_t said = pool_eal_bytes(cases[i].count, cases[i].buffer_bytes, cases[i].for_device, false);
        assert_in_range(taken, 1, said);
        assert_in_range(said - taken, 0, cases[i].unused_bytes_max);
        rte_mempool_free(pool);
    }
}

int main(void)
{
    if (!fixture_eal_start("pool_test"))
        return 1;
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(pool_eal_bytes__holds_what_a_pool_takes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
