/* Estimates of edges in a file (SQLite, WAL): what was measured, when, by both names. The one place that knows SQL.
 *
 * Whoever is killed in the middle of it leaves a file that opens again, without what was not finished. Rows are in the order of
 * the file's own time, kept_ms. It grows as the caller's steady clock does while the file is open, and never goes back. Between
 * two runs it grows as the calendar did, by a day at most, so that a calendar that jumps neither blinds nor erases. The calendar's
 * time of a row stands beside it. */
#pragma once

#include "base/err.h"
#include "ctl/estimate.h"

struct store;

enum store_result {
    STORE_DONE,
    STORE_NONE,   /* no such row */
    STORE_FAILED, /* not now: locked, the disk is full; the next call may succeed */
    STORE_BROKEN  /* never: the file is damaged, or none of these */
};

struct store_row {
    uint64_t kept_ms; /* when its window ended, by the file's own time; and by the calendar, since 1970: */
    uint64_t at_ms;
    uint64_t rtt_ns;          /* 0: not known */
    struct estimate estimate; /* from_ns 0, until_ns the window's length */
};

/* Makes the file where there is none; NULL: in memory. NULL with err on failure. */
struct store *store_open(const char *path, uint64_t calendar_ms, struct err *err);
void store_close(struct store *store);

/* The file's own time, run_ms after it was opened. */
uint64_t store_kept_ms(const struct store *store, uint64_t run_ms);
/* The row was kept by an earlier run: how much time lies between the two is the calendar's word. */
bool store_is_earlier(const struct store *store, const struct store_row *row);

/* One of the same edge and millisecond takes the place of the other; none gets before those of earlier runs. */
enum store_result store_add(struct store *store, const struct ctl_estimate *estimate, uint64_t run_ms,
                            uint64_t calendar_ms, struct err *err);
/* The newest rows of the edge, newest first; *count: in the room that there is, out how many. With `values` only those that
 * tell a rate. NONE: nothing is known of the edge. */
enum store_result store_read(struct store *store, const char *from, const char *to, bool values,
                             struct store_row *rows, unsigned *count, struct err *err);

/* Every edge of which there ever was a row; false from `each` ends it. */
enum store_result store_edges(struct store *store, bool (*each)(void *user, const char *from, const char *to),
                              void *user, struct err *err);

struct store_limits {
    unsigned rows;         /* of an edge, at most */
    uint64_t thin_ms;      /* of those older than this, up to twice that … */
    uint64_t thin_each_ms; /* … one in each span of so long stays, the newest */
};
/* Of one edge: to be called when a row came; it looks at few. */
enum store_result store_trim(struct store *store, const char *from, const char *to,
                             const struct store_limits *limits, uint64_t kept_ms, struct err *err);
/* Rows of all edges that are older, by the file's own time; looks at all. */
enum store_result store_forget(struct store *store, uint64_t before_ms, struct err *err);
