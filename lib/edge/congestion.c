#include "edge/congestion.h"

#include <string.h>

static const struct congestion_type *const types[] = {&congestion_fixed_type, &congestion_bql_type,
                                                      &congestion_scavenger_type};

const struct congestion_type *congestion_find(const char *name)
{
    for (size_t index = 0; index < sizeof(types) / sizeof(types[0]); index++)
        if (strcmp(types[index]->name, name) == 0)
            return types[index];
    return NULL;
}
