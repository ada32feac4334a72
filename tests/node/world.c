#include "world.h"

#include <malloc.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/check.h"
#include "base/units.h"
#include "node/role/source.h"
#include "planner/solve.h"
#include "sizes/nonces.h"
#include "wire/message.h"
#include "world_disk.h"
#include "world_rules.h"

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

/* The node's number is the last byte that both families have in common. */
static struct net_address address_of(uint16_t node, uint8_t family)
{
    return (struct net_address){
        .ip = {10, 0, 0, (uint8_t)(node + 1)}, .udp_port = NODE_UDP_PORT, .family = family};
}

/* Turns what a datagram acks of mail into nothing. */
static void hide_mail_acks(const struct world_packet *packet)
{
    struct wire_header header;
    if (wire_header_decode(packet->data, packet->length, &header) != WIRE_OK || header.type != WIRE_MESSAGE)
        return;
    struct wire_message message;
    wire_message_get(packet->data + WIRE_HEADER_BYTES, &message);
    message.ack = 0;
    wire_message_put(packet->data + WIRE_HEADER_BYTES, &message);
    if (message.kind == WIRE_MESSAGE_ACK)
        memset(packet->data + WIRE_MESSAGE_BYTES, 0, packet->length - WIRE_MESSAGE_BYTES);
}

static void fly(struct world *world, uint64_t at_ns, uint16_t from, uint16_t to,
                const struct tx_packet *packet)
{
    struct world_packet flying = {.at_ns = at_ns,
                                  .order = world->order++,
                                  .from = from,
                                  .to = to,
                                  .length = packet->head_bytes + packet->body_bytes};
    flying.data = malloc(flying.length);
    CHECK(flying.data != NULL);
    memcpy(flying.data, packet->head, packet->head_bytes);
    if (packet->body_bytes > 0)
        memcpy(flying.data + packet->head_bytes, packet->body, packet->body_bytes);
    if (world->nodes[from].acks_no_mail)
        hide_mail_acks(&flying);
    if (world->on_datagram != NULL)
        world->on_datagram(from, to, flying.data, flying.length);
    push(world, &flying);
}

/* Time at the far end of the link's own rate; 0: dropped at its queue. */
static uint64_t through_link(struct world *world, uint16_t from, uint16_t to, uint32_t length, uint64_t at_ns)
{
    uint64_t rate_bps = world->rate_bps[from][to];
    if (rate_bps == 0)
        return at_ns;
    uint64_t *busy_ns = &world->busy_until_ns[from][to];
    if (*busy_ns > at_ns + 50 * NS_PER_MS)
        return 0;
    *busy_ns = MAX(*busy_ns, at_ns) + (uint64_t)length * 8 * NS_PER_S / rate_bps;
    return *busy_ns;
}

/* The clock that a node is called with. */
static uint64_t clock_ns(const struct world *world, const struct world_node *node)
{
    return world->now_ns + node->clock_ahead_ns;
}

static void show_data(const struct world *world, uint16_t from, uint16_t to, const struct tx_packet *packet)
{
    if (world->on_data != NULL && packet->cookie != TX_COOKIE_NONE)
        world->on_data(from, to, load_be64(packet->head + WIRE_HEADER_BYTES + 2 * sizeof(uint32_t)));
}

static void carry(struct world *world, uint16_t from, const struct tx_packet *packet)
{
    uint16_t to = (uint16_t)(packet->to.ip[3] - 1);
    show_data(world, from, to, packet);
    uint32_t length = packet->head_bytes + packet->body_bytes;
    world->class_packets[from][packet->traffic_class]++;
    uint32_t ip_bytes = length + address_overhead_bytes(packet->to.family);
    CHECK(ip_bytes <= world->nodes[from].config.ports[0].mtu);
    uint64_t at_ns = through_link(world, from, to, length,
                                  MAX(packet->depart_ns - world->nodes[from].clock_ahead_ns, world->now_ns));
    bool cut = at_ns < world->down_until_ns[from][to] || ip_bytes > world->nodes[to].config.ports[0].mtu ||
               (world->path_mtu != 0 && ip_bytes > world->path_mtu);
    if (at_ns == 0 || cut || rng_chance_ppb(&world->rng, world->loss_ppb)) {
        world->packets_lost++;
        return;
    }
    at_ns += world->delay_ns;
    if (rng_chance_ppb(&world->rng, world->late_ppb))
        at_ns += world->late_ns;
    fly(world, at_ns, from, to, packet);
    if (rng_chance_ppb(&world->rng, world->duplicate_ppb))
        fly(world, at_ns + NS_PER_MS, from, to, packet);
}

