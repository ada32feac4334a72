/* Which bodies a device can read where they lie, and by which address: pages in any physical order, memory of the EAL and
 * of the process. With an argument (`pa`, `va`) on huge pages in that mode, which tests/net/vhost_test.py reserves. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <cmocka.h>

#include <rte_eal.h>
#include <rte_malloc.h>

#include "dpdk/memory.h"
#include "dpdk/reach.h"
#include "eal_fixture.h"

#define MIB   ((uintptr_t)1 << 20)
#define FIRST (7 * 2 * MIB + 4096) /* in the first of its pages, not at the beginning of it */

/* Physical addresses of the pages from FIRST's on: the second and third lie one behind the other. */
static const rte_iova_t frames[] = {0x40000000, 0x10000000, 0x10200000, RTE_BAD_IOVA};

static rte_iova_t address_of(const void *address)
{
    uintptr_t page = (uintptr_t)address / REACH_PAGE_BYTES - FIRST / REACH_PAGE_BYTES;
    return frames[page] == RTE_BAD_IOVA ? RTE_BAD_IOVA : frames[page] + (uintptr_t)address % REACH_PAGE_BYTES;
}

static void reach__pages_in_any_order(void **state)
{
    (void)state;
    struct reach reach;
    assert_true(reach_resolve(&reach, (const void *)FIRST, 3 * 2 * MIB - 4096, address_of));
    const uintptr_t base = FIRST - 4096;
    const struct {
        uintptr_t at;
        uint32_t bytes;
        bool good;
        rte_iova_t address;
    } rows[] = {
        {FIRST, 1408, true, 0x40001000},
        {FIRST - 1, 1408, false, 0},
        {base + 2 * MIB - 1408, 1408, true, 0x40200000 - 1408},
        {base + 2 * MIB - 1407, 1408, false, 0}, /* in two pieces */
        {base + 2 * MIB, 8908, true, 0x10000000},
        {base + 4 * MIB - 1, 8908, true, 0x101fffff}, /* across pages that follow each other */
        {base + 6 * MIB - 1408, 1408, true, 0x10400000 - 1408},
        {base + 6 * MIB - 1407, 1408, false, 0},
    };
    for (size_t row = 0; row < sizeof(rows) / sizeof(rows[0]); row++) {
        rte_iova_t address = 0;
        assert_int_equal(reach_body(&reach, (const uint8_t *)rows[row].at, rows[row].bytes, &address),
                         rows[row].good);
        if (rows[row].good)
            assert_int_equal(address, rows[row].address);
    }
    reach_close(&reach);
    rte_iova_t address;
    assert_false(reach_body(&reach, (const uint8_t *)FIRST, 1408, &address));
    assert_false(reach_resolve(&reach, (const void *)FIRST, 3 * 2 * MIB,
                               address_of)); /* one page more: nobody knows it */
}

/* Without huge pages in this process: addresses are its own. */
static void reach__kinds_of_memory(void **state)
{
    (void)state;
    static uint8_t elsewhere[4096];
    assert_int_equal(rte_eal_iova_mode(), RTE_IOVA_VA);
    uint8_t *taken = memory_take(3 * MIB, false), *own = rte_malloc(NULL, 4096, 64);
    assert_int_equal((uintptr_t)taken % REACH_PAGE_BYTES, 0);
    const struct {
        const uint8_t *first;
        uint64_t bytes;
        enum device_reach how;
        bool good;
        const char *why;
    } rows[] = {
        {taken, 3 * MIB, DEVICE_READS_ALL, true, NULL},
        {NULL, 0, DEVICE_READS_ALL, true, NULL},
        {taken, 3 * MIB, DEVICE_READS_EAL, false, "shared with the other end"},
        {own, 4096, DEVICE_READS_EAL, true, NULL},
        {own, 4096, DEVICE_READS_MAPPED, true, NULL},
        {taken, 3 * MIB, DEVICE_READS_MAPPED, false,
         "cannot be mapped"}, /* registered, but there is no device */
        {taken, 3 * MIB, DEVICE_READS_EAL, false,
         "shared with the other end"}, /* registering makes it no EAL's */
    };
    for (size_t row = 0; row < sizeof(rows) / sizeof(rows[0]); row++) {
        struct reach reach;
        const char *why = NULL;
        rte_iova_t address = 0;
        assert_int_equal(reach_open(&reach, rows[row].first, rows[row].bytes, rows[row].how, NULL, &why),
                         rows[row].good);
        const uint8_t *body = rows[row].first != NULL ? rows[row].first : elsewhere;
        assert_int_equal(reach_body(&reach, body, 1408, &address), rows[row].good);
        if (rows[row].good)
            assert_int_equal(address, (uintptr_t)body);
        else
            assert_non_null(strstr(why, rows[row].why));
        reach_close(&reach);
    }
    assert_non_null(rte_mem_virt2memseg_list(taken));
    assert_int_equal(rte_mem_virt2iova(taken + MIB), (uintptr_t)taken + MIB);
    rte_free(own);
}

/* What the table says is what the EAL says of both ends of a body; what it refuses is in two pieces. */
static void reach__huge_pages(void **state)
{
    (void)state;
    const uint64_t bytes = 40 * MIB;
    struct reach reach;
    const char *why = NULL;
    uint8_t *memory = memory_take(bytes, true);
    assert_non_null(memory);
    assert_true(reach_open(&reach, memory, bytes, DEVICE_READS_MAPPED, NULL, &why));
    assert_int_equal(reach.pages != NULL, rte_eal_iova_mode() == RTE_IOVA_PA);
    for (uint64_t at = 0; at + 8908 <= bytes; at += 1409) {
        rte_iova_t address, first = rte_mem_virt2iova(memory + at),
                            last = rte_mem_virt2iova(memory + at + 8907);
        assert_int_equal(reach_body(&reach, memory + at, 8908, &address), last == first + 8907);
        if (last == first + 8907)
            assert_int_equal(address, first);
    }
    reach_close(&reach);
    uint8_t *ordinary = memory_take(2 * MIB, false);
    assert_false(reach_open(&reach, ordinary, 2 * MIB, DEVICE_READS_MAPPED, NULL, &why));
    assert_int_equal(strstr(why, "physical") != NULL, rte_eal_iova_mode() == RTE_IOVA_PA);
}

static int on_huge_pages(const char *mode)
{
    static struct eal eal;
    char option[32], *extra[] = {option};
    struct eal_options options = {.program = "reach_test",
                                  .hugepages = true,
                                  .memory_bytes = 64 * MIB,
                                  .extra_count = 1,
                                  .extra = extra};
    struct err err;
    snprintf(option, sizeof(option), "--iova-mode=%s", mode);
    if (!eal_start(&eal, &options, &err)) {
        fprintf(stderr, "%s\n", err.text);
        return 1;
    }
    const struct CMUnitTest tests[] = {cmocka_unit_test(reach__huge_pages)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}

int main(int count, char **arguments)
{
    if (count > 1)
        return on_huge_pages(arguments[1]);
    if (!fixture_eal_start("reach_test"))
        return 1;
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(reach__pages_in_any_order),
        cmocka_unit_test(reach__kinds_of_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
