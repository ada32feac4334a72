#include "plan/caption.h"
#include "plan/picture.h"
#include "plan/words.h"

/* Told apart by people who see colours in another way, too (Okabe and Ito, 2008); red is for what is full. */
static const char *const colours[PLAN_TREES_MAX] = {"#0072b2", "#009e73", "#e69f00", "#cc79a7",
                                                    "#56b4e9", "#8a6d00", "#555555", "#7b3fa0"};

static void add_node(struct sheet *sheet, const struct load *load, const struct plan *plan,
                     const struct plan_request *request, uint16_t node)
{
    sheet_add(sheet, "  \"%s\" [label=\"%s\\n", request->nodes[node].name, request->nodes[node].name);
    caption_add_node(sheet, plan, request, load, node);
    sheet_add(sheet, "\"");
    if (load_up(load, request, node) >= LOAD_TIGHT)
        sheet_add(sheet, ", style=filled, fillcolor=\"#ffc9c9\"");
    if (load_down(load, request, node) >= LOAD_TIGHT)
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

/* Lines above the drawing, each ended by what dot takes for "to the left". */
static void add_caption(struct sheet *sheet, const struct plan *plan, const struct plan_request *request,
                        const char *title)
{
    struct caption caption;
    caption_fill(&caption, plan, request, title);
    sheet_add(sheet, "  labelloc=t;\n  labeljust=l;\n  label=\"");
    for (unsigned line = 0; line < caption.count; line++) {
        sheet_add_dot(sheet, caption.lines[line]);
        sheet_add(sheet, "\\l");
    }
    sheet_add(
        sheet,
        "at edges: rates on the wire, and what they rest on, by age when planned; dashed: assumed\\l"
        "red box: uplink full; blue frame: downlink full; thick edge: path or shared link full\\l\";\n");
    for (uint16_t tree = 0; plan->tree_count > 1 && tree < plan->tree_count; tree++) {
        char text[64];
        if (plan_tree_title(plan, tree, text, sizeof(text)))
            sheet_add(sheet, "  \"%s\" [shape=plaintext, fontcolor=\"%s\"];\n", text, colours[tree]);
    }
}

bool picture_dot(const struct plan *plan, const struct plan_request *request, const char *title, char *text,
                 size_t room)
{
    struct sheet sheet = {.text = text, .room = room};
    struct load load;
    load_init(&load, plan, request);
    sheet_add(&sheet, "digraph plan {\n  rankdir=LR;\n  fontname=sans;\n  node [shape=box, fontname=sans];\n"
                      "  edge [fontname=sans, fontsize=10];\n");
    add_caption(&sheet, plan, request, title);
    for (uint16_t node = 0; node < plan->node_count; node++)
        if (load.up_bps[node] != 0 || load.down_bps[node] != 0)
            add_node(&sheet, &load, plan, request, node);
    for (uint16_t tree = 0; tree < plan->tree_count; tree++)
        for (uint16_t edge = 0; edge < plan->trees[tree].edge_count; edge++)
            add_edge(&sheet, &load, plan, request, tree, plan->trees[tree].edges[edge]);
    sheet_add(&sheet, "}\n");
    return !sheet.full;
}
