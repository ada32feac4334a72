/* What trains may take of a path: bytes in all, and a share of its capacity over any 10 s.
 *
 * Guarantee: of what is said to be allowed, no 10 s hold more than the share of the capacity told with it; what was
 * sent is kept in slices of 100 ms, so up to one slice more is counted than there was. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#define BUDGET_WINDOW_NS 10000000000ULL
#define BUDGET_SLICES    100u

struct budget {
    uint64_t bytes_max; /* 0: no limit */
    uint32_t load_ppm;  /* 0: no limit */
    uint64_t bytes;     /* in all */
    uint64_t slice;     /* the newest, counted from time 0 */
    uint64_t slices[BUDGET_SLICES + 1];
};

void budget_init(struct budget *budget, uint64_t bytes_max, uint32_t load_ppm);
void budget_spend(struct budget *budget, uint64_t bytes, uint64_t now_ns);
/* Of what was spent at spent_ns so much was not sent after all. */
void budget_return(struct budget *budget, uint64_t bytes, uint64_t spent_ns);
/* Of all trains together so many bytes are left. */
uint64_t budget_left(const struct budget *budget);
/* The least time >= now_ns at which `bytes` keep to the share of a path of that capacity; TIME_NEVER: never. */
uint64_t budget_when(const struct budget *budget, uint64_t bytes, double capacity_bps, uint64_t now_ns);