static void inject(struct world *world, uint16_t from, uint16_t to, const uint8_t *data, uint32_t length,
                   uint64_t wait_ns)
{
    struct rx_packet view = {.data = data,
                             .length = length,
                             .rx_ns = clock_ns(world, &world->nodes[to]),
                             .wait_ns = wait_ns,
                             .from = address_of(from, world->nodes[to].config.ports[0].address.family)};
    if (world->nodes[from].nat_port != 0)
        view.from.udp_port = world->nodes[from].nat_port;
    node_rx(world->nodes[to].node, &view, 1, clock_ns(world, &world->nodes[to]));
}

void world_inject(struct world *world, uint16_t from, uint16_t to, const uint8_t *data, uint32_t length)
{
    inject(world, from, to, data, length, 0);
}

void world_cut(struct world *world, uint16_t one, uint16_t other, uint64_t until_ns)
{
    world->down_until_ns[one][other] = world->down_until_ns[other][one] = until_ns;
}

/* ---- disks: world_disk.c says what they answer ---- */

/* Takes requests; answers at once or notes the answers for later. True: something was done. */
static bool serve_disk(struct world *world, struct world_node *node)
{
    struct disk_request requests[16];
    struct disk_reply replies[16];
    uint16_t asked = node->disk_stuck ? 0 : node_disk(node->node, requests, 16, clock_ns(world, node));
    uint16_t answered = 0;
    for (uint16_t at = 0; at < asked; at++) {
        struct disk_reply *reply = &replies[answered];
        if (requests[at].op == DISK_MANIFEST && node->manifest_hangs)
            continue;
        world_disk_answer(world, node, &requests[at], reply);
        uint64_t late_ns = node->disk_fault == NULL ? 0 : node->disk_fault(&requests[at], reply);
        if (reply->op == DISK_FINISH && reply->status != DISK_OK)
            node->files[reply->handle].finished = false;
        if (node->disk_ns + late_ns == 0) {
            answered++;
            continue;
        }
        CHECK(node->reply_count < WORLD_REPLIES_MAX);
        uint64_t from_ns = world->now_ns;
        if (node->reply_count > 0)
            from_ns = MAX(from_ns, node->replies[node->reply_count - 1].at_ns);
        node->replies[node->reply_count++] =
            (struct world_reply){.at_ns = from_ns + node->disk_ns + late_ns, .reply = *reply};
    }
    node_disk_done(node->node, replies, answered, clock_ns(world, node));
    uint32_t due = 0;
    while (due < node->reply_count && node->replies[due].at_ns <= world->now_ns)
        node_disk_done(node->node, &node->replies[due++].reply, 1, clock_ns(world, node));
    node->reply_count -= due;
    memmove(node->replies, node->replies + due, node->reply_count * sizeof(*node->replies));
    return asked > 0 || due > 0;
}

/* ---- nodes ---- */

static int request_index(const struct plan_request *request, uint16_t node)
{
    char name[NAME_BYTES];
    snprintf(name, sizeof(name), "n%u", node);
    for (uint16_t index = 0; index < request->node_count; index++)
        if (strcmp(request->nodes[index].name, name) == 0)
            return index;
    return -1;
}

