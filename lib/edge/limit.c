#include "edge/limit.h"

#define EDGE_LIMIT_NAME(name) #name,

static const char *const names[EDGE_LIMIT_COUNT] = {EDGE_LIMITS(EDGE_LIMIT_NAME)};

const char *edge_limit_name(unsigned limit)
{
    return limit < EDGE_LIMIT_COUNT ? names[limit] : "unknown";
}
