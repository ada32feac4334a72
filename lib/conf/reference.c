/* The printed reference of each kind of file. */
#include "conf/reference.h"

#include <string.h>

#include "conf/conf.h"

static const struct {
    const char *kind;
    const char *about;
    const struct conf_option *options;
} kinds[] = {
    {"node", "Node file: one appliance (sluice -c FILE).", node_file_options},
    {"job", "Job file: one transfer (sluicectl job run FILE).", job_file_options},
    {"scenario", "Scenario file: nodes, links, jobs and faults (sluice-sim FILE).", scenario_file_options},
    {"net", "Net file: input of sluice-planner --offline FILE, YAML or JSON.", net_file_options},
};

bool conf_print_help(const char *kind, FILE *stream)
{
    for (size_t index = 0; index < sizeof(kinds) / sizeof(kinds[0]); index++) {
        if (strcmp(kinds[index].kind, kind) != 0)
            continue;
        fprintf(stream, "%s\n\n", kinds[index].about);
        option_print(kinds[index].options, "", stream);
        return true;
    }
    return false;
}
