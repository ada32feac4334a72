/* Where the parts of a plan's picture stand, in pixels: tree beside or below tree, each in one of two ways.
 *
 * Columns: from left to right, a column for each generation, a row for each leaf; who has children stands in their
 * middle. The edge's words are on the edge, before its child.
 * Indented: where columns would make the page wider than PLACE_WIDTH_WIDE (deep trees of many sites). Every node has a
 * row of its own, below its parent and a little to the right; the edge's words are behind its child.
 *
 * Guarantee: no box, no words of an edge and no line of an edge to another node share a pixel, as long as texts are no
 * wider than they are said to be. */
#pragma once

#include "plan/plan.h"

#define PLACE_WIDTH_WIDE  1600u /* what a screen shows */
#define PLACE_MARGIN      20u
#define PLACE_BOX_HEIGHT  36u
#define PLACE_ROW_HEIGHT  44u
#define PLACE_TURN_WIDTH  60u  /* columns: from a box to where its edges have reached their children's rows */
#define PLACE_TITLE_WIDTH 460u /* what a tree's title takes at most */
#define PLACE_TITLE       34u  /* above the rows of a tree */

/* One tree. */
struct place_panel {
    unsigned left, top;
    unsigned rows, columns;
    uint16_t depth[PLAN_NODES_MAX];  /* edges from the source */
    unsigned middle[PLAN_NODES_MAX]; /* of the node's box, from the top of the rows */
};

struct place {
    unsigned box_width, words_width; /* the same for all boxes, and for the words of all edges */
    bool indented;
    unsigned step;          /* from one generation to the next */
    unsigned width, height; /* of all trees, with a margin on both sides and none above */
    struct place_panel panels[PLAN_TREES_MAX];
};

/* Of a plan that plan_validate has accepted. */
void place_fill(struct place *place, const struct plan *plan, unsigned box_width, unsigned words_width);
/* Of the box of a node that is in the tree. */
unsigned place_box_left(const struct place *place, uint16_t tree, uint16_t node);
unsigned place_box_middle(const struct place *place, uint16_t tree, uint16_t node);
