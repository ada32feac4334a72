/* A node's configuration as the protocol sees it; lib/conf fills it from YAML, the simulator from a scenario.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/name.h"
#include "base/units.h"
#include "probe/estimator.h"
#include "seal/noise.h"
#include "store/disk.h"
#include "wire/address.h"

#define NODE_PORTS_MAX       4
#define NODE_PEERS_MAX       63
#define NODE_PEER_KEYS_MAX   2
#define NODE_DIRECTORIES_MAX 16
#define NODE_SOURCES_MAX     16
#define NODE_JOBS_MAX        16
#define NODE_COMMAND_BYTES   (PATH_BYTES + 32)
#define NODE_UDP_PORT        7840

struct node_port_config {
    struct net_address address; /* own IP and the node's one UDP port */
    uint32_t mtu;               /* largest IP packet */
    uint64_t rate_bps;          /* what may be sent into it (uplink), wire rate; > 0 */
    uint64_t down_bps;          /* what may come out of it (downlink); 0: as rate_bps */
};

struct node_peer_config {
    char name[NAME_BYTES];
    struct net_address address;
    uint16_t port; /* index of the own port that leads there */
    /* Packet numbers tracked per direction, a power of two; 0: from rate and rtt_max. */
    uint32_t window_packets;
    bool probe_off; /* no trains to it, none of it */
    /* One, or the new and the old one while it changes its key. */
    uint8_t key_count;
    uint8_t public_keys[NODE_PEER_KEYS_MAX][SEAL_KEY_BYTES];
};

/* Available bandwidth of paths: how it is measured from here, and what others may measure. */
#define PROBE_LOAD_PPB_MAX  500000000
#define PROBE_PERIOD_NS_MAX (3600 * NS_PER_S)
struct node_probe_config {
    bool off;                               /* no trains at all: none is sent, none taken */
    const struct estimator_kind *estimator; /* NULL: this node measures nothing */
    bool background;                        /* measures its paths all the time, one after the other */
    bool test_early;        /* the ends of a path: as soon as its peer is up, not when it is first measured */
    uint64_t load_ppb;      /* of a path's capacity that trains may take, over any 10 s; > 0 */
    uint64_t width_ppb;     /* half-width of the intervals that are asked for, of capacity; > 0 */
    uint64_t period_ns;     /* that a measurement lasts and stands for; 0: until the width is reached */
    uint64_t bytes_max;     /* for one measurement; 0: as the load permits */
    uint64_t receive_bytes; /* trains of others, in any 10 s; 0: 4 % of what may come in, at least 4 MB */
};

/* A directory that sources may write into. */
struct node_directory {
    char name[NAME_BYTES];
    char path[PATH_BYTES];     /* absolute */
    bool create;               /* whoever starts the node makes it, where it is missing */
    struct disk_accept accept; /* of what senders would like to be kept; default: nothing */
    bool any_source;
    uint16_t source_count;
    char sources[NODE_SOURCES_MAX][NAME_BYTES];
};

enum node_store { NODE_STORE_DISK = 0, NODE_STORE_NONE = 1 /* hash and discard: no disk behind this node */ };

struct node_config {
    char name[NAME_BYTES];
    uint64_t seed;        /* of the node's generator: sessions, job ids */
    uint64_t incarnation; /* random per start, never 0 */
    /* Who keeps others out. NULL: insecure_primitives (seal/insecure.h). */
    const struct primitives *primitives;
    /* All of insecure_primitives' nodes have the same key; with keys_by_name each node's is made of its name, for worlds
     * without secrets. */
    bool keys_by_name;
    struct key_pair key; /* own */
    uint64_t roster;     /* hash over names and keys of all sites, which peers are told; 0: is not known */
    /* All that is secret of the node, whose copy of `key` it holds too: node_key_bytes long, 64-byte aligned, zeroed. NULL:
     * a part of the node's own memory. */
    void *key_memory;
    /* Keys of a session are updated after so many packets of a space, or so long; sessions are renewed after that: how long
     * they can be read by whoever has read this node's memory. 0: 2^26, 10 min, 1 h. */
    uint64_t update_packets, update_ns, renewal_ns;
    /* Bytes that nobody can guess; NULL: from the seed. */
    void (*random)(uint8_t *out, size_t length);
    uint16_t port_count;
    struct node_port_config ports[NODE_PORTS_MAX];
    uint16_t peer_count;
    struct node_peer_config peers[NODE_PEERS_MAX];
    uint16_t directory_count;
    struct node_directory directories[NODE_DIRECTORIES_MAX];
    uint8_t store;              /* enum node_store */
    uint64_t buffer_bytes;      /* symbol buffer */
    bool bodies_shared;         /* see struct store_config: only where all content is zeros */
    uint64_t blocks_max;        /* blocks of all jobs at once, about 1 MiB each */
    char manifests[PATH_BYTES]; /* absolute: where manifests of own jobs go; empty: nowhere */
    bool gathers;       /* whoever calls sleeps in between: data is handed out when it is due, not before */
    bool planner_never; /* no planner can attach: jobs of its own are refused */
    /* How an operator starts a planner; not empty: nobody else does, and without one jobs of its own are refused. */
    char planner_command[NODE_COMMAND_BYTES];
    bool leaf; /* relays nothing: in no tree it has children, but in those of its own jobs */
    /* Whose jobs may go through without writing here, and who may have paths measured: the peers of these names, else all. */
    bool relay_for_some;
    uint16_t relay_for_count;
    char relay_for[NODE_SOURCES_MAX][NAME_BYTES];
    struct node_probe_config probe;
    uint64_t packets_ps; /* that it can send and receive; 0: no limit that planners know of */
#define TIMEOUT(key, field, least, least_unit, most, most_unit, initial, unit, help) uint64_t field;
#include "node/timeouts.def"
#undef TIMEOUT
};

/* Defaults of every field that has one; name, ports and peers stay empty. */
void node_config_defaults(struct node_config *config);
