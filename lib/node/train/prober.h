/* What drives estimators: which path is measured now, when its trains are asked for, and what is known of each path.
 *
 * One measurement at a time: those that operators have asked for, those that other nodes have (asked.h: within a budget for
 * others, by a time that they name), then, where the configuration says so, one peer after the other in the background, from a
 * random phase on, with random pauses and in a random order, so that nodes do not come to one receiver together; a single
 * peer is measured without an end. The background gives way to the others.
 *
 * Each measurement begins anew: an estimator has no say in what happens between two, and would find its time table passed.
 * Before the first train of a peer both ends are tested (ends.h): when it is measured, or, where the configuration says so,
 * as soon as it is up.
 *
 * It keeps to the load that its goal permits; whatever it does, nothing begins in the background before the trains of the
 * one before are paid for at that load; where nothing came of it, and the path may be much slower than the port, some
 * time later, and later each time. While this node has jobs it takes a tenth of that, of paths that it knows and whose
 * data does not tell enough; a receiver that has jobs takes a tenth of what it would of the background. Without the
 * background nothing is drawn, sent or scheduled by itself. */
#pragma once

#include "base/arena.h"
#include "base/err.h"
#include "node/train/asked.h"
#include "node/train/ends.h"
#include "node/train/line.h"
#include "node/train/out.h"
#include "probe/known.h"
#include "probe/plot.h"

struct probe_result {
    struct estimate estimate;
    uint64_t known_ns;     /* when it was made; 0: never */
    uint32_t count;        /* of measurements that have ended */
    uint64_t hold_ns;      /* not measured in the background before: its peer has said so, or: */
    uint32_t blind;        /* measurements in a row that told nothing of a path that nothing is known of */
    uint64_t capacity_bps; /* of its tight hop, as trains told last; 0: never */
    bool heard;            /* a record has come, or a self-test; what it told of the ends: */
    struct train_floor sender, receiver;
    struct ends ends; /* as tested before that */
};

/* Of what an operator asked for: the newest train that came as it was sent, or the newest of all while there is none. */
struct kept_train {
    uint16_t peer; /* PEER_NONE: there is none */
    struct plot_train train;
};

struct prober {
    uint16_t peer; /* whose path is measured; PEER_NONE: none */
    bool asked;    /* by an operator, or for another node: */
    bool for_other;
    struct asked_path ask;
    struct line line; /* where that is asked for: `peer` is its first receiver, then that of the path alone */
    uint32_t trains;  /* of this measurement */
    uint8_t turned_down; /* enum train_answer: the receiver's newest word on why it takes none */
    bool testing;        /* the path's ends are tested before its estimator begins … */
    bool alone;          /* … and that is all: nobody waits for it */
    bool ending;         /* no more trains: those under way are waited for */
    uint64_t begun_ns, begun_bytes;
    uint64_t step_ns;    /* when the estimator is asked again */
    uint64_t hold_ns;    /* the receiver takes none before */
    uint64_t asked_mask; /* bit per peer that an operator wants measured */
    uint64_t news_mask;  /* bit per peer whose newest measurement has ended, and the planner was not told */
    uint64_t background_ns;
    uint64_t turn_mask; /* bit per peer whose turn in the background is still to come */
    /* Of the load: two points in time, some seconds apart. */
    uint64_t load_ns[2], load_bytes[2];
    struct probe_result results[NODE_PEERS_MAX];
    struct known known[NODE_PEERS_MAX];    /* of trains and of data */
    uint64_t data_told_ns[NODE_PEERS_MAX]; /* when data last made a result */
    struct kept_train kept;
    void *state; /* of the measurement that runs */
    size_t state_bytes;
};

size_t prober_bytes(const struct node_config *config); /* of arena */
void prober_init(struct node *node, struct arena *arena, uint64_t now_ns);
/* The path to that peer is to be measured now, or when others have been. False with the reason. */
bool prober_ask(struct node *node, const char *peer, uint64_t now_ns, struct err *err);
void prober_on_message(struct node *node, const struct peer *peer, const struct control_train_report *report,
                       uint64_t now_ns);
void prober_tick(struct node *node, uint64_t now_ns);
/* When it is to be called; TIME_NEVER: nothing is measured, nor going to be. */
uint64_t prober_next_ns(const struct node *node);
/* What a job's data tells of the path: together with what trains told it goes into the table of paths, and in the background
 * no train is sent while it is narrow enough. Every ten seconds it is a result, as a measurement's end is. */
void prober_take_data(struct node *node, uint16_t peer, const struct estimate *estimate, uint64_t now_ns);
/* What trains take of late, on the wire. */
uint64_t prober_load_bps(const struct node *node, uint64_t now_ns);
/* A peer of whose path there is a new estimate, each once; PEER_NONE: there is none. */
uint16_t prober_take_news(struct node *node);
/* What is known of the path, and whether that is being changed or going to be. */
const struct probe_result *prober_result(const struct node *node, uint16_t peer);
/* The peer has lost its state. */
void prober_forget(struct node *node, uint16_t peer);
bool prober_is_busy(const struct node *node, uint16_t peer);
