/* Lets the node of relay_fuzz do what is due: ticks, disk, planner, ports, and the peers' answers. A node
 * that does not come to rest, or wants to be called at once for ever, spins. */
#include <stdio.h>
#include <string.h>

#include "relay_bench.h"

#define ROUNDS_MAX      2000  /* calls of one moment */
#define PACKETS_MAX     20000 /* … and what they may send: a queue of messages has 512 places */
#define PEER_ROUNDS_MAX 4     /* answers to answers */
#define SHOW_ROOM       (256 * 1024)

enum plan_mode {
    PLAN_STAR,
    PLAN_CHAIN,
    PLAN_SILENT,
    PLAN_FAILS,
    PLAN_WRONG,
    PLAN_TREES, /* a star and a chain, where the node takes two */
    PLAN_MODE_COUNT
};
enum control_act {
    ACT_RUN,
    ACT_CANCEL,
    ACT_SET,
    ACT_SHOW,
    ACT_ATTACH,
    ACT_LEAVE,
    ACT_PLAN,
    ACT_PROBE,
    ACT_PROBE_FROM,
    ACT_ALL,
    ACT_TRAIN,
    ACT_COUNT
};

/* ---- the planner and the operator ---- */

static int control(struct bench *bench, const struct ctl_msg *msg)
{
    static char text[SHOW_ROOM];
    struct ctl_reply reply = {.text = text, .room = sizeof(text)};
    int result = node_ctl(bench->node, msg, &reply, bench->now_ns);
    CHECK(reply.ok == (result == 0));
    if (msg->type == CTL_SHOW && reply.ok)
        CHECK(reply.length < sizeof(text) && text[reply.length] == '\0');
    return result;
}

static void fill_tree(const struct plan_request *request, bool chain, struct plan_tree *tree)
{
    uint16_t from = request->source;
    for (uint16_t to = 0; to < request->node_count; to++) {
        if (to == request->source)
            continue;
        tree->edges[tree->edge_count++] = (struct plan_edge){.from = from, .to = to};
        if (chain)
            from = to;
    }
}

static void fill_plan(const struct bench *bench, struct plan *plan)
{
    const struct plan_request *request = &bench->request;
    bool two = bench->plan_mode == PLAN_TREES && request->trees_max != 1;
    *plan = (struct plan){.job = request->job,
                          .epoch = request->epoch,
                          .node_count = request->node_count,
                          .source = request->source,
                          .rate_bps = 10000000,
                          .bound_bps = 100000000,
                          .tree_count = two ? 2 : 1,
                          .edge_rate_bps = {20000000, 20000000}};
    plan->trees[0].weight_ppm = bench->plan_mode == PLAN_WRONG ? 999999 : two ? 750000 : 1000000;
    plan->trees[1].weight_ppm = 250000;
    fill_tree(request, bench->plan_mode == PLAN_CHAIN, &plan->trees[0]);
    fill_tree(request, true, &plan->trees[1]);
}

static void answer_request(struct bench *bench)
{
    static struct ctl_msg msg;
    msg = (struct ctl_msg){.type = CTL_PLAN, .correlation = bench->correlation};
    if (bench->plan_mode == PLAN_FAILS) {
        msg.type = CTL_PLAN_FAILED;
        msg.body.plan_failed.job = bench->request.job;
        msg.body.plan_failed.epoch = bench->request.epoch;
        strcpy(msg.body.plan_failed.text, "no tree");
    } else {
        fill_plan(bench, &msg.body.plan);
    }
    control(bench, &msg);
}

static bool hear_planner(struct bench *bench)
{
    static struct ctl_msg msg;
    if (!node_ctl_next(bench->node, &msg))
        return false;
    if (msg.type == CTL_ESTIMATE)
        return true;
    CHECK(msg.type == CTL_PLAN_REQUEST);
    bench->asked = true;
    bench->request = msg.body.plan_request;
    bench->correlation = msg.correlation;
    if (bench->plan_mode != PLAN_SILENT)
        answer_request(bench);
    return true;
}

