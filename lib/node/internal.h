/* The inside of a node: shared by the files of this folder only.
 *
 * Who owns what: the node owns peers, jobs and the store; a peer owns its edge (sender, receiver, stream); a
 * job owns an object of the store and names peers by index. Feeds link a job's object to a peer's sender: the
 * record's tag leads from an ack back to the job (slot and generation), the content word to the symbols. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/digest.h"
#include "base/rng.h"
#include "base/units.h"
#include "edge/receiver.h"
#include "edge/sender.h"
#include "edge/mail.h"
#include "fwd/table.h"
#include "node/causes.h"
#include "node/stream.h"
#include "node/node.h"
#include "node/share.h"
#include "probe/rtt_probe.h"
#include "probe/rtt_watch.h"
#include "store/disk.h"
#include "store/store.h"
#include "wire/close.h"
#include "wire/control.h"
#include "wire/hello.h"

#define PEER_NONE            UINT16_MAX
#define PEER_SELF            (UINT16_MAX - 1)
#define PEER_SILENT_HELLOS   4
#define PROBE_REPLIES_MAX    16
#define DISK_QUEUE           1024 /* power of two */
#define SCRATCH_COUNT        32
#define SCRATCH_BYTES        (WIRE_ACK_BYTES + WIRE_ACK_RUNS_MAX + WIRE_MESSAGE_BODY_MAX)
#define OWN_RATE_INTERVAL_NS 100000000ULL
#define TX_HORIZON_NS        50000ULL
#define STATUS_INTERVAL_NS   100000000ULL
#define HASH_INTERVAL_NS     5000000ULL
#define READ_AHEAD_BLOCKS    24u
#define JOB_TICK_NS          5000000ULL

#define COUNTER(name, help) uint64_t name;
struct node_counters {
#include "node/counters.def"
};
#undef COUNTER

enum peer_state { PEER_DOWN, PEER_UP };

struct peer {
    const struct node_peer_config *config;
    uint16_t index;
    uint16_t port;
    uint32_t frame_overhead; /* wire bytes around a datagram */
    enum peer_state state;
    bool known;           /* a hello of it was seen: session_out is valid */
    bool session_used;    /* something came under session_in, or the peer came up with it */
    uint64_t incarnation; /* of the peer */
    uint32_t session_in;  /* packets to us carry this */
    uint32_t session_out; /* packets to it carry this */
    uint64_t silence_ns;  /* this long without a packet means that it is gone */
    uint64_t heard_ns;
    uint64_t down_since_ns;
    uint64_t hello_due_ns;
    bool close_due;
    uint8_t close_reason;
    uint32_t path_mtu;   /* as measured; the port's MTU before */
    uint64_t rtt_min_ns; /* of recent samples; 0: none yet */
    struct rtt_probe probe;
    struct rtt_watch watch;
    struct wire_probe replies[PROBE_REPLIES_MAX]; /* probes to be answered */
    uint32_t reply_count;
    struct sender sender;
    struct receiver receiver;
    struct mail mail;
    uint64_t ready_ns;            /* when the edge may send again; TIME_NEVER: woken by an event */
    uint16_t jobs_out;            /* bit per job slot in which this peer is a child */
    struct share_edge port_share; /* of the port, by the rates of plan and jobs */
    struct causes causes;         /* what it waited for since its first job came */
    uint64_t share_clock;         /* virtual time of the job served last, see adjust.c */
    bool job_held;                /* ready_ns is the time of a job's pacer: another job may come earlier */
    uint8_t ack_class;            /* traffic class of acks: that of the data which came last */
    uint32_t credit_symbols;      /* block symbols of the job last received … */
    uint32_t run_symbols;         /* … and the most that came in one packet: turn slots into packets */
    uint32_t credit_told;         /* in the last ack; UINT32_MAX: never short */
    uint64_t feedback_bytes;      /* wire bytes of acks sent */
    uint64_t acked_payload_bytes;
};

enum site_phase {
    PHASE_OPENING,   /* the disk checks and creates the file */
    PHASE_READY,     /* confirmed */
    PHASE_RUNNING,   /* START came */
    PHASE_FINISHING, /* everything verified: the disk renames */
    PHASE_ENDED,     /* verified, skipped or failed; may still serve children */
    PHASE_CLOSING    /* waits for disk and ports to let go */
};

