#include "plan/load.h"
#include "plan/picture.h"
#include "plan/sheet.h"
#include "plan/words.h"

/* Told apart by people who see colours in another way, too (Okabe and Ito, 2008); red is for what is full. */
static const char *const colours[PLAN_TREES_MAX] = {"#0072b2", "#009e73", "#e69f00", "#cc79a7",
                                                    "#56b4e9", "#8a6d00", "#555555", "#7b3fa0"};

static void add_node(struct sheet *sheet, const struct load *load, const struct plan_request *request,
                     uint16_t node)
{
    unsigned up = load_up(load, request, node), down = load_down(load, request, node);
    sheet_add(sheet, "  \"%s\" [label=\"%s\\nup %u %%, down %u %%\"", request->nodes[node].name,
              request->nodes[node].name, up / 10, down / 10);
    if (up >= LOAD_TIGHT)
        sheet_add(sheet, ", style=filled, fillcolor=\"#ffc9c9\"");
    if (down >= LOAD_TIGHT)
        sheet_add(sheet, ", color=\"#0044cc\", penwidth=2");
    sheet_add(sheet, "];\n");
}

static void add_edge(struct sheet *sheet, const struct load *load, const struct plan *plan,
                     const struct plan_request *request, uint16_t tree, struct plan_edge edge)
{
    bool tight = load_path(load, request, edge.from, edge.to) >= LOAD_TIGHT;
    const struct plan_known *known = &plan->into_known[tree][edge.to];
    char text[PLAN_KNOWN_TEXT_BYTES];
    sheet_add(sheet, "  \"%s\" -> \"%s\" [color=\"%s\"%s%s, label=\"", request->nodes[edge.from].name,
              request->nodes[edge.to].name, colours[tree], tight ? ", fontcolor=red, penwidth=3" : "",
              known->basis == PLAN_BASIS_ASSUMED ? ", style=dashed" : "");
    sheet_add_rate(sheet, plan_edge_rate_bps(plan, tree, edge.to));
    sheet_add(sheet, "\\n%s\"];\n", plan_known_text(known, text, sizeof(text)) ? text : "");
}

bool picture_dot(const struct plan *plan, const struct plan_request *request, char *text, size_t room)
{
    struct sheet sheet = {.text = text, .room = room};
    struct load load;
    load_init(&load, plan, request);
    sheet_add(&sheet, "digraph plan {\n  rankdir=LR;\n  node [shape=box, fontname=sans];\n"
                      "  edge [fontname=sans, fontsize=10];\n");
    for (uint16_t node = 0; node < plan->node_count; node++)
        if (load.up_bps[node] != 0 || load.down_bps[node] != 0)
            add_node(&sheet, &load, request, node);
    for (uint16_t tree = 0; tree < plan->tree_count; tree++)
        for (uint16_t edge = 0; edge < plan->trees[tree].edge_count; edge++)
            add_edge(&sheet, &load, plan, request, tree, plan->trees[tree].edges[edge]);
    sheet_add(&sheet, "}\n");
    return !sheet.full;
}
