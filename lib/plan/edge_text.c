/* What a plan says of an edge, in words. */
#include "plan/words.h"
#include "plan/sheet.h"

#include <inttypes.h>

static unsigned trees_with(const struct plan *plan, struct plan_edge edge, uint64_t *rate_bps,
                           struct plan_known *known)
{
    unsigned trees = 0;
    *rate_bps = 0;
    for (uint16_t tree = 0; tree < plan->tree_count; tree++)
        if (plan_parent(&plan->trees[tree], edge.to) == edge.from) {
            trees++;
            *rate_bps += plan_edge_rate_bps(plan, tree, edge.to);
            *known = plan->into_known[tree][edge.to];
        }
    return trees;
}

static void add_limit(struct sheet *sheet, const struct plan_request *request, const struct plan_limit *limit)
{
    char text[160];
    if (plan_limit_text(limit, request, text, sizeof(text)))
        sheet_add(sheet, "%s", text);
}

static void add_used(struct sheet *sheet, const struct plan *plan, struct plan_edge edge)
{
    uint64_t rate_bps;
    char text[PLAN_KNOWN_TEXT_BYTES];
    struct plan_known known = {0};
    unsigned trees = trees_with(plan, edge, &rate_bps, &known);
    sheet_add(sheet, "used: in %u of %u trees, with ", trees, plan->tree_count);
    sheet_add_rate(sheet, rate_bps);
    sheet_add(sheet, " on the wire; what its path leaves: %s",
              plan_known_text(&known, text, sizeof(text)) ? text : "");
}

static void add_delay(struct sheet *sheet, int32_t delay_us)
{
    uint64_t more_us = delay_us < 0 ? (uint64_t) - (int64_t)delay_us : (uint64_t)delay_us;
    if (delay_us != 0)
        sheet_add(sheet, ", delay %c%" PRIu64 ".%03" PRIu64 " ms", delay_us < 0 ? '-' : '+', more_us / 1000,
                  more_us % 1000);
}

static void add_costs(struct sheet *sheet, const struct plan_request *request,
                      const struct plan_why_edge *why)
{
    int64_t ppm = why->change_ppm;
    uint64_t size_ppm = (uint64_t)(ppm < 0 ? -ppm : ppm);
    if (ppm == 0 && why->delay_us == 0) {
        sheet_add(sheet, "as good as the one taken: a tie");
        return;
    }
    if (ppm == 0)
        sheet_add(sheet, "with it: the same rate");
    else
        sheet_add(sheet, "with it: rate %c%" PRIu64 ".%02" PRIu64 " %%", ppm < 0 ? '-' : '+',
                  size_ppm / 10000, size_ppm / 100 % 100);
    add_delay(sheet, why->delay_us);
    if (ppm == 0)
        return;
    sheet_add(sheet, ", held by ");
    add_limit(sheet, request, &why->limit);
}

bool plan_edge_text(const struct plan *plan, const struct plan_request *request, struct plan_edge edge,
                    char *text, size_t room)
{
    const struct plan_why_edge *why = &plan->why.edges[edge.from][edge.to];
    const char *from = request->nodes[edge.from].name, *to = request->nodes[edge.to].name;
    struct sheet sheet = {.text = text, .room = room};
    if (!plan->why.edges_known)
        return false;
    switch ((enum plan_edge_verdict)why->verdict) {
    case PLAN_EDGE_UNKNOWN:
    case PLAN_EDGE_VERDICT_COUNT:
        return false;
    case PLAN_EDGE_USED:
        add_used(&sheet, plan, edge);
        break;
    case PLAN_EDGE_SOURCE:
        sheet_add(&sheet, "%s is the source", to);
        break;
    case PLAN_EDGE_FORBIDDEN:
        sheet_add(&sheet, "forbidden, or another edge into %s is pinned", to);
        break;
    case PLAN_EDGE_LEAF:
        sheet_add(&sheet, "%s is a leaf", from);
        break;
    case PLAN_EDGE_UNMEASURED:
        sheet_add(&sheet, "no path: no RTT was measured between them");
        break;
    case PLAN_EDGE_RELAY:
        sheet_add(&sheet, "no tree has both: a node that only relays is used when that adds rate");
        break;
    case PLAN_EDGE_NARROW:
        sheet_add(&sheet, "too narrow: ");
        add_limit(&sheet, request, &why->limit);
        sheet_add(&sheet, " allows ");
        sheet_add_rate(&sheet, why->kbps * UINT64_C(1000));
        sheet_add(&sheet, ", a tree into %s carries more", to);
        break;
    case PLAN_EDGE_SLOW:
        sheet_add(&sheet, "%s itself is sent no more than ", from);
        sheet_add_rate(&sheet, why->kbps * UINT64_C(1000));
        break;
    case PLAN_EDGE_FULL:
        sheet_add(&sheet, "%s has as many children as it may have", from);
        break;
    case PLAN_EDGE_BELOW:
        sheet_add(&sheet, "%s is fed by way of %s", from, to);
        break;
    case PLAN_EDGE_COSTS:
        add_costs(&sheet, request, why);
        break;
    }
    return !sheet.full;
}
