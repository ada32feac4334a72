/* Two nodes whose packets are sealed, by the cheap table of sizes/sizes.h, while n0 sends a file to n1, and an
 * outsider who hears everything, may send in anybody's name, and has no keys. An input is a script of his steps
 *
 *     kind u8 | advance u8 | which u16 | length u16 big-endian | bytes
 *
 * Before each step time advances by advance^2 * 100 us. What the outsider sends must be dropped, or be an old
 * initiation that is answered: no other counter of the node, nothing that it does or knows of its edge, nor its job may
 * change by it. What is answered is less than what he sent, and goes to the peer. At the end the file has arrived, and
 * the two have never lost each other. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/check.h"
#include "base/units.h"
#include "fuzz.h"
#include "node/node.h"
#include "sizes/nonces.h"
#include "sizes/sizes.h"

/* Bits of kind. Without any: a recorded datagram as it was, to whom it was sent. */
#define KIND_CHANGED  1   /* bytes: place u16, what is changed there u8, … */
#define KIND_CUT      2   /* … to half of it … */
#define KIND_LONGER   4   /* … or by some zeros */
#define KIND_BEHIND   8   /* bytes, behind the header of a recorded one */
#define KIND_BARE     16  /* bytes alone */
#define KIND_BACK     32  /* to whom it came from */
#define KIND_STRANGER 64  /* from an address that nobody knows */
#define KIND_FRESH    128 /* under a number that was not used yet */

#define NODES         2
#define STEP_BYTES    6
#define STEPS_MAX     64
#define ROUNDS_MAX    1000
#define RECORDS_MAX   1024
#define DATAGRAM_MAX  1500
#define LONGER_BYTES  8
#define NUMBERS_AHEAD 0x1000
#define END_NS        (60 * NS_PER_S)
#define END_STEP_NS   (100 * NS_PER_MS)
#define FILE_BYTES    3000

struct record {
    uint16_t to, length;
    uint8_t bytes[DATAGRAM_MAX];
};

struct bench {
    uint64_t now_ns;
    struct node *nodes[NODES];
    uint8_t *memory[NODES];
    uint64_t sent_bytes[NODES];
    uint32_t record_count; /* so far: the newest RECORDS_MAX are kept */
    struct record records[RECORDS_MAX];
};

static const char *const names[NODES] = {"n0", "n1"};

static struct net_address address_of(uint16_t node)
{
    return (struct net_address){
        .ip = {10, 0, 0, (uint8_t)(1 + node)}, .udp_port = 7840, .family = ADDRESS_IPV4};
}

static void start_node(struct bench *bench, uint16_t number)
{
    static struct node_config config;
    uint16_t other = !number;
    node_config_defaults(&config);
    strcpy(config.name, names[number]);
    config.primitives = &sizes_primitives;
    config.keys_by_name = true;
    config.seed = config.incarnation = number + 1u;
    config.port_count = config.peer_count = config.directory_count = 1;
    config.ports[0] =
        (struct node_port_config){.address = address_of(number), .mtu = 1500, .rate_bps = 100000000};
    config.peers[0] = (struct node_peer_config){.address = address_of(other), .window_packets = 256};
    strcpy(config.peers[0].name, names[other]);
    strcpy(config.directories[0].name, "incoming");
    strcpy(config.directories[0].path, "/srv");
    config.directories[0].any_source = true;
    config.probe.off = true;
    config.buffer_bytes = 9 << 20;
    config.blocks_max = 64;
    size_t bytes = (node_bytes(&config) + 63) / 64 * 64;
    bench->memory[number] = calloc(1, bytes + 64);
    CHECK(bench->memory[number] != NULL);
    uint8_t *aligned = bench->memory[number] + (64 - (uintptr_t)bench->memory[number] % 64);
    bench->nodes[number] = node_create(&config, aligned, bytes, bench->now_ns);
}

static void control(struct bench *bench, const struct ctl_msg *msg)
{
    static char text[CTL_REPLY_BYTES];
    struct ctl_reply reply = {.text = text, .room = sizeof(text)};
    CHECK(node_ctl(bench->nodes[0], msg, &reply, bench->now_ns) == 0);
}

static void start_job(struct bench *bench)
{
    static struct ctl_msg msg;
    msg = (struct ctl_msg){.type = CTL_JOB_RUN};
    msg.body.job_run = (struct job_spec){.name = "j",
                                         .source = "n0",
                                         .to_all = true,
                                         .file = "/data/f",
                                         .directory = "incoming",
                                         .trees = 1,
                                         .hash = PART_HASH_SHA256,
                                         .measure_ns = 100 * NS_PER_MS};
    control(bench, &msg);
}

/* ---- the two ---- */

