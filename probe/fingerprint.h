/* The tight hop's capacity as a train shows it, in two ways that know nothing of each other.
 *
 * Spacing: two packets that were served one right behind the other come packet / C apart, and nothing comes
 * closer. The closest spacings of a train are those, if its packets came fast enough and stamps tell each
 * from a spacing with a small packet between. Sees the last hop that queues.
 *
 * Slopes: while a queue stands, r = B / C + (cross / C) * s + const; a least-squares plane over the parts
 * of a train with different rates gives 1 / C and cross / C. Needs no single spacing, so batches and noise
 * don't hurt it; needs rates that differ, and cross traffic that keeps its rate. Sees the hop whose queue
 * the train feeds. Parts of many trains add up. */
#pragma once

#include "probe/points.h"

struct fingerprint {
    double capacity; /* bit/ns; 0: not seen */
    double error;    /* standard deviation of it */
    double cross;    /* of slopes, bit/ns */
    uint32_t count;  /* spacings or parts that it rests upon */
};

/* Sums of the least squares. Starts zeroed. */
struct slopes {
    double bb, bs, ss, rb, rs, rr;
    uint32_t count;
};

void fingerprint_spacing(struct fingerprint *print, const struct probe_points *points);
/* Adds the parts of one train between its points first and last, whose queue stood. */
void slopes_add(struct slopes *slopes, const struct probe_points *points, uint32_t first, uint32_t last);
void slopes_solve(const struct slopes *slopes, struct fingerprint *print);
/* The delay rises or falls over the points: ns from the mean of their first quarter to that of the last. */
double fingerprint_rise_ns(const struct probe_points *points, uint32_t first, uint32_t last);
