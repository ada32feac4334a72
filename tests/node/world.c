#include "world.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/check.h"
#include "base/units.h"
#include "planner/solve.h"

uint8_t world_source_byte(uint64_t offset)
{
    return (uint8_t)(offset * 2654435761u >> 7 ^ offset);
}

/* ---- packets in flight ---- */

static bool earlier(const struct world_packet *a, const struct world_packet *b)
{
    return a->at_ns < b->at_ns || (a->at_ns == b->at_ns && a->order < b->order);
}

static void swap(struct world_packet *a, struct world_packet *b)
{
    struct world_packet kept = *a;
    *a = *b;
    *b = kept;
}

static void push(struct world *world, const struct world_packet *packet)
{
    CHECK(world->packet_count < WORLD_PACKETS_MAX);
    uint32_t place = world->packet_count++;
    world->packets[place] = *packet;
    while (place > 0 && earlier(&world->packets[place], &world->packets[(place - 1) / 2])) {
        swap(&world->packets[place], &world->packets[(place - 1) / 2]);
        place = (place - 1) / 2;
    }
}

static struct world_packet pop(struct world *world)
{
    struct world_packet first = world->packets[0];
    world->packets[0] = world->packets[--world->packet_count];
    uint32_t place = 0;
    for (;;) {
        uint32_t least = place;
        for (uint32_t child = 2 * place + 1; child <= 2 * place + 2 && child < world->packet_count; child++)
            if (earlier(&world->packets[child], &world->packets[least]))
                least = child;
        if (least == place)
            return first;
        swap(&world->packets[place], &world->packets[least]);
        place = least;
    }
}

static struct net_address address_of(uint16_t node)
{
    return (struct net_address){
        .ip = {10, 0, 0, (uint8_t)(node + 1)}, .udp_port = NODE_UDP_PORT, .family = ADDRESS_IPV4};
}

static void carry(struct world *world, uint16_t from, const struct tx_packet *packet)
{
    uint16_t to = (uint16_t)(packet->to.ip[3] - 1);
    if (rng_chance_ppb(&world->rng, world->loss_ppb)) {
        world->packets_lost++;
        return;
    }
    struct world_packet flying = {.at_ns = MAX(packet->depart_ns, world->now_ns) + world->delay_ns,
                                  .order = world->order++,
                                  .from = from,
                                  .to = to,
                                  .length = packet->head_bytes + packet->body_bytes};
    CHECK(flying.length <= sizeof(flying.data));
    memcpy(flying.data, packet->head, packet->head_bytes);
    if (packet->body_bytes > 0)
        memcpy(flying.data + packet->head_bytes, packet->body, packet->body_bytes);
    push(world, &flying);
}

/* ---- disks ---- */

static void fake_hash(const uint8_t *data, uint32_t length, struct wire_hash *hash)
{
    uint64_t value = 0xcbf29ce484222325ULL;
    for (uint32_t index = 0; index < length; index++)
        value = (value ^ data[index]) * 0x100000001b3ULL;
    memset(hash, 0, sizeof(*hash));
    memcpy(hash->bytes, &value, sizeof(value));
}

static void disk_open_target(struct world_node *node, const struct disk_request *request,
                             struct disk_reply *reply)
{
    struct world_file *file = &node->files[request->handle];
    free(file->data);
    *file = (struct world_file){.size = request->open->size_bytes};
    file->data = calloc(1, file->size + 1);
    snprintf(file->path, sizeof(file->path), "%.200s/%.200s", request->open->directory, request->open->file);
    reply->status = (uint8_t)node->open_status;
    if (node->open_status == DISK_FAILED)
        snprintf(reply->text, sizeof(reply->text), "no space left");
}