/* False: some node of it does not take part. */
static bool plan_tree_of(const struct world_tree *tree, const struct plan_request *request,
                         struct plan_tree *planned)
{
    planned->edge_count = tree->edge_count;
    for (uint16_t edge = 0; edge < tree->edge_count; edge++) {
        int from = request_index(request, tree->edges[edge][0]);
        int to = request_index(request, tree->edges[edge][1]);
        if (from < 0 || to < 0)
            return false;
        planned->edges[edge] = (struct plan_edge){.from = (uint16_t)from, .to = (uint16_t)to};
    }
    return true;
}

/* The forest in the place of the one tree; each uplink is enough for all other nodes as children in all trees. */
static void plan_forest(const struct world *world, struct world_node *node,
                        const struct plan_request *request, struct plan *plan)
{
    const struct world_forest *forest = world->forest;
    struct plan_tree trees[PLAN_TREES_MAX];
    uint32_t period = 0, left_ppm = 1000000;
    struct source *source = job_find(node->node, plan->job)->source;
    if (source->trees_most != 0 && source->trees_most < forest->tree_count)
        return;
    for (uint16_t tree = 0; tree < forest->tree_count; tree++) {
        if (!plan_tree_of(&forest->trees[tree], request, &trees[tree]))
            return;
        period += forest->trees[tree].weight;
    }
    memset(plan->into_rate_bps, 0, sizeof(plan->into_rate_bps));
    for (uint16_t tree = 0; tree < forest->tree_count; tree++) {
        uint64_t rate_bps = request->nodes[0].up_bps / world->count;
        plan->edge_rate_bps[tree] = rate_bps * forest->trees[tree].weight / period;
        trees[tree].weight_ppm = 1000000u * forest->trees[tree].weight / period;
        left_ppm -= trees[tree].weight_ppm;
        plan->trees[tree] = trees[tree];
    }
    plan->trees[0].weight_ppm += left_ppm;
    plan->tree_count = forest->tree_count;
    source->request.trees_max = PLAN_TREES_MAX;
}

/* Of all worlds: plans are made one after the other. */
static struct arena *planner_arena(void)
{
    static struct arena arena;
    static void *memory;
    if (memory == NULL) {
        memory = aligned_alloc(ARENA_ALIGN, arena_need(solve_bytes()));
        CHECK(memory != NULL);
        arena_init(&arena, memory, solve_bytes());
    }
    return &arena;
}

static bool drain_planner(struct world *world, struct world_node *node)
{
    static struct ctl_msg request, answer;
    bool busy = false;
    if (world->planner_absent && !node->node->planner_attached)
        return false; /* nobody comes for requests */
    while (node_ctl_next(node->node, &request)) {
        busy = true;
        if (world->planner_absent || request.type != CTL_PLAN_REQUEST)
            continue;
        struct err err;
        char text[16];
        struct ctl_reply reply = {.text = text, .room = sizeof(text)};
        answer = (struct ctl_msg){.type = CTL_PLAN, .correlation = request.correlation};
        if (!solve(&request.body.plan_request, planner_arena(), &answer.body.plan, &err)) {
            answer.type = CTL_PLAN_FAILED;
            answer.body.plan_failed.job = request.body.plan_request.job;
            answer.body.plan_failed.epoch = request.body.plan_request.epoch;
            memcpy(answer.body.plan_failed.text, err.text, sizeof(err.text));
        }
        if (answer.type == CTL_PLAN && world->forest != NULL)
            plan_forest(world, node, &request.body.plan_request, &answer.body.plan);
        node_ctl(node->node, &answer, &reply, clock_ns(world, node));
    }
    return busy;
}

static bool transmit(struct world *world, uint16_t index)
{
    struct world_node *node = &world->nodes[index];
    static struct tx_packet packets[32];
    struct tx_report reports[32];
    uint16_t count = node_tx(node->node, 0, packets, 32, clock_ns(world, node));
    uint16_t reported = 0;
    for (uint16_t at = 0; at < count; at++) {
        bool data = packets[at].cookie != TX_COOKIE_NONE;
        bool refused = data && world->now_ns < node->refused_until_ns;
        if (!refused)
            carry(world, index, &packets[at]);
        if (data)
            reports[reported++] =
                (struct tx_report){.cookie = packets[at].cookie,
                                   .sent_ns = node->left_ns == NULL ? packets[at].depart_ns
                                                                    : node->left_ns(packets[at].depart_ns),
                                   .status = refused ? TX_REFUSED : TX_SENT,
                                   .released = 1};
    }
    node_tx_done(node->node, reports, reported, clock_ns(world, node));
    return count > 0;
}

