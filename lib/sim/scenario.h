/* A scenario as the simulator, the emulator and the lab read it (YAML: lib/conf). Fixed limits, no
 * pointers. */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "base/name.h"
#include "ctl/job_spec.h"
#include "netem/link.h"
#include "netem/stamper.h"
#include "node/node_config.h"
#include "sim/stall.h"

#define SCENARIO_NODES_MAX  64
#define SCENARIO_JOBS_MAX   16
#define SCENARIO_FAULTS_MAX 64
#define SCENARIO_EXPECT_MAX 32
#define SCENARIO_CROSS_MAX  64
#define SCENARIO_SHARED_MAX 64
#define SCENARIO_ASKS_MAX   64
/* So many shared links a pair crosses at most. */
#define SCENARIO_WAY_MAX 4

struct scenario_node {
    char name[NAME_BYTES];
    struct netem_config uplink, downlink; /* shapers at the node's own interface: rate and queue */
    int64_t clock_offset_ns;
    int64_t clock_skew_ppb;
    uint64_t watch_ns;              /* how far back its downlink's truth is known; 0: nobody watches */
    struct netem_stamping stamping; /* of what it receives, and but for batches of what it sends */
    bool stamped_by_device;         /* however late packets are taken, their stamps are of when they came */
    struct sim_stall_config stall;  /* when it stands still */
    uint64_t turn_ns; /* it looks for packets so often, and stamps them then; 0: NET_TURN_NS, stamps exact */
    uint64_t ring_bytes;   /* what came and was not taken yet, on the wire; 0: no limit */
    uint32_t ring_packets; /* … in packets; 0: no limit */
    bool store_none;
    uint32_t mtu;
    uint64_t buffer_bytes;    /* symbol buffer; 0: default */
    bool leaf;                /* relays nothing */
    bool probe_off;           /* no trains at all */
    uint64_t port_bps;        /* what its node file says of its port; 0: what its two shapers carry */
    uint64_t packets_ps;      /* what its node file says; 0: no limit */
    uint64_t disk_rate_bps;   /* simulated disk; 0: 8 Gbit/s */
    uint64_t sink_rate_bps;   /* of whoever reads its streams; 0: as fast as they come */
    uint64_t disk_free_bytes; /* UINT64_MAX: no limit */
    bool absent;              /* configured everywhere but never started */
};

struct scenario_job {
    struct job_spec spec;
    uint64_t start_ns;
    uint64_t size_bytes;
    uint32_t files; /* the object is a directory of so many files that share size_bytes; 0: one file */
    bool sparse;    /* all zeros: a hole; else seeded pseudo-random content */
    /* A stream's input: `rate_bps` for `duration_ns`, only while on. */
    uint64_t rate_bps, duration_ns, on_ns, off_ns;
};

enum scenario_fault_kind {
    FAULT_KILL, /* node: all its state is gone, its disk is kept */
    FAULT_RESTART,
    FAULT_LINK_SET,
    FAULT_LINK_DOWN,
    FAULT_PLANNER_KILL,   /* node's planner */
    FAULT_CANCEL,         /* job */
    FAULT_SOURCE_CHANGED, /* job: its source file changes */
    FAULT_DISK_FULL,      /* node */
    FAULT_JOB_SET,        /* job: the operator changes what may be changed while it runs */
    FAULT_CLOCK,          /* node: its clock jumps, or runs faster or slower from then on */
};

struct scenario_fault {
    uint64_t at_ns;
    uint8_t kind;                /* enum scenario_fault_kind */
    uint16_t node;               /* index */
    uint16_t link_from, link_to; /* indexes */
    uint16_t shared;             /* LINK_*: number of a shared link, from 1; 0: the link of the pair */
    bool symmetric;              /* both directions */
    bool holds;                  /* LINK_DOWN, mode: hold */
    uint64_t duration_ns;        /* LINK_DOWN, PLANNER_KILL; KILL: restart after (0: never) */
    uint32_t set_mask;           /* LINK_SET: which fields of `set` count, bits of enum netem_change */
    struct netem_config set;
    char job[NAME_BYTES];
    uint8_t changed; /* JOB_SET: which of `controls` count, bits of enum job_control */
    struct job_controls controls;
    int64_t step_ns;  /* CLOCK: ahead, or back */
    bool skewed;      /* … skew_ppb counts, else it stays */
    int64_t skew_ppb; /* … from now on */
};