/* What limits the rate at which a site gets the object; peers and sites by index into the request's nodes. */
struct site_limit {
    uint16_t from, to; /* the limiting edge */
    uint16_t
        held_by;   /* cause "credit": the child that the relay `to` keeps its memory for; PEER_NONE: none */
    uint8_t cause; /* enum edge_limit; none: nothing is known */
    uint64_t rate_bps; /* delivered over that edge lately, wire rate */
};

/* For how long each of them was it: the longest few, and when the last one was noted. */
#define SITE_LIMITS 4
struct site_limits {
    struct site_limit limits[SITE_LIMITS];
    uint64_t held_ns[SITE_LIMITS]; /* 0: the place is free */
    uint64_t noted_ns;
};

/* The source's view of one site. */
struct site {
    char name[NAME_BYTES];
    uint16_t peer;
    bool receiver; /* else it only relays, on a given tree */
    bool included; /* still part of the plan */
    bool asked;    /* MEASURE was sent */
    bool measured;
    bool has_part; /* PART was sent */
    bool confirmed;
    uint8_t state; /* enum site_state */
    bool ended;
    uint32_t adjusted; /* revision of the controls that it was told */
    uint8_t unsent;    /* CONTROL_START or CONTROL_CLOSE_JOB that found the queue full; 0: none */
    uint16_t reports;  /* measured peers so far */
    uint64_t received_bytes, verified_bytes;
    uint8_t edge_count; /* its edges to its children, and who lacks most, by its newest STATUS */
    uint8_t laggard;
    struct wire_edge edges[CONTROL_CHILDREN_MAX];
    struct site_limits limits; /* until it ended */
    uint64_t progress_ns;
    uint64_t complete_ns;
    char text[CONTROL_TEXT_BYTES];
};

struct child {
    uint16_t peer;
    uint64_t rate_bps;
    uint64_t hash_next; /* next block whose hash it is to be told */
    uint64_t hash_sent_ns;
    uint32_t symbols_per_packet;
    struct pacer pacer;             /* plan's and job's cap on this edge, wire rate; see adjust.c */
    uint64_t share;                 /* virtual time up to which it was served */
    uint64_t room_blocks;           /* stream: blocks below have a place there */
    uint64_t acked_bytes, acked_ns; /* its peer's count, and when that last grew; see behind.c */
    bool gone;
};

struct job {
    bool in_use;
    uint8_t slot;
    uint8_t generation;
    bool is_source;
    uint8_t state; /* enum job_state; at a site only RUNNING and the ends are used */
    uint8_t phase; /* enum site_phase; at the source: CLOSING or not */
    uint32_t id;
    uint32_t epoch;
    uint16_t source_peer; /* PEER_SELF at the source */
    uint16_t parent;      /* PEER_NONE at the source */
    struct control_part part;
    struct geometry geometry;
    struct object *object; /* NULL until opened */
    struct job_stream stream;
    uint16_t child_count;
    struct child children[CONTROL_CHILDREN_MAX];
    struct job_controls controls;
    uint32_t revision;                     /* of the controls; 0: the defaults */
    uint8_t child_of_peer[NODE_PEERS_MAX]; /* index into children, UINT8_MAX: none */
    uint64_t hash_ready;                   /* hashes of blocks below are known */
    struct disk_open open;
    uint32_t disk_outstanding;
    uint32_t loads_outstanding; /* of them READs */
    bool writes_waiting;        /* whole blocks stay in memory until the disk queue has room */
    bool disk_open;             /* OPEN succeeded, CLOSE not yet sent */
    bool disk_ended;            /* FINISH or ABORT was sent */
    bool sink_failed;           /* disk unusable: relays from memory only */
    uint64_t created_ns, started_ns, ended_ns;
    uint64_t first_data_ns; /* departure of the first data packet; 0: none yet */
    char text[CONTROL_TEXT_BYTES];
    char note[DISK_TEXT_BYTES];      /* what of a directory is not kept; empty: nothing to tell */
    bool digest_asked, digest_known; /* as the source: of all block hashes, see manifest.c */
    struct wire_hash digest;
    bool manifest_asked;
    char manifest_path[DISK_TEXT_BYTES]; /* once it is written */
    /* as a site */
    uint8_t site_state; /* enum site_state */
    bool status_due;
    bool confirm_due, have_due;        /* found the queue full, as did … */
    uint8_t confirm_answer;            /* enum confirm_answer */
    uint64_t resend_first, resend_end; /* … RESEND of blocks among these, which are to be had again */
    uint64_t status_ns;
    uint64_t status_bytes;
    /* as the source */
    struct job_spec spec;
    uint8_t outcome; /* enum close_outcome, told to the sites */
    uint64_t modified_ns;
    uint64_t deadline_ns;
    uint16_t site_count;
    struct site sites[PLAN_NODES_MAX];
    struct plan_request request;
    struct plan plan;
    uint16_t request_site[PLAN_NODES_MAX]; /* node of the request → index into the matrices below */
    /* What was measured: 0 is the source, site i stands at i + 1. */
    uint32_t rtt_us[PLAN_NODES_MAX][PLAN_NODES_MAX];
    uint16_t path_mtu[PLAN_NODES_MAX][PLAN_NODES_MAX];
    uint64_t up_bps[PLAN_NODES_MAX], down_bps[PLAN_NODES_MAX];
    uint16_t source_reports;
    bool source_measured;
};

