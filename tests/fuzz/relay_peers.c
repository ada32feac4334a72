/* The peers of relay_fuzz: what they hear of the node, what they answer by themselves, and the datagrams that
 * a step makes them send. Each datagram must show in one counter of the node. */
#include <stdio.h>
#include <string.h>

#include "relay_bench.h"
#include "relay_script.h"
#include "wire/ack.h"
#include "wire/control.h"
#include "wire/piece.h"

#define MANGLED_BYTES    256
#define SESSION_OF(peer) (0x22222200u + (peer))

/* ---- towards the node ---- */

static bool tells(const char *name)
{
    if (strcmp(name, "rx_datagrams") == 0)
        return false;
    return strncmp(name, "rx_", 3) == 0 || strncmp(name, "drop_", 5) == 0 ||
           strcmp(name, "symbols_repeated") == 0;
}

/* Datagrams that some counter of the node tells of: used, dropped, or symbols known already. */
static uint64_t told(const struct bench *bench)
{
    uint64_t sum = 0, value;
    for (uint32_t index = 0; index < bench->counter_count; index++) {
        node_counter(bench->node, bench->counters[index], &value);
        sum += value;
    }
    return sum;
}

static void find_counters(struct bench *bench)
{
    uint64_t value;
    const char *name;
    for (uint32_t index = 0; (name = node_counter(bench->node, index, &value)) != NULL; index++) {
        CHECK(bench->counter_count < COUNTERS_MAX);
        if (tells(name))
            bench->counters[bench->counter_count++] = index;
    }
}

void peers_start(struct bench *bench)
{
    find_counters(bench);
    sessions_start(bench);
    for (uint8_t index = 0; index < PEERS; index++) {
        struct hostile *peer = &bench->peers[index];
        struct arena arena;
        *peer = (struct hostile){
            .mode = MODE_HONEST, .session_out = 1, .session_in = SESSION_OF(index), .incarnation = 9};
        arena_init(&arena, bench->receiver_memory[index], sizeof(bench->receiver_memory[index]));
        receiver_init(&peer->receiver, RECEIVER_BITS, &arena);
    }
}

/* Four changes of a byte at a place, then the length. */
static size_t mangle(struct bench *bench, uint8_t *datagram, size_t length)
{
    const uint8_t *arguments = bench->mangling;
    bench->mangle = false;
    for (unsigned change = 0; change < 4 && length > 0; change++) {
        uint8_t place = arguments[2 * change], value = arguments[2 * change + 1];
        if (value != 0)
            datagram[place % length] ^= value;
    }
    if (arguments[8] != 0)
        length = length * arguments[8] / 256;
    return length + arguments[9] % 8;
}

void bench_receive(struct bench *bench, uint8_t who, uint8_t *datagram, size_t length)
{
    struct net_address from = bench->config.peers[who % PEERS].address;
    if ((who & STEP_STRANGE_SESSION) != 0)
        store_be32(datagram + 4, load_be32(datagram + 4) ^ 0x100);
    if ((who & STEP_STRANGE_ADDRESS) != 0)
        from.ip[3] ^= 0x40;
    size_t whole = length;
    uint8_t port = (uint8_t)bench->config.peers[who % PEERS].port;
    if (bench->mangle)
        length = mangle(bench, datagram, length);
    uint8_t *copy = calloc(1, MAX(length, (size_t)1)); /* nothing of it may be read later or beyond */
    CHECK(copy != NULL);
    memcpy(copy, datagram, MIN(length, whole));
    struct rx_packet packet = {
        .data = copy, .length = (uint32_t)length, .port = port, .rx_ns = bench->now_ns, .from = from};
    node_rx(bench->node, &packet, 1, bench->now_ns);
    CHECK(told(bench) == ++bench->datagrams);
    free(copy);
}

struct wire_header peer_header(struct bench *bench, uint8_t who, uint8_t type)
{
    struct hostile *peer = &bench->peers[who % PEERS];
    return (struct wire_header){.version = WIRE_VERSION,
                                .type = type,
                                .session = peer->session_out,
                                .packet_number = peer->control_next++,
                                .stamp = wire_stamp(bench->now_ns)};
}