static void disk_answer(struct world *world, struct world_node *node, const struct disk_request *request,
                        struct disk_reply *reply)
{
    struct world_file *file = &node->files[request->handle];
    *reply = (struct disk_reply){.op = request->op, .handle = request->handle, .cookie = request->cookie};
    switch ((enum disk_op)request->op) {
    case DISK_OPEN_SOURCE:
        reply->size_bytes = world->source_bytes;
        reply->status = world->source_missing ? DISK_FAILED : DISK_OK;
        snprintf(reply->text, sizeof(reply->text), world->source_missing ? "No such file" : "");
        break;
    case DISK_OPEN_TARGET:
        disk_open_target(node, request, reply);
        break;
    case DISK_READ:
        for (uint32_t index = 0; index < request->length; index++)
            request->data[index] = world_source_byte(request->offset + index);
        fake_hash(request->data, request->length, &reply->hash);
        break;
    case DISK_WRITE:
        CHECK(request->offset + request->length <= file->size);
        memcpy(file->data + request->offset, request->data, request->length);
        fake_hash(request->data, request->length, &reply->hash);
        if (request->cookie == node->corrupt_block) {
            reply->hash.bytes[0] ^= 1;
            node->corrupt_block = UINT64_MAX;
        }
        reply->status = node->write_fails ? DISK_FAILED : DISK_OK;
        snprintf(reply->text, sizeof(reply->text), node->write_fails ? "Input/output error" : "");
        break;
    case DISK_FINISH:
        file->finished = true;
        snprintf(reply->text, sizeof(reply->text), "%.190s", file->path);
        break;
    case DISK_ABORT:
        file->aborted = true;
        break;
    case DISK_CLOSE:
        break;
    }
}

/* ---- nodes ---- */

static bool drain_planner(struct world *world, struct world_node *node)
{
    static struct ctl_msg request, answer;
    bool busy = false;
    while (node_ctl_next(node->node, &request)) {
        busy = true;
        if (world->planner_absent)
            continue;
        struct err err;
        char text[16];
        struct ctl_reply reply = {.text = text, .room = sizeof(text)};
        answer = (struct ctl_msg){.type = CTL_PLAN, .correlation = request.correlation};
        if (!solve(&request.body.plan_request, &answer.body.plan, NULL, &err)) {
            answer.type = CTL_PLAN_FAILED;
            answer.body.plan_failed.job = request.body.plan_request.job;
            answer.body.plan_failed.epoch = request.body.plan_request.epoch;
            memcpy(answer.body.plan_failed.text, err.text, sizeof(err.text));
        }
        node_ctl(node->node, &answer, &reply, world->now_ns);
    }
    return busy;
}

static void drain(struct world *world, uint16_t index)
{
    struct world_node *node = &world->nodes[index];
    static struct tx_packet packets[32];
    struct tx_report reports[32];
    struct disk_request requests[16];
    struct disk_reply replies[16];
    bool busy = true;
    while (busy) {
        node_tick(node->node, world->now_ns);
        busy = drain_planner(world, node);
        uint16_t asked = node_disk(node->node, requests, 16, world->now_ns);
        for (uint16_t at = 0; at < asked; at++)
            disk_answer(world, node, &requests[at], &replies[at]);
        node_disk_done(node->node, replies, asked, world->now_ns);
        uint16_t count = node_tx(node->node, 0, packets, 32, world->now_ns);
        uint16_t reported = 0;
        for (uint16_t at = 0; at < count; at++) {
            carry(world, index, &packets[at]);
            if (packets[at].cookie != TX_COOKIE_NONE)
                reports[reported++] = (struct tx_report){
                    .cookie = packets[at].cookie, .sent_ns = packets[at].depart_ns, .released = 1};
        }
        node_tx_done(node->node, reports, reported, world->now_ns);
        busy = busy || count > 0 || asked > 0;
    }
}

void world_init(struct world *world, uint16_t count, uint64_t seed)
{
    *world = (struct world){.count = count, .delay_ns = 20 * NS_PER_MS, .source_bytes = 3000000};
    rng_init(&world->rng, seed);
    world->packets = calloc(WORLD_PACKETS_MAX, sizeof(*world->packets));
    CHECK(world->packets != NULL);
    for (uint16_t index = 0; index < count; index++) {
        struct node_config *config = &world->nodes[index].config;
        node_config_defaults(config);
        snprintf(config->name, sizeof(config->name), "n%u", index);
        config->seed = seed * 100 + index;
        config->incarnation = 1;
        config->port_count = 1;
        config->ports[0] =
            (struct node_port_config){.address = address_of(index), .mtu = 1500, .rate_bps = 100000000};
        for (uint16_t other = 0; other < count; other++) {
            if (other == index)
                continue;
            struct node_peer_config *peer = &config->peers[config->peer_count++];
            snprintf(peer->name, sizeof(peer->name), "n%u", other);
            peer->address = address_of(other);
        }
        config->directory_count = 1;
        strcpy(config->directories[0].name, "incoming");
        strcpy(config->directories[0].path, "/srv");
        config->directories[0].any_source = true;
        config->buffer_bytes = 32 << 20;
        config->blocks_max = 4096;
        world->nodes[index].corrupt_block = UINT64_MAX;
    }
}

void world_kill(struct world *world, uint16_t node)
{
    free(world->nodes[node].memory);
    world->nodes[node].memory = NULL;
    world->nodes[node].alive = false;
}

