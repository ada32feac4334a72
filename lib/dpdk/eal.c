/* Interrupts of devices are only reached through symbols that DPDK 22.11 calls experimental. */
#define ALLOW_EXPERIMENTAL_API

#include "dpdk/eal.h"

#include <semaphore.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "dpdk/compat.h"

#include <rte_eal.h>
#include <rte_errno.h>
#include <rte_interrupts.h>
#include <rte_launch.h>
#include <rte_version.h>

#include "base/check.h"

__attribute__((format(printf, 2, 3))) static void argument_add(struct eal *eal, const char *format, ...)
{
    CHECK(eal->argument_count < EAL_ARGS_MAX);
    char *text = eal->arguments[eal->argument_count];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(text, EAL_ARG_BYTES, format, arguments);
    va_end(arguments);
    eal->argument_list[eal->argument_count++] = text;
}

/* "--lcores 0@CPU", or all permitted CPUs: then the kernel places the worker. */
static bool lcores_add(struct eal *eal, const struct eal_options *options, struct err *err)
{
    char set[EAL_ARG_BYTES] = "";
    size_t length = 0;
    for (uint16_t index = 0; index < options->lcore_count; index++) {
        if (options->lcores[index] >= CPU_SETSIZE || !CPU_ISSET(options->lcores[index], &eal->permitted))
            return err_set(err, "lcores: CPU %u does not exist or is not permitted to this process",
                           options->lcores[index]);
        length += (size_t)snprintf(set + length, sizeof(set) - length, "%s%u@%u", index > 0 ? "," : "", index,
                                   options->lcores[index]);
    }
    if (options->lcore_count == 0) {
        length = (size_t)snprintf(set, sizeof(set), "0@(");
        for (unsigned cpu = 0; cpu < CPU_SETSIZE && length + 16 < sizeof(set); cpu++)
            if (CPU_ISSET(cpu, &eal->permitted))
                length += (size_t)snprintf(set + length, sizeof(set) - length, "%u,", cpu);
        set[length - 1] = ')';
    }
    argument_add(eal, "--lcores");
    argument_add(eal, "%s", set);
    return true;
}

static void memory_add(struct eal *eal, const struct eal_options *options)
{
    argument_add(eal, "-m");
    argument_add(eal, "%llu", (unsigned long long)((options->memory_bytes + (1 << 20) - 1) >> 20));
    if (options->hugepages) {
        argument_add(eal, "--in-memory");
        argument_add(eal, "--single-file-segments"); /* virtio-user passes on 8 files at most */
        return;
    }
    argument_add(eal, "--no-huge");
    argument_add(eal, "--no-shconf");
}

bool eal_arguments(struct eal *eal, const struct eal_options *options, struct err *err)
{
    memset(eal, 0, sizeof(*eal));
    if (sched_getaffinity(0, sizeof(eal->permitted), &eal->permitted) != 0)
        return err_set(err, "cannot read the CPUs of this process");
    if (options->option_count + options->extra_count + 2 * options->pci_count > EAL_ARGS_MAX - 16)
        return err_set(err, "too many EAL options");
    argument_add(eal, "%s", options->program);
    if (!lcores_add(eal, options, err))
        return false;
    memory_add(eal, options);
    argument_add(eal, "--file-prefix=%s-%d", options->program, (int)getpid());
    argument_add(eal, "--no-telemetry");
    if (options->pci_count == 0)
        argument_add(eal, "--no-pci");
    for (uint16_t index = 0; index < options->pci_count; index++) {
        argument_add(eal, "-a");
        argument_add(eal, "%s", options->pci[index]);
    }
    for (uint16_t index = 0; index < options->option_count; index++)
        argument_add(eal, "--%s", options->options[index]);
    for (int index = 0; index < options->extra_count; index++)
        argument_add(eal, "%s", options->extra[index]);
    return true;
}

bool eal_without(struct eal *eal, const struct eal_options *options, struct err *err)
{
    if (options->extra_count > 0)
        return err_set(err, "%s: an option for DPDK, which is not started: no port has a device",
                       options->extra[0]);
    if (!eal_arguments(eal, options, err))
        return false;
    memcpy(eal->lcores, options->lcores, sizeof(eal->lcores));
    eal->worker = eal->permitted;
    if (options->lcore_count > 0) {
        CPU_ZERO(&eal->worker);
        CPU_SET(options->lcores[0], &eal->worker);
    }
    return true;
}

