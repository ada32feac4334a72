#include "disk/spawn.h"

#include <signal.h>

int spawn(pthread_t *thread, void *(*run)(void *argument), void *argument, const cpu_set_t *cpus)
{
    sigset_t all, before;
    pthread_attr_t attributes;
    int result = pthread_attr_init(&attributes);
    if (result != 0)
        return result;
    if (cpus != NULL)
        result = pthread_attr_setaffinity_np(&attributes, sizeof(*cpus), cpus);
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    if (result == 0)
        result = pthread_create(thread, &attributes, run, argument);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    pthread_attr_destroy(&attributes);
    return result;
}
