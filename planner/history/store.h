/* Estimates of edges in a file (SQLite, WAL): what was measured, when, by both names. The one place that knows SQL.
 *
 * Whoever is killed in the middle of it leaves a file that opens again, without what was not finished. Times are of the
 * calendar, ms since 1970, given by the caller. */
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
    uint64_t at_ms;           /* when its window ended */
    uint64_t rtt_ns;          /* 0: not known */
    struct estimate estimate; /* from_ns 0, until_ns the window's length */
};

/* Makes the file where there is none; NULL: in memory. NULL with err on failure. */
struct store *store_open(const char *path, struct err *err);
void store_close(struct store *store);

/* One of the same edge and millisecond takes the place of the other. */
enum store_result store_add(struct store *store, const struct ctl_estimate *estimate, uint64_t now_ms,
                            struct err *err);
/* The newest rows of the edge by then, newest first; *count: in the room that there is, out how many. With `values` only those
 * that tell a rate. Later ones are of a calendar that was wrong, and say nothing of how old they are. NONE: nothing is known of the
 * edge. */
enum store_result store_read(struct store *store, const char *from, const char *to, bool values,
                             uint64_t until_ms, struct store_row *rows, unsigned *count, struct err *err);

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
                             const struct store_limits *limits, uint64_t now_ms, struct err *err);
/* Rows of all edges that are older; looks at all. */
enum store_result store_forget(struct store *store, uint64_t before_ms, struct err *err);
