#include "key_memory.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>

#include "app/log.h"

void key_memory_guard_process(void)
{
    prctl(PR_SET_DUMPABLE, 0, 0, 0, 0);
}

void *key_memory_take(const char *name, size_t bytes, struct err *err)
{
    void *memory =
        mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);
    if (memory == MAP_FAILED || madvise(memory, bytes, MADV_DONTDUMP) != 0 ||
        madvise(memory, bytes, MADV_WIPEONFORK) != 0) {
        err_set(err, "no memory for keys: %zu bytes: %s", bytes, strerrordesc_np(errno));
        return NULL;
    }
    if (mlock(memory, bytes) != 0)
        fprintf(stderr,
                LOG_WARNING
                "%s: keys may get onto a swap device: %zu KiB can't be locked: %s: CAP_IPC_LOCK, or a larger "
                "ulimit -l\n",
                name, bytes >> 10, strerrordesc_np(errno));
    return memory;
}
