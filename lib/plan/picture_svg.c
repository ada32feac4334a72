#include <string.h>

#include "base/units.h"
#include "plan/load.h"
#include "plan/picture.h"
#include "plan/sheet.h"
#include "plan/words.h"

/* All in pixels. */
#define BOX_WIDTH_MIN 150u /* "up 100 %, down 100 %" */
#define LETTER_WIDTH  8    /* of a name, in most fonts */
#define BOX_HEIGHT    32
#define GAP_WIDTH     110 /* between boxes, from left to right: an edge and its rate */
#define ROW_HEIGHT    40
#define MARGIN        20
#define HEAD_HEIGHT   50
#define FOOT_HEIGHT   70

#define PAGE_WIDTH_MIN 720 /* the foot's lines */
#define LIMITS_TOLD    3u

struct panel {
    const struct plan *plan;
    const struct plan_request *request;
    const struct load *load;
    uint16_t tree;
    unsigned top;                    /* where it begins on the page */
    unsigned box_width;              /* the same for all of them */
    uint16_t depth[PLAN_NODES_MAX];  /* edges from the source */
    unsigned middle[PLAN_NODES_MAX]; /* of its box, from the top of the rows */
    unsigned rows, columns;
};

/* Leaves get a row each, in order; who has children stands in the middle of them. */
static void place_below(struct panel *panel, uint16_t node, uint16_t depth)
{
    uint16_t children[PLAN_CHILDREN_MAX];
    uint16_t count = plan_children(&panel->plan->trees[panel->tree], node, children);
    panel->depth[node] = depth;
    panel->columns = MAX(panel->columns, depth + 1u);
    if (count == 0) {
        panel->middle[node] = panel->rows++ * ROW_HEIGHT + ROW_HEIGHT / 2;
        return;
    }
    for (uint16_t child = 0; child < count; child++)
        place_below(panel, children[child], (uint16_t)(depth + 1));
    panel->middle[node] = (panel->middle[children[0]] + panel->middle[children[count - 1]]) / 2;
}

static unsigned box_left(const struct panel *panel, uint16_t node)
{
    return MARGIN + panel->depth[node] * (panel->box_width + GAP_WIDTH);
}

static unsigned box_middle(const struct panel *panel, uint16_t node)
{
    return panel->top + HEAD_HEIGHT + panel->middle[node];
}

static void add_box(struct sheet *sheet, const struct panel *panel, uint16_t node)
{
    unsigned up = load_up(panel->load, panel->request, node),
             down = load_down(panel->load, panel->request, node);
    unsigned left = box_left(panel, node), middle = box_middle(panel, node);
    sheet_add(
        sheet, "<rect x=\"%u\" y=\"%u\" width=\"%u\" height=\"%d\" rx=\"5\" fill=\"%s\" stroke=\"%s\"/>\n",
        left, middle - BOX_HEIGHT / 2, panel->box_width, BOX_HEIGHT, up >= LOAD_TIGHT ? "#ffc9c9" : "#ffffff",
        down >= LOAD_TIGHT ? "#0044cc\" stroke-width=\"2.5" : "#666666");
    sheet_add(sheet, "<text x=\"%u\" y=\"%u\" text-anchor=\"middle\">%s</text>\n",
              left + panel->box_width / 2, middle - 2, panel->request->nodes[node].name);
    sheet_add(sheet,
              "<text x=\"%u\" y=\"%u\" text-anchor=\"middle\" class=\"small\">up %u %%, down %u %%</text>\n",
              left + panel->box_width / 2, middle + 11, up / 10, down / 10);
}

static void add_edge(struct sheet *sheet, const struct panel *panel, struct plan_edge edge)
{
    bool tight = load_path(panel->load, panel->request, edge.from, edge.to) >= LOAD_TIGHT;
    unsigned from = box_left(panel, edge.from) + panel->box_width, to = box_left(panel, edge.to);
    unsigned from_middle = box_middle(panel, edge.from), to_middle = box_middle(panel, edge.to);
    unsigned bend = from + (to - from) / 3;
    const struct plan_known *known = &panel->plan->into_known[panel->tree][edge.to];
    char text[PLAN_KNOWN_TEXT_BYTES];
    sheet_add(sheet, "<path d=\"M%u %u C%u %u %u %u %u %u H%u\" class=\"%s%s\"/>\n", from, from_middle, bend,
              from_middle, from + 8, to_middle, bend + 8, to_middle, to, tight ? "edge tight" : "edge",
              known->basis == PLAN_BASIS_ASSUMED ? " assumed" : "");
    sheet_add(sheet, "<text x=\"%u\" y=\"%u\" text-anchor=\"end\" class=\"%s\">", to - 4, to_middle - 3,
              tight ? "small full" : "small");
    sheet_add_rate(sheet, plan_edge_rate_bps(panel->plan, panel->tree, edge.to));
    sheet_add(sheet, "</text>\n<text x=\"%u\" y=\"%u\" text-anchor=\"end\" class=\"small\">%s</text>\n",
              to - 4, to_middle + 11, plan_known_text(known, text, sizeof(text)) ? text : "");
}