void peer_message(struct bench *bench, uint8_t who, uint8_t kind, const uint8_t *body, size_t length)
{
    uint8_t out[DATAGRAM_MAX];
    struct hostile *peer = &bench->peers[who % PEERS];
    bool bare = kind == WIRE_MESSAGE_ACK;
    struct wire_header header = peer_header(bench, who, WIRE_MESSAGE);
    struct wire_message fixed = {.sequence = bare ? 0 : peer->message_next,
                                 .ack = peer->message_heard,
                                 .kind = kind,
                                 .length = (uint16_t)length};
    peer->message_next += !bare; /* what the node has not taken shows in its next acknowledgement */
    peer->mail_due = false;
    bench_receive(bench, who, out, wire_message_encode(out, &header, &fixed, body));
}

/* What the wire says of the body's length, or a little more or less. */
static size_t symbols_bytes(const uint8_t *arguments, uint32_t count)
{
    static const uint16_t symbol_bytes[8] = {1024, 1408, 1040, 1200, 8960, 1025, 16, 1104};
    size_t bytes = (size_t)symbol_bytes[arguments[6] & 7] * count;
    switch (arguments[6] >> 3 & 3) {
    case 1:
        return bytes - 1;
    case 2:
        return bytes + 1;
    case 3:
        return load_be16(&arguments[7]);
    }
    return bytes;
}

void peer_data(struct bench *bench, uint8_t who, const uint8_t *arguments)
{
    uint8_t out[WIRE_DATA_HEADER_MAX + DATAGRAM_MAX] = {0};
    struct hostile *peer = &bench->peers[who % PEERS];
    uint8_t bits = arguments[1];
    uint32_t count = MAX(bits & 7u, 1u);
    uint64_t symbol = wide(arguments[2]) + arguments[3];
    uint8_t stripe = (uint8_t)((bits >> 7) + arguments[11]);
    size_t bytes = MIN(symbols_bytes(arguments, count), (size_t)DATAGRAM_MAX);
    if ((bits & 32) != 0)
        peer->data_next += (uint32_t)wide(arguments[5]);
    for (uint32_t left = MAX(arguments[4], 1u); left > 0; left--, symbol += count) {
        struct wire_header header = peer_header(bench, who, WIRE_DATA);
        header.packet_number = peer->data_next;
        header.flags = (bits & 64) != 0 ? WIRE_FLAG_TAIL : 0;
        struct wire_data data = {.floor_delta = (uint32_t)wide(arguments[9]),
                                 .job = bench_job(bench, arguments[0]),
                                 .content =
                                     wire_content(symbol & WIRE_SYMBOL_MAX, count, stripe, arguments[10])};
        size_t head = wire_data_encode(out, &header, &data, NULL);
        memset(out + head, (bits & 8) != 0 ? BAD_BYTE : GOOD_BYTE, bytes);
        bench_receive(bench, who, out, MIN(head + bytes, (size_t)DATAGRAM_MAX));
        peer->data_next += (bits & 16) == 0;
    }
}

/* With it goes what the peer says of its places for the jobs of this node and its neighbours. */
static void send_ack(struct bench *bench, uint8_t who, struct wire_ack *ack, const uint8_t *runs,
                     uint8_t full_stripes)
{
    const uint32_t jobs[] = {bench_job(bench, SITE_JOB), bench_job(bench, OWN_JOB)};
    struct wire_place places[sizeof(jobs) / sizeof(jobs[0])];
    uint8_t out[WIRE_ACK_BYTES_MAX + 8];
    struct wire_header header = peer_header(bench, who, WIRE_ACK);
    for (unsigned index = 0; full_stripes != 0 && index < sizeof(jobs) / sizeof(jobs[0]); index++)
        places[ack->place_count++] =
            (struct wire_place){.job = jobs[index], .full_stripes = full_stripes, .room = full_stripes % 4};
    bench_receive(bench, who, out, wire_ack_encode(out, &header, ack, runs, places));
}

