/* A whole node against a hostile peer. An input is a script of steps
 *
 *     kind u8 | advance u8 | length u16 big-endian | bytes
 *
 * run against node n0, whose only configured peer is n1. Before each step time advances by advance^2 * 100 us
 * (0 … 6.5 s). Afterwards the node is drained: it ticks, sends, asks its disk (which answers at once) and its
 * planner. Datagrams are taken as they are, or with what only a real peer would know made right. Handshakes are
 * written without any cryptography: the node's table of primitives keeps nobody out (seal/insecure.h), so that a
 * greeting stands in the clear, its tag is zero, and any number but 0 is an ephemeral key. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/check.h"
#include "base/units.h"
#include "fuzz.h"
#include "node/node.h"
#include "seal/insecure.h"
#include "wire/handshake.h"
#include "wire/hello.h"
#include "wire/message.h"
#include "wire/piece.h"

enum step { STEP_RAW, STEP_FROM_PEER, STEP_FROM_STRANGER, STEP_JOB, STEP_PLAN, STEP_COUNT };

#define STEPS_MAX        64
#define DRAIN_ROUNDS_MAX 1000 /* a node that is still busy then spins */
#define DATAGRAM_MAX     9216
#define PROBES_MAX       32
#define PEER_SESSION     0x22222222
#define EDGE_HEARD       1    /* in a greeting: the edge that the node's last greeting named */
#define KEEP_FLAG        0x80 /* in a header: what is fresh in a datagram stays as it is */
#define ASK_FLAG         0x40 /* in that of an initiation: the session that the answer tells is not used */
#define STATIC_AT        (WIRE_HEADER_BYTES + SEAL_KEY_BYTES)

struct bench {
    struct node *node;
    uint64_t now_ns;
    uint32_t session; /* the node's towards us, from its greeting … */
    uint32_t offered; /* … and from its newest initiation */
    uint64_t edge;    /* that the node named last */
    bool only_asks;   /* the newest initiation has ASK_FLAG */
    uint8_t public_key[SEAL_KEY_BYTES];
    uint32_t control_next;
    bool asked; /* the node wants a plan */
    uint32_t job, epoch;
    uint64_t correlation;
    uint32_t heard_job; /* of the last message from the node */
    uint32_t probe_count;
    struct {
        uint8_t bytes[1500];
        size_t length;
    } probes[PROBES_MAX]; /* to be reflected at the next step */
};

static const struct net_address own = {.ip = {10, 0, 0, 1}, .udp_port = 7840, .family = ADDRESS_IPV4};
static const struct net_address peer = {.ip = {10, 0, 0, 2}, .udp_port = 7840, .family = ADDRESS_IPV4};
static const struct net_address stranger = {.ip = {10, 0, 0, 3}, .udp_port = 1, .family = ADDRESS_IPV4};

static void configure(struct node_config *config)
{
    node_config_defaults(config);
    strcpy(config->name, "n0");
    config->port_count = 1;
    config->ports[0] = (struct node_port_config){.address = own, .mtu = 1500, .rate_bps = 100000000};
    config->peer_count = 1;
    config->peers[0] = (struct node_peer_config){.name = "n1", .address = peer, .window_packets = 256};
    config->directory_count = 1;
    strcpy(config->directories[0].name, "incoming");
    strcpy(config->directories[0].path, "/srv");
    config->directories[0].any_source = true;
    config->buffer_bytes = 9 << 20;
    config->blocks_max = 64;
}

/* Every body but that of a bare acknowledgement begins with the job. */
static void hear_message(struct bench *bench, const struct tx_packet *packet)
{
    uint8_t datagram[WIRE_MESSAGE_BYTES + WIRE_MESSAGE_BODY_MAX];
    struct wire_message_view view;
    size_t length = (size_t)packet->head_bytes + packet->body_bytes;
    CHECK(length <= sizeof(datagram));
    memcpy(datagram, packet->head, packet->head_bytes);
    if (packet->body_bytes > 0)
        memcpy(datagram + packet->head_bytes, packet->body, packet->body_bytes);
    CHECK(wire_message_decode(datagram, length, &view) == WIRE_OK);
    if (view.fixed.length >= 4)
        bench->heard_job = load_be32(view.body);
}

