#include "probe/estimator.h"

#include <string.h>

#include "base/units.h"
#include "probe/estimators.h"

const struct estimator_kind *const estimator_kinds[] = {
    &estimator_sluice, &estimator_yaz,      &estimator_pathload, &estimator_pathchirp,
    &estimator_kite2,  &estimator_capacity, &estimator_rtt,      NULL,
};

const struct estimator_kind *estimator_kind(const char *name)
{
    for (unsigned i = 0; estimator_kinds[i] != NULL; i++)
        if (strcmp(estimator_kinds[i]->name, name) == 0)
            return estimator_kinds[i];
    return NULL;
}

size_t estimator_bytes(void)
{
    size_t bytes = 0;
    for (unsigned i = 0; estimator_kinds[i] != NULL; i++)
        bytes = MAX(bytes, estimator_kinds[i]->bytes);
    return bytes;
}