/* A measurement of all peers, asked for by jobs. */
struct measure {
    bool running;
    uint64_t end_ns;
    uint16_t asker_count;
    struct {
        uint16_t peer;
        uint32_t job;
    } askers[NODE_JOBS_MAX * 2];
};

struct node_port {
    struct pacer pacer;
    struct share_port share;
    uint64_t received_bytes;      /* wire bytes of data, duplicates excluded */
    uint64_t rate_bytes, rate_ns; /* that count, and when it was looked at last */
    uint64_t in_rate_bps;         /* between the last two looks */
    uint64_t control_mask;        /* bit per peer with something to say now */
    uint16_t turn;
};

/* The one manifest that is being written. */
struct manifest_file {
    bool busy;
    char *text; /* NODE_MANIFEST_BYTES */
    struct disk_open open;
};
#define NODE_MANIFEST_BYTES (96u * 1024) /* 63 sites with texts of 256 bytes, escapes included */

struct node {
    struct node_config config;
    struct rng rng;
    struct digest digest;
    struct node_counters counters;
    uint16_t peer_count;
    struct peer *peers;
    struct node_port ports[NODE_PORTS_MAX];
    struct store store;
    struct job *jobs; /* NODE_JOBS_MAX */
    struct forward_table tables[2];
    struct forward_table *table; /* the one in force */
    struct measure measure;
    struct manifest_file manifest;
    bool planner_attached;
    uint32_t plan_requests_due; /* bit per job slot */
    struct disk_request disk_queue[DISK_QUEUE];
    uint32_t disk_head, disk_tail;
    uint64_t tick_ns; /* when node_tick has something to do */
    uint64_t jobs_tick_ns;
    uint64_t now_ns; /* newest time seen: checks that it never runs back */
    bool shutting_down;
    uint8_t scratch[SCRATCH_COUNT][SCRATCH_BYTES];
    uint32_t scratch_used;
};

static inline void node_schedule(struct node *node, uint64_t at_ns)
{
    if (at_ns < node->tick_ns)
        node->tick_ns = at_ns;
}

/* Every call begins with it. Hellos alone make a node be called once per hello interval: when it was not, the
 * process stood still, and by that time nobody is judged. */
void node_advance(struct node *node, uint64_t now_ns);

/* ---- peer.c: sessions, liveness, measurement ---- */
void peer_init(struct node *node, uint16_t index, struct arena *arena, uint64_t now_ns);
size_t peer_bytes(const struct node_config *config, const struct node_peer_config *peer);
uint16_t peer_find(const struct node *node, const char *name); /* PEER_NONE; PEER_SELF for the node itself */
uint16_t peer_by_address(const struct node *node, const struct net_address *address);
const char *peer_name(const struct node *node, uint16_t peer); /* "this node" for PEER_SELF */
void peer_on_hello(struct node *node, struct peer *peer, const struct wire_hello *hello, uint64_t now_ns);
void peer_on_close(struct node *node, struct peer *peer, const struct wire_close *close, uint64_t now_ns);
void peer_tick(struct node *node, struct peer *peer, uint64_t now_ns);
uint64_t peer_next_ns(const struct peer *peer);
void peer_on_packet(struct node *node, struct peer *peer, const struct wire_header *header, uint64_t now_ns);
uint64_t peer_hello_interval_ns(const struct node *node, const struct peer *peer, uint64_t now_ns);
bool peer_control_due(const struct peer *peer, uint64_t now_ns);
/* When the next message may depart: it takes its turn with the data of its edge, so that a full queue on the
 * way is as kind to it. */