/* Name, receivers, tree and object; numbers as wild as the operator's file may be. */
bool control_run(struct bench *bench, const uint8_t *arguments)
{
    static struct ctl_msg msg;
    msg = (struct ctl_msg){.type = CTL_JOB_RUN};
    struct job_spec *spec = &msg.body.job_run;
    snprintf(spec->name, sizeof(spec->name), "job%u", arguments[1]);
    name_copy(spec->source, sizeof(spec->source), bench->config.name);
    strcpy(spec->file, "/data/f");
    strcpy(spec->directory, "incoming");
    spec->to_all = (arguments[3] & 15) == 0;
    for (unsigned peer = 0; peer < PEERS; peer++)
        if ((arguments[3] >> peer & 1) != 0)
            strcpy(spec->receivers[spec->receiver_count++], bench->config.peers[peer].name);
    if ((arguments[3] & 16) != 0) { /* left is reached by way of right */
        spec->metric = PLAN_METRIC_GIVEN;
        spec->given_count = 2;
        strcpy(spec->given[0][0], bench->config.name);
        strcpy(spec->given[0][1], bench->config.peers[PEER_RIGHT].name);
        strcpy(spec->given[1][0], bench->config.peers[PEER_RIGHT].name);
        strcpy(spec->given[1][1], bench->config.peers[PEER_LEFT].name);
    }
    if ((arguments[3] & 32) != 0)
        strcpy(spec->target, (arguments[3] & 64) != 0 ? "../f" : "a/b");
    spec->trees = 1;
    spec->object = arguments[2] % PART_OBJECT_COUNT;
    spec->hash = (arguments[2] & 0x10) == 0 ? PART_HASH_SHA256 : PART_HASH_NONE;
    spec->exists = arguments[2] >> 5 & 1;
    spec->slow = arguments[2] >> 6 & 1;
    spec->controls.paused = arguments[2] >> 7;
    spec->controls.priority = JOB_PRIORITY_NORMAL;
    spec->controls.rate_cap_bps = wide(arguments[4]);
    spec->congestion = arguments[5] & 3;
    spec->plan_rate_bps = wide(arguments[6]);
    spec->start_bps = wide(arguments[7]);
    spec->retention_bytes = wide(arguments[8]);
    spec->window_ns = wide(arguments[9]);
    spec->flush_ns = wide(arguments[10]);
    spec->measure_ns = arguments[11] == 0 ? 100 * NS_PER_MS : wide(arguments[11]);
    spec->measure_age_ns = wide(arguments[12]);
    return control(bench, &msg) == 0;
}

static void name_job(char *name, uint8_t code)
{
    snprintf(name, NAME_BYTES, "job%u", code);
}

static void run_set(struct bench *bench, const uint8_t *arguments)
{
    struct ctl_msg msg = {.type = CTL_JOB_SET};
    name_job(msg.body.job_set.name, arguments[1]);
    msg.body.job_set.changed = arguments[2];
    msg.body.job_set.controls = (struct job_controls){.rate_cap_bps = wide(arguments[3]),
                                                      .priority = arguments[4] % (CONTROL_PRIORITY_MAX + 1),
                                                      .dscp = arguments[5] % (CONTROL_DSCP_MAX + 1),
                                                      .paused = arguments[6] & 1};
    control(bench, &msg);
}

void control_resume(struct bench *bench, const char *job)
{
    struct ctl_msg msg = {.type = CTL_JOB_SET};
    name_copy(msg.body.job_set.name, NAME_BYTES, job);
    msg.body.job_set.changed = JOB_CONTROL_PAUSED;
    control(bench, &msg);
}

static void run_show(struct bench *bench, const uint8_t *arguments)
{
    static struct node_job_view job;
    struct node_edge_view edge;
    struct ctl_msg msg = {.type = CTL_SHOW};
    msg.body.show.what = arguments[1] % CTL_SHOW_COUNT;
    msg.body.show.form = arguments[2] & 1;
    if ((arguments[2] & 2) != 0)
        name_job(msg.body.show.job, arguments[3]);
    control(bench, &msg);
    for (uint32_t index = 0; node_job_view(bench->node, index, &job); index++)
        CHECK(job.state < JOB_STATE_COUNT);
    for (uint32_t index = 0; index < bench->config.peer_count; index++)
        CHECK(node_edge_view(bench->node, index, &edge));
}

