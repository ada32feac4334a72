/* Names of nodes in a scenario → indexes: what all parts of a scenario ask for. */
#include <string.h>

#include "conf/scenario_file.h"

uint16_t scenario_node_index(const struct scenario *scenario, const char *name)
{
    for (uint16_t index = 0; index < scenario->node_count; index++)
        if (strcmp(scenario->nodes[index].name, name) == 0)
            return index;
    return SCENARIO_NO_NODE;
}

uint16_t scenario_node_find(struct conf_reader *reader, const yaml_node_t *node)
{
    const char *name = conf_scalar(node);
    uint16_t index = name == NULL ? SCENARIO_NO_NODE : scenario_node_index(reader->context, name);
    if (index == SCENARIO_NO_NODE)
        conf_error(reader, node, "\"%s\" is not a node of this scenario", name != NULL ? name : "?");
    return index;
}

void scenario_read_node(struct conf_reader *reader, const struct conf_option *option, yaml_node_t *node,
                        void *field)
{
    (void)option;
    *(uint16_t *)field = scenario_node_find(reader, node);
}