static void drain(struct world *world, uint16_t index)
{
    struct world_node *node = &world->nodes[index];
    bool busy = world->now_ns >= node->stopped_until_ns;
    while (busy) {
        node_tick(node->node, clock_ns(world, node));
        busy = drain_planner(world, node);
        busy |= serve_disk(world, node);
        busy |= transmit(world, index);
    }
}

void world_use_ipv6(struct world *world)
{
    for (uint16_t index = 0; index < world->count; index++) {
        struct node_config *config = &world->nodes[index].config;
        config->ports[0].address.family = ADDRESS_IPV6;
        for (uint16_t peer = 0; peer < config->peer_count; peer++)
            config->peers[peer].address.family = ADDRESS_IPV6;
    }
}

void world_init(struct world *world, uint16_t count, uint64_t seed)
{
    *world = (struct world){.count = count, .delay_ns = 20 * NS_PER_MS, .source_bytes = 3000000};
    rng_init(&world->rng, seed);
    nonces_forget();
    mallopt(M_MMAP_THRESHOLD, 256 << 10); /* zeros of this size and more come from the system */
    world->packets = calloc(WORLD_PACKETS_MAX, sizeof(*world->packets));
    CHECK(world->packets != NULL);
    for (uint16_t index = 0; index < count; index++) {
        struct node_config *config = &world->nodes[index].config;
        node_config_defaults(config);
        snprintf(config->name, sizeof(config->name), "n%u", index);
        config->seed = seed * 100 + index;
        config->incarnation = 1;
        config->port_count = 1;
        config->ports[0] = (struct node_port_config){
            .address = address_of(index, ADDRESS_IPV4), .mtu = 1500, .rate_bps = 100000000};
        for (uint16_t other = 0; other < count; other++) {
            if (other == index)
                continue;
            struct node_peer_config *peer = &config->peers[config->peer_count++];
            snprintf(peer->name, sizeof(peer->name), "n%u", other);
            peer->address = address_of(other, ADDRESS_IPV4);
        }
        config->directory_count = 1;
        strcpy(config->directories[0].name, "incoming");
        strcpy(config->directories[0].path, "/srv");
        config->directories[0].any_source = true;
        config->buffer_bytes = 32 << 20;
        config->blocks_max = 4096;
        world->nodes[index].corrupt_block = UINT64_MAX;
        world->nodes[index].replies = calloc(WORLD_REPLIES_MAX, sizeof(struct world_reply));
        CHECK(world->nodes[index].replies != NULL);
    }
}

void world_kill(struct world *world, uint16_t node)
{
    if (world->nodes[node].alive && !world->liars)
        CHECK(world_counter(world, node, "messages_forbidden") == 0);
    free(world->nodes[node].memory);
    world->nodes[node].memory = NULL;
    world->nodes[node].alive = false;
    world->nodes[node].reply_count = 0;
    for (uint32_t handle = 0; handle < NODE_JOBS_MAX; handle++)
        world->nodes[node].files[handle].open = false;
}

void world_lose(struct world *world)
{
    for (uint32_t packet = 0; packet < world->packet_count; packet++)
        free(world->packets[packet].data);
    world->packet_count = 0;
}

static void free_file(struct world_file *file)
{
    free(file->data);
    free(file->clear);
}

void world_end(struct world *world)
{
    for (uint16_t node = 0; node < world->count; node++) {
        world_kill(world, node);
        for (uint32_t handle = 0; handle < NODE_JOBS_MAX; handle++)
            free_file(&world->nodes[node].files[handle]);
        free(world->nodes[node].replies);
    }
    world_lose(world);
    free(world->packets);
}