#define SCENARIO_FLOWS_MAX      1024 /* of cross traffic, `count` of each included */
#define SCENARIO_LOOP_BYTES_MIN 256  /* of a closed loop's packets: what its acks tell must fit */

/* What the cross traffic of matrices.cross_mbps takes: the pair's own link, or also both hosts' interfaces and
 * the shared links of its way. It is the background of their link models (netem/background.h), filled in by
 * the reader. */
enum scenario_cross_on { CROSS_ON_PATH, CROSS_ON_INTERFACES };

/* Other traffic than that of the nodes. cbr: evenly spaced; poisson: exponential gaps; onoff: cbr at rate_bps
 * while on; the rest are closed loops that send as much as they can, within rate_bps when that is given. */
#define CROSS_KINDS(ROW)                                                                                     \
    ROW(CROSS_CBR, 0, "cbr")                                                                                 \
    ROW(CROSS_POISSON, 1, "poisson")                                                                         \
    ROW(CROSS_ONOFF, 2, "onoff")                                                                             \
    ROW(CROSS_CUBIC, 3, "cubic")                                                                             \
    ROW(CROSS_BBR1, 4, "bbr1")
/* From CROSS_EDGE on: an edge with the strategy enum part_congestion, by its word. */
enum scenario_cross_kind { CROSS_KINDS(WORD_CONSTANT) CROSS_EDGE };
#define CROSS_EDGE_ENTRY(constant, value, word, ...) {word, CROSS_EDGE + constant},
#define CROSS_WORDS                                                                                          \
    {                                                                                                        \
        CROSS_KINDS(WORD_ENTRY) PART_CONGESTIONS(CROSS_EDGE_ENTRY)                                           \
        {                                                                                                    \
            NULL, 0                                                                                          \
        }                                                                                                    \
    }

struct scenario_cross {
    uint16_t from, to; /* indexes of nodes: its packets pass uplink, link and downlink as theirs do */
    uint8_t kind;      /* enum scenario_cross_kind */
    uint64_t rate_bps; /* of each flow, on the wire; 0: no limit (closed loops only) */
    uint64_t start_ns;
    uint64_t stop_ns;       /* TIME_NEVER: until the run's end */
    uint32_t packet_bytes;  /* of a full-size packet's IP datagram */
    uint64_t seed;          /* of its randomness, mixed with the run's */
    uint64_t on_ns, off_ns; /* onoff: means of the exponential times, on first */
    bool fixed_times;       /* onoff: on_ns and off_ns are exact */
    bool ecn;               /* cubic: ECN-capable packets; edges' always are */
    uint16_t count;         /* so many such flows at once, each at rate_bps */
};

enum scenario_compare { COMPARE_AT_LEAST, COMPARE_AT_MOST, COMPARE_EQUAL };

/* expect: name, comparison, value. The names are the rows of expects.def, and what begins so: */
#define EXPECT_STATE        "state."    /* … and a job's name: how it ended */
#define EXPECT_TEXT         "text."     /* … and a job's name: words in its text */
#define EXPECT_LIMITED      "limited."  /* … and a node's name: the edge that limited it, and why */
#define EXPECT_COMPLETE     "complete." /* … and a node's name: when it had everything */
#define EXPECT_FLOW         "flow." /* … and a number: the rate of a flow of cross traffic (result_flow_rate) */
#define EXPECT_SHARED_DROPS "shared_drops." /* … and the name of a shared link */
#define EXPECT_SHARED_LOAD  "shared_load."  /* … and the name of a shared link */
#define EXPECT_PROBE        "probe_error." /* … and FROM>TO: of the estimate, from what the link models leave */
#define EXPECT_PROBE_KIND   "probe."       /* … and FROM>TO: its kind, by the word */
#define EXPECT_COUNTER      "counters." /* … and the name of any counter */

/* What follows the prefix in a name; NULL: it begins otherwise. */
static inline const char *expect_after(const char *name, const char *prefix)
{
    size_t length = strlen(prefix);
    return strncmp(name, prefix, length) == 0 ? name + length : NULL;
}

struct scenario_expect {
    char name[64];
    uint8_t compare; /* enum scenario_compare */
    bool is_text;
    uint64_t value;
    char text[64];
    int line; /* of the file, for the message */
};

/* A link that several pairs cross, between the uplink of the sender and the link of the pair: a site's
 * egress, a provider's line. A pair that crosses several meets them in the order of the file. */
