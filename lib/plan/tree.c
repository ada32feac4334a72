/* Looking at one tree: parent, children, order, drawing. Safe on trees that nobody has validated. */
#include "plan/plan.h"

#include <string.h>

#include "plan/words.h"

const struct word plan_metric_words[] = {PLAN_METRICS(WORD_ENTRY){"given", PLAN_METRIC_GIVEN}, {NULL, 0}};

int plan_parent(const struct plan_tree *tree, uint16_t node)
{
    for (uint16_t edge = 0; edge < tree->edge_count; edge++)
        if (tree->edges[edge].to == node)
            return tree->edges[edge].from;
    return -1;
}

uint16_t plan_children(const struct plan_tree *tree, uint16_t node, uint16_t *children)
{
    uint16_t count = 0;
    for (uint16_t edge = 0; edge < tree->edge_count && count < PLAN_CHILDREN_MAX; edge++)
        if (tree->edges[edge].from == node)
            children[count++] = tree->edges[edge].to;
    return count;
}

bool plan_tree_order(struct plan_tree *tree, uint16_t node_count, uint16_t source)
{
    if (tree->edge_count > PLAN_NODES_MAX - 1 || node_count > PLAN_NODES_MAX || source >= node_count)
        return false;
    struct plan_tree ordered = {.weight_ppm = tree->weight_ppm};
    uint64_t reached = UINT64_C(1) << source;
    /* The ordered edges are their own queue: place n holds the edge into the (n + 1)th node visited. */
    uint16_t parent = source;
    for (uint16_t visited = 0;; visited++) {
        for (uint16_t edge = 0; edge < tree->edge_count; edge++) {
            struct plan_edge candidate = tree->edges[edge];
            if (candidate.from != parent)
                continue;
            if (candidate.to >= node_count || (reached >> candidate.to & 1) != 0)
                return false;
            reached |= UINT64_C(1) << candidate.to;
            ordered.edges[ordered.edge_count++] = candidate;
        }
        if (visited == ordered.edge_count)
            break;
        parent = ordered.edges[visited].to;
    }
    if (ordered.edge_count != tree->edge_count)
        return false;
    *tree = ordered;
    return true;
}

#define DRAW_INDENT_BYTES 7 /* "│   " is six bytes, "    " four */

struct drawing {
    const struct plan_tree *tree;
    const struct plan_node *nodes;
    const struct plan_known *known; /* NULL: not to be said */
    uint16_t node_count;
    char *text;
    size_t room, length;
    char indent[PLAN_NODES_MAX * DRAW_INDENT_BYTES]; /* what stands before the branches of this level */
};

static bool draw_text(struct drawing *drawing, const char *text)
{
    size_t bytes = strlen(text);
    if (bytes >= drawing->room - drawing->length)
        return false;
    memcpy(drawing->text + drawing->length, text, bytes + 1);
    drawing->length += bytes;
    return true;
}

static bool draw_known(struct drawing *drawing, uint16_t node)
{
    char text[PLAN_KNOWN_TEXT_BYTES];
    if (drawing->known == NULL)
        return true;
    return plan_known_text(&drawing->known[node], text, sizeof(text)) && draw_text(drawing, "  ") &&
           draw_text(drawing, text);
}

/* Recursion ends at PLAN_NODES_MAX levels; an invalid tree that repeats nodes ends with the room. */
static bool draw_below(struct drawing *drawing, uint16_t node, unsigned depth)
{
    uint16_t children[PLAN_CHILDREN_MAX];
    uint16_t count = plan_children(drawing->tree, node, children);
    size_t indent_bytes = strlen(drawing->indent);
    for (uint16_t child = 0; child < count; child++) {
        bool last = child + 1 == count;
        if (children[child] >= drawing->node_count || depth == PLAN_NODES_MAX)
            return false;
        if (!draw_text(drawing, "\n") || !draw_text(drawing, drawing->indent) ||
            !draw_text(drawing, last ? "└── " : "├── ") ||
            !draw_text(drawing, drawing->nodes[children[child]].name) ||
            !draw_known(drawing, children[child]))
            return false;
        strcpy(drawing->indent + indent_bytes, last ? "    " : "│   ");
        bool drawn = draw_below(drawing, children[child], depth + 1);
        drawing->indent[indent_bytes] = '\0';
        if (!drawn)
            return false;
    }
    return true;
}

bool plan_draw(const struct plan_tree *tree, const struct plan_node *nodes, uint16_t node_count,
               uint16_t source, const struct plan_known *known, char *text, size_t room)
{
    if (room == 0)
        return false;
    text[0] = '\0';
    if (source >= node_count || tree->edge_count > PLAN_NODES_MAX - 1)
        return false;
    struct drawing drawing = {
        .tree = tree, .nodes = nodes, .known = known, .node_count = node_count, .text = text, .room = room};
    return draw_text(&drawing, nodes[source].name) && draw_below(&drawing, source, 0);
}