static void send_true_acks(struct bench *bench, uint8_t who)
{
    struct hostile *peer = &bench->peers[who % PEERS];
    uint8_t runs[WIRE_ACK_RUNS_MAX];
    struct wire_ack ack = {0};
    while (receiver_ack(&peer->receiver, &ack, runs, bench->now_ns)) {
        ack.credit = (peer->mode & MODE_FULL) != 0 ? 0 : 1000;
        ack.own_rate_kbps = 1000;
        send_ack(bench, who, &ack, runs, peer->full_stripes);
        ack = (struct wire_ack){0};
    }
}

void peer_ack(struct bench *bench, uint8_t who, const uint8_t *arguments)
{
    struct hostile *peer = &bench->peers[who % PEERS];
    uint32_t newest = arguments[0] & 2 ? (uint32_t)peer->receiver.end : 0;
    uint8_t runs[WIRE_ACK_RUNS_MAX];
    if ((arguments[0] & 1) != 0) {
        receiver_remind(&peer->receiver, bench->now_ns);
        send_true_acks(bench, who);
        return;
    }
    struct wire_ack ack = {.base = newest + (uint32_t)wide(arguments[1]),
                           .largest = newest + (uint32_t)wide(arguments[2]),
                           .credit = (uint32_t)wide(arguments[6]),
                           .delivered_bytes = wide(arguments[7]),
                           .owd_min = (uint32_t)wide(arguments[8]),
                           .delivered_stamp = (uint32_t)wide(arguments[9]),
                           .largest_delay = (uint32_t)wide(arguments[10]),
                           .jump = (uint32_t)wide(arguments[10]),
                           .late_us = (uint32_t)wide(arguments[11]),
                           .wait = (uint32_t)wide(arguments[12]),
                           .ce_count = arguments[11],
                           .own_rate_kbps = (uint32_t)wide(arguments[12]),
                           .missed = (uint32_t)wide(arguments[9]),
                           .limited_by = arguments[12]};
    for (unsigned run = 3; run < 6; run++)
        ack.run_bytes =
            (uint16_t)(ack.run_bytes + wire_run_put(runs + ack.run_bytes, (uint32_t)wide(arguments[run])));
    send_ack(bench, who, &ack, runs, arguments[12]);
}

static void send_probe(struct bench *bench, uint8_t who, uint8_t type, const struct wire_probe *probe)
{
    uint8_t out[DATAGRAM_MAX] = {0};
    struct wire_header header = peer_header(bench, who, type);
    size_t length = wire_probe_encode(out, &header, probe) + probe->padding;
    bench_receive(bench, who, out, MIN(length, (size_t)DATAGRAM_MAX - 8));
}

/* Its packets, from one on, in so many steps. */
static void send_train(struct bench *bench, uint8_t who, const uint8_t *arguments)
{
    struct wire_train train = {.train = arguments[1],
                               .index = (uint16_t)wide(arguments[3]),
                               .count = (uint16_t)wide(arguments[4]),
                               .rest_us = (uint32_t)wide(arguments[5]),
                               .padding = (uint16_t)(wide(arguments[2]) % 1400)};
    for (unsigned sent = 0; sent <= arguments[6]; sent++) {
        uint8_t out[DATAGRAM_MAX] = {0};
        struct wire_header header = peer_header(bench, who, WIRE_TRAIN);
        bench_receive(bench, who, out, wire_train_encode(out, &header, &train) + train.padding);
        train.index = (uint16_t)(train.index + arguments[7] % 4u);
    }
}

void peer_probe(struct bench *bench, uint8_t who, const uint8_t *arguments)
{
    if ((arguments[0] & 2) != 0) {
        send_train(bench, who, arguments);
        return;
    }
    struct wire_probe probe = {.id = arguments[1],
                               .padding = (uint16_t)(wide(arguments[2]) % 1400),
                               .t1_ns = wide(arguments[3]),
                               .t2_ns = wide(arguments[4]),
                               .t3_ns = wide(arguments[5])};
    for (unsigned count = 0; count <= arguments[6] % 32u; count++)
        send_probe(bench, who, (arguments[0] & 1) != 0 ? WIRE_PROBE_REPLY : WIRE_PROBE, &probe);
}

