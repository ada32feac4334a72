#include "plan/words.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "plan/sheet.h"

static bool fits(int length, size_t room)
{
    return length >= 0 && (size_t)length < room;
}

bool plan_tree_title(const struct plan *plan, uint16_t tree, char *text, size_t room)
{
    uint32_t permille = (plan->trees[tree].weight_ppm + 500) / 1000;
    int length = snprintf(text, room, "tree %u of %u: %u.%u %% of the blocks", tree + 1u, plan->tree_count,
                          permille / 10, permille % 10);
    return fits(length, room);
}

bool plan_draw_trees(const struct plan *plan, const struct plan_request *request, char *text, size_t room)
{
    struct sheet sheet = {.text = text, .room = room};
    sheet_add(&sheet, "%s", ""); /* ends the text, whatever comes */
    for (uint16_t tree = 0; tree < plan->tree_count; tree++) {
        char title[64];
        if (plan->tree_count > 1 && plan_tree_title(plan, tree, title, sizeof(title)))
            sheet_add(&sheet, "%s%s\n", tree > 0 ? "\n\n" : "", title);
        if (sheet.full || !plan_draw(&plan->trees[tree], request->nodes, request->node_count, request->source,
                                     plan->into_known[tree], text + sheet.length, room - sheet.length))
            return false;
        sheet.length += strlen(text + sheet.length);
    }
    return !sheet.full;
}

/* "line of canada, out: 48.0 Mbit/s, measured": what is known of it is less than the interface. False: it is not. */
static bool line_text(const struct plan_request *request, uint16_t node, bool in, char *text, size_t room,
                      bool *fitted)
{
    const struct plan_node *site = &request->nodes[node];
    const struct plan_path *line = in ? &request->lines_in[node] : &request->paths[node][node];
    uint64_t bps = line->avb_kbps * UINT64_C(1000), tenths = (bps + 50000) / 100000;
    if (!plan_path_limits(request->avb_of, line) || bps >= (in ? site->down_bps : site->up_bps))
        return false;
    int length = snprintf(text, room, "line of %s, %s: %" PRIu64 ".%" PRIu64 " Mbit/s, %s", site->name,
                          in ? "in" : "out", tenths / 10, tenths % 10,
                          plan_path_told(line) ? "assumed by others' lines" : "measured");
    *fitted = fits(length, room);
    return true;
}

bool plan_limit_text(const struct plan_limit *limit, const struct plan_request *request, char *text,
                     size_t room)
{
    bool fitted;
    static const char *const rows[PLAN_ROW_COUNT] = {
        [PLAN_ROW_UPLINK] = "uplink of",     [PLAN_ROW_DOWNLINK] = "downlink of",
        [PLAN_ROW_PACKETS] = "packets/s of", [PLAN_ROW_WINDOW] = "window of",
        [PLAN_ROW_SHARED] = "shared link",   [PLAN_ROW_PATH] = "path from",
        [PLAN_ROW_CAP] = "rate cap"};
    bool shared = limit->row == PLAN_ROW_SHARED, path = limit->row == PLAN_ROW_PATH;
    bool cap = limit->row == PLAN_ROW_CAP;
    if (limit->row >= PLAN_ROW_COUNT || rows[limit->row] == NULL ||
        (!cap && limit->node >= (shared ? request->shared_count : request->node_count)) ||
        (path && limit->to >= request->node_count))
        return false;
    bool up = limit->row == PLAN_ROW_UPLINK, down = limit->row == PLAN_ROW_DOWNLINK;
    if ((up || down) && line_text(request, limit->node, down, text, room, &fitted))
        return fitted;
    const char *name = cap      ? ""
                       : shared ? request->shared[limit->node].name
                                : request->nodes[limit->node].name;
    int length = snprintf(text, room, "%s%s%s%s%s", rows[limit->row], cap ? "" : " ", name,
                          path ? " to " : "", path ? request->nodes[limit->to].name : "");
    return fits(length, room);
}

bool plan_raise_text(const struct plan_why_limit *limit, char *text, size_t room)
{
    uint64_t tenths = limit->raised / 100000 + (limit->raised % 100000 >= 50000); /* of a million */
    uint32_t permille = (limit->gain_ppm + 500) / 1000;
    struct sheet sheet = {.text = text, .room = room};
    if (limit->gain_ppm == 0)
        sheet_add(&sheet, "%s", "");
    else if (limit->limit.row == PLAN_ROW_PACKETS)
        sheet_add(&sheet, "to %" PRIu64, limit->raised);
    else
        sheet_add(&sheet, "to %" PRIu64 ".%" PRIu64 " %s", tenths / 10, tenths % 10,
                  limit->limit.row == PLAN_ROW_WINDOW ? "MB" : "Mbit/s");
    if (limit->gain_ppm != 0)
        sheet_add(&sheet, ": +%u.%u %%", permille / 10, permille % 10);
    return !sheet.full;
}