static void hear_probe(struct bench *bench, const struct tx_packet *packet)
{
    if (bench->probe_count == PROBES_MAX)
        return;
    uint8_t *out = bench->probes[bench->probe_count].bytes;
    memcpy(out, packet->head, packet->head_bytes);
    if (packet->body_bytes > 0)
        memcpy(out + packet->head_bytes, packet->body, packet->body_bytes);
    out[1] = WIRE_PROBE_REPLY;
    bench->probes[bench->probe_count++].length = (size_t)packet->head_bytes + packet->body_bytes;
}

static uint8_t *greeting_in(uint8_t *datagram, size_t length)
{
    return datagram + length - WIRE_TAG_BYTES - WIRE_GREETING_BYTES;
}

static void use_session(struct bench *bench, uint32_t session)
{
    if (bench->session != session)
        bench->control_next = 0;
    bench->session = session;
}

static void hear_handshake(struct bench *bench, const struct wire_header *header,
                           const struct tx_packet *packet)
{
    uint8_t datagram[WIRE_INITIATION_BYTES];
    struct wire_greeting greeting;
    CHECK(wire_handshake_check(header, packet->head_bytes) == WIRE_OK && packet->body_bytes == 0);
    memcpy(datagram, packet->head, packet->head_bytes);
    CHECK(wire_greeting_decode(greeting_in(datagram, packet->head_bytes), &greeting) == WIRE_OK);
    bench->edge = greeting.edge;
    if (header->type == WIRE_INITIATION)
        bench->offered = greeting.session;
    else if (!bench->only_asks)
        use_session(bench, greeting.session);
}

/* The peer hears everything; what it learns is what greetings tell. */
static void hear(struct bench *bench, const struct tx_packet *packet)
{
    struct wire_header header;
    CHECK(packet->port == 0 && packet->peer == 0);
    CHECK(packet->head_bytes >= WIRE_HEADER_BYTES && packet->head_bytes <= TX_HEAD_BYTES_MAX);
    CHECK(packet->head_bytes + packet->body_bytes + 28u <= 1500);
    if (packet->body_bytes > 0)
        CHECK(packet->body != NULL);
    if (wire_header_decode(packet->head, packet->head_bytes, &header) != WIRE_OK)
        abort(); /* never sends what it would not take */
    if (header.type == WIRE_INITIATION || header.type == WIRE_RESPONSE)
        hear_handshake(bench, &header, packet);
    if (header.type == WIRE_MESSAGE)
        hear_message(bench, packet);
    if (header.type == WIRE_PROBE)
        hear_probe(bench, packet);
}

static bool drain_sends(struct bench *bench)
{
    struct tx_packet packets[8];
    struct tx_report reports[8];
    uint16_t reported = 0;
    uint16_t count = node_tx(bench->node, 0, packets, 8, bench->now_ns);
    CHECK(count <= 8);
    for (uint16_t index = 0; index < count; index++) {
        hear(bench, &packets[index]);
        if (packets[index].cookie != TX_COOKIE_NONE)
            reports[reported++] =
                (struct tx_report){.cookie = packets[index].cookie, .sent_ns = bench->now_ns, .released = 1};
    }
    node_tx_done(bench->node, reports, reported, bench->now_ns);
    return count > 0;
}

static bool drain_disk(struct bench *bench)
{
    struct disk_request requests[8];
    struct disk_reply replies[8];
    uint16_t count = node_disk(bench->node, requests, 8, bench->now_ns);
    CHECK(count <= 8);
    for (uint16_t index = 0; index < count; index++) {
        const struct disk_request *request = &requests[index];
        replies[index] = (struct disk_reply){
            .op = request->op, .handle = request->handle, .cookie = request->cookie, .size_bytes = 3000};
        if (request->op == DISK_READ)
            memset(request->data, 0x5a, request->length);
        if (request->op == DISK_WRITE)
            memcpy(replies[index].hash.bytes, request->data, MIN(request->length, (uint32_t)WIRE_HASH_BYTES));
    }
    node_disk_done(bench->node, replies, count, bench->now_ns);
    return count > 0;
}

static bool drain_planner(struct bench *bench)
{
    static struct ctl_msg msg;
    if (!node_ctl_next(bench->node, &msg))
        return false;
    if (msg.type == CTL_PLAN_REQUEST) {
        bench->asked = true;
        bench->job = msg.body.plan_request.job;
        bench->epoch = msg.body.plan_request.epoch;
        bench->correlation = msg.correlation;
    }
    return true;
}

