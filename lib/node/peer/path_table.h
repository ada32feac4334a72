/* What a node knows of the paths between all sites that it is configured with, itself included, and of the
 * sites' interfaces: one table for all of its jobs, so that what one job has measured serves the next. It
 * knows each entry's age; whoever asks says what is too old for him.
 *
 * Sites count from 0, the node itself; peer i is site i + 1. The path of a site to itself is its line out: what trains found
 * of the way that all of its paths share; that from PATH_SITE_ANY its line in. Fixed size; no IO; times are the node's. */
#pragma once

#include "base/arena.h"
#include "node/node_config.h"
#include "plan/plan.h"
#include "probe/estimate.h"
#include "wire/control.h"

#define PATH_SITE_SELF 0
/* As the sender of a path: all of them, by the line that they come in by. */
#define PATH_SITE_ANY (NODE_PEERS_MAX + 1u)

/* Who measures it: its sender, or of a line in whose it is. */
static inline uint16_t path_measurer(uint16_t from, uint16_t to)
{
    return from == PATH_SITE_ANY ? to : from;
}

/* One direction of a pair: what was measured, and what was told of it from elsewhere. */
struct path_record {
    uint64_t measured_ns; /* when this node learnt rtt_us and mtu */
    uint32_t rtt_us;      /* PLAN_RTT_UNKNOWN: never, or whoever measured had no answer */
    uint16_t mtu;         /* IP packet bytes; 0: not known */
    uint16_t shared;      /* bits, as in struct plan_path, of the shared links told; so what follows */
    uint32_t loss_ppm;
    uint32_t avb_kbps, avb_low_kbps, avb_high_kbps;
    uint32_t distance;
    /* What trains have measured, and when this node learnt it; 0: nothing */
    uint32_t available_kbps, available_low_kbps, available_high_kbps;
    uint64_t available_ns;
};

/* What a site tells of itself. */
struct path_site {
    uint64_t up_bps, down_bps; /* wire rates of its interface; 0: it has told nothing yet */
    uint64_t packets_ps;       /* 0: no limit */
    uint64_t window_bytes;     /* memory for what is on its way */
    bool leaf;                 /* relays nothing */
    /* What others than the site say is left of its interface; 0: nothing was said. */
    uint64_t left_up_bps, left_down_bps;
};

struct path_table {
    uint16_t count;
    struct path_site *sites;
    struct path_record *records; /* [from * count + to]; the last row is that of PATH_SITE_ANY */
    uint64_t told_ns;            /* when it was told from elsewhere */
    uint16_t shared_count;
    struct plan_shared shared[PLAN_SHARED_MAX];
};

size_t path_table_bytes(uint16_t count); /* of arena */
/* Nothing is known. */
void path_table_init(struct path_table *table, uint16_t count, struct arena *arena);

/* What the site tells of itself: all but what is left of its interface. */
void path_table_set_site(struct path_table *table, uint16_t site, const struct path_site *told);
/* `from` says what it has measured. Also that it had no answer: what was known before is forgotten. */
void path_table_set_measured(struct path_table *table, uint16_t from, uint16_t to, uint32_t rtt_us,
                             uint16_t mtu, uint64_t now_ns);

/* `from` says what it has measured of available bandwidth, at measured_ns by this node's clock. high 0: no upper end. */
void path_table_set_available(struct path_table *table, uint16_t from, uint16_t to, uint32_t available_kbps,
                              uint32_t low_kbps, uint32_t high_kbps, uint64_t measured_ns);

/* The same of an estimate; one that tells no rate changes nothing. */
void path_table_set_estimate(struct path_table *table, uint16_t from, uint16_t to,
                             const struct estimate *estimate, uint64_t measured_ns);

/* False: none was measured. high_kbps 0: no upper end. */
bool path_table_available(const struct path_table *table, uint16_t from, uint16_t to, uint64_t now_ns,
                          struct wire_available_peer *measured);

/* Something is told from elsewhere: it takes the place of all that was told before, and holds until the next
 * time. These are the shared links; sites and paths follow, each where there is something to tell. */
void path_table_tell(struct path_table *table, const struct plan_shared *shared, uint16_t shared_count,
                     uint64_t now_ns);
void path_table_tell_site(struct path_table *table, uint16_t site, uint64_t left_up_bps,
                          uint64_t left_down_bps);
/* Loss, available bandwidth with its interval, distance, shared links. */
void path_table_tell_path(struct path_table *table, uint16_t from, uint16_t to, const struct plan_path *told);

const struct path_site *path_table_site(const struct path_table *table, uint16_t site);
/* What was measured since then (what is older counts as not known), and what was told. Available bandwidth as it was told,
 * else as it was measured, whenever that was: its age is told with it. */
struct plan_path path_table_path(const struct path_table *table, uint16_t from, uint16_t to,
                                 uint64_t since_ns, uint64_t now_ns);
