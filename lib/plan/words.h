/* A plan in words: what consoles, files and pictures say of it, in one place. All return false, and a text
 * that ends early, where the room is too small. */
#pragma once

#include "plan/plan.h"

/* "tree 2 of 3: 28.6 % of the blocks"; `tree` counts from 0. */
bool plan_tree_title(const struct plan *plan, uint16_t tree, char *text, size_t room);
/* "measured 12 s ago", "told", "assumed". */
#define PLAN_KNOWN_TEXT_BYTES 32
bool plan_known_text(const struct plan_known *known, char *text, size_t room);
/* Of all edges, each counted once, and of those who send: "3 measured, 11 assumed, 5 lines out measured". */
#define PLAN_KNOWN_TOTAL_BYTES 96
bool plan_known_total(const struct plan *plan, const struct plan_request *request, char *text, size_t room);
/* What would end assumptions; "" where the plan rests on none. */
#define PLAN_ASSUMED_HELP_BYTES 128
bool plan_assumed_help(const struct plan *plan, char *text, size_t room);
/* plan_draw of all trees, one below the other, each under its title where there are several, behind each
 * name what its edge rests on. False also of a
 * plan that plan_validate would not accept. */
#define PLAN_DRAWING_BYTES_MAX (PLAN_TREES_MAX * 28 * 1024) /* of any plan: a chain of 64 nodes takes 27 KB */
bool plan_draw_trees(const struct plan *plan, const struct plan_request *request, char *text, size_t room);
/* "uplink of london", "path from london to canada", "shared link wan". False also of no such row or node. */
bool plan_limit_text(const struct plan_limit *limit, const struct plan_request *request, char *text,
                     size_t room);
/* "to 200.0 Mbit/s: +35.0 %", in the unit of its row; "" where raising this row alone brings nothing. */
bool plan_raise_text(const struct plan_why_limit *limit, char *text, size_t room);