struct scenario_shared {
    char name[NAME_BYTES];
    struct netem_config link;             /* rate and queue only */
    uint64_t members[SCENARIO_NODES_MAX]; /* [from]: bit `to` is set where the pair crosses it */
};
_Static_assert(SCENARIO_NODES_MAX <= 64, "a bit for each node");

/* What planners are told of available bandwidth: nothing, what the link models leave (truth.h), a matrix. */
enum scenario_avb { SCENARIO_AVB_NONE, SCENARIO_AVB_TRUTH, SCENARIO_AVB_FILE };

/* What the meters watch: sums and queue within from … to (0: the end); a series when step is not 0. */
struct scenario_measure {
    uint64_t from_ns, to_ns, step_ns;
};

/* An operator who wants a path measured. */
struct scenario_ask {
    uint16_t from, to; /* indexes of nodes */
    uint16_t by;       /* 1 and the index of the node where he is; 0: `from` */
    uint64_t at_ns;
};

/* One who wants all pairs measured. */
struct scenario_all {
    uint16_t by;
    bool order;
    uint64_t at_ns, stop_ns; /* stop 0: it comes to its end */
};

/* Of all nodes. */
struct scenario_probe {
    struct node_probe_config node;
    uint64_t until_ns; /* the run does not end before */
    uint16_t ask_count;
    struct scenario_ask asks[SCENARIO_ASKS_MAX];
    uint16_t all_count;
    struct scenario_all all[1];
};

struct scenario {
    char name[NAME_BYTES];
    uint64_t seed;
    uint64_t limit_ns;
    uint16_t node_count;
    struct scenario_node nodes[SCENARIO_NODES_MAX];
    struct netem_config links[SCENARIO_NODES_MAX][SCENARIO_NODES_MAX]; /* [from][to] */
    uint16_t job_count;
    struct scenario_job jobs[SCENARIO_JOBS_MAX];
    uint16_t fault_count;
    struct scenario_fault faults[SCENARIO_FAULTS_MAX]; /* in order of time */
    uint8_t cross_on;                                  /* enum scenario_cross_on */
    uint16_t cross_count;
    struct scenario_cross crosses[SCENARIO_CROSS_MAX];
    uint8_t plan_avb;                                          /* enum scenario_avb */
    uint32_t avb_kbps[SCENARIO_NODES_MAX][SCENARIO_NODES_MAX]; /* FILE; [from][to], 0: not known */
    bool plan_distance;                                        /* the next line is told, too */
    uint32_t distance[SCENARIO_NODES_MAX][SCENARIO_NODES_MAX]; /* [from][to], 0: not known */
    uint16_t shared_count;
    struct scenario_shared shared[SCENARIO_SHARED_MAX];
    struct scenario_measure measure;
    struct scenario_probe probe;
    uint16_t expect_count;
    struct scenario_expect expects[SCENARIO_EXPECT_MAX];
};

/* Indexes of the shared links that the pair crosses, in order; returns how many. */
static inline uint8_t scenario_way(const struct scenario *scenario, uint16_t from, uint16_t to,
                                   uint8_t way[SCENARIO_WAY_MAX])
{
    uint8_t count = 0;
    for (uint16_t index = 0; index < scenario->shared_count && count < SCENARIO_WAY_MAX; index++)
        if (scenario->shared[index].members[from] >> to & 1)
            way[count++] = (uint8_t)index;
    return count;
}

/* Then all bodies are zeros, wherever they lie: a buffer of gigabytes costs neither memory nor page faults,
 * and no body need be looked at. */
static inline bool scenario_is_sparse(const struct scenario *scenario)
{
    for (uint16_t job = 0; job < scenario->job_count; job++)
        if (!scenario->jobs[job].sparse)
            return false;
    return true;
}

/* The pair that "FROM>TO" names; false: none. */
static inline bool scenario_pair(const struct scenario *scenario, const char *text, uint16_t *from,
                                 uint16_t *to)
{
    const char *arrow = strchr(text, '>');
    size_t length = arrow == NULL ? 0 : (size_t)(arrow - text);
    *from = *to = scenario->node_count;
    for (uint16_t node = 0; arrow != NULL && node < scenario->node_count; node++) {
        const char *name = scenario->nodes[node].name;
        if (strlen(name) == length && memcmp(name, text, length) == 0)
            *from = node;
        if (strcmp(name, arrow + 1) == 0)
            *to = node;
    }
    return *from < scenario->node_count && *to < scenario->node_count && *from != *to;
}
