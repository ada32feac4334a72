#include "app/bench/site.h"

#include <stdio.h>
#include <string.h>

#include "base/units.h"
#include "dpdk/memory.h"
#include "planner/solve.h"
#include "wire/ethernet.h"

struct net_address site_address(uint16_t number)
{
    return (struct net_address){
        .ip = {10, 9, 0, (uint8_t)(number + 1)}, .udp_port = NODE_UDP_PORT, .family = ADDRESS_IPV4};
}

static void node_config_make(struct node_config *node, const struct site_config *config)
{
    node_config_defaults(node);
    snprintf(node->name, sizeof(node->name), "n%u", config->number);
    node->seed = node->incarnation = config->number + 1;
    node->port_count = 1;
    node->ports[0] = (struct node_port_config){
        .address = site_address(config->number), .mtu = config->mtu, .rate_bps = config->rate_bps};
    for (uint16_t other = 0; other < config->count + config->guests; other++) {
        if (other == config->number)
            continue;
        struct node_peer_config *peer = &node->peers[node->peer_count++];
        snprintf(peer->name, sizeof(peer->name), "n%u", other);
        peer->address = site_address(other);
    }
    node->directory_count = 1;
    node->directories[0].any_source = true;
    snprintf(node->directories[0].name, sizeof(node->directories[0].name), "incoming");
    snprintf(node->directories[0].path, sizeof(node->directories[0].path), "%s",
             config->directory == NULL ? "/nowhere" : config->directory);
    node->store = config->discard ? NODE_STORE_NONE : NODE_STORE_DISK;
    node->buffer_bytes = config->buffer_bytes;
    node->blocks_max = config->blocks_max;
    node->rtt_max_ns = 5 * NS_PER_MS;
    node->primitives = config->primitives;
    node->keys_by_name = config->primitives != NULL;
    node->update_ns = config->update_ns;
    node->renewal_ns = config->renewal_ns;
    if (config->estimator != NULL) {
        node->probe.estimator = config->estimator;
        node->probe.period_ns = config->probe_ns;
    }
}

uint64_t site_bytes(const struct site_config *config)
{
    static struct node_config node;
    node_config_make(&node, config);
    return node_bytes(&node);
}

bool site_start(struct site *site, const struct site_config *config, struct err *err)
{
    static struct node_config node;
    static struct ctl_msg hello = {.type = CTL_PLANNER_HELLO};
    char text[64];
    struct ctl_reply reply = {.text = text, .room = sizeof(text)};
    node_config_make(&node, config);
    site->config = *config;
    if (!node_config_check(&node, err))
        return false;
    if (config->primitives != NULL)
        body_cipher_init(&site->cipher, config->primitives);
    tsc_clock_start(&site->clock);
    site->now_ns = site->turn_ns = tsc_now_ns(&site->clock);
    idle_init(&site->idle, config->idle, true, site->now_ns);
    if (!waiter_open(&site->waiter, err))
        return false;
    for (uint16_t peer = 0; peer < node.peer_count; peer++)
        if (!port_add_peer(&site->port, peer, &node.peers[peer].address, err))
            return false;
    size_t bytes = node_bytes(&node);
    void *memory = memory_take(bytes, config->hugepages);
    if (memory == NULL)
        return err_set(err, "no memory for a node: %zu bytes", bytes);
    port_take_bodies(&site->port, memory, bytes);
    site->node = node_create(&node, memory, bytes, site->now_ns);
    node_ctl(site->node, &hello, &reply, site->now_ns);
    port_start(&site->port, site->now_ns);
    return true;
}

bool site_run_job(struct site *site, const struct job_spec *spec, struct err *err)
{
    static struct ctl_msg msg;
    char text[256];
    struct ctl_reply reply = {.text = text, .room = sizeof(text)};
    msg = (struct ctl_msg){.type = CTL_JOB_RUN};
    msg.body.job_run = *spec;
    node_ctl(site->node, &msg, &reply, site->now_ns);
    *err = reply.err;
    return reply.ok;
}

bool site_probe(struct site *site, uint16_t number, struct err *err)
{
    static struct ctl_msg msg;
    char text[256];
    struct ctl_reply reply = {.text = text, .room = sizeof(text)};
    msg = (struct ctl_msg){.type = CTL_PROBE};
    snprintf(msg.body.probe.peer, sizeof(msg.body.probe.peer), "n%u", number);
    node_ctl(site->node, &msg, &reply, site->now_ns);
    *err = reply.err;
    return reply.ok;
}

uint32_t site_counter_index(const struct site *site, const char *name)
{
    uint64_t value;
    const char *found;
    for (uint32_t index = 0; (found = node_counter(site->node, index, &value)) != NULL; index++)
        if (strcmp(found, name) == 0)
            return index;
    CHECK(!"a counter of that name");
    return 0;
}

uint64_t site_counter(const struct site *site, const char *name)
{
    uint64_t value;
    node_counter(site->node, site_counter_index(site, name), &value);
    return value;
}

/* ---- the turn ---- */

