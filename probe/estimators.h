/* The estimators that there are; probe/estimator.c lists them. */
#pragma once

#include "probe/estimator.h"

extern const struct estimator_kind estimator_sluice;