/* What pthread_create wants. */
struct launch {
    int (*function)(void *);
    void *argument;
};

static void *launched_main(void *argument)
{
    struct launch launch = *(struct launch *)argument;
    free(argument);
    launch.function(launch.argument);
    return NULL;
}

static bool thread_start(struct eal *eal, uint16_t number, int (*function)(void *), void *argument)
{
    struct launch *launch = malloc(sizeof(*launch));
    cpu_set_t set;
    if (launch == NULL)
        return false;
    *launch = (struct launch){function, argument};
    if (pthread_create(&eal->threads[number], NULL, launched_main, launch) != 0) {
        free(launch);
        return false;
    }
    CPU_ZERO(&set);
    CPU_SET(eal->lcores[number], &set);
    pthread_setaffinity_np(eal->threads[number], sizeof(set), &set);
    return eal->launched[number] = true;
}

bool eal_launch(struct eal *eal, uint16_t number, int (*function)(void *), void *argument)
{
    CHECK(number > 0 && number < APP_LCORES_MAX);
    return eal->started ? rte_eal_remote_launch(function, argument, number) == 0
                        : thread_start(eal, number, function, argument);
}

void eal_join(struct eal *eal)
{
    if (eal->started)
        rte_eal_mp_wait_lcore();
    for (uint16_t number = 1; number < APP_LCORES_MAX; number++)
        if (eal->launched[number])
            pthread_join(eal->threads[number], NULL);
}

bool eal_start(struct eal *eal, const struct eal_options *options, struct err *err)
{
    if (!compat_version_matches())
        return err_set(err, "compiled for DPDK %d.%02d, but %s was loaded", RTE_VER_YEAR, RTE_VER_MONTH,
                       rte_version());
    if (!eal_arguments(eal, options, err))
        return false;
    if (rte_eal_init(eal->argument_count, eal->argument_list) < 0)
        return err_set(err, "the EAL did not start: %s (its own messages are above)",
                       rte_strerror(rte_errno));
    eal->started = true;
    sched_getaffinity(0, sizeof(eal->worker), &eal->worker);
    sched_setaffinity(0, sizeof(eal->permitted), &eal->permitted);
    return true;
}

void eal_worker_pin(const struct eal *eal)
{
    sched_setaffinity(0, sizeof(eal->worker), &eal->worker);
}

/* Runs in the EAL's interrupt thread, and keeps it. */
static void interrupts_hold(void *parked)
{
    sem_post(parked);
    for (;;)
        pause();
}

/* The EAL unmaps its memory while its interrupt thread runs, and the memif driver leaves the callback of its
 * listening socket registered: a connection, or a look at the list of callbacks, would then read what is
 * gone. So that thread is held where nothing is touched until the process ends. An alarm would not do: the
 * EAL waits for its end. */
static void interrupts_park(void)
{
    static sem_t parked;
    sem_init(&parked, 0, 0);
    struct rte_intr_handle *handle = rte_intr_instance_alloc(RTE_INTR_INSTANCE_F_PRIVATE);
    bool held = handle != NULL && rte_intr_fd_set(handle, eventfd(1, 0)) == 0 &&
                rte_intr_type_set(handle, RTE_INTR_HANDLE_EXT) == 0 &&
                rte_intr_callback_register(handle, interrupts_hold, &parked) == 0;
    rte_intr_instance_free(handle); /* the EAL keeps a copy */
    while (held && sem_wait(&parked) != 0)
        continue;
}

void eal_stop(const struct eal *eal)
{
    if (!eal->started) /* then there is nothing to stop */
        return;
    interrupts_park();
    rte_eal_cleanup();
}

void eal_thread_background(const struct eal *eal)
{
    sched_setaffinity(0, sizeof(eal->permitted), &eal->permitted);
    setpriority(PRIO_PROCESS, (id_t)syscall(SYS_gettid), 19);
}