/* A peer, the node itself, or nobody. */
static const char *end_of_path(const struct bench *bench, uint8_t code)
{
    if (code % 8 == 7)
        return "nobody";
    return code % 8 == 6 ? bench->config.name : bench->config.peers[code % PEERS].name;
}

void control_attach(struct bench *bench)
{
    control(bench, &(struct ctl_msg){.type = CTL_PLANNER_HELLO});
}

void control_step(struct bench *bench, const uint8_t *arguments)
{
    struct ctl_msg msg = {0};
    switch ((enum control_act)(arguments[0] % ACT_COUNT)) {
    case ACT_RUN:
        control_run(bench, arguments);
        break;
    case ACT_CANCEL:
        msg.type = CTL_JOB_CANCEL;
        name_job(msg.body.job_cancel.name, arguments[1]);
        control(bench, &msg);
        break;
    case ACT_SET:
        run_set(bench, arguments);
        break;
    case ACT_SHOW:
        run_show(bench, arguments);
        break;
    case ACT_ATTACH:
        control_attach(bench);
        break;
    case ACT_LEAVE:
        msg.type = CTL_PLANNER_GONE;
        control(bench, &msg);
        break;
    case ACT_PLAN:
        bench->plan_mode = arguments[1] % PLAN_MODE_COUNT;
        if (bench->asked)
            answer_request(bench);
        break;
    case ACT_PROBE:
        msg.type = CTL_PROBE;
        name_copy(msg.body.probe.peer, NAME_BYTES, bench->config.peers[arguments[1] % PEERS].name);
        control(bench, &msg);
        break;
    case ACT_PROBE_FROM:
        msg.type = CTL_PROBE;
        name_copy(msg.body.probe.peer, NAME_BYTES, bench->config.peers[arguments[1] % PEERS].name);
        name_copy(msg.body.probe.to, NAME_BYTES, end_of_path(bench, arguments[2]));
        control(bench, &msg);
        break;
    case ACT_ALL:
        msg.type = CTL_PROBE_ALL;
        msg.body.probe_all.what = arguments[1] % (CTL_ALL_STOP + 2);
        msg.body.probe_all.order = arguments[2] & 1;
        control(bench, &msg);
        break;
    case ACT_TRAIN:
        msg.type = CTL_TRAIN;
        name_copy(msg.body.probe.peer, NAME_BYTES, bench->config.peers[arguments[1] % PEERS].name);
        control(bench, &msg);
        break;
    case ACT_COUNT:
        break;
    }
}

/* ---- ports ---- */

static void report(struct bench *bench, uint64_t cookie, enum tx_status status, bool released)
{
    struct tx_report report = {
        .cookie = cookie, .sent_ns = bench->now_ns, .status = (uint8_t)status, .released = released};
    node_tx_done(bench->node, &report, 1, bench->now_ns);
}

/* The oldest go until `keep` are left. What a port holds must not have changed. */
void bodies_release(struct bench *bench, uint32_t keep)
{
    while (bench->body_count > keep) {
        struct body body = bench->bodies[0];
        memmove(&bench->bodies[0], &bench->bodies[1], --bench->body_count * sizeof(body));
        CHECK(body.sum == sum_of(body.bytes, body.length));
        report(bench, body.cookie, body.reported ? TX_RELEASED : TX_SENT, true);
    }
}

static void hold(struct bench *bench, const struct tx_packet *packet, bool reported)
{
    if (bench->body_count == BODIES_MAX)
        bodies_release(bench, BODIES_MAX / 2);
    bench->bodies[bench->body_count++] = (struct body){.bytes = packet->body,
                                                       .length = packet->body_bytes,
                                                       .reported = reported,
                                                       .cookie = packet->cookie,
                                                       .sum = sum_of(packet->body, packet->body_bytes)};
    if (reported)
        report(bench, packet->cookie, TX_SENT, false);
}

