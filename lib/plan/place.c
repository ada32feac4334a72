#include "plan/place.h"

#include "base/units.h"

#define INDENT      40u
#define INDENT_DEEP 20u /* of trees that have more than so many generations */
#define DEEP        20u
#define TREE_GAP    40u /* between trees side by side */

struct walk {
    const struct plan_tree *tree;
    struct place_panel *panel;
    bool indented;
};

/* A row for each leaf, in order, or for each node; returns the middle of the node's own. */
static unsigned place_below(const struct walk *walk, uint16_t node, uint16_t depth)
{
    struct place_panel *panel = walk->panel;
    uint16_t children[PLAN_CHILDREN_MAX];
    uint16_t count = plan_children(walk->tree, node, children);
    unsigned first = 0, last = 0, own = panel->rows * PLACE_ROW_HEIGHT + PLACE_ROW_HEIGHT / 2;
    panel->depth[node] = depth;
    panel->columns = MAX(panel->columns, depth + 1u);
    panel->rows += walk->indented || count == 0;
    for (uint16_t child = 0; child < count; child++) {
        last = place_below(walk, children[child], (uint16_t)(depth + 1));
        first = child == 0 ? last : first;
    }
    return panel->middle[node] = walk->indented || count == 0 ? own : (first + last) / 2;
}

static unsigned panel_width(const struct place *place, const struct place_panel *panel)
{
    return (panel->columns - 1) * place->step + place->box_width + (place->indented ? place->words_width : 0);
}

static unsigned panel_height(const struct place_panel *panel)
{
    return PLACE_TITLE + panel->rows * PLACE_ROW_HEIGHT;
}

/* Returns the width of the widest tree, or of a title if that is wider. */
static unsigned place_trees(struct place *place, const struct plan *plan)
{
    unsigned widest = PLACE_TITLE_WIDTH;
    for (uint16_t tree = 0; tree < plan->tree_count; tree++) {
        place->panels[tree] = (struct place_panel){0};
        place_below(&(struct walk){&plan->trees[tree], &place->panels[tree], place->indented}, plan->source,
                    0);
        widest = MAX(widest, panel_width(place, &place->panels[tree]));
    }
    return widest;
}

static unsigned generations(const struct place *place, const struct plan *plan)
{
    unsigned most = 0;
    for (uint16_t tree = 0; tree < plan->tree_count; tree++)
        most = MAX(most, place->panels[tree].columns);
    return most;
}

/* So many trees side by side, each as wide as the widest. */
static void arrange(struct place *place, uint16_t tree_count, unsigned widest, unsigned beside)
{
    unsigned top = 0, tallest = 0;
    for (uint16_t tree = 0; tree < tree_count; tree++) {
        struct place_panel *panel = &place->panels[tree];
        if (tree % beside == 0) {
            top += tallest;
            tallest = 0;
        }
        panel->left = PLACE_MARGIN + tree % beside * (widest + TREE_GAP);
        panel->top = top;
        tallest = MAX(tallest, panel_height(panel));
    }
    place->height = top + tallest;
    place->width = 2 * PLACE_MARGIN + beside * (widest + TREE_GAP) - TREE_GAP;
}

void place_fill(struct place *place, const struct plan *plan, unsigned box_width, unsigned words_width)
{
    place->box_width = box_width;
    place->words_width = words_width;
    place->indented = false;
    place->step = box_width + PLACE_TURN_WIDTH + words_width;
    unsigned widest = place_trees(place, plan);
    if (widest + 2 * PLACE_MARGIN > PLACE_WIDTH_WIDE) {
        place->indented = true;
        place->step = generations(place, plan) > DEEP ? INDENT_DEEP : INDENT;
        widest = place_trees(place, plan);
    }
    /* A page of many trees is to be about as wide as it is high. */
    unsigned beside = 1;
    arrange(place, plan->tree_count, widest, beside);
    while (beside < plan->tree_count && place->height > place->width + widest)
        arrange(place, plan->tree_count, widest, ++beside);
}

unsigned place_box_left(const struct place *place, uint16_t tree, uint16_t node)
{
    return place->panels[tree].left + place->panels[tree].depth[node] * place->step;
}

unsigned place_box_middle(const struct place *place, uint16_t tree, uint16_t node)
{
    return place->panels[tree].top + PLACE_TITLE + place->panels[tree].middle[node];
}
