/* The two things that sluice-planner does, and how it ends. Both plan in the arena, of solve_bytes(). */
#pragma once

#include <signal.h>
#include <stdbool.h>

#include "base/arena.h"
#include "planner/history/history.h"

enum program_end {
    PROGRAM_DONE = 0, /* stopped as asked, or the plan is printed */
    PROGRAM_NO_PLAN = 1,
    PROGRAM_USAGE = 2 /* wrong usage, or a file that can't be read */
};

/* Serves the node of the control ring at `path` until *stop; waits where there is no node, and attaches again
 * when it was restarted. A second planner on the same ring waits as a standby. What the node tells of edges goes into the
 * history, which plans count on. */
enum program_end serve_ring(const char *path, const struct history_options *kept, struct arena *arena,
                            const volatile sig_atomic_t *stop);

enum plan_form { PLAN_FORM_TEXT = 0, PLAN_FORM_JSON, PLAN_FORM_DOT, PLAN_FORM_SVG };

/* Plans once from a net file and prints the plan; or with `edge`, "FROM,TO", why
 * it uses that edge or does not. */
enum program_end plan_offline(const char *path, enum plan_form form, const char *edge, struct arena *arena);