/* The same tree for each stripe, so that a bench can tell what stripes cost. */
static void plan_stripe(struct plan *plan, uint8_t stripes)
{
    for (uint8_t tree = 0; tree < stripes; tree++) {
        plan->trees[tree] = plan->trees[0];
        plan->trees[tree].weight_ppm = PLAN_WHOLE_PPM / stripes;
        plan->edge_rate_bps[tree] = plan->edge_rate_bps[0];
        memcpy(plan->into_rate_bps[tree], plan->into_rate_bps[0], sizeof(plan->into_rate_bps[0]));
    }
    for (uint8_t tree = 0; tree < stripes; tree++) {
        plan->edge_rate_bps[tree] /= stripes;
        for (uint16_t node = 0; node < plan->node_count; node++)
            plan->into_rate_bps[tree][node] /= stripes;
    }
    plan->trees[0].weight_ppm += PLAN_WHOLE_PPM % stripes;
    plan->tree_count = stripes;
}

static bool site_plan(struct site *site)
{
    static struct ctl_msg request, answer;
    if (!node_ctl_next(site->node, &request))
        return false;
    struct err err;
    char text[256];
    struct ctl_reply reply = {.text = text, .room = sizeof(text)};
    answer = (struct ctl_msg){.type = CTL_PLAN, .correlation = request.correlation};
    if (!solve(&request.body.plan_request, NULL, &answer.body.plan, &err)) {
        answer.type = CTL_PLAN_FAILED;
        answer.body.plan_failed.job = request.body.plan_request.job;
        answer.body.plan_failed.epoch = request.body.plan_request.epoch;
        memcpy(answer.body.plan_failed.text, err.text, sizeof(err.text));
    }
    if (answer.type == CTL_PLAN && site->config.stripes > 1)
        plan_stripe(&answer.body.plan, site->config.stripes);
    node_ctl(site->node, &answer, &reply, site->now_ns);
    return true;
}

static bool site_receive(struct site *site)
{
    uint16_t frames, burst, total = 0;
    do {
        burst = lane_count(&site->port.lane) > 0 ? PORT_ARMED_BURST : SITE_BURST;
        site->now_ns = tsc_now_ns(&site->clock);
        uint16_t count = port_receive(&site->port, site->received, burst, &frames, site->now_ns);
        stages_mark(&site->stages, STAGE_PORT_RECEIVE);
        if (count > 0)
            node_rx(site->node, site->received, count, site->now_ns);
        stages_mark(&site->stages, STAGE_NODE_RX);
        port_receive_done(&site->port);
        stages_mark(&site->stages, STAGE_RECEIVE_DONE);
        total += frames;
        if (burst == PORT_ARMED_BURST)
            port_flush(&site->port, tsc_now_ns(&site->clock));
        stages_mark(&site->stages, STAGE_FLUSH);
    } while (frames == burst && total < PORT_RECEIVE_MAX);
    return total > 0;
}

/* The same where another thread drives the port. */
static bool site_take(struct site *site)
{
    uint16_t count, total = 0;
    do {
        site->now_ns = tsc_now_ns(&site->clock);
        const struct rx_packet *packets = crossing_received(site->crossing, &count, site->now_ns);
        stages_mark(&site->stages, STAGE_PORT_RECEIVE);
        if (count > 0)
            node_rx(site->node, packets, count, site->now_ns);
        stages_mark(&site->stages, STAGE_NODE_RX);
        crossing_received_done(site->crossing, count);
        total += count;
    } while (count == CROSSING_BURST && total < PORT_RECEIVE_MAX);
    return total > 0;
}

/* As the disk does it for a source. */
static void seal_block(struct site *site, const struct disk_request *request)
{
    const struct disk_sealed *sealed = &request->sealed;
    uint32_t symbol_bytes = sealed->secret->symbol_bytes;
    body_seal(&site->cipher, sealed->secret, sealed->symbol, request->data, request->length, request->data,
              sealed->tags);
    for (uint32_t at = 0; at < request->length && sealed->sums != NULL; at += symbol_bytes)
        sealed->sums[at / symbol_bytes] =
            checksum_of(request->data + at, MIN(request->length - at, symbol_bytes));
}

/* Without a file: blocks are "read" and "written" in no time, their content is whatever the slot holds. */
static void answer_at_once(struct site *site, const struct disk_request *request, struct disk_reply *reply)
{
    *reply = (struct disk_reply){.op = request->op, .handle = request->handle, .cookie = request->cookie};
    if (request->op == DISK_OPEN_SOURCE)
        reply->size_bytes = site->config.object_bytes;
    if (request->op == DISK_READ && request->sealed.secret != NULL)
        seal_block(site, request);
}

/* The slots of a source without a file are never written: whichever a block gets, its hash is the same. */
static bool submit(struct site *site, const struct disk_request *request, uint16_t *done)
{
    struct disk_request digest = *request;
    digest.op = DISK_DIGEST;
    if (site->config.disk == NULL || (site->config.made_up && request->op != DISK_READ)) {
        answer_at_once(site, request, &site->disk_replies[(*done)++]);
        return true;
    }
    return disk_submit(site->config.disk, site->config.made_up ? &digest : request);
}

