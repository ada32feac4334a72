/* A net to plan on: hosts, what is known of the paths between them, and the resources that trees share.
 *
 * Every limit is a row that is additive over edges: a tree T of wire rate y takes y * sum of a(row, e)
 * over its edges e, and all trees together at most the row's capacity. So the rate of a forest is a
 * quotient, the best forest a linear program, and the price of an edge a sum (Liu et al., "P2P Streaming
 * Capacity", IEEE Trans. IT 2011).
 *
 *   row            a(row, from -> to)                 capacity
 *   uplink         1 / (1 - loss), at `from`          up_bps
 *   downlink       1, at `to`                         down_bps
 *   packets        1 / (1 - loss) at `from`, 1 at `to`  packets_ps * wire bits of a packet
 *   window         RTT in seconds, at `from`          window_bytes * 8
 *   shared link    1 on its members                   rate_bps
 *   path           1 on the edge                      path_bps
 *
 * Rates are bit/s on the wire, of new data. Hosts are in the order of their names, so that "by index" is "by
 * name" wherever something ties, and a file that lists them otherwise leads to the same plan. Doubles, of
 * which only +, -, *, / and comparisons are used: the same at every optimization level (-ffp-contract=off).
 * All memory comes from the arena. Nothing here knows the time. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/name.h"

#define NET_HOSTS_MAX      1000
#define NET_SHARED_MAX     64 /* shared links */
#define NET_SHARED_OF_EDGE 16 /* of which one edge may cross */
#define NET_USES_MAX       (6 + NET_SHARED_OF_EDGE)
#define NET_NO_LIMIT       1e30
#define NET_NONE           UINT16_MAX
#define NET_RTT_UNKNOWN    UINT32_MAX

struct net_host {
    char name[NAME_BYTES];
    /* Of its interface; what is kept back for acks and probes is taken off already. */
    double up_bps, down_bps;
    double packets_ps;     /* packets that its processor can send and receive; NET_NO_LIMIT */
    double window_bytes;   /* memory for what is on its way to children; NET_NO_LIMIT */
    uint16_t children_max; /* in one tree; 0: it forwards nothing */
    uint16_t distinct_max; /* different children over all trees */
    bool receiver;         /* wants the object; neither this nor the source: it may relay */
};

struct net_shared {
    char name[NAME_BYTES];
    double rate_bps;
};

struct net {
    uint16_t count, source;
    uint16_t shared_count;
    double packet_bits; /* of a full packet on the wire: what packets_ps counts */
    struct net_host *hosts;
    /* All by from * count + to. path_bps: available bandwidth; NET_NO_LIMIT: unknown, so
     * interfaces decide; 0: not to be used. */
    double *path_bps;
    double *loss;     /* share of packets, below 1 */
    uint32_t *rtt_us; /* of the pair; NET_RTT_UNKNOWN */
    uint8_t *crosses; /* how many shared links; they are at shared_of[edge * NET_SHARED_OF_EDGE] */
    uint8_t *shared_of;
    struct net_shared *shared;
};

/* ---- building one ---- */

size_t net_bytes(uint16_t count, uint16_t shared_count); /* of arena */
/* Hosts and edges zeroed, but: path_bps NET_NO_LIMIT, rtt_us unknown, limits none; path_bps of a host
 * to itself and into the source 0. */
void net_make(struct net *net, uint16_t count, uint16_t source, uint16_t shared_count, struct arena *arena);
static inline uint32_t net_edge(const struct net *net, uint16_t from, uint16_t to)
{
    return (uint32_t)from * net->count + to;
}
/* The edge crosses the shared link. False: it crosses too many. */
bool net_cross(struct net *net, uint16_t from, uint16_t to, uint8_t shared);
/* It may carry data: the path is allowed and `from` forwards. */
bool net_usable(const struct net *net, uint16_t from, uint16_t to);

/* ---- rows ---- */

enum net_row_kind { NET_UPLINK = 0, NET_DOWNLINK, NET_PACKETS, NET_WINDOW, NET_SHARED, NET_PATH };

struct net_row {
    enum net_row_kind kind;
    uint16_t host; /* uplink … window; the path's `from`; the shared link's index */
    uint16_t to;   /* path */
};

struct net_use {
    uint32_t row;
    double per_bit; /* a(row, edge) */
};

/* Rows are numbered without gaps, paths last: the first net_common_rows() are worth an array,
 * paths are many and mostly slack. */
uint32_t net_rows(const struct net *net);
uint32_t net_rows_of(uint16_t count, uint16_t shared_count); /* … of any net of that size */
uint32_t net_common_rows(const struct net *net);
struct net_row net_row_of(const struct net *net, uint32_t row);
double net_capacity(const struct net *net, uint32_t row); /* NET_NO_LIMIT: none */
/* The rows that an edge takes of, the path's last; returns how many. */
unsigned net_uses(const struct net *net, uint16_t from, uint16_t to, struct net_use uses[NET_USES_MAX]);
/* For all edges at once: weight[edge] = sum of price[row] * a(row, edge) over its rows; NET_NO_LIMIT where it
 * is not usable. `price` has net_rows() places. */
void net_weigh(const struct net *net, const double *price, double *weight);

/* ---- trees ---- */

/* An out-tree from the source: the parent of each host, NET_NONE of the source and of hosts outside. */
struct net_tree {
    uint16_t *parent; /* [count] */
};

/* Trees with whole weights: of every `period` blocks in a row, tree t carries weight[t]. */
#define NET_TREES_MAX 8
_Static_assert(NET_TREES_MAX <= 8, "sets of trees are kept in bytes");
#define NET_PERIOD_MAX 32
struct net_forest {
    uint16_t tree_count;
    uint16_t period; /* sum of the weights */
    uint16_t weight[NET_TREES_MAX];
    struct net_tree trees[NET_TREES_MAX];
};

size_t net_tree_bytes(const struct net *net);
struct net_tree net_tree_new(const struct net *net, struct arena *arena); /* nobody in it */
/* An out-tree from the source over usable edges that has every receiver, no host with more children than it
 * may have, and only relays that lead somewhere. */
bool net_tree_valid(const struct net *net, const struct net_tree *tree);
/* Each tree valid, distinct children within bounds, weights add up to the period. */
bool net_forest_valid(const struct net *net, const struct net_forest *forest);

/* use[row] += weight * sum of a(row, e) over the tree's edges; `use` has net_rows() places. */
void net_add_use(const struct net *net, const struct net_tree *tree, double weight, double *use);
/* What every receiver gets, bit/s on the wire: min over rows of capacity * period / use. `use` is scratch of
 * net_rows() places; *tight: the first row that gives out. */
double net_forest_rate(const struct net *net, const struct net_forest *forest, double *use, uint32_t *tight);
/* Largest sum of RTT / 2 from the source to a receiver. False: an RTT on the way is unknown. */
bool net_tree_delay_us(const struct net *net, const struct net_tree *tree, uint64_t *delay_us);
