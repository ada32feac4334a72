/* Starts the EAL: its arguments are made here, from few options, so that no program repeats them.
 *
 * With hugepages: --in-memory (nothing is left behind by kill -9) --single-file-segments. Without: --no-huge
 * --no-shconf -m N. Both: a --file-prefix of its own, --no-telemetry, --no-pci unless a PCI device is named. The
 * calling thread becomes the EAL's main lcore. Threads inherit their creator's CPUs, so it is only pinned when it
 * calls eal_worker_pin, after all others were made; those call eal_thread_background. */
#pragma once

#include <pthread.h>
#include <sched.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "conf/app_config.h"

#define EAL_ARGS_MAX  96
#define EAL_ARG_BYTES 320

struct eal_options {
    const char *program;   /* argv[0] and the file prefix */
    bool hugepages;        /* as memory_choose decided */
    uint64_t memory_bytes; /* for what DPDK allocates */
    uint16_t lcore_count;  /* 0: one worker that floats over all permitted CPUs */
    uint16_t lcores[APP_LCORES_MAX];
    uint16_t pci_count;
    const char *pci[NODE_PORTS_MAX];
    uint16_t option_count;                   /* "option" or "option=value", without dashes */
    const char (*options)[APP_DEVICE_BYTES]; /* option_count of them */
    int extra_count;                         /* the command line after "--", as it is */
    char **extra;
};

struct eal {
    bool started;        /* false: no port needs it */
    cpu_set_t permitted; /* CPUs of the process before the EAL pinned it */
    cpu_set_t worker;    /* what the EAL pinned the main lcore to */
    uint16_t lcores[APP_LCORES_MAX];
    pthread_t threads[APP_LCORES_MAX]; /* without the EAL; by lcore, from 1 on */
    bool launched[APP_LCORES_MAX];
    int argument_count;
    char arguments[EAL_ARGS_MAX][EAL_ARG_BYTES];
    char *argument_list[EAL_ARGS_MAX + 1];
};

/* Makes the argument list; checks that the lcores are permitted CPUs. Does not start anything. */
bool eal_arguments(struct eal *eal, const struct eal_options *options, struct err *err);
/* eal_arguments, then rte_eal_init. `eal` must outlive the EAL. */
bool eal_start(struct eal *eal, const struct eal_options *options, struct err *err);
/* Instead of it, where no port needs DPDK: nothing is started, taken or left behind; what stands below works. */
bool eal_without(struct eal *eal, const struct eal_options *options, struct err *err);
/* The function runs on lcore `number`, not 0, of options->lcores. False: it does not. */
bool eal_launch(struct eal *eal, uint16_t number, int (*function)(void *), void *argument);
/* Until all of those have returned. */
void eal_join(struct eal *eal);
/* After the ports were closed, once, before the process ends: the EAL's interrupt thread stands still from
 * then on, and its memory is gone. */
void eal_stop(const struct eal *eal);
/* The calling thread, the one that started the EAL, runs on the first lcore from now on. */
void eal_worker_pin(const struct eal *eal);
/* For every thread but the worker: nice 19, and all permitted CPUs. */
void eal_thread_background(const struct eal *eal);
