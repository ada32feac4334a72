/* What paths and the edges of plans are known by: nothing, somebody's word, or measurements. */
#include <inttypes.h>
#include <stdio.h>

#include "base/units.h"
#include "plan/sheet.h"
#include "plan/words.h"

const struct word plan_basis_words[] = {PLAN_BASES(WORD_ENTRY){NULL, 0}};

bool plan_path_told(const struct plan_path *path)
{
    bool no_interval = path->avb_low_kbps == 0 && path->avb_high_kbps == 0;
    bool no_width = path->avb_low_kbps == path->avb_kbps && path->avb_high_kbps == path->avb_kbps;
    return no_interval || no_width;
}

bool plan_path_counts(uint8_t avb_of, const struct plan_path *path)
{
    if (path->avb_kbps == 0 || avb_of == PLAN_AVB_NONE)
        return false;
    return avb_of == PLAN_AVB_ANY || plan_path_told(path) == (avb_of == PLAN_AVB_TOLD);
}

bool plan_path_at_least(const struct plan_path *path)
{
    return path->avb_kbps != 0 && path->avb_high_kbps == 0 && !plan_path_told(path);
}

bool plan_path_limits(uint8_t avb_of, const struct plan_path *path)
{
    return plan_path_counts(avb_of, path) && !plan_path_at_least(path);
}

struct plan_known plan_path_known(uint8_t avb_of, const struct plan_path *path)
{
    if (!plan_path_counts(avb_of, path))
        return (struct plan_known){.basis = PLAN_BASIS_ASSUMED};
    if (plan_path_told(path))
        return (struct plan_known){.basis = PLAN_BASIS_TOLD};
    return (struct plan_known){.basis = PLAN_BASIS_MEASURED, .age_s = path->avb_age_s};
}

static uint64_t line_bps(const struct plan_request *request, const struct plan_path *line, uint64_t port_bps)
{
    return plan_path_limits(request->avb_of, line) ? MIN(line->avb_kbps * UINT64_C(1000), port_bps)
                                                   : port_bps;
}

uint64_t plan_ends_bps(const struct plan_request *request, uint16_t from, uint16_t to)
{
    uint64_t out_bps = line_bps(request, &request->paths[from][from], request->nodes[from].up_bps);
    uint64_t in_bps = line_bps(request, &request->lines_in[to], request->nodes[to].down_bps);
    return MIN(out_bps, in_bps);
}

uint64_t plan_assumed_bps(const struct plan_request *request, uint16_t from, uint16_t to)
{
    uint64_t ends_bps = plan_ends_bps(request, from, to);
    return request->assumed_ppm == 0 ? UINT64_MAX : muldiv64(ends_bps, request->assumed_ppm, PLAN_WHOLE_PPM);
}

bool plan_known_starts(const struct plan_known *known)
{
    return known->basis == PLAN_BASIS_TOLD ||
           (known->basis == PLAN_BASIS_MEASURED && known->age_s <= PLAN_START_AGE_S);
}

void plan_note_known(struct plan *plan, const struct plan_request *request)
{
    for (uint16_t tree = 0; tree < plan->tree_count; tree++)
        for (uint16_t index = 0; index < plan->trees[tree].edge_count; index++) {
            struct plan_edge edge = plan->trees[tree].edges[index];
            plan->into_known[tree][edge.to] =
                plan_path_known(request->avb_of, &request->paths[edge.from][edge.to]);
        }
}

/* Of what two units give the larger one, with two of it at least: people want to know whether it is old. */
bool plan_known_text(const struct plan_known *known, char *text, size_t room)
{
    static const struct {
        uint32_t seconds;
        const char *name;
    } units[] = {{86400, "d"}, {3600, "h"}, {60, "min"}, {1, "s"}};
    unsigned unit = 0;
    while (known->age_s < 2 * units[unit].seconds && units[unit].seconds > 1)
        unit++;
    const char *word = word_of(plan_basis_words, known->basis);
    int length = known->basis == PLAN_BASIS_MEASURED
                     ? snprintf(text, room, "%s %" PRIu32 " %s ago", word, known->age_s / units[unit].seconds,
                                units[unit].name)
                     : snprintf(text, room, "%s", word == NULL ? "" : word);
    return length >= 0 && (size_t)length < room;
}

/* How many edges rest on each, and bits of who sends. */
static uint64_t count_edges(const struct plan *plan, unsigned counts[PLAN_BASIS_COUNT])
{
    uint64_t seen[PLAN_NODES_MAX] = {0}, senders = 0;
    for (uint16_t tree = 0; tree < plan->tree_count; tree++)
        for (uint16_t index = 0; index < plan->trees[tree].edge_count; index++) {
            struct plan_edge edge = plan->trees[tree].edges[index];
            counts[plan->into_known[tree][edge.to].basis] += (seen[edge.from] >> edge.to & 1) == 0;
            seen[edge.from] |= UINT64_C(1) << edge.to;
            senders |= UINT64_C(1) << edge.from;
        }
    return senders;
}

bool plan_known_total(const struct plan *plan, const struct plan_request *request, char *text, size_t room)
{
    unsigned counts[PLAN_BASIS_COUNT] = {0}, out = 0, in = 0;
    struct sheet sheet = {.text = text, .room = room};
    for (uint64_t left = count_edges(plan, counts); left != 0; left &= left - 1) {
        int node = __builtin_ctzll(left);
        out += plan_path_known(request->avb_of, &request->paths[node][node]).basis == PLAN_BASIS_MEASURED;
    }
    for (uint16_t to = 0; to < request->node_count; to++)
        in += plan_path_known(request->avb_of, &request->lines_in[to]).basis == PLAN_BASIS_MEASURED;
    sheet_add(&sheet, "%s", "");
    for (unsigned basis = PLAN_BASIS_COUNT; basis-- > 0;)
        if (counts[basis] > 0)
            sheet_add(&sheet, "%s%u %s", sheet.length > 0 ? ", " : "", counts[basis],
                      word_of(plan_basis_words, (int)basis));
    if (out > 0)
        sheet_add(&sheet, ", %u line%s out measured", out, out > 1 ? "s" : "");
    if (in > 0)
        sheet_add(&sheet, ", %u line%s in measured", in, in > 1 ? "s" : "");
    return !sheet.full;
}

bool plan_assumed_help(const struct plan *plan, char *text, size_t room)
{
    unsigned counts[PLAN_BASIS_COUNT] = {0};
    struct sheet sheet = {.text = text, .room = room};
    count_edges(plan, counts);
    sheet_add(&sheet, "%s",
              counts[PLAN_BASIS_ASSUMED] == 0 ? ""
                                              : "assumed paths are taken to be as fast as the ports at both "
                                                "ends: sluicectl probe all measures them");
    return !sheet.full;
}
