/* Which train estimator `sluice` sends next, and when. */
#pragma once

#include "probe/sluice.h"

/* By what is known of the ends, no train that may be sent can tell what is asked for: why; ESTIMATE_SURE: one may. */
enum estimate_reason sluice_hopeless(const struct sluice *sluice);
void sluice_shape(const struct sluice *sluice, struct train_shape *shape);
/* Packets of a train of the phase SPREAD. */
uint32_t sluice_spread_packets(const struct sluice *sluice);
/* What may be sent is short of the trains that a measurement should have; they are as short as trains get. */
bool sluice_few_trains(const struct sluice *sluice);
void sluice_begin_spread(struct sluice *sluice, uint64_t now_ns);
/* Where the next slot's train leaves: anywhere in it, so that nothing periodic can keep in step. */
void sluice_next_slot(struct sluice *sluice);
/* A long train at the hop's own rate is worth its bytes, and they are there. */
bool sluice_can_fingerprint(const struct sluice *sluice);