uint64_t peer_message_ns(const struct peer *peer);
void peer_note_control(struct node *node, struct peer *peer);
/* Queues a control message; counts and returns false when the queue is full. */
bool peer_send(struct node *node, uint16_t peer, uint8_t kind, const uint8_t *body, size_t length);
/* Peers whose RTT is not older than age_ns are not measured anew. */
void measure_ask(struct node *node, uint16_t asker, const struct wire_measure *wanted, uint64_t now_ns);
void peer_on_rtt(struct node *node, struct peer *peer); /* the watch has a new sample */
void measure_tick(struct node *node, uint64_t now_ns);

/* ---- data.c: symbols in and out ---- */
void data_on_packet(struct node *node, struct peer *peer, const struct wire_header *header,
                    const struct rx_packet *packet, uint64_t now_ns);
void ack_on_packet(struct node *node, struct peer *peer, const struct rx_packet *packet, uint64_t now_ns);
void data_tick(struct node *node, struct peer *peer, uint64_t now_ns);
/* The next data packet of a port; false: none may leave before the horizon. */
bool data_next(struct node *node, uint16_t port, uint64_t horizon_ns, struct tx_packet *packet,
               uint64_t now_ns);
bool data_owed(const struct job *job, uint8_t child);     /* there is something left that the child lacks */
void data_wake(struct node *node, const struct job *job); /* its children have something new to send */
uint32_t data_credit_packets(const struct node *node, const struct peer *peer);
enum edge_limit data_credit_limit(const struct node *node);

/* ---- control.c: messages between nodes ---- */
void control_on_mail(struct node *node, struct peer *peer, uint64_t now_ns);

/* ---- job.c: what source and sites share ---- */
struct job *job_find(struct node *node, uint32_t id);
struct job *job_allocate(struct node *node, uint32_t id, uint64_t now_ns); /* NULL: all slots are in use */
bool job_open_object(struct node *node, struct job *job, struct err *err);
/* Children and parent from job->part into forwarding table and edges. */
bool job_install(struct node *node, struct job *job, struct err *err);
void job_start_edges(struct node *node, struct job *job, uint64_t now_ns);
void job_disk(struct node *node, struct job *job, const struct disk_request *request);
void job_on_block_complete(struct node *node, struct job *job, uint64_t block);
void job_write_waiting(struct node *node, struct job *job);
void job_send_hashes(struct node *node, struct job *job, uint64_t now_ns);
void job_close(struct node *node, struct job *job, uint64_t now_ns); /* begins to let go of everything */
void job_tick(struct node *node, struct job *job, uint64_t now_ns);
/* behind.c: children that hold memory and take nothing, while others wait for it */
void job_leave_behind(struct node *node, struct job *job, uint64_t now_ns);
void job_drop_child(struct node *node, struct job *job, uint16_t peer);
void job_on_peer_lost(struct node *node, uint16_t peer, bool restarted, uint64_t now_ns);
uint32_t job_ip_overhead(const struct node *node);

/* ---- adjust.c: what may be changed while a job runs; sharing of an edge among jobs ---- */
bool adjust_set(struct node *node, const struct ctl_msg *msg, uint64_t now_ns, struct err *err);
void adjust_on_message(struct node *node, struct job *job, const struct wire_adjust *adjust, uint64_t now_ns);
bool adjust_differs(const struct job_controls *controls); /* from what a site begins with */
/* To the sites that have their part and do not know the newest controls. */
void adjust_tell_sites(struct node *node, struct job *job);
void adjust_start_edge(struct node *node, struct job *job, struct child *child, uint64_t now_ns);
uint64_t adjust_edge_cap_bps(const struct node *node, uint16_t peer); /* sum over its jobs, wire rate */
/* The job whose turn it is on this edge, and its item; NULL: none may send before the horizon. *held_ns: when
 * the first of those may whose own cap holds them; TIME_NEVER: none is. `urgent`: only repairs and what
 * completes a block. */