/* ---- from the node: it sends nothing that it would not take itself ---- */

static void answer_later(struct hostile *peer, uint8_t kind, uint32_t job, uint32_t epoch)
{
    if (peer->answer_count < ANSWERS_MAX)
        peer->answers[peer->answer_count++] = (struct answer){.kind = kind, .job = job, .epoch = epoch};
}

static void learn_job(struct bench *bench, uint32_t job)
{
    for (uint32_t index = 0; index < JOBS_OWN; index++)
        if (bench->own_jobs[index] == job)
            return;
    bench->own_jobs[bench->own_job_count++ % JOBS_OWN] = job;
}

static void hear_measure(struct bench *bench, struct hostile *peer, const uint8_t *body, size_t length)
{
    struct wire_measure measure;
    CHECK(control_measure_decode(body, length, &measure) == WIRE_OK);
    learn_job(bench, measure.job);
    answer_later(peer, CONTROL_MEASURE, measure.job, 0);
}

static bool decodes(uint8_t kind, const uint8_t *body, size_t length)
{
    union {
        struct control_measurement measurement;
        struct control_tree tree;
        struct control_confirm confirm;
        struct wire_start start;
        struct control_status status;
        struct control_hashes hashes;
        struct wire_blocks blocks;
        struct control_close_job close;
        struct wire_adjust adjust;
        struct wire_stream_room room;
        struct wire_stream_end end;
        struct control_let_go let_go;
        struct control_train_report train;
        struct control_available available;
        struct wire_probe_ask ask;
        struct control_probe_answer answer;
    } any;
    switch ((enum control_kind)kind) {
    case CONTROL_MEASUREMENT:
        return control_measurement_decode(body, length, &any.measurement) == WIRE_OK;
    case CONTROL_TREE:
        return control_tree_decode(body, length, &any.tree) == WIRE_OK;
    case CONTROL_CONFIRM:
        return control_confirm_decode(body, length, &any.confirm) == WIRE_OK;
    case CONTROL_START:
        return control_start_decode(body, length, &any.start) == WIRE_OK;
    case CONTROL_STATUS:
        return control_status_decode(body, length, &any.status) == WIRE_OK;
    case CONTROL_HASHES:
        return control_hashes_decode(body, length, &any.hashes) == WIRE_OK;
    case CONTROL_HAVE:
    case CONTROL_RESEND:
        return control_blocks_decode(body, length, &any.blocks) == WIRE_OK;
    case CONTROL_CLOSE_JOB:
        return control_close_job_decode(body, length, &any.close) == WIRE_OK;
    case CONTROL_ADJUST:
        return control_adjust_decode(body, length, &any.adjust) == WIRE_OK;
    case CONTROL_STREAM_ROOM:
        return control_stream_room_decode(body, length, &any.room) == WIRE_OK;
    case CONTROL_STREAM_END:
        return control_stream_end_decode(body, length, &any.end) == WIRE_OK;
    case CONTROL_LET_GO:
        return control_let_go_decode(body, length, &any.let_go) == WIRE_OK;
    case CONTROL_TRAIN_REPORT:
        return control_train_report_decode(body, length, &any.train) == WIRE_OK;
    case CONTROL_AVAILABLE:
        return control_available_decode(body, length, &any.available) == WIRE_OK;
    case CONTROL_PROBE_ASK:
        return control_probe_ask_decode(body, length, &any.ask) == WIRE_OK;
    case CONTROL_PROBE_ANSWER:
        return control_probe_answer_decode(body, length, &any.answer) == WIRE_OK;
    case CONTROL_MEASURE:
    case CONTROL_PART:
    case CONTROL_KIND_COUNT:
        break;
    }
    return false;
}