static void hand_over(struct bench *bench, uint16_t to, struct net_address from, const uint8_t *bytes,
                      size_t length)
{
    uint8_t *copy = malloc(length + 1); /* of its size: nothing of it may be read later or beyond */
    CHECK(copy != NULL);
    memcpy(copy, bytes, length);
    struct rx_packet packet = {
        .data = copy, .length = (uint32_t)length, .rx_ns = bench->now_ns, .from = from};
    node_rx(bench->nodes[to], &packet, 1, bench->now_ns);
    free(copy);
}

static void carry(struct bench *bench, uint16_t from, const struct tx_packet *packet)
{
    struct record *record = &bench->records[bench->record_count++ % RECORDS_MAX];
    record->to = !from;
    record->length = (uint16_t)(packet->head_bytes + packet->body_bytes);
    CHECK(record->length <= sizeof(record->bytes));
    CHECK(packet->to.ip[3] == address_of(record->to).ip[3]);
    bench->sent_bytes[from] += record->length;
    memcpy(record->bytes, packet->head, packet->head_bytes);
    if (packet->body_bytes > 0)
        memcpy(record->bytes + packet->head_bytes, packet->body, packet->body_bytes);
    hand_over(bench, record->to, address_of(from), record->bytes, record->length);
}

static bool drain_sends(struct bench *bench, uint16_t from)
{
    struct tx_packet packets[8];
    struct tx_report reports[8];
    uint16_t reported = 0;
    uint16_t count = node_tx(bench->nodes[from], 0, packets, 8, bench->now_ns);
    for (uint16_t index = 0; index < count; index++) {
        carry(bench, from, &packets[index]);
        if (packets[index].cookie != TX_COOKIE_NONE)
            reports[reported++] =
                (struct tx_report){.cookie = packets[index].cookie, .sent_ns = bench->now_ns, .released = 1};
    }
    node_tx_done(bench->nodes[from], reports, reported, bench->now_ns);
    return count > 0;
}

static void read_block(const struct disk_request *request)
{
    static struct body_cipher cipher;
    const struct disk_sealed *sealed = &request->sealed;
    memset(request->data, 0x5a, request->length);
    if (cipher.primitives == NULL)
        body_cipher_init(&cipher, &sizes_primitives);
    body_seal(&cipher, sealed->secret, sealed->symbol, request->data, request->length, request->data,
              sealed->tags);
}

static bool drain_disk(struct bench *bench, uint16_t node)
{
    struct disk_request requests[8];
    struct disk_reply replies[8];
    uint16_t count = node_disk(bench->nodes[node], requests, 8, bench->now_ns);
    for (uint16_t index = 0; index < count; index++) {
        const struct disk_request *request = &requests[index];
        replies[index] = (struct disk_reply){.op = request->op,
                                             .handle = request->handle,
                                             .cookie = request->cookie,
                                             .size_bytes = FILE_BYTES};
        if (request->op == DISK_READ)
            read_block(request);
    }
    node_disk_done(bench->nodes[node], replies, count, bench->now_ns);
    return count > 0;
}

static bool drain_planner(struct bench *bench)
{
    static struct ctl_msg asked, msg;
    if (!node_ctl_next(bench->nodes[0], &asked))
        return false;
    if (asked.type != CTL_PLAN_REQUEST)
        return true;
    const struct plan_request *request = &asked.body.plan_request;
    msg = (struct ctl_msg){.type = CTL_PLAN, .correlation = asked.correlation};
    msg.body.plan = (struct plan){.job = request->job,
                                  .epoch = request->epoch,
                                  .node_count = NODES,
                                  .source = request->source,
                                  .rate_bps = 1000000,
                                  .bound_bps = 90000000,
                                  .tree_count = 1,
                                  .edge_rate_bps = {2000000}};
    msg.body.plan.trees[0] = (struct plan_tree){
        .weight_ppm = 1000000, .edge_count = 1, .edges = {{request->source, !request->source}}};
    control(bench, &msg);
    return true;
}

static void settle(struct bench *bench)
{
    bool busy = true;
    for (unsigned round = 0; busy; round++) {
        CHECK(round < ROUNDS_MAX);
        busy = drain_planner(bench);
        for (uint16_t node = 0; node < NODES; node++) {
            node_tick(bench->nodes[node], bench->now_ns);
            busy = drain_disk(bench, node) || busy;
            busy = drain_sends(bench, node) || busy;
        }
    }
}

/* Each is called when it wants to be. */
static void pass(struct bench *bench, uint64_t span_ns)
{
    uint64_t until_ns = bench->now_ns + span_ns;
    while (bench->now_ns < until_ns) {
        uint64_t next_ns = MIN(node_next_ns(bench->nodes[0]), node_next_ns(bench->nodes[1]));
        bench->now_ns = MIN(MAX(next_ns, bench->now_ns + 1), until_ns);
        settle(bench);
    }
}

