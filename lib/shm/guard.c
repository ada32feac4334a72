#include "shm/guard.h"

#include <signal.h>
#include <stdint.h>
#include <sys/mman.h>

/* Read by the handler, in whichever thread faults. */
struct watched {
    uintptr_t start; /* 0: free */
    size_t bytes;
    bool cut;
};

static struct watched table[GUARD_MAPPINGS_MAX];
static struct sigaction before;

static struct watched *find(uintptr_t address)
{
    for (unsigned place = 0; place < GUARD_MAPPINGS_MAX; place++) {
        uintptr_t start = __atomic_load_n(&table[place].start, __ATOMIC_ACQUIRE);
        if (start != 0 && address - start < table[place].bytes)
            return &table[place];
    }
    return NULL;
}

/* mmap is a bare system call here, and so may be made from a handler. */
static void on_fault(int signal, siginfo_t *info, void *context)
{
    (void)context;
    bool fault = info->si_code > 0; /* else somebody sent the signal */
    struct watched *watched = fault ? find((uintptr_t)info->si_addr) : NULL;
    if (watched != NULL && mmap((void *)watched->start, watched->bytes, PROT_READ | PROT_WRITE,
                                MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0) != MAP_FAILED) {
        __atomic_store_n(&watched->cut, true, __ATOMIC_RELEASE);
        return;
    }
    /* A fault comes again, to whom it went before. */
    sigaction(SIGBUS, &before, NULL);
    if (!fault)
        raise(signal);
}

/* Each time: somebody else may have taken the signal meanwhile, and gets what this side does not want from now on. */
static bool install(void)
{
    struct sigaction action = {.sa_sigaction = on_fault, .sa_flags = SA_SIGINFO | SA_RESTART}, old;
    sigemptyset(&action.sa_mask);
    if (sigaction(SIGBUS, &action, &old) != 0)
        return false;
    if (old.sa_sigaction != on_fault)
        before = old;
    return true;
}

bool guard_watch(const void *mapping, size_t bytes)
{
    if (!install())
        return false;
    for (unsigned place = 0; place < GUARD_MAPPINGS_MAX; place++)
        if (table[place].start == 0) {
            table[place].bytes = bytes;
            table[place].cut = false;
            __atomic_store_n(&table[place].start, (uintptr_t)mapping, __ATOMIC_RELEASE);
            return true;
        }
    return false;
}

void guard_forget(const void *mapping)
{
    struct watched *watched = find((uintptr_t)mapping);
    if (watched != NULL)
        __atomic_store_n(&watched->start, 0, __ATOMIC_RELEASE);
}

bool guard_cut(const void *mapping)
{
    const struct watched *watched = find((uintptr_t)mapping);
    return watched != NULL && __atomic_load_n(&watched->cut, __ATOMIC_ACQUIRE);
}
