/* How much of what the link asks is answered. Each kind has a budget of its own: a flood of pings leaves the
 * answers to ARP and neighbour discovery alone, without which the host would vanish from its link.
 *
 * Guarantee: at most answer_budget_max(kind) answers of a kind in each second that begins with its first one. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "dpdk/responder.h"

struct answer_budget {
    uint64_t from_ns[RESPONDER_KINDS]; /* begin of the kind's second */
    uint32_t given[RESPONDER_KINDS];   /* in it */
};

/* Takes one answer of that kind; false: none is left in this second. */
bool answer_budget_take(struct answer_budget *budget, enum responder_kind kind, uint64_t now_ns);
/* Answers a second. */
uint32_t answer_budget_max(enum responder_kind kind);