/* ---- the outsider ---- */

static void mix(uint64_t *sum, uint64_t value)
{
    *sum = *sum * 0x100000001b3ULL + value;
}

static void mix_edge(uint64_t *sum, const struct node *node)
{
    struct node_edge_view view;
    CHECK(node_edge_view(node, 0, &view));
    const uint64_t values[] = {view.up,
                               view.sent_packets,
                               view.acked_packets,
                               view.lost_packets,
                               view.received_packets,
                               view.feedback_bytes,
                               view.rate_bps,
                               view.rtt_smoothed_ns,
                               view.rtt_min_ns,
                               view.in_flight_packets,
                               view.marked_packets,
                               view.pauses,
                               view.peer_pauses,
                               view.clock_steps,
                               view.missed_frames,
                               view.peer_missed_frames};
    for (size_t index = 0; index < sizeof(values) / sizeof(values[0]); index++)
        mix(sum, values[index]);
}

/* What must not change, as one number. */
static uint64_t state_of(const struct node *node)
{
    static const char *const may[] = {"rx_datagrams", "rx_handshakes"};
    uint64_t sum = node_digest(node), value;
    const char *name;
    struct node_job_view job = {0};
    for (uint32_t index = 0; (name = node_counter(node, index, &value)) != NULL; index++)
        if (strncmp(name, "drop_", 5) != 0 && strcmp(name, may[0]) != 0 && strcmp(name, may[1]) != 0)
            mix(&sum, value);
    mix_edge(&sum, node);
    node_job_view(node, 0, &job);
    mix(&sum, job.state);
    return sum;
}

static uint64_t counter(const struct node *node, const char *wanted)
{
    uint64_t value;
    const char *name;
    for (uint32_t index = 0; (name = node_counter(node, index, &value)) != NULL; index++)
        if (strcmp(name, wanted) == 0)
            return value;
    CHECK(false);
}

/* Writes at most DATAGRAM_MAX bytes. */
static size_t forge(const struct record *record, uint8_t kind, const uint8_t *bytes, size_t length,
                    uint8_t *out)
{
    size_t before = (kind & KIND_BARE) != 0 ? 0 : MIN((size_t)WIRE_HEADER_BYTES, (size_t)record->length);
    if ((kind & (KIND_BARE | KIND_BEHIND)) != 0) {
        length = MIN(length, DATAGRAM_MAX - before);
        memcpy(out, record->bytes, before);
        memcpy(out + before, bytes, length);
        return before + length;
    }
    size_t size = record->length;
    memcpy(out, record->bytes, size);
    if ((kind & KIND_CHANGED) != 0)
        for (; length >= 3; bytes += 3, length -= 3)
            out[load_be16(bytes) % size] ^= bytes[2];
    if ((kind & KIND_CUT) != 0)
        return size / 2;
    if ((kind & KIND_LONGER) == 0 || size + LONGER_BYTES > DATAGRAM_MAX)
        return size;
    memset(out + size, 0, LONGER_BYTES);
    return size + LONGER_BYTES;
}

static void send_step(struct bench *bench, uint8_t kind, uint16_t which, const uint8_t *bytes, size_t length)
{
    uint8_t out[DATAGRAM_MAX];
    uint32_t kept = MIN(bench->record_count, (uint32_t)RECORDS_MAX);
    if (kept == 0)
        return;
    const struct record *record = &bench->records[which % kept];
    uint16_t to = (kind & KIND_BACK) != 0 ? !record->to : record->to;
    struct node *node = bench->nodes[to];
    size_t size = forge(record, kind, bytes, length, out);
    if ((kind & KIND_FRESH) != 0 && size >= WIRE_HEADER_BYTES)
        store_be32(out + 8, load_be32(out + 8) + NUMBERS_AHEAD);
    uint64_t before = state_of(node);
    hand_over(bench, to, address_of((kind & KIND_STRANGER) != 0 ? NODES : !to), out, size);
    CHECK(state_of(node) == before);
    uint64_t sent_before = bench->sent_bytes[to];
    settle(bench); /* at rest but for what he sent */
    CHECK(bench->sent_bytes[to] == sent_before || bench->sent_bytes[to] < sent_before + size);
}

static size_t run_step(struct bench *bench, const uint8_t *data, size_t size)
{
    size_t length = MIN((size_t)load_be16(data + 4), size - STEP_BYTES);
    pass(bench, (uint64_t)data[1] * data[1] * 100 * NS_PER_US);
    settle(bench);
    send_step(bench, data[0], load_be16(data + 2), data + STEP_BYTES, length);
    return STEP_BYTES + length;
}

/* What the outsider has reached in the last run: the seeds check it. */
static struct {
    uint64_t dropped[NODES];
    uint64_t handshakes;
} outcome;