struct job *adjust_next_item(struct node *node, struct peer *peer, bool urgent, uint64_t horizon_ns,
                             struct feed_item *item, uint64_t *held_ns);
void adjust_on_sent(struct peer *peer, struct job *job, struct child *child, uint32_t wire_bytes,
                    uint64_t depart_ns);
uint8_t adjust_traffic_class(const struct job *job);

/* ---- source.c: a job at its source ---- */
bool source_run(struct node *node, const struct job_spec *spec, uint64_t now_ns, struct err *err);
bool source_cancel(struct node *node, const char *name, uint64_t now_ns, struct err *err);
void source_on_disk(struct node *node, struct job *job, const struct disk_reply *reply, uint64_t now_ns);
void source_on_measurement(struct node *node, struct job *job, uint16_t peer,
                           const struct control_measurement *report, uint64_t now_ns);
void source_on_plan(struct node *node, struct job *job, const struct plan *plan, uint64_t now_ns);
void source_on_plan_failed(struct node *node, struct job *job, const char *text, uint64_t now_ns);
void source_on_confirm(struct node *node, struct job *job, uint16_t peer,
                       const struct control_confirm *confirm, uint64_t now_ns);
void source_on_status(struct node *node, struct job *job, uint16_t peer, const struct control_status *status,
                      uint64_t now_ns);
void source_on_peer_lost(struct node *node, struct job *job, uint16_t peer, bool restarted, uint64_t now_ns);
bool source_tell_sites(struct node *node,
                       struct job *job); /* again, what found queues full; true: nothing left */
void source_drop(struct job *job, uint16_t peer, const char *text, uint64_t now_ns);
void source_fail(struct node *node, struct job *job, uint64_t now_ns, const char *format, ...)
    __attribute__((format(printf, 4, 5)));
/* source_limit.c: which edge limits a site, and why */
void source_take_edges(struct site *site, const struct control_status *status);
/* What has limited the site since the last time, before its new counts are taken. */
void source_note_limit(const struct node *node, const struct job *job, struct site *site, uint64_t now_ns);
/* Of late; once the site has ended: most of the time. */
struct site_limit source_site_limit(const struct node *node, const struct job *job, const struct site *site);
/* source_plan.c: from a validated plan to parts */
bool source_make_request(struct job *job, struct err *err);
bool source_distribute(struct node *node, struct job *job, struct err *err);
void source_tick(struct node *node, struct job *job, uint64_t now_ns);

/* ---- site.c: a job at a receiver or relay ---- */
void site_on_part(struct node *node, uint16_t peer, const struct control_part *part, uint64_t now_ns);
void site_on_start(struct node *node, struct job *job, uint64_t now_ns);
void site_on_source_lost(struct node *node, struct job *job, uint64_t now_ns); /* it restarted */
void site_on_disk(struct node *node, struct job *job, const struct disk_reply *reply, uint64_t now_ns);
void site_on_hashes(struct node *node, struct job *job, const struct control_hashes *hashes, uint64_t now_ns);
void site_on_close(struct node *node, struct job *job, const struct control_close_job *close,
                   uint64_t now_ns);
void site_fail(struct node *node, struct job *job, uint64_t now_ns, const char *format, ...)
    __attribute__((format(printf, 4, 5)));
void site_verified(struct node *node, struct job *job, const char *text);
void site_tick(struct node *node, struct job *job, uint64_t now_ns);
/* What found a queue full before; also of a job that closes. */
void site_tell_again(struct node *node, struct job *job);

/* ---- manifest.c: what every site got ---- */
void manifest_tick(struct node *node, struct job *job); /* asks for the object's hash when it can be had */
/* A closing job's file; false: call again. */
bool manifest_write(struct node *node, struct job *job);
void manifest_on_disk(struct node *node, struct job *job, const struct disk_reply *reply);
/* Of the newest job of that name, or of all; false: this node is the source of none. */
bool manifest_show(const struct node *node, const char *name, struct report *report);

/* ---- show.c ---- */
bool show(const struct node *node, const struct ctl_msg *msg, struct ctl_reply *reply, uint64_t now_ns);
