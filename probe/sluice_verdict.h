/* What estimator `sluice` knows. */
#pragma once

#include "probe/sluice.h"

/* The interval is as narrow as was asked for. */
bool sluice_sure(const struct sluice *sluice);
void sluice_tell(const struct sluice *sluice, uint64_t now_ns, struct estimate *estimate);