static void drain(struct bench *bench)
{
    bool busy = true;
    for (unsigned round = 0; busy; round++) {
        CHECK(round < DRAIN_ROUNDS_MAX);
        node_tick(bench->node, bench->now_ns);
        busy = drain_planner(bench);
        busy = drain_disk(bench) || busy;
        busy = drain_sends(bench) || busy;
    }
}

/* Number and stamp, session, keys, tags and the name of an edge. */
static void make_genuine_handshake(struct bench *bench, uint8_t *datagram, size_t length)
{
    bool answers = datagram[1] == WIRE_RESPONSE;
    bench->only_asks = !answers && (datagram[3] & ASK_FLAG) != 0;
    memset(datagram + 3, 0, WIRE_HEADER_BYTES - 3);
    if (answers) {
        use_session(bench, bench->offered);
        store_be32(datagram + 4, bench->offered);
    } else {
        memcpy(datagram + STATIC_AT, bench->public_key, SEAL_KEY_BYTES);
        memset(datagram + STATIC_AT + SEAL_KEY_BYTES, 0, WIRE_TAG_BYTES);
    }
    memset(datagram + length - WIRE_TAG_BYTES, 0, WIRE_TAG_BYTES);
    uint8_t *edge = greeting_in(datagram, length) + 8;
    if (load_be64(edge) == EDGE_HEARD)
        store_be64(edge, bench->edge);
}

static bool is_handshake(const uint8_t *datagram, size_t length)
{
    return (datagram[1] == WIRE_INITIATION && length == WIRE_INITIATION_BYTES) ||
           (datagram[1] == WIRE_RESPONSE && length == WIRE_RESPONSE_BYTES);
}

/* Makes version, key, tag and session right, the number fresh unless a flag keeps it, what a handshake needs, and
 * job 0 of a message: the one last heard of. */
static void make_genuine(struct bench *bench, uint8_t *datagram, size_t length)
{
    if (length < WIRE_HEADER_BYTES)
        return;
    datagram[0] = WIRE_VERSION;
    datagram[2] = 0;
    memset(datagram + 16, 0, WIRE_TAG_BYTES);
    if (is_handshake(datagram, length) && (datagram[3] & KEEP_FLAG) == 0) {
        make_genuine_handshake(bench, datagram, length);
        return;
    }
    store_be32(datagram + 4, bench->session);
    if (datagram[1] != WIRE_DATA && (datagram[3] & KEEP_FLAG) == 0)
        store_be32(datagram + 8, bench->control_next++);
    if (datagram[1] == WIRE_MESSAGE && length >= WIRE_MESSAGE_BYTES + 4 &&
        load_be32(datagram + WIRE_MESSAGE_BYTES) == 0)
        store_be32(datagram + WIRE_MESSAGE_BYTES, bench->heard_job);
}

static void receive(struct bench *bench, enum step step, const uint8_t *bytes, size_t length)
{
    uint8_t *datagram = malloc(length + 1); /* of its size: nothing of it may be read later or beyond */
    CHECK(datagram != NULL);
    memcpy(datagram, bytes, length);
    if (step == STEP_FROM_PEER)
        make_genuine(bench, datagram, length);
    struct rx_packet packet = {.data = datagram,
                               .length = (uint32_t)length,
                               .rx_ns = bench->now_ns,
                               .from = step == STEP_FROM_STRANGER ? stranger : peer};
    node_rx(bench->node, &packet, 1, bench->now_ns);
    free(datagram);
}

static void reflect(struct bench *bench)
{
    for (uint32_t index = 0; index < bench->probe_count; index++)
        receive(bench, STEP_FROM_PEER, bench->probes[index].bytes, bench->probes[index].length);
    bench->probe_count = 0;
}

static void control(struct bench *bench, const struct ctl_msg *msg)
{
    static char text[CTL_REPLY_BYTES];
    struct ctl_reply reply = {.text = text, .room = sizeof(text)};
    node_ctl(bench->node, msg, &reply, bench->now_ns);
}

static void run_job(struct bench *bench, const uint8_t *bytes, size_t length)
{
    static struct ctl_msg msg;
    msg = (struct ctl_msg){.type = CTL_JOB_RUN};
    struct job_spec *spec = &msg.body.job_run;
    *spec = (struct job_spec){.source = "n0",
                              .to_all = true,
                              .file = "/data/f",
                              .directory = "incoming",
                              .trees = 1,
                              .measure_ns = 100 * NS_PER_MS};
    snprintf(spec->name, sizeof(spec->name), "j%u", length > 0 ? bytes[0] : 0);
    if (length > 1)
        spec->hash = bytes[1] & 1;
    control(bench, &msg);
}

