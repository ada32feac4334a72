/* Prints what the edge costs per packet with a full pipe: 10 Gbit/s, 1 s, packets of 1538 bytes, acks every
 * 25 ms, at some loss rates. A measurement, not a test: it asserts nothing about time. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "base/rng.h"
#include "base/units.h"
#include "edge/receiver.h"
#include "edge/sender.h"

#define WINDOW       (1u << 21)
#define PACKET_BYTES 1538
#define RATE_BPS     (10 * NS_PER_S)
#define OWD_NS       (500 * NS_PER_MS)
#define PACKETS      4000000ULL
#define BURST        4096u

struct cost {
    struct sender sender;
    struct receiver receiver;
    struct rng rng;
    uint64_t *sent_ns, *floors;
    uint64_t send_cost_ns, receive_cost_ns, ack_write_ns, ack_read_ns;
    uint64_t acks, events;
};

static uint64_t clock_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * NS_PER_S + (uint64_t)now.tv_nsec;
}

static bool on_event(void *owner, uint64_t content, uint16_t tag)
{
    struct cost *cost = owner;
    cost->events += content + tag;
    return true;
}

static uint64_t send_burst(struct cost *cost)
{
    uint64_t start_ns = clock_ns();
    uint64_t depart_ns = 0;
    for (uint32_t index = 0; index < BURST; index++) {
        enum edge_limit limit;
        depart_ns = sender_send_ns(&cost->sender, PACKET_BYTES, false, &limit);
        CHECK(depart_ns != TIME_NEVER);
        uint64_t number = sender_on_sent(&cost->sender, index, 1, PACKET_BYTES, false, depart_ns);
        cost->sent_ns[number % WINDOW] = depart_ns;
        cost->floors[number % WINDOW] = sender_floor(&cost->sender);
    }
    cost->send_cost_ns += clock_ns() - start_ns;
    return depart_ns;
}

/* The receiver takes what left OWD ago; `lost` is decided beforehand so that the draw is not timed. */
static uint64_t receive_until(struct cost *cost, uint64_t number, uint64_t sent_until_ns, uint64_t loss_ppb)
{
    static bool lost[WINDOW];
    uint64_t end = number;
    while (end < cost->sender.next_number && cost->sent_ns[end % WINDOW] <= sent_until_ns)
        lost[end++ % WINDOW] = rng_chance_ppb(&cost->rng, loss_ppb);
    uint64_t start_ns = clock_ns();
    for (; number < end; number++) {
        uint64_t sent_ns = cost->sent_ns[number % WINDOW];
        if (lost[number % WINDOW])
            continue;
        if (receiver_check(&cost->receiver, number, cost->floors[number % WINDOW]) == RECEIVER_NEW)
            receiver_on_packet(&cost->receiver, number, cost->floors[number % WINDOW], wire_stamp(sent_ns),
                               PACKET_BYTES, false, sent_ns + OWD_NS);
    }
    cost->receive_cost_ns += clock_ns() - start_ns;
    return end;
}

struct kept_ack {
    uint64_t at_ns;
    struct wire_ack fixed;
    uint8_t runs[WIRE_ACK_RUNS_MAX];
};

#define KEPT 65536

static void exchange_acks(struct cost *cost, struct kept_ack *kept, uint64_t *head, uint64_t *tail,
                          uint64_t now_ns)
{
    const struct sender_events events = {
        .on_acked = on_event, .on_lost = on_event, .on_probe = on_event, .owner = cost};
    uint64_t start_ns = clock_ns();
    uint64_t before = *tail;
    while (receiver_ack(&cost->receiver, &kept[*tail % KEPT].fixed, kept[*tail % KEPT].runs, now_ns)) {
        kept[*tail % KEPT].fixed.credit = WINDOW;
        kept[(*tail)++ % KEPT].at_ns = now_ns + OWD_NS;
    }
    cost->acks += *tail - before;
    uint64_t written_ns = clock_ns();
    for (; *head < *tail && kept[*head % KEPT].at_ns <= now_ns; (*head)++) {
        struct kept_ack *ack = &kept[*head % KEPT];
        struct wire_ack_view view = {.fixed = ack->fixed, .stamp = wire_stamp(ack->at_ns), .runs = ack->runs};
        CHECK(sender_on_ack(&cost->sender, &view, now_ns, &events));
    }
    cost->ack_write_ns += written_ns - start_ns;
    cost->ack_read_ns += clock_ns() - written_ns;
}

static void run(uint64_t loss_ppb)
{
    static struct cost cost;
    static struct kept_ack kept[KEPT];
    struct sender_config config = {.window_packets = WINDOW, .packet_bytes_max = PACKET_BYTES};
    size_t bytes = sender_bytes(&config) + receiver_bytes(WINDOW);
    void *memory = aligned_alloc(ARENA_ALIGN, bytes);
    CHECK(memory != NULL);
    struct arena arena;
    arena_init(&arena, memory, bytes);
    cost = (struct cost){.sent_ns = calloc(WINDOW, 8), .floors = calloc(WINDOW, 8)};
    CHECK(cost.sent_ns != NULL && cost.floors != NULL);
    sender_init(&cost.sender, &config, &arena);
    receiver_init(&cost.receiver, WINDOW, &arena);
    receiver_set_rtt(&cost.receiver, 2 * OWD_NS);
    sender_set_rtt(&cost.sender, 2 * OWD_NS);
    sender_set_congestion(&cost.sender, &congestion_fixed_type, RATE_BPS, true, 0);
    rng_init(&cost.rng, 1);
    uint64_t head = 0, tail = 0, received = 0, in_flight_max = 0;
    while (cost.sender.next_number < PACKETS) {
        uint64_t now_ns = send_burst(&cost);
        in_flight_max = MAX(in_flight_max, cost.sender.in_flight_packets);
        received = receive_until(&cost, received, elapsed_ns(now_ns, OWD_NS), loss_ppb);
        exchange_acks(&cost, kept, &head, &tail, now_ns);
    }
    printf("%6.2f %10" PRIu64 " %8" PRIu64 " %8.1f %8.1f %8.1f %8.1f %9.1f\n", (double)loss_ppb / 1e7,
           in_flight_max, cost.acks, (double)cost.send_cost_ns / PACKETS, (double)cost.ack_read_ns / PACKETS,
           (double)cost.receive_cost_ns / PACKETS, (double)cost.ack_write_ns / PACKETS,
           (double)bytes / WINDOW);
    free(cost.sent_ns);
    free(cost.floors);
    free(memory);
}

int main(void)
{
    printf("loss %%  in flight     acks  ns a packet: send  ack read  receive  ack write  bytes/number\n");
    const uint64_t losses_ppb[] = {0, 1000000, 10000000, 50000000, 300000000};
    for (size_t index = 0; index < sizeof(losses_ppb) / sizeof(losses_ppb[0]); index++)
        run(losses_ppb[index]);
    return 0;
}