void world_start(struct world *world, uint16_t index)
{
    struct world_node *node = &world->nodes[index];
    world_kill(world, index);
    /* By calloc, which takes it from the system: of 40 MB most tests touch little. */
    size_t bytes = (node_bytes(&node->config) + 63) / 64 * 64;
    node->memory = calloc(1, bytes + 63);
    CHECK(node->memory != NULL);
    uint8_t *aligned = (uint8_t *)(((uintptr_t)node->memory + 63) / 64 * 64);
    node->node = node_create(&node->config, aligned, bytes, clock_ns(world, node));
    node->config.incarnation++;
    node->alive = true;
    static struct ctl_msg hello = {.type = CTL_PLANNER_HELLO};
    char text[16];
    struct ctl_reply reply = {.text = text, .room = sizeof(text)};
    if (!world->planner_absent)
        node_ctl(node->node, &hello, &reply, clock_ns(world, node));
    drain(world, index);
}

static void deliver(struct world *world)
{
    struct world_packet packet = pop(world);
    struct world_node *node = &world->nodes[packet.to];
    if (node->alive && world->now_ns < node->stopped_until_ns) {
        packet.came_ns = packet.came_ns != 0 ? packet.came_ns : packet.at_ns;
        packet.at_ns = node->stopped_until_ns;
        push(world, &packet);
        return;
    }
    if (node->alive) {
        uint64_t wait_ns = packet.came_ns != 0 ? world->now_ns - packet.came_ns : 0;
        inject(world, packet.from, packet.to, packet.data, packet.length, wait_ns);
        drain(world, packet.to);
    }
    free(packet.data);
}

static uint64_t wake_ns(const struct world_node *node)
{
    if (!node->alive)
        return TIME_NEVER;
    world_rules_check(node->node);
    uint64_t next_ns = node_next_ns(node->node);
    uint64_t tick_ns = MIN(node->node->tick_ns, deadlines_next_ns(&node->node->due));
    if (node->disk_stuck && !disk_queue_empty(&node->node->disk_queue))
        next_ns = MIN(tick_ns, node->node->now_ns + NS_PER_MS);
    if (next_ns != TIME_NEVER)
        next_ns = elapsed_ns(next_ns, node->clock_ahead_ns);
    if (node->reply_count > 0)
        next_ns = MIN(next_ns, node->replies[0].at_ns);
    return MAX(next_ns, node->stopped_until_ns);
}

void world_run_until(struct world *world, uint64_t until_ns)
{
    uint32_t calls = 0;
    for (;;) {
        uint64_t next_ns = world->packet_count > 0 ? world->packets[0].at_ns : TIME_NEVER;
        uint16_t awake = WORLD_NODES_MAX;
        for (uint16_t index = 0; index < world->count; index++) {
            uint64_t node_ns = wake_ns(&world->nodes[index]);
            if (node_ns < next_ns) {
                next_ns = node_ns;
                awake = index;
            }
        }
        if (next_ns > until_ns)
            break;
        CHECK(next_ns >= world->now_ns || awake != WORLD_NODES_MAX);
        calls = next_ns > world->now_ns ? 0 : calls + 1;
        CHECK(calls < 100000); /* else a node asks to be called and then has nothing to do */
        world->now_ns = MAX(world->now_ns, next_ns);
        if (awake == WORLD_NODES_MAX)
            deliver(world);
        else
            drain(world, awake);
    }
    world->now_ns = until_ns;
}

bool world_command(struct world *world, uint16_t node, const struct ctl_msg *msg, struct err *err)
{
    char text[16];
    struct ctl_reply reply = {.text = text, .room = sizeof(text)};
    node_ctl(world->nodes[node].node, msg, &reply, clock_ns(world, &world->nodes[node]));
    *err = reply.err;
    if (reply.ok)
        drain(world, node);
    return reply.ok;
}