static void note_outcome(const struct bench *bench)
{
    uint64_t value;
    const char *name;
    memset(&outcome, 0, sizeof(outcome));
    for (uint16_t node = 0; node < NODES; node++) {
        for (uint32_t index = 0; (name = node_counter(bench->nodes[node], index, &value)) != NULL; index++)
            outcome.dropped[node] += strncmp(name, "drop_", 5) == 0 ? value : 0;
        outcome.handshakes += counter(bench->nodes[node], "rx_handshakes");
        CHECK(counter(bench->nodes[node], "peers_lost") == 0);
        CHECK(counter(bench->nodes[node], "peers_reset") == 0);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static struct bench bench;
    struct node_job_view job = {0};
    bench.now_ns = NS_PER_S;
    bench.record_count = 0;
    nonces_forget();
    for (uint16_t node = 0; node < NODES; node++)
        start_node(&bench, node);
    control(&bench, &(struct ctl_msg){.type = CTL_PLANNER_HELLO});
    settle(&bench);
    start_job(&bench);
    for (unsigned steps = 0; size >= STEP_BYTES && steps < STEPS_MAX; steps++) {
        size_t used = run_step(&bench, data, size);
        data += used;
        size -= used;
    }
    for (uint64_t waited_ns = 0; job.state < JOB_DONE && waited_ns < END_NS; waited_ns += END_STEP_NS) {
        pass(&bench, END_STEP_NS);
        CHECK(node_job_view(bench.nodes[0], 0, &job));
    }
    if (job.state != JOB_DONE)
        fprintf(stderr, "job %s %s\n", job_state_name(job.state), job.text);
    CHECK(job.state == JOB_DONE);
    note_outcome(&bench);
    for (uint16_t node = 0; node < NODES; node++)
        free(bench.memory[node]);
    return 0;
}

/* ---- seeds ---- */

struct script {
    uint8_t bytes[STEPS_MAX * (STEP_BYTES + WIRE_HEADER_BYTES)];
    size_t length;
};

static void step_add(struct script *script, uint8_t kind, uint8_t advance, uint16_t which,
                     const uint8_t *bytes, size_t length)
{
    uint8_t *out = script->bytes + script->length;
    CHECK(script->length + STEP_BYTES + length <= sizeof(script->bytes));
    out[0] = kind;
    out[1] = advance;
    store_be16(out + 2, which);
    store_be16(out + 4, (uint16_t)length);
    if (length > 0)
        memcpy(out + STEP_BYTES, bytes, length);
    script->length += STEP_BYTES + length;
}

/* Each of the first datagrams, handshake and part among them, again in one way, half a second after the start. */
static void seed_again(struct seeds *seeds, const char *name, uint8_t kind)
{
    static struct script script;
    const uint8_t bytes[] = {0, 34, 1, 0, 40, 1, 0, 90, 1};
    script.length = 0;
    for (uint16_t which = 0; which < STEPS_MAX; which++)
        step_add(&script, kind, which == 0 ? 70 : 1 + which % 16, which, bytes,
                 (kind & KIND_CHANGED) != 0 ? sizeof(bytes) : 0);
    LLVMFuzzerTestOneInput(script.bytes, script.length);
    CHECK(outcome.dropped[0] + outcome.dropped[1] + outcome.handshakes >= STEPS_MAX);
    seeds->emit(seeds, name, script.bytes, script.length);
}

static void seed_garbage(struct seeds *seeds)
{
    static struct script script;
    const uint8_t bytes[WIRE_HEADER_BYTES] = {WIRE_VERSION, WIRE_CLOSE, 1, 0, 1};
    script.length = 0;
    for (uint16_t which = 0; which < STEPS_MAX / 2; which++) {
        step_add(&script, KIND_BEHIND | KIND_FRESH, which == 0 ? 70 : 20, which, bytes, which);
        step_add(&script, KIND_BARE, 1, which, bytes, which + 1u);
    }
    LLVMFuzzerTestOneInput(script.bytes, script.length);
    CHECK(outcome.dropped[0] + outcome.dropped[1] >= STEPS_MAX);
    seeds->emit(seeds, "garbage", script.bytes, script.length);
}

void fuzz_seeds(struct seeds *seeds)
{
    seeds->changes = 20;
    seed_again(seeds, "again", 0);
    seed_again(seeds, "renumbered", KIND_FRESH);
    seed_again(seeds, "changed", KIND_CHANGED | KIND_FRESH);
    seed_again(seeds, "cut", KIND_CUT);
    seed_again(seeds, "longer", KIND_LONGER);
    seed_again(seeds, "back", KIND_BACK);
    seed_again(seeds, "from_a_stranger", KIND_STRANGER);
    seed_garbage(seeds);
}