static uint16_t collect(struct site *site)
{
    if (site->config.disk == NULL)
        return 0;
    uint16_t count = disk_collect(site->config.disk, site->disk_replies, SITE_BURST);
    for (uint16_t index = 0; index < count; index++)
        if (site->config.made_up)
            site->disk_replies[index].op = DISK_READ;
    return count;
}

static bool site_disk(struct site *site)
{
    uint16_t done = collect(site), taken = 0;
    if (done > 0)
        node_disk_done(site->node, site->disk_replies, done, site->now_ns);
    bool worked = done > 0;
    if (site->disk_waiting == 0)
        site->disk_waiting = node_disk(site->node, site->disk_requests, SITE_BURST, site->now_ns);
    for (done = 0; taken < site->disk_waiting && submit(site, &site->disk_requests[taken], &done);)
        taken++;
    if (done > 0)
        node_disk_done(site->node, site->disk_replies, done, site->now_ns);
    site->disk_waiting -= taken;
    memmove(site->disk_requests, site->disk_requests + taken,
            site->disk_waiting * sizeof(site->disk_requests[0]));
    return worked || taken > 0;
}

static void site_reports(struct site *site)
{
    uint16_t count;
    while ((count = port_reports(&site->port, site->reports, SITE_BURST)) > 0)
        node_tx_done(site->node, site->reports, count, site->now_ns);
    stages_mark(&site->stages, STAGE_DONE);
}

static bool site_transmit(struct site *site)
{
    site->now_ns = tsc_now_ns(&site->clock);
    uint16_t left = port_flush(&site->port, site->now_ns);
    stages_mark(&site->stages, STAGE_FLUSH);
    site_reports(site);
    uint16_t room = MIN(port_send_room(&site->port), (uint16_t)SITE_BURST);
    uint16_t count = room > 0 ? node_tx(site->node, 0, site->sending, room, site->now_ns) : 0;
    site->sent = count;
    stages_mark(&site->stages, STAGE_NODE_TX);
    if (count > 0) {
        port_send(&site->port, site->sending, count, site->now_ns);
        stages_mark(&site->stages, STAGE_SEND);
        left += port_flush(&site->port, tsc_now_ns(&site->clock));
        stages_mark(&site->stages, STAGE_FLUSH);
        site_reports(site);
    }
    return left > 0;
}

/* The same where another thread drives the port. */
static bool site_give(struct site *site)
{
    uint16_t count = 1, room, total = 0;
    site->now_ns = tsc_now_ns(&site->clock);
    for (int burst = 0; burst < CROSSING_REPORT_BURSTS && count > 0; burst++) {
        const struct tx_report *reports = crossing_reports(site->crossing, &count);
        if (count > 0)
            node_tx_done(site->node, reports, count, site->now_ns);
        crossing_reports_done(site->crossing, count);
    }
    stages_mark(&site->stages, STAGE_DONE);
    for (int burst = 0; burst < CROSSING_SEND_BURSTS; burst++) {
        struct tx_packet *packets = crossing_sending(site->crossing, &room);
        count = room > 0 ? node_tx(site->node, 0, packets, room, site->now_ns) : 0;
        stages_mark(&site->stages, STAGE_NODE_TX);
        crossing_send(site->crossing, count);
        stages_mark(&site->stages, STAGE_SEND);
        total += count;
        if (count < room || room == 0)
            break;
    }
    site->sent = total;
    return total > 0;
}

bool site_turn(struct site *site)
{
    site->now_ns = tsc_now_ns(&site->clock);
    uint64_t begin_ns = site->now_ns;
    if (!site->slept)
        site->gap_ns_max = MAX(site->gap_ns_max, elapsed_ns(begin_ns, site->turn_ns));
    site->turn_ns = begin_ns;
    site->slept = false;
    stages_begin(&site->stages);
    bool worked = site->crossing != NULL ? site_take(site) : site_receive(site);
    node_tick(site->node, site->now_ns);
    stages_mark(&site->stages, STAGE_TICK);
    worked |= site_disk(site);
    worked |= site_plan(site);
    stages_mark(&site->stages, STAGE_DISK);
    worked |= site->crossing != NULL ? site_give(site) : site_transmit(site);
    if (site->crossing == NULL)
        port_service(&site->port, site->now_ns);
    stages_mark(&site->stages, STAGE_SERVICE);
    if (worked)
        site->busy_ns += elapsed_ns(tsc_now_ns(&site->clock), begin_ns);
    site->worked = worked;
    return worked;
}

void site_rest(struct site *site)
{
    uint64_t next_ns = MIN(node_next_ns(site->node), port_next_ns(&site->port));
    struct idle_turn turn = {.worked = site->worked,
                             .begin_ns = site->turn_ns,
                             .now_ns = tsc_now_ns(&site->clock),
                             .next_ns = next_ns,
                             .gather_ns = node_gather_ns(site->node)};
    enum idle_action action = idle_next(&site->idle, &turn);
    idle_do(&site->idle, action, &site->waiter);
    site->slept |= idle_rests(action);
}
