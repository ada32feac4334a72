/* Between the files on top of the rooms. */
#pragma once

#include "ctl/ctl.h"
#include "edge/receiver.h"
#include "node/flow/flow.h"
#include "wire/ack.h"
#include "wire/message.h"

#define SCRATCH_COUNT 32
#define SCRATCH_BYTES (WIRE_ACK_BYTES_MAX + WIRE_MESSAGE_BODY_MAX)

/* Datagrams made for one call of node_tx. */
struct scratch {
    uint8_t datagrams[SCRATCH_COUNT][SCRATCH_BYTES];
    uint32_t used;
};

/* Every call into the node begins with it, and goes on with the time that it returns: the caller's clock, or,
 * where that has stepped back (another machine's, after a restore), what goes on from before. Hellos alone
 * make a node be called once per hello interval: when it was not, the process stood still, and by that time
 * nobody is judged. */
uint64_t node_enter(struct node *node, uint64_t clock_ns);
/* control.c: hands on what the peer's mail has brought. */
void control_on_mail(struct node *node, struct peer *peer, uint64_t now_ns);
/* lost.c */
/* What was between this node and the peer is forgotten: jobs and trains of it end. */
void peer_state_lost(struct node *node, struct peer *peer, uint64_t now_ns);
/* It is down, and may come back. */
void peer_went_down(struct node *node, const struct peer *peer, uint64_t now_ns);
/* CTL_KEYS: these are the keys from now on. */
void peers_take_keys(struct node *node, const struct node_keys *keys, uint64_t now_ns);
/* show.c: answers a `show`; false with reply->err. */
bool show_answer(const struct node *node, const struct ctl_msg *msg, struct ctl_reply *reply,
                 uint64_t now_ns);
/* Programs get all of it and times of the node's clock; people lines that fit into a table and durations. */
static inline bool show_wants_all(const struct report *report)
{
    return report->form == REPORT_JSON;
}
/* Of a value that is named more plainly to people. */
static inline const char *show_named(const struct report *report, const char *programs, const char *people)
{
    return show_wants_all(report) ? programs : people;
}
/* show_jobs.c: the words jobs and plan. `only`: of that name or id, "": all. False: people ask for one that is not known
 * here. */
bool show_jobs(const struct node *node, struct report *report, const char *only, uint64_t now_ns);
bool show_plans(const struct node *node, struct report *report, const char *only, uint64_t now_ns);
/* show_probes.c: the word probes. */
void show_probes(const struct node *node, struct report *report, uint64_t now_ns);
/* show_plan.c: the words about the plan of one job; false with reply->err. */
bool show_plan_of(const struct node *node, const struct ctl_msg *msg, struct ctl_reply *reply);
/* What its receivers get, and how late. */
void show_plan_rates(struct report *report, const struct plan *plan);
/* Its edges as a table: rates, and what they rest on. */
void show_plan_edges(struct report *report, const struct plan *plan, const struct plan_request *request);
/* show_train.c: the newest train that an operator had sent to that peer, as a struct plot_train; false with reply->err. */
bool show_train(const struct node *node, const char *name, struct ctl_reply *reply);