/* A plan as the planner might send it, for the job that waits for one. */
static void run_plan(struct bench *bench, const uint8_t *bytes, size_t length)
{
    static struct ctl_msg msg;
    struct err err;
    msg = (struct ctl_msg){.type = CTL_PLAN, .correlation = bench->correlation};
    if (!plan_decode(&msg.body.plan, bytes, length, &err))
        return;
    if (bench->asked) {
        msg.body.plan.job = bench->job;
        msg.body.plan.epoch = bench->epoch;
    }
    control(bench, &msg);
}

static size_t run_step(struct bench *bench, const uint8_t *data, size_t size)
{
    size_t length = MIN((size_t)load_be16(data + 2), size - 4);
    const uint8_t *bytes = data + 4;
    enum step step = (enum step)(data[0] % STEP_COUNT);
    bench->now_ns += (uint64_t)data[1] * data[1] * 100 * NS_PER_US;
    reflect(bench);
    drain(bench);
    switch (step) {
    case STEP_RAW:
    case STEP_FROM_PEER:
    case STEP_FROM_STRANGER:
        receive(bench, step, bytes, MIN(length, (size_t)DATAGRAM_MAX));
        break;
    case STEP_JOB:
        run_job(bench, bytes, length);
        break;
    case STEP_PLAN:
        run_plan(bench, bytes, length);
        break;
    case STEP_COUNT:
        break;
    }
    drain(bench);
    return 4 + length;
}

/* What became of the last run's first job: the seeds check that they got through. */
static struct node_job_view outcome;

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static struct node_config config;
    configure(&config);
    size_t bytes = (node_bytes(&config) + 63) / 64 * 64;
    uint8_t *memory = calloc(1, bytes + 64);
    CHECK(memory != NULL);
    uint8_t *aligned = memory + (64 - (uintptr_t)memory % 64);
    struct bench bench = {.now_ns = NS_PER_S};
    struct key_pair pair;
    insecure_key_pair(&insecure_primitives, "", &pair);
    memcpy(bench.public_key, pair.public_key, SEAL_KEY_BYTES);
    bench.node = node_create(&config, aligned, bytes, bench.now_ns);
    control(&bench, &(struct ctl_msg){.type = CTL_PLANNER_HELLO});
    drain(&bench);
    for (unsigned steps = 0; size >= 4 && steps < STEPS_MAX; steps++) {
        size_t used = run_step(&bench, data, size);
        data += used;
        size -= used;
    }
    outcome = (struct node_job_view){0};
    node_job_view(bench.node, 0, &outcome);
    free(memory);
    return 0;
}

/* ---- seeds: scripts of an honest dialogue ---- */

struct script {
    uint8_t bytes[FUZZ_INPUT_MAX];
    size_t length;
};

static void step_add(struct script *script, enum step step, uint8_t advance, const uint8_t *bytes,
                     size_t length)
{
    uint8_t *out = script->bytes + script->length;
    out[0] = (uint8_t)step;
    out[1] = advance;
    store_be16(out + 2, (uint16_t)length);
    if (length > 0)
        memcpy(out + 4, bytes, length);
    script->length += 4 + length;
}

static struct wire_header header_of(uint8_t type, uint32_t number)
{
    return (struct wire_header){.version = WIRE_VERSION, .type = type, .session = 1, .packet_number = number};
}

static void add_hello(struct script *script)
{
    uint8_t out[WIRE_HELLO_BYTES];
    struct wire_header header = header_of(WIRE_HELLO, 0);
    struct wire_hello hello = {.interval_ms = 1000};
    step_add(script, STEP_FROM_PEER, 10, out, wire_hello_encode(out, &header, &hello));
}

