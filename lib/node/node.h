/* One Sluice node, sans-IO: packets, time, disk answers and control records in; packets, disk requests and
 * control records out. The same code runs in the appliance, the simulator and the fuzzers. One thread; no
 * allocation after node_create; no clock: every call takes now_ns; should that step back, the node's own time
 * goes on all the same. Calls made early or in vain are harmless. */
#pragma once

#include <stddef.h>

#include "base/err.h"
#include "base/report.h"
#include "ctl/ctl.h"
#include "edge/congestion.h"
#include "edge/limit.h"
#include "node/job_state.h"
#include "node/node_config.h"
#include "node/packet.h"
#include "probe/estimate.h"
#include "store/disk.h"
#include "store/stripe.h"

struct node;

/* Consistency of the configuration (names, addresses, window sizes, memory for at least 8 blocks); err names
 * the field. */
bool node_config_check(const struct node_config *config, struct err *err);
/* Memory that node_create takes from its arena. */
size_t node_bytes(const struct node_config *config);
/* What of it holds keys, in one piece: config->key_memory may be so long. */
size_t node_key_bytes(const struct node_config *config);
/* `memory` (64-byte aligned, node_bytes long, zeroed) belongs to the node until its end. The configuration is
 * copied. */
struct node *node_create(const struct node_config *config, void *memory, size_t bytes, uint64_t now_ns);

void node_rx(struct node *node, const struct rx_packet *packets, uint16_t count, uint64_t now_ns);
/* So many frames came to the port so far and were lost in its ring, since nobody took them in time. To be told before the
 * packets behind them. */
void node_missed(struct node *node, uint16_t port, uint64_t frames);
/* Fills up to `room` packets for one port, never more than 50 us ahead of now; never sends. */
uint16_t node_tx(struct node *node, uint16_t port, struct tx_packet *packets, uint16_t room, uint64_t now_ns);
void node_tx_done(struct node *node, const struct tx_report *reports, uint16_t count, uint64_t now_ns);
void node_tick(struct node *node, uint64_t now_ns);
uint64_t
node_next_ns(const struct node *node); /* when to call node_tick and node_tx again; TIME_NEVER: idle */
/* How long the caller may leave what is due, or what came, for more of its kind (edge/gather.h); 0: not at all, a train
 * leaves or arrives. */
uint64_t node_gather_ns(const struct node *node);
/* Also what the caller knows of paths (CTL_PATHS): jobs that are planned from then on count on it. */
int node_ctl(struct node *node, const struct ctl_msg *msg, struct ctl_reply *reply,
             uint64_t now_ns); /* 0 or -1 with reply->err */
/* The next record for the planner; false: none. Estimates of paths as they are made, while a planner is there; requests are handed out between CTL_PLANNER_HELLO and
 * CTL_PLANNER_GONE: whoever says that a planner is there takes them when node_next_ns says so. One that
 * attaches is given all open requests (again). Where none can attach, node_config.planner_never refuses
 * jobs at once; where somebody has to start one, planner_command does, unless one was there within plan_timeout. */
bool node_ctl_next(struct node *node, struct ctl_msg *msg);
/* A job of this node has no plan to go by yet: a planner is wanted, or will be. */
bool node_wants_planner(const struct node *node);

/* Disk: fills up to `room` requests; each is answered exactly once. */
uint16_t node_disk(struct node *node, struct disk_request *requests, uint16_t room, uint64_t now_ns);
void node_disk_done(struct node *node, const struct disk_reply *replies, uint16_t count, uint64_t now_ns);

/* Says farewell to all peers: the following node_tx calls hand out CLOSE packets. */
void node_shutdown(struct node *node, uint64_t now_ns);

/* ---- looking in: tests, simulator, final reports ---- */

struct node_site_view {
    char name[NAME_BYTES];
    uint8_t state; /* enum site_state */
    uint64_t received_bytes;
    uint64_t verified_bytes;
    uint64_t complete_ns; /* when the source learnt of its end; 0: not yet */
    /* What limits its rate: the edge of its path, and the cause. Where a relay's memory is the limit, held_by
     * is the child that it keeps it for. Empty while nothing is known. */
    char limited_from[NAME_BYTES], limited_to[NAME_BYTES], held_by[NAME_BYTES];
    uint8_t limited_by;        /* enum edge_limit */
    uint64_t limited_rate_bps; /* delivered over that edge lately, wire rate */
    char text[CONTROL_TEXT_BYTES];
    const char *word;              /* what people are told of its state (job_state.h) */
    uint64_t stalled_ns;           /* so long nothing has come; 0: it gets on */
    char told[CONTROL_TEXT_BYTES]; /* its text, or the job's where that is the cause, or what it waits for */
};

