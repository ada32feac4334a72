/* Interrupts of devices are only reached through symbols that DPDK 22.11 calls experimental. */
#define ALLOW_EXPERIMENTAL_API

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <cmocka.h>
#include <semaphore.h>
#include <sys/eventfd.h>

#include "dpdk/compat.h"

#include <rte_interrupts.h>
#include <rte_malloc.h>

#include "eal_fixture.h"

/* In the EAL's memory, as what memif's callbacks use. */
struct listener {
    uint64_t calls;
    sem_t first;
};

/* Never reads the event, so it is called again and again. */
static void on_event(void *of)
{
    struct listener *listener = of;
    if (listener->calls++ == 0)
        sem_post(&listener->first);
}

static void eal__a_callback_left_behind_ends_with_the_memory(void **state)
{
    (void)state;
    struct listener *listener = rte_zmalloc(NULL, sizeof(*listener), 0);
    struct rte_intr_handle *handle = rte_intr_instance_alloc(RTE_INTR_INSTANCE_F_SHARED);
    assert_non_null(listener);
    assert_non_null(handle);
    sem_init(&listener->first, 0, 0);
    assert_int_equal(rte_intr_fd_set(handle, eventfd(1, 0)), 0);
    assert_int_equal(rte_intr_type_set(handle, RTE_INTR_HANDLE_EXT), 0);
    assert_int_equal(rte_intr_callback_register(handle, on_event, listener), 0);
    assert_int_equal(sem_wait(&listener->first), 0);
    eal_stop(&(struct eal){.started = true});
}

int main(int argc, char **argv)
{
    (void)argc;
    if (!fixture_eal_start(argv[0]))
        return 1;
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(eal__a_callback_left_behind_ends_with_the_memory),
    };
    return cmocka_run_group_tests_name("eal", tests, NULL, NULL);
}