static void add_handshake(struct script *script, enum wire_type type, uint8_t flags, uint64_t edge)
{
    uint8_t out[WIRE_INITIATION_BYTES] = {0};
    size_t length = type == WIRE_INITIATION ? WIRE_INITIATION_BYTES : WIRE_RESPONSE_BYTES;
    struct wire_header header = header_of((uint8_t)type, 0);
    struct wire_greeting greeting = {.incarnation = 9,
                                     .edge = edge,
                                     .session = PEER_SESSION,
                                     .window = 64,
                                     .mtu = 1500,
                                     .interval_ms = 1000,
                                     .name = {"n1"},
                                     .peer = {"n0"}};
    header.flags = flags;
    wire_header_put(out, &header);
    out[WIRE_HEADER_BYTES] = 1 + flags; /* an ephemeral key */
    wire_greeting_put(greeting_in(out, length), &greeting);
    step_add(script, STEP_FROM_PEER, 10, out, length);
}

/* The answer to the node, which asks soon after its start. */
static void add_session(struct script *script)
{
    step_add(script, STEP_RAW, 50, NULL, 0);
    add_handshake(script, WIRE_RESPONSE, 0, 0);
    add_hello(script);
}

/* Another session, by which the edge goes on, whose name is asked for before. */
static void add_new_session(struct script *script)
{
    add_handshake(script, WIRE_INITIATION, ASK_FLAG, 0);
    add_handshake(script, WIRE_INITIATION, 0, EDGE_HEARD);
    add_hello(script);
}

static void add_message(struct script *script, uint32_t number, enum control_kind kind, const uint8_t *body,
                        size_t length)
{
    uint8_t out[WIRE_MESSAGE_BYTES + WIRE_MESSAGE_BODY_MAX];
    struct wire_header header = header_of(WIRE_MESSAGE, 0);
    struct wire_message fixed = {.sequence = number, .kind = (uint8_t)kind, .length = (uint16_t)length};
    CHECK(length > 0);
    step_add(script, STEP_FROM_PEER, 3, out, wire_message_encode(out, &header, &fixed, body));
}

static void add_data(struct script *script, uint32_t number, uint64_t symbol, uint8_t stripe, size_t bytes)
{
    uint8_t out[WIRE_DATA_HEADER_MAX + 1400] = {0};
    struct wire_header header = header_of(WIRE_DATA, number);
    struct wire_data data = {.job = 5, .content = wire_content(symbol, 1, stripe, 1)};
    size_t head = wire_data_encode(out, &header, &data, NULL);
    memset(out + head, 0x5a, bytes);
    step_add(script, STEP_FROM_PEER, 2, out, head + bytes);
}

/* The same in two pieces, the second of which comes first, and twice. */
static void add_pieces(struct script *script, uint32_t number, uint64_t symbol, uint8_t stripe, size_t bytes)
{
    uint8_t whole[WIRE_DATA_HEADER_MAX + 1400], out[sizeof(whole)];
    struct wire_header header = header_of(WIRE_PIECE, 0);
    struct wire_data data = {.job = 5, .content = wire_content(symbol, 1, stripe, 1)};
    size_t head = wire_data_encode(whole, &header, &data, NULL);
    memset(whole + head, 0x5a, bytes);
    uint32_t total = (uint32_t)(head + bytes) - WIRE_HEADER_BYTES, size = WIRE_PIECE_SIZE(total, 2);
    struct wire_piece piece = {.whole = number, .total = (uint16_t)total, .count = 2};
    for (int turn = 0; turn < 3; turn++) {
        piece.index = turn < 2;
        uint32_t length = piece.index == 0 ? size : total - size;
        size_t before = wire_piece_encode(out, &header, &piece);
        memcpy(out + before, whole + WIRE_HEADER_BYTES + piece.index * size, length);
        step_add(script, STEP_FROM_PEER, 2, out, before + length);
    }
}

static void seed_emit(struct seeds *seeds, const char *name, const struct script *script)
{
    LLVMFuzzerTestOneInput(script->bytes, script->length);
    if (outcome.state != JOB_DONE)
        fprintf(stderr, "seed %s: job %s %s\n", name, job_state_name(outcome.state), outcome.text);
    CHECK(outcome.state == JOB_DONE);
    seeds->emit(seeds, name, script->bytes, script->length);
}

/* The node as a site: part, trees, hashes, start, all symbols of a file of 3000 bytes, close. Of two trees the second
 * brings the second block; then blocks are one symbol. */