static void check_packet(const struct bench *bench, uint16_t port, const struct tx_packet *packet)
{
    CHECK(packet->port == port && packet->peer < PEERS);
    CHECK(packet->head_bytes >= WIRE_HEADER_BYTES && packet->head_bytes <= TX_HEAD_BYTES_MAX);
    uint32_t overhead = address_overhead_bytes(packet->to.family);
    CHECK(packet->head_bytes + packet->body_bytes + overhead <= bench->config.ports[port].mtu);
    CHECK(address_equal(&packet->to, &bench->config.peers[packet->peer].address));
    if (packet->body_bytes > 0)
        CHECK(packet->body != NULL);
}

static void carry(struct bench *bench, enum port_mode mode, const struct tx_packet *packet)
{
    if (packet->cookie == TX_COOKIE_NONE) {
        peer_hear(bench, packet);
        return;
    }
    if (mode == PORT_REFUSES) {
        report(bench, packet->cookie, TX_REFUSED, true);
        return;
    }
    peer_hear(bench, packet);
    if (mode == PORT_SENDS)
        report(bench, packet->cookie, TX_SENT, true);
    else
        hold(bench, packet, mode == PORT_RELEASES_LATE);
}

static bool send(struct bench *bench, uint16_t port)
{
    struct tx_packet packets[8];
    enum port_mode mode = bench->port_modes[port];
    if (mode == PORT_STANDS)
        return false;
    uint16_t count = node_tx(bench->node, port, packets, 8, bench->now_ns);
    CHECK(count <= 8);
    for (uint16_t index = 0; index < count; index++)
        check_packet(bench, port, &packets[index]);
    for (uint16_t index = 0; index < count; index++)
        if (packets[index].cookie == TX_COOKIE_NONE)
            carry(bench, mode, &packets[index]); /* before the next call into the node: it lies in scratch */
    for (uint16_t index = 0; index < count; index++)
        if (packets[index].cookie != TX_COOKIE_NONE)
            carry(bench, mode, &packets[index]);
    bench->sent_packets += count;
    return count > 0;
}

void port_step(struct bench *bench, const uint8_t *arguments)
{
    if ((arguments[0] & 1) != 0)
        bodies_release(bench, bench->body_count - MIN(bench->body_count, (uint32_t)arguments[1]));
    else
        bench->port_modes[arguments[2] % bench->config.port_count] = arguments[1] % PORT_MODE_COUNT;
}

/* ---- time ---- */

/* A node that is not asked for its packets may go on wanting to be. */
static bool judged(const struct bench *bench)
{
    for (uint16_t port = 0; port < bench->config.port_count; port++)
        if (bench->port_modes[port] == PORT_STANDS)
            return false;
    return true;
}

/* Comes to rest: neither has it anything to hand out, nor does it want to be called at this time again. */
static void drain(struct bench *bench)
{
    bool busy = true;
    for (unsigned round = 0; busy; round++) {
        CHECK(round < ROUNDS_MAX);
        node_tick(bench->node, bench->now_ns);
        busy = hear_planner(bench);
        busy = disk_take(bench) || busy;
        for (uint16_t port = 0; port < bench->config.port_count; port++)
            busy = send(bench, port) || busy;
        busy = busy || (judged(bench) && node_next_ns(bench->node) <= bench->now_ns);
    }
    CHECK(bench->sent_packets < PACKETS_MAX);
}

void settle(struct bench *bench)
{
    drain(bench);
    for (unsigned round = 0; round < PEER_ROUNDS_MAX && peers_answer(bench); round++)
        drain(bench);
}

void pass(struct bench *bench, uint64_t span_ns, unsigned stops)
{
    uint64_t end_ns = bench->now_ns + span_ns;
    for (; stops > 0 && bench->now_ns < end_ns; stops--) {
        uint64_t next_ns = MAX(node_next_ns(bench->node), bench->now_ns + NS_PER_US);
        for (unsigned peer = 0; peer < PEERS; peer++)
            if ((bench->peers[peer].mode & MODE_ACK) != 0)
                next_ns = MIN(next_ns,
                              MAX(receiver_next_ns(&bench->peers[peer].receiver), bench->now_ns + NS_PER_US));
        bench->now_ns = MIN(next_ns, end_ns);
        bench->sent_packets = 0;
        settle(bench);
    }
    bench->now_ns = end_ns;
    bench->sent_packets = 0;
    settle(bench);
}
