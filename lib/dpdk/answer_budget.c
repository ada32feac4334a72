#include "dpdk/answer_budget.h"

#include "base/units.h"

uint32_t answer_budget_max(enum responder_kind kind)
{
    switch (kind) {
    case RESPONDER_ARP:
    case RESPONDER_ND:
        return 100; /* a link of some tens of hosts asks a few times a second */
    case RESPONDER_ECHO:
        return 50;
    case RESPONDER_IGNORED:
    case RESPONDER_BAD:
    case RESPONDER_KINDS:
        break;
    }
    return 0;
}

bool answer_budget_take(struct answer_budget *budget, enum responder_kind kind, uint64_t now_ns)
{
    CHECK(kind < RESPONDER_KINDS);
    if (budget->given[kind] == 0 || elapsed_ns(now_ns, budget->from_ns[kind]) >= NS_PER_S) {
        budget->from_ns[kind] = now_ns;
        budget->given[kind] = 0;
    }
    if (budget->given[kind] == answer_budget_max(kind))
        return false;
    budget->given[kind]++;
    return true;
}
