#include "dpdk/port_counters.h"

#include <stddef.h>

#include "base/count.h"

#define COUNTER(name, help) {#name, help, offsetof(struct port_counters, name)},
static const struct {
    const char *name, *help;
    size_t offset;
} counter_table[] = {
#include "dpdk/port_counters.def"
};
#undef COUNTER

#define COUNTER_COUNT (sizeof(counter_table) / sizeof(counter_table[0]))

const char *port_counter(const struct port_counters *counters, uint32_t index, uint64_t *value)
{
    if (index >= COUNTER_COUNT)
        return NULL;
    *value = count_get((const uint64_t *)counters + counter_table[index].offset / sizeof(*value));
    return counter_table[index].name;
}

const char *port_counter_help(uint32_t index)
{
    return index < COUNTER_COUNT ? counter_table[index].help : NULL;
}

void port_counters_report(const struct port_counters *counters, struct report *report)
{
    uint64_t value;
    for (uint32_t index = 0; index < COUNTER_COUNT; index++) {
        const char *name = port_counter(counters, index, &value);
        if (value != 0 || report->form == REPORT_JSON)
            report_u64(report, name, value);
    }
}