void world_end(struct world *world)
{
    for (uint16_t node = 0; node < world->count; node++) {
        world_kill(world, node);
        for (uint32_t handle = 0; handle < NODE_JOBS_MAX; handle++)
            free(world->nodes[node].files[handle].data);
    }
    free(world->packets);
}

void world_start(struct world *world, uint16_t index)
{
    struct world_node *node = &world->nodes[index];
    world_kill(world, index);
    size_t bytes = (node_bytes(&node->config) + 63) / 64 * 64;
    node->memory = aligned_alloc(64, bytes);
    CHECK(node->memory != NULL);
    memset(node->memory, 0, bytes);
    node->node = node_create(&node->config, node->memory, bytes, world->now_ns);
    node->config.incarnation++;
    node->alive = true;
    static struct ctl_msg hello = {.type = CTL_PLANNER_HELLO};
    char text[16];
    struct ctl_reply reply = {.text = text, .room = sizeof(text)};
    if (!world->planner_absent)
        node_ctl(node->node, &hello, &reply, world->now_ns);
    drain(world, index);
}

static void deliver(struct world *world)
{
    struct world_packet packet = pop(world);
    struct world_node *node = &world->nodes[packet.to];
    if (!node->alive)
        return;
    struct rx_packet view = {.data = packet.data,
                             .length = packet.length,
                             .rx_ns = world->now_ns,
                             .stamp_kind = STAMP_VIRTUAL,
                             .from = address_of(packet.from)};
    node_rx(node->node, &view, 1, world->now_ns);
    drain(world, packet.to);
}

void world_run_until(struct world *world, uint64_t until_ns)
{
    for (;;) {
        uint64_t next_ns = world->packet_count > 0 ? world->packets[0].at_ns : TIME_NEVER;
        uint16_t awake = WORLD_NODES_MAX;
        for (uint16_t index = 0; index < world->count; index++) {
            if (!world->nodes[index].alive)
                continue;
            uint64_t node_ns = node_next_ns(world->nodes[index].node);
            if (node_ns < next_ns) {
                next_ns = node_ns;
                awake = index;
            }
        }
        if (next_ns > until_ns)
            break;
        CHECK(next_ns >= world->now_ns || awake != WORLD_NODES_MAX);
        world->now_ns = MAX(world->now_ns, next_ns);
        if (awake == WORLD_NODES_MAX)
            deliver(world);
        else
            drain(world, awake);
    }
    world->now_ns = until_ns;
}

struct job_spec world_job(const struct world *world, const char *name)
{
    struct job_spec spec = {.to_all = true,
                            .metric = PLAN_METRIC_RTT,
                            .trees = 1,
                            .hash = PART_HASH_SHA256,
                            .congestion = PART_CONGESTION_DELAY,
                            .measure_ns = 100 * NS_PER_MS};
    snprintf(spec.name, sizeof(spec.name), "%s", name);
    snprintf(spec.source, sizeof(spec.source), "%s", world->nodes[0].config.name);
    snprintf(spec.file, sizeof(spec.file), "/data/%s.bin", name);
    snprintf(spec.directory, sizeof(spec.directory), "incoming");
    return spec;
}

bool world_run_job(struct world *world, const struct job_spec *spec, struct err *err)
{
    static struct ctl_msg msg;
    char text[16];
    struct ctl_reply reply = {.text = text, .room = sizeof(text)};
    msg = (struct ctl_msg){.type = CTL_JOB_RUN};
    msg.body.job_run = *spec;
    node_ctl(world->nodes[0].node, &msg, &reply, world->now_ns);
    *err = reply.err;
    if (reply.ok)
        drain(world, 0);
    return reply.ok;
}

struct node_job_view *world_finish_job(struct world *world, uint64_t limit_ns)
{
    static struct node_job_view view;
    uint64_t end_ns = world->now_ns + limit_ns;
    do {
        world_run_until(world, world->now_ns + 10 * NS_PER_MS);
        CHECK(node_job_view(world->nodes[0].node, 0, &view));
    } while (view.state < JOB_DONE && world->now_ns < end_ns);
    return &view;
}

uint64_t world_counter(const struct world *world, uint16_t node, const char *name)
{
    const char *found;
    uint64_t value;
    for (uint32_t index = 0; (found = node_counter(world->nodes[node].node, index, &value)) != NULL; index++)
        if (strcmp(found, name) == 0)
            return value;
    CHECK(!"no such counter");
    return 0;
}
