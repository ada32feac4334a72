/* How every thread of the disk begins. */
#pragma once

#include <pthread.h>
#include <sched.h>

/* A thread with all signals blocked: they are the main thread's business; above all SIGXFSZ and SIGPIPE,
 * whose default would end the process where an error of the write is wanted. `cpus`: where it may run; NULL:
 * where the caller may. Returns 0 or the errno. */
int spawn(pthread_t *thread, void *(*run)(void *argument), void *argument, const cpu_set_t *cpus);
