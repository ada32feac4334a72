/* The simulator: runs a scenario in virtual time with the appliance's own protocol code in every node.
 *
 * Deterministic: the same scenario and seed give the same events, hence the same digest, on every run and at
 * every optimisation level. One thread; no file, socket or clock: reading the scenario, the wall clock and
 * printing are the program's affair. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "ctl/estimate.h"
#include "plan/plan.h"
#include "sim/result.h"
#include "sim/scenario.h"
#include "sim/trace.h"

struct sim;

struct sim_options {
    uint64_t seed; /* instead of the scenario's */
    /* The planner beside each source: answers a request. False: err says why there is no plan. */
    bool (*solve)(const struct plan_request *request, struct plan *plan, struct err *err);
    /* What the planner beside that host remembers of edges: is told, and fills in what a request lacks. NULL: nothing. */
    void (*learn)(uint16_t host, const struct ctl_estimate *estimate, uint64_t now_ns);
    void (*recall)(uint16_t host, struct plan_request *request, uint64_t now_ns);
    struct trace_sink trace;
    /* What the nodes seal packets with; their keys are made of their names. NULL: sizes_primitives (sizes/sizes.h). */
    const struct primitives *primitives;
};

/* The scenario stays the caller's and must outlive the simulator. NULL: err says what is wrong with it. */
struct sim *sim_create(const struct scenario *scenario, const struct sim_options *options, struct err *err);
/* Until all jobs have ended or the scenario's limit is reached; fills *result, to be freed by result_free. */
void sim_run(struct sim *sim, struct sim_result *result);
void sim_destroy(struct sim *sim);