static void add_panel(struct sheet *sheet, const struct panel *panel)
{
    const struct plan_tree *tree = &panel->plan->trees[panel->tree];
    char title[64] = "";
    plan_tree_title(panel->plan, panel->tree, title, sizeof(title));
    sheet_add(sheet, "<text x=\"%d\" y=\"%u\" class=\"head\">%s</text>\n", MARGIN, panel->top + 30, title);
    for (uint16_t edge = 0; edge < tree->edge_count; edge++)
        add_edge(sheet, panel, tree->edges[edge]);
    add_box(sheet, panel, panel->plan->source);
    for (uint16_t edge = 0; edge < tree->edge_count; edge++)
        add_box(sheet, panel, tree->edges[edge].to);
}

/* What everybody gets, and what those get who are slow by themselves. */
static void add_rates(struct sheet *sheet, const struct plan *plan)
{
    uint64_t common_bps = plan_common_bps(plan);
    if (common_bps > plan->rate_bps + plan->rate_bps / 1000) {
        sheet_add(sheet, "slow receivers get ");
        sheet_add_rate(sheet, plan->rate_bps);
        sheet_add(sheet, " at least, all others ");
        sheet_add_rate(sheet, common_bps);
        sheet_add(sheet, "; no plan brings those more than ");
    } else {
        sheet_add(sheet, "every receiver gets ");
        sheet_add_rate(sheet, plan->rate_bps);
        sheet_add(sheet, " at least; no plan brings more than ");
    }
    sheet_add_rate(sheet, plan->bound_bps);
}

/* The rows that hold the plan, by name: as many as go on a line. */
static void add_limits(struct sheet *sheet, const struct plan *plan, const struct plan_request *request)
{
    uint16_t count = MIN(plan->why.limit_count, LIMITS_TOLD);
    for (uint16_t index = 0; index < count; index++) {
        char text[160];
        if (plan_limit_text(&plan->why.limits[index].limit, request, text, sizeof(text)))
            sheet_add(sheet, "%s%s", index == 0 ? "held by " : ", ", text);
    }
    if (plan->why.limit_count > count)
        sheet_add(sheet, " and more");
}

static void add_foot(struct sheet *sheet, const struct plan *plan, const struct plan_request *request,
                     unsigned top)
{
    sheet_add(sheet, "<text x=\"%d\" y=\"%u\">", MARGIN, top + 20);
    add_rates(sheet, plan);
    sheet_add(sheet, "</text>\n<text x=\"%d\" y=\"%u\">", MARGIN, top + 40);
    add_limits(sheet, plan, request);
    sheet_add(sheet, "</text>\n<text x=\"%d\" y=\"%u\" class=\"small\">", MARGIN, top + 58);
    sheet_add(sheet, "red box: uplink full; blue frame: downlink full; red edge: path or shared link full; "
                     "dashed: nothing is known of the path");
    sheet_add(sheet, "</text>\n</svg>\n");
}

static unsigned widest_box(const struct plan_request *request)
{
    size_t letters = 0;
    for (uint16_t node = 0; node < request->node_count; node++)
        letters = MAX(letters, strlen(request->nodes[node].name));
    return MAX(BOX_WIDTH_MIN, (unsigned)letters * LETTER_WIDTH + 2 * MARGIN);
}

bool picture_svg(const struct plan *plan, const struct plan_request *request, char *text, size_t room)
{
    struct sheet sheet = {.text = text, .room = room};
    struct load load;
    struct panel panels[PLAN_TREES_MAX];
    unsigned width = PAGE_WIDTH_MIN, top = 0, box_width = widest_box(request);
    load_init(&load, plan, request);
    for (uint16_t tree = 0; tree < plan->tree_count; tree++) {
        struct panel *panel = &panels[tree];
        *panel = (struct panel){.plan = plan,
                                .request = request,
                                .load = &load,
                                .tree = tree,
                                .top = top,
                                .box_width = box_width};
        place_below(panel, plan->source, 0);
        width = MAX(width, panel->columns * (box_width + GAP_WIDTH) - GAP_WIDTH + 2 * MARGIN);
        top += HEAD_HEIGHT + panel->rows * ROW_HEIGHT;
    }
    sheet_add(
        &sheet,
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%u\" height=\"%u\" font-family=\"sans-serif\" "
        "font-size=\"13\">\n<style>.small{font-size:10px;fill:#333}.full{fill:#c00;font-weight:bold}"
        ".head{font-weight:bold}.edge{fill:none;stroke:#888;stroke-width:1.5}.tight{stroke:#c00;"
        "stroke-width:3}.assumed{stroke-dasharray:5 4}</style>\n<rect width=\"100%%\" height=\"100%%\" "
        "fill=\"#fafafa\"/>\n",
        width, top + FOOT_HEIGHT);
    for (uint16_t tree = 0; tree < plan->tree_count; tree++)
        add_panel(&sheet, &panels[tree]);
    add_foot(&sheet, plan, request, top);
    return !sheet.full;
}
