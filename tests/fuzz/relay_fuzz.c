/* A relay between hostile peers, see relay_bench.h. At the end all peers fall silent, the disk answers and
 * the ports let go: then every job must end by itself, no request may be left, all job slots must be usable.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/rng.h"
#include "relay_bench.h"
#include "relay_seeds.h"

#define END_HOP_NS   (1500 * NS_PER_MS) /* below what a node takes for a standstill of its own */
#define END_HOPS_MAX 400 /* hellos may ask for 4 * 65.5 s of patience; then timeouts of 20 s each */
#define CLOSE_HOPS   20  /* what is told to silent sites is given up after 20 s */
#define STOPS        24  /* of a step's time, where the node wants to be called */

uint64_t wide(uint8_t code)
{
    if (code < 0x60)
        return code;
    if (code < 0xa0)
        return 1ULL << (code - 0x60);
    if (code < 0xe0)
        return (1ULL << (code - 0xa0)) - 1;
    return UINT64_MAX - (code - 0xe0u);
}

uint64_t sum_of(const void *bytes, size_t length)
{
    const uint8_t *in = bytes;
    uint64_t sum = length, word;
    for (; length >= sizeof(word); length -= sizeof(word), in += sizeof(word)) {
        memcpy(&word, in, sizeof(word));
        sum = (sum ^ word) * 0x100000001b3ULL;
    }
    for (; length > 0; length--)
        sum = (sum ^ *in++) * 0x100000001b3ULL;
    return sum;
}

uint32_t bench_job(const struct bench *bench, uint8_t code)
{
    return (code & 0x80) != 0 ? bench->own_jobs[code % JOBS_OWN] : code % JOBS_OF_SITE + 1u;
}

static struct net_address address_of(uint8_t last, uint8_t family)
{
    struct net_address address = {.ip = {10, 0, 0, last}, .udp_port = 7840, .family = family};
    return address;
}

/* By the first step: MTU, ports, family, whether there is a disk, memory. */
static void configure(struct node_config *config, const uint8_t *arguments)
{
    static const char *const names[PEERS] = {"source", "parent", "left", "right"};
    static const uint16_t mtus[4] = {1500, 9000, 1280, 4000};
    node_config_defaults(config);
    strcpy(config->name, "relay");
    uint8_t bits = arguments[0], family = (bits & 8) != 0 ? ADDRESS_IPV6 : ADDRESS_IPV4;
    config->port_count = (bits & 4) != 0 ? 2 : 1;
    for (uint16_t port = 0; port < config->port_count; port++)
        config->ports[port] = (struct node_port_config){.address = address_of((uint8_t)(1 + port), family),
                                                        .mtu = mtus[bits & 3],
                                                        .rate_bps = 1000000000};
    config->peer_count = PEERS;
    for (uint8_t peer = 0; peer < PEERS; peer++) {
        config->peers[peer] =
            (struct node_peer_config){.address = address_of((uint8_t)(10 + peer), family),
                                      .port = peer >= PEER_LEFT ? config->port_count - 1 : 0,
                                      .window_packets = RECEIVER_BITS};
        strcpy(config->peers[peer].name, names[peer]);
    }
    config->store = (bits & 16) != 0 ? NODE_STORE_NONE : NODE_STORE_DISK;
    config->directory_count = 1;
    strcpy(config->directories[0].name, "incoming");
    strcpy(config->directories[0].path, "/srv");
    config->directories[0].any_source = (bits & 32) == 0;
    config->directories[0].source_count = 1;
    strcpy(config->directories[0].sources[0], names[PEER_SOURCE]);
    if ((bits & 64) != 0)
        strcpy(config->manifests, "/manifests");
    config->buffer_bytes = (bits & 128) != 0 ? 20 << 20 : 9 << 20;
    config->blocks_max = (arguments[1] & 1) == 0 ? 256 : 64;
}

static void message_step(struct bench *bench, const struct step *step)
{
    uint8_t body[WIRE_MESSAGE_BODY_MAX];
    uint8_t peer = step->peer % PEERS, kind = step->arguments[0] % (CONTROL_KIND_COUNT + 1);
    size_t length = message_body(bench, peer, step->arguments, body);
    if (length > 0)
        peer_message(bench, step->peer, kind, body, length);
    if (kind != CONTROL_PART || message_part_stripes(step->arguments) != 1)
        return;
    length = message_part_tree(bench, peer, step->arguments, body);
    peer_message(bench, step->peer, CONTROL_TREE, body, length);
}