struct node_job_view {
    char name[NAME_BYTES];
    uint32_t id;
    uint8_t state;  /* enum job_state */
    bool source;    /* this node runs it; sites are only known there */
    bool plan_only; /* it was to be planned, and nothing is sent of it */
    struct job_controls controls;
    uint64_t size_bytes;
    uint64_t created_ns, running_ns, ended_ns; /* 0: not yet */
    uint64_t first_data_ns;                    /* departure of its first data packet here */
    char text[CONTROL_TEXT_BYTES];             /* why it failed */
    char note[DISK_TEXT_BYTES];                /* what of a directory is not kept, with counts */
    char object[NAME_BYTES + PATH_BYTES];      /* its file at the source; at a site its place there */
    /* At a site. */
    bool keeps;            /* it is a receiver, not only a relay */
    uint8_t result;        /* enum site_state: its copy */
    uint64_t whole_ns;     /* when that became whole; 0: not yet, or it was there before */
    char from[NAME_BYTES]; /* the source */
    uint32_t via_count;    /* of those who feed it, but for the source */
    char via[STRIPES_MAX][NAME_BYTES];
    /* The node's own, until its next call; NULL where it is not the source. */
    const struct plan *plan;
    const struct plan_request *request;
    uint16_t site_count;
    struct node_site_view sites[PLAN_NODES_MAX];
};

struct node_edge_view {
    char peer[NAME_BYTES];
    uint64_t sent_packets, sent_bytes, acked_packets, lost_packets, repairs, spurious_repairs;
    uint64_t received_packets, received_bytes, duplicates;
    uint64_t feedback_bytes; /* wire bytes of acks sent to this peer */
    uint64_t goodput_bps;    /* payload newly acked over the job's running time */
    uint64_t rate_bps;       /* pacing rate in force */
    uint64_t rtt_smoothed_ns, rtt_min_ns;
    uint64_t in_flight_packets;
    /* enum edge_limit: the cause that held for the longest time, of all and of late; none: nothing was sent
     */
    uint8_t limited_by, limited_now;
    uint32_t limited_ppm[EDGE_LIMIT_COUNT]; /* share of each cause in the time with something left to send */
    const char *congestion;                 /* the strategy's name … */
    struct congestion_view path;            /* … and what it makes of the path; all 0: nothing */
    /* Of what was sent: struct sender_counters (edge/sender.h). */
    uint64_t ring_lost, marked_packets, pauses, paused_ns, peer_pauses, clock_steps;
    /* Lost by the ring of this node's port to that peer, and by that of the peer's port, as its acks told: whoever sent
     * them. */
    uint64_t missed_frames, peer_missed_frames;
    uint64_t clock_doubt_ns; /* so much longer than it looks the queue may be (base/two_clocks.h) */
    /* The law of liveness, by what acks said (edge/liveness.h): how long it stood still, the most it delivered of late. */
    uint64_t stuck_ns, most_bps;
    bool up;
    bool idle; /* no job goes over it */
};

/* What holds an edge, for one who sees from outside what becomes of its packets. Sums are of the node's life. */
struct node_edge_pulse {
    uint64_t began_ns;             /* its strategy, by the node's clock */
    uint64_t congested_ns, cpu_ns; /* it was limited by congestion control, or this node had no time for it */
    uint64_t marked_packets, silences;
    uint64_t rtt_ns; /* smoothed */
    uint64_t rate_bps;
    uint64_t target_ns; /* the queue that its strategy wants */
    enum congestion_duty duty;
    bool silent;
};

struct node_probe_view {
    char peer[NAME_BYTES];
    struct estimate estimate;
    uint64_t known_ns; /* when it was made, by the node's clock; 0: never */
    uint32_t count;    /* of measurements that have ended */
    bool measuring;
};

/* Of the newest round of all pairs. */
struct node_all_view {
    bool running, stopped;
    uint32_t pairs, known, refused; /* pairs of those that take part */
    uint32_t asked, trains;
    uint64_t bytes, took_ns;
};

uint32_t node_job_count(const struct node *node);
bool node_job_view(const struct node *node, uint32_t index, struct node_job_view *view);
/* Edge `index`, one per peer; false: there are not so many. */
bool node_edge_view(const struct node *node, uint32_t index, struct node_edge_view *view);
/* The same edge's pulse at now_ns of the node's clock: cheap, to be taken often. */
bool node_edge_pulse(const struct node *node, uint32_t index, uint64_t now_ns, struct node_edge_pulse *pulse);
/* What comes from peer `index`, or in its name, and does not fit the configuration (peer/misfit.h); "": nothing. */
void node_peer_misfit(const struct node *node, uint32_t index, char *text, size_t room);
/* Of a peer that is down, and of which nothing comes that could not fit: that it does not answer. "": it is not so. */
void node_peer_silence(const struct node *node, uint32_t index, char *text, size_t room);
/* Trains have found that this node's line, in or out, carries less than three quarters of what its port says, and what
 * to write. "": they have not. */
void node_narrow_line(const struct node *node, bool in, char *text, size_t room);
/* Another node uses this one's name, and from where; "": none was heard. Returns how many such handshakes came so far. */
uint64_t node_namesake(const struct node *node, char *text, size_t room);
/* What is known of the bandwidth that the path to peer `index` has left; false: there are not so many. */
bool node_probe_view(const struct node *node, uint32_t index, struct node_probe_view *view);
/* False: there was none. */
bool node_all_view(const struct node *node, struct node_all_view *view);
/* Counter `index`: its name, or NULL beyond the last; *value is its count. */
const char *node_counter(const struct node *node, uint32_t index, uint64_t *value);
/* Running digest over everything the node did: equal for equal inputs. */
uint64_t node_digest(const struct node *node);
