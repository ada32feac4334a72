/* Doubt: a queue may be longer than it looks, because the receiver's clock loses. Then the base must be seen anew
 * before the queue has grown by much, and the queue must run dry for that, not only to where the base was thought
 * to be. Where that shows nothing it is the way back that has a queue: it is asked half as often each time.
 *
 * An edge that is alone on the path knows how much must drain for that: the queue that shows, and what is doubted. */
#pragma once

#include "edge/bql/path.h"

struct bql_doubt {
    uint64_t settled_ns;   /* so much was found to be the way back's */
    uint64_t asked_ns;     /* when it led to a refresh, or one ended, or the beginning */
    uint64_t before_ns;    /* doubt when that began */
    int64_t began_base_ns; /* base then … */
    int64_t base_ns;       /* … and the least seen since */
    uint64_t fell_ns;      /* when it became so */
    uint32_t unfounded;    /* in a row */
    bool asks;             /* there was doubt when the refresh under way began: it settles that */
};

/* Whether the base is to be seen anew. To be asked at each sample. */
bool bql_doubt_due(struct bql_doubt *doubt, const struct bql_path *path, const struct bql_view *view);
/* A refresh begins. */
void bql_doubt_begin(struct bql_doubt *doubt, const struct bql_path *path, const struct bql_view *view);
/* What is in the queue at most, if all of it is the edge's own. */
uint64_t bql_doubt_most_ns(const struct bql_doubt *doubt, const struct bql_path *path,
                           const struct bql_view *view);
/* The queue has run dry since the refresh began, as far as anyone can tell: to where the base was thought to be, and
 * where that was too high to the end of what was doubted. */
bool bql_doubt_settles(const struct bql_doubt *doubt, const struct bql_path *path);
/* The base was seen; false: it still falls, the queue has not run dry. */
bool bql_doubt_allows_end(struct bql_doubt *doubt, const struct bql_path *path);
/* What was sent during the refresh has come. */
void bql_doubt_end(struct bql_doubt *doubt, const struct bql_path *path);