static void run_step(struct bench *bench, const struct step *step)
{
    static const uint64_t unit_ns = 100 * NS_PER_US;
    const uint8_t *arguments = step->arguments;
    pass(bench, unit_ns * step->time * step->time, STOPS);
    switch ((enum step_kind)(step->kind % STEP_KIND_COUNT)) {
    case STEP_TIME:
        for (unsigned part = 0; part <= arguments[1] % 64u; part++)
            pass(bench, arguments[0] * NS_PER_S / (arguments[1] % 64u + 1), 1);
        break;
    case STEP_HELLO:
        peer_hello(bench, step->peer, arguments);
        break;
    case STEP_CLOSE:
        peer_close(bench, step->peer, arguments);
        break;
    case STEP_MESSAGE:
        message_step(bench, step);
        break;
    case STEP_DATA:
        peer_data(bench, step->peer, arguments);
        break;
    case STEP_ACK:
        peer_ack(bench, step->peer, arguments);
        break;
    case STEP_PROBE:
        peer_probe(bench, step->peer, arguments);
        break;
    case STEP_MANGLE:
        bench->mangle = true;
        memcpy(bench->mangling, arguments, sizeof(bench->mangling));
        break;
    case STEP_MODE:
        bench->peers[step->peer % PEERS].mode = arguments[0];
        bench->peers[step->peer % PEERS].full_stripes = arguments[1];
        break;
    case STEP_DISK:
        disk_step(bench, arguments);
        break;
    case STEP_PORT:
        port_step(bench, arguments);
        break;
    case STEP_CONTROL:
        control_step(bench, arguments);
        break;
    case STEP_SHUTDOWN:
        bench->shut_down = true;
        node_shutdown(bench->node, bench->now_ns);
        break;
    case STEP_KIND_COUNT:
        break;
    }
    settle(bench);
}

/* ---- the end ---- */

static struct node_job_view view;

static bool jobs_over(const struct bench *bench, bool own)
{
    for (uint32_t index = 0; node_job_view(bench->node, index, &view); index++)
        if (view.state < JOB_DONE && (own || !view.source))
            return false;
    return true;
}

static void wait_over(struct bench *bench, bool own)
{
    for (unsigned hop = 0; hop < END_HOPS_MAX && !jobs_over(bench, own); hop++)
        pass(bench, END_HOP_NS, 1);
    if (!jobs_over(bench, own))
        fprintf(stderr, "job %u (%s) is still in state %s: %s\n", view.id, view.name,
                job_state_name(view.state), view.text);
    CHECK(jobs_over(bench, own));
}

/* Nothing hostile any more: the disk and the ports do their work. */
static void calm(struct bench *bench, uint8_t mode)
{
    bench->mangle = false;
    bench->plan_mode = 0;
    bench->disk.holds = false;
    bench->disk.fails = 0;
    memset(bench->port_modes, PORT_SENDS, sizeof(bench->port_modes));
    for (uint8_t peer = 0; peer < PEERS; peer++)
        bench->peers[peer].mode = mode;
    for (uint8_t peer = 0; peer < PEERS; peer++)
        bench->peers[peer].full_stripes = 0;
    for (uint32_t index = 0; node_job_view(bench->node, index, &view); index++)
        if (view.source && view.controls.paused && view.state < JOB_DONE)
            control_resume(bench, view.name); /* one that is paused waits for as long as the operator likes */
    bodies_release(bench, 0);
    settle(bench);
}

/* A source that has forgotten its jobs says so to whoever tells it of one: no site may hang on them. */
static void end_forgotten(struct bench *bench)
{
    calm(bench, MODE_HELLO | MODE_MAIL | MODE_REFLECT | MODE_FORGOT);
    wait_over(bench, false);
}

static bool files_open(const struct bench *bench)
{
    for (unsigned handle = 0; handle < NODE_JOBS_MAX; handle++)
        if (bench->disk.files[handle].open || bench->disk.files[handle].outstanding > 0)
            return true;
    return false;
}

static void end_silent(struct bench *bench)
{
    uint8_t arguments[STEP_ARGUMENTS] = {0};
    calm(bench, 0);
    wait_over(bench, true);
    /* A job keeps its slot until its sites are told, which its file does not wait for. */
    for (unsigned hop = 0; hop < 2 || (hop < CLOSE_HOPS && (files_open(bench) || bench->tries_slots)); hop++)
        pass(bench, END_HOP_NS, 4);
    CHECK(!files_open(bench) && bench->disk.count == 0);
    for (unsigned slot = 0; slot < NODE_JOBS_MAX && bench->tries_slots; slot++) {
        arguments[1] = (uint8_t)(200 + slot);
        CHECK(control_run(bench, arguments));
    }
}

struct relay_outcome relay_outcome;

/* The seeds check that they got through. */
static void note_outcome(const struct bench *bench)
{
    relay_outcome = (struct relay_outcome){.jobs = node_job_count(bench->node)};
    for (uint32_t index = 0; node_job_view(bench->node, index, &view); index++) {
        relay_outcome.done += view.state == JOB_DONE;
        if (view.state != JOB_DONE)
            snprintf(relay_outcome.text, sizeof(relay_outcome.text), "%s: %s", job_state_name(view.state),
                     view.text);
    }
}