static void hear_body(struct bench *bench, struct hostile *peer, uint8_t kind, const uint8_t *body,
                      size_t length)
{
    if (kind == CONTROL_MEASURE) {
        hear_measure(bench, peer, body, length);
    } else if (kind == CONTROL_PART) {
        struct control_part part;
        CHECK(control_part_decode(body, length, &part) == WIRE_OK);
        answer_later(peer, CONTROL_PART, part.fixed.job, part.fixed.epoch);
    } else {
        CHECK(decodes(kind, body, length));
        if (kind == CONTROL_STATUS || kind == CONTROL_CONFIRM)
            answer_later(peer, kind, load_be32(body), 0);
    }
}

static void hear_message(struct bench *bench, struct hostile *peer, const uint8_t *datagram, size_t length)
{
    struct wire_message_view view;
    CHECK(wire_message_decode(datagram, length, &view) == WIRE_OK);
    peer->message_next = view.fixed.ack; /* mangled ones may have been refused, or taken for later ones */
    if (view.fixed.kind == WIRE_MESSAGE_ACK)
        return;
    peer->mail_due = true;
    if (view.fixed.sequence != peer->message_heard || (peer->mode & MODE_MAIL) == 0)
        return;
    peer->message_heard++;
    hear_body(bench, peer, view.fixed.kind, view.body, view.fixed.length);
}

static void hear_data(struct bench *bench, struct hostile *peer, const struct wire_header *header,
                      const uint8_t *datagram, size_t length)
{
    struct wire_data_view view;
    CHECK(wire_data_decode(datagram, length, &view) == WIRE_OK);
    /* What came, or was read: no memory that the disk still fills, or that nobody has filled. */
    uint8_t last = datagram[length - 1];
    CHECK(length <= MANGLED_BYTES || last == GOOD_BYTE || last == BAD_BYTE);
    if ((peer->mode & MODE_LOSES) != 0 && peer->heard_packets++ % 2 == 0)
        return;
    uint64_t number = receiver_expand(&peer->receiver, header->packet_number);
    uint64_t floor = number - MIN((uint64_t)view.fixed.floor_delta, number);
    receiver_on_packet(&peer->receiver, number, floor, header->stamp, (uint32_t)length, false, bench->now_ns);
}

void peer_hear(struct bench *bench, const struct tx_packet *packet)
{
    uint8_t datagram[DATAGRAM_MAX];
    struct wire_header header;
    struct wire_ack_view ack;
    struct wire_train train;
    struct wire_piece_view piece;
    struct wire_hello hello;
    struct hostile *peer = &bench->peers[packet->peer];
    size_t length = (size_t)packet->head_bytes + packet->body_bytes;
    memcpy(datagram, packet->head, packet->head_bytes);
    if (packet->body_bytes > 0)
        memcpy(datagram + packet->head_bytes, packet->body, packet->body_bytes);
    CHECK(wire_header_decode(datagram, length, &header) == WIRE_OK);
    switch ((enum wire_type)header.type) {
    case WIRE_INITIATION:
    case WIRE_RESPONSE:
        peer_hear_handshake(bench, packet->peer, &header, datagram, length);
        break;
    case WIRE_HELLO:
        CHECK(wire_hello_decode(datagram, length, &hello) == WIRE_OK);
        peer->hello_due = true;
        break;
    case WIRE_DATA:
        hear_data(bench, peer, &header, datagram, length);
        break;
    case WIRE_ACK:
        CHECK(wire_ack_decode(datagram, length, &ack) == WIRE_OK);
        break;
    case WIRE_MESSAGE:
        hear_message(bench, peer, datagram, length);
        break;
    case WIRE_PROBE:
        CHECK(peer->probe_count <= PROBES_MAX);
        if (peer->probe_count < PROBES_MAX)
            CHECK(wire_probe_decode(datagram, length, &peer->probes[peer->probe_count++]) == WIRE_OK);
        break;
    case WIRE_TRAIN:
        CHECK(wire_train_decode(datagram, length, &train) == WIRE_OK);
        break;
    case WIRE_PIECE:
        CHECK(wire_piece_decode(datagram, length, &piece) == WIRE_OK);
        break;
    case WIRE_PROBE_REPLY:
    case WIRE_CLOSE:
        break;
    case WIRE_TYPE_COUNT:
        CHECK(false);
    }
}