static void seed_site(struct seeds *seeds, const char *name, uint8_t stripes)
{
    static struct script script;
    uint8_t body[WIRE_MESSAGE_BODY_MAX];
    struct control_part part = {.fixed = {.job = 5,
                                          .epoch = 1,
                                          .source = {"n1"},
                                          .directory = {"incoming"},
                                          .job_name = {"j"},
                                          .size_bytes = 3000,
                                          .symbol_bytes = 1024,
                                          .block_symbols = stripes == 1 ? 1024 : 1,
                                          .hash = PART_HASH_SHA256,
                                          .keep = 1,
                                          .stripes = stripes},
                                .file = "f"};
    struct control_tree tree = {.fixed = {.job = 5, .epoch = 1, .weight = 1, .parent = {"n1"}}};
    struct control_hashes hashes = {.fixed = {.job = 5, .count = stripes == 1 ? 1 : 3}};
    struct wire_start start = {.job = 5, .epoch = 1};
    struct control_close_job close_job = {.fixed = {.job = 5}};
    memset(hashes.hashes, 0x5a, sizeof(hashes.hashes));
    script.length = 0;
    add_session(&script);
    add_message(&script, 0, CONTROL_PART, body, control_part_encode(body, &part));
    uint32_t number = 1;
    for (tree.fixed.stripe = 0; tree.fixed.stripe < stripes; tree.fixed.stripe++)
        add_message(&script, number++, CONTROL_TREE, body, control_tree_encode(body, &tree));
    add_message(&script, number++, CONTROL_HASHES, body, control_hashes_encode(body, &hashes));
    add_message(&script, number++, CONTROL_START, body, control_start_encode(body, &start));
    add_data(&script, 0, 0, 0, 1024);
    add_new_session(&script);
    add_data(&script, 2, 2, 0, 3000 - 2 * 1024);
    add_pieces(&script, 3, 1, stripes - 1, 1024);
    add_message(&script, number, CONTROL_CLOSE_JOB, body, control_close_job_encode(body, &close_job));
    step_add(&script, STEP_RAW, 200, NULL, 0);
    seed_emit(seeds, name, &script);
}

/* The node as a source: job, measurement, plan, confirmation, status. */
static void seed_source(struct seeds *seeds)
{
    static struct script script;
    uint8_t bytes[PLAN_BYTES_MAX];
    uint8_t body[WIRE_MESSAGE_BODY_MAX];
    struct control_measurement measurement = {
        .fixed = {.up_bps = 100000000, .down_bps = 100000000, .total = 1, .count = 1},
        .peers = {{.peer = {"n0"},
                   .rtt_min_us = 1000,
                   .rtt_smoothed_us = 1000,
                   .answered = 1,
                   .sent = 1,
                   .mtu = 1500}}};
    struct control_confirm confirm = {.fixed = {.epoch = 1, .answer = CONFIRM_READY}};
    struct control_status status = {.fixed = {.state = SITE_VERIFIED,
                                              .received_bytes = 3000,
                                              .verified_bytes = 3000,
                                              .elapsed_ns = 1,
                                              .laggard = UINT8_MAX}};
    static struct plan plan;
    plan = (struct plan){.node_count = 2,
                         .rate_bps = 1000000,
                         .bound_bps = 90000000,
                         .tree_count = 1,
                         .edge_rate_bps = {2000000}};
    plan.trees[0] = (struct plan_tree){.weight_ppm = 1000000, .edge_count = 1, .edges = {{0, 1}}};
    script.length = 0;
    add_session(&script);
    step_add(&script, STEP_JOB, 1, (const uint8_t *)"\1", 1);
    step_add(&script, STEP_RAW, 60, NULL, 0);
    add_message(&script, 0, CONTROL_MEASUREMENT, body, control_measurement_encode(body, &measurement));
    for (unsigned second = 0; second < 8; second++) { /* its own probes need so long */
        step_add(&script, STEP_RAW, 100, NULL, 0);
        add_hello(&script);
    }
    step_add(&script, STEP_PLAN, 1, bytes, plan_encode(&plan, bytes, sizeof(bytes)));
    add_message(&script, 1, CONTROL_CONFIRM, body, control_confirm_encode(body, &confirm));
    step_add(&script, STEP_RAW, 60, NULL, 0);
    add_message(&script, 2, CONTROL_STATUS, body, control_status_encode(body, &status));
    step_add(&script, STEP_RAW, 60, NULL, 0);
    seed_emit(seeds, "source", &script);
}

void fuzz_seeds(struct seeds *seeds)
{
    seed_site(seeds, "site", 1);
    seed_site(seeds, "site_of_two_trees", 2);
    seed_source(seeds);
}
