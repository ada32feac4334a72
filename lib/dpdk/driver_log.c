#include "dpdk/driver_log.h"

#include <rte_log.h>

int driver_log_hush(const char *type)
{
    int id = rte_log_register(type); /* the number of one that is there already */
    int level = id < 0 ? -1 : rte_log_get_level((uint32_t)id);
    if (level >= 0)
        rte_log_set_level((uint32_t)id, RTE_LOG_CRIT);
    return level;
}

void driver_log_restore(const char *type, int level)
{
    int id = rte_log_register(type);
    if (id >= 0 && level >= 0)
        rte_log_set_level((uint32_t)id, (uint32_t)level);
}
