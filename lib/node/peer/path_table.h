/* What a node knows of the paths between all sites that it is configured with, itself included, and of the
 * sites' interfaces: one table for all of its jobs, so that what one job has measured serves the next. It knows
 * each entry's age; whoever asks says what is too old for him.
 *
 * Sites count from 0, the node itself; peer i is site i + 1. Fixed size; no IO; times are the node's. */
#pragma once

#include "base/arena.h"
#include "node/node_config.h"
#include "plan/plan.h"

#define PATH_SITE_SELF 0

/* One direction of a pair. */
struct path_record {
    uint64_t measured_ns; /* when this node was told of rtt_us and mtu */
    uint32_t rtt_us;      /* PLAN_RTT_UNKNOWN: never, or whoever measured had no answer */
    uint16_t mtu;         /* IP packet bytes; 0: not known */
};

/* What a site tells of itself. */
struct path_site {
    uint64_t up_bps, down_bps; /* wire rates of its interface; 0: it has told nothing yet */
    uint64_t packets_ps;       /* 0: no limit */
    uint64_t window_bytes;     /* memory for what is on its way */
    bool leaf;                 /* relays nothing */
};

struct path_table {
    uint16_t count;
    struct path_site *sites;
    struct path_record *records; /* [from * count + to] */
};

size_t path_table_bytes(uint16_t count); /* of arena */
/* Nothing is known. */
void path_table_init(struct path_table *table, uint16_t count, struct arena *arena);

void path_table_set_site(struct path_table *table, uint16_t site, const struct path_site *told);
/* `from` says what it has measured. Also that it had no answer: what was known before is forgotten. */
void path_table_set_measured(struct path_table *table, uint16_t from, uint16_t to, uint32_t rtt_us,
                             uint16_t mtu, uint64_t now_ns);

const struct path_site *path_table_site(const struct path_table *table, uint16_t site);
/* What is known since then; what is older counts as not known. */
struct plan_path path_table_path(const struct path_table *table, uint16_t from, uint16_t to,
                                 uint64_t since_ns);