static struct bench bench_memory; /* cleared by each run */

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size % STEP_BYTES != 0)
        return 0; /* the same without the broken step */
    struct bench *bench = &bench_memory;
    struct step step = {0};
    memset(bench, 0, sizeof(*bench));
    memcpy(&step, data, MIN(size, sizeof(step)));
    configure(&bench->config, step.arguments);
    bench->tries_slots = (step.arguments[1] & 2) != 0; /* that takes longer than most inputs */
    size_t bytes = (node_bytes(&bench->config) + 63) / 64 * 64;
    uint8_t *memory = calloc(1, bytes + 64);
    CHECK(memory != NULL);
    bench->now_ns = NS_PER_S;
    bench->disk.source_bytes = 3000;
    bench->disk.feeds_left = 3;
    bench->node = node_create(&bench->config, memory + (64 - (uintptr_t)memory % 64), bytes, bench->now_ns);
    peers_start(bench);
    control_attach(bench);
    settle(bench);
    for (size_t at = STEP_BYTES, steps = 0; at + STEP_BYTES <= size && steps < STEPS_MAX; steps++) {
        memcpy(&step, data + at, sizeof(step));
        run_step(bench, &step);
        at += STEP_BYTES;
    }
    note_outcome(bench);
    if (!bench->shut_down) {
        end_forgotten(bench);
        end_silent(bench);
    }
    free(memory);
    return 0;
}

/* ---- changes that keep steps whole ---- */

/* libFuzzer's own changes; absent where this is linked without it. */
size_t LLVMFuzzerMutate(uint8_t *data, size_t size, size_t room) __attribute__((weak));
size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t room, unsigned seed);
size_t LLVMFuzzerCustomCrossOver(const uint8_t *one, size_t one_size, const uint8_t *other, size_t other_size,
                                 uint8_t *out, size_t room, unsigned seed);

static size_t insert_step(struct rng *rng, uint8_t *data, size_t size, size_t room)
{
    if (size + STEP_BYTES > MIN(room, (size_t)(STEPS_MAX + 1) * STEP_BYTES))
        return size;
    size_t steps = size / STEP_BYTES;
    uint8_t *at = data + (1 + rng_below(rng, steps)) * STEP_BYTES;
    uint8_t step[STEP_BYTES];
    memcpy(step, data + rng_below(rng, steps) * STEP_BYTES, STEP_BYTES);
    if (rng_below(rng, 2) == 0) {
        for (unsigned byte = 0; byte < STEP_BYTES; byte++)
            step[byte] = rng_below(rng, 3) == 0 ? (uint8_t)rng_next(rng) : 0;
        step[0] = (uint8_t)rng_below(rng, STEP_KIND_COUNT);
        step[1] %= PEERS;
    }
    memmove(at + STEP_BYTES, at, (size_t)(data + size - at));
    memcpy(at, step, STEP_BYTES);
    return size + STEP_BYTES;
}

static size_t remove_step(struct rng *rng, uint8_t *data, size_t size)
{
    size_t steps = size / STEP_BYTES;
    if (steps < 2)
        return size;
    uint8_t *at = data + (1 + rng_below(rng, steps - 1)) * STEP_BYTES;
    memmove(at, at + STEP_BYTES, (size_t)(data + size - at) - STEP_BYTES);
    return size - STEP_BYTES;
}

size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t room, unsigned seed)
{
    struct rng rng;
    rng_init(&rng, seed);
    size -= size % STEP_BYTES;
    if (size == 0) {
        memset(data, 0, STEP_BYTES);
        size = STEP_BYTES;
    }
    for (uint64_t changes = 1 + rng_below(&rng, 3); changes > 0; changes--) {
        uint8_t *step = data + rng_below(&rng, size / STEP_BYTES) * STEP_BYTES;
        switch (rng_below(&rng, 6)) {
        case 0:
            size = insert_step(&rng, data, size, room);
            break;
        case 1:
            size = remove_step(&rng, data, size);
            break;
        case 2:
            if (LLVMFuzzerMutate != NULL)
                LLVMFuzzerMutate(step, STEP_BYTES, STEP_BYTES);
            break;
        case 3: /* a bit of one argument: many of them are flags */
            step[3 + rng_below(&rng, STEP_ARGUMENTS)] ^= (uint8_t)(1u << rng_below(&rng, 8));
            break;
        default:
            step[rng_below(&rng, STEP_BYTES)] = (uint8_t)rng_next(&rng);
            break;
        }
    }
    return size;
}

/* The beginning of one, the end of the other. */
size_t LLVMFuzzerCustomCrossOver(const uint8_t *one, size_t one_size, const uint8_t *other, size_t other_size,
                                 uint8_t *out, size_t room, unsigned seed)
{
    struct rng rng;
    rng_init(&rng, seed);
    size_t head = rng_below(&rng, one_size / STEP_BYTES + 1) * STEP_BYTES;
    size_t from = rng_below(&rng, other_size / STEP_BYTES + 1) * STEP_BYTES;
    head = MIN(head, room);
    size_t tail = MIN(other_size - from, room - head);
    memcpy(out, one, head);
    memcpy(out + head, other + from, tail);
    return MAX(head + tail, (size_t)1);
}