/* ---- by themselves ---- */

static void answer_site(struct bench *bench, uint8_t who, const struct answer *answer)
{
    uint8_t body[WIRE_MESSAGE_BODY_MAX];
    if (answer->kind == CONTROL_PART) {
        struct control_confirm confirm = {.fixed = {.job = answer->job, .epoch = answer->epoch}};
        peer_message(bench, who, CONTROL_CONFIRM, body, control_confirm_encode(body, &confirm));
        return;
    }
    struct control_measurement report = {.fixed = {.job = answer->job,
                                                   .up_bps = 1000000000,
                                                   .down_bps = 1000000000,
                                                   .total = PEERS - 1,
                                                   .count = PEERS - 1}};
    uint16_t next = 0;
    for (uint8_t index = 0; index < PEERS; index++) {
        if (index == who)
            continue;
        struct wire_measured *entry = &report.peers[next++];
        *entry = (struct wire_measured){.rtt_min_us = 1000u + index, .answered = 1, .sent = 1, .mtu = 1500};
        name_copy(entry->peer.text, NAME_BYTES, peer_names[index]);
    }
    peer_message(bench, who, CONTROL_MEASUREMENT, body, control_measurement_encode(body, &report));
}

static void answer_close(struct bench *bench, uint8_t who, uint32_t job)
{
    uint8_t body[WIRE_MESSAGE_BODY_MAX];
    struct control_close_job close = {.fixed = {.job = job, .outcome = CLOSE_FAILED}};
    peer_message(bench, who, CONTROL_CLOSE_JOB, body, control_close_job_encode(body, &close));
}

static bool answer_mail(struct bench *bench, uint8_t who)
{
    struct hostile *peer = &bench->peers[who];
    uint32_t count = peer->answer_count;
    peer->answer_count = 0;
    for (uint32_t index = 0; index < count; index++) {
        const struct answer *answer = &peer->answers[index];
        bool asks = answer->kind == CONTROL_PART || answer->kind == CONTROL_MEASURE;
        if (asks && (peer->mode & MODE_SITE) != 0)
            answer_site(bench, who, answer);
        else if (!asks && (peer->mode & MODE_FORGOT) != 0)
            answer_close(bench, who, answer->job);
    }
    return count > 0;
}

static bool reflect(struct bench *bench, uint8_t who)
{
    struct hostile *peer = &bench->peers[who];
    uint32_t count = peer->probe_count;
    peer->probe_count = 0;
    if ((peer->mode & MODE_REFLECT) == 0)
        return false;
    for (uint32_t index = 0; index < count; index++)
        send_probe(bench, who, WIRE_PROBE_REPLY, &peer->probes[index]);
    return count > 0;
}

bool peers_answer(struct bench *bench)
{
    static const uint8_t plain[STEP_ARGUMENTS];
    bool busy = false;
    for (uint8_t who = 0; who < PEERS; who++) {
        struct hostile *peer = &bench->peers[who];
        bool shakes = peer->asked_due && (peer->mode & MODE_HELLO) != 0;
        bool hello = (peer->hello_due || shakes) && (peer->mode & MODE_HELLO) != 0;
        bool mail = peer->mail_due && (peer->mode & MODE_MAIL) != 0;
        bool acks = (peer->mode & MODE_ACK) != 0 && receiver_next_ns(&peer->receiver) <= bench->now_ns;
        if (shakes)
            peer_respond(bench, who, plain);
        if (hello)
            peer_hello(bench, who, plain);
        if (mail)
            peer_message(bench, who, WIRE_MESSAGE_ACK, NULL, 0);
        if (acks)
            send_true_acks(bench, who);
        busy = busy || hello || mail || acks;
        busy = answer_mail(bench, who) || busy;
        busy = reflect(bench, who) || busy;
    }
    return busy;
}
