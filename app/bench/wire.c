#include "app/bench/wire.h"

#include <stdlib.h>
#include <string.h>

#include <rte_ethdev.h>
#include <rte_mbuf.h>
#include <rte_mbuf_dyn.h>

#include "base/check.h"
#include "base/units.h"
#include "netem/make.h"
#include "wire/ethernet.h"

#define BURST           32
#define FRAME_BYTES_MIN 60u  /* shorter ones are padded on the wire */
#define PLACE_BYTES     100u /* on the wire: for each so many under way there is a place */

static const struct rte_mbuf_dynfield entry_field = {
    .name = "wire_entry", .size = sizeof(uint64_t), .align = sizeof(uint64_t)};
static int entry_place; /* in a frame, of the tsc when it was sent */

/* ---- start ---- */

uint32_t wire_packets(const struct wire_config *config)
{
    uint64_t bytes = bytes_within(config->capacity_bps, config->queue_ns + config->delay_ns);
    uint32_t places = 1024;
    while (places < bytes / PLACE_BYTES)
        places *= 2;
    return places;
}

static void *take_memory(size_t count, size_t bytes)
{
    void *memory = calloc(count, bytes);
    CHECK(memory != NULL);
    return memory;
}

static void link_start(struct netem_link *link, const struct netem_config *config)
{
    size_t bytes = netem_memory_bytes(config, 0);
    netem_make(link, config, 0, 1, bytes > 0 ? take_memory(1, bytes) : NULL);
}

/* The sender's thread, for each burst that it gives to its port. */
static uint16_t note_entry(uint16_t port_id, uint16_t queue, struct rte_mbuf *frames[], uint16_t count,
                           void *unused)
{
    (void)port_id;
    (void)queue;
    (void)unused;
    uint64_t tsc = rte_rdtsc();
    for (uint16_t index = 0; index < count; index++)
        *RTE_MBUF_DYNFIELD(frames[index], entry_place, uint64_t *) = tsc;
    return count;
}

static void watch(struct wire *wire, const struct wire_config *config)
{
    struct netem_link *link = &wire->ways[0].link;
    uint32_t places = netem_truth_places(&link->config, config->truth_ns);
    netem_truth_init(&wire->truth, take_memory(places, sizeof(struct netem_truth_block)), places);
    netem_watch(link, &wire->truth);
    netem_background_from(link, tsc_now_ns(wire->clock));
}

void wire_start(struct wire *wire, const struct wire_config *config, struct rte_ring *const from[WIRE_ENDS],
                struct rte_ring *const to[WIRE_ENDS], const uint16_t port_ids[WIRE_ENDS],
                const struct tsc_clock *clock)
{
    *wire = (struct wire){.clock = clock, .places = wire_packets(config)};
    entry_place = rte_mbuf_dynfield_register(&entry_field);
    CHECK(entry_place >= 0);
    for (int end = 0; end < WIRE_ENDS; end++) {
        struct wire_way *way = &wire->ways[end];
        struct netem_config port = {.rate_bps = config->port_bps};
        struct netem_config link = {.rate_bps = config->capacity_bps,
                                    .queue_unit = NETEM_QUEUE_NS,
                                    .queue_limit = config->queue_ns,
                                    .delay_ns = config->delay_ns,
                                    .background_bps = end == 0 ? config->cross_bps : 0};
        way->from = from[end];
        way->to = to[1 - end];
        way->frames = take_memory(wire->places, sizeof(*way->frames));
        link_start(&way->port, &port);
        link_start(&way->link, &link);
        CHECK(rte_eth_add_tx_callback(port_ids[end], 0, note_entry, NULL) != NULL);
    }
    watch(wire, config);
}

/* ---- turns ---- */

static void enter(struct wire *wire, struct wire_way *way, struct rte_mbuf *frame)
{
    uint64_t tsc = *RTE_MBUF_DYNFIELD(frame, entry_place, const uint64_t *);
    uint32_t wire_bytes = MAX(rte_pktmbuf_pkt_len(frame), FRAME_BYTES_MIN) + ETHERNET_OVERHEAD_BYTES;
    way->entered_ns = MAX(way->entered_ns, tsc_to_ns(wire->clock, tsc));
    struct netem_decision decision = netem_send(&way->port, wire_bytes, 0, way->entered_ns);
    decision = netem_send(&way->link, wire_bytes, 0, decision.arrive_ns);
    if (decision.verdict != NETEM_PASS) {
        rte_pktmbuf_free(frame);
        way->refused++;
        return;
    }
    way->frames[way->tail++ & (wire->places - 1)] =
        (struct wire_frame){.frame = frame, .due_ns = decision.arrive_ns};
}

/* What finds no room stays in its ring. */
static void take(struct wire *wire, struct wire_way *way)
{
    void *frames[BURST];
    unsigned count;
    do {
        uint32_t room = wire->places - (way->tail - way->head);
        count = rte_ring_sc_dequeue_burst(way->from, frames, MIN(room, (uint32_t)BURST), NULL);
        for (unsigned index = 0; index < count; index++)
            enter(wire, way, frames[index]);
    } while (count == BURST);
}

static void hand_over(struct wire *wire, struct wire_way *way, uint64_t now_ns)
{
    while (way->head != way->tail) {
        const struct wire_frame *next = &way->frames[way->head & (wire->places - 1)];
        if (next->due_ns > now_ns || rte_ring_sp_enqueue(way->to, next->frame) != 0)
            return;
        way->head++;
    }
}

void wire_turn(struct wire *wire, uint64_t now_ns)
{
    for (int end = 0; end < WIRE_ENDS; end++) {
        take(wire, &wire->ways[end]);
        hand_over(wire, &wire->ways[end], now_ns);
    }
}

uint64_t wire_left_bps(struct wire *wire, uint64_t from_ns, uint64_t until_ns)
{
    struct netem_link *link = &wire->ways[0].link;
    CHECK(until_ns > from_ns);
    netem_catch_up(link, until_ns);
    uint64_t bits = netem_truth_cross_bits(&wire->truth, from_ns, until_ns);
    return elapsed_ns(link->config.rate_bps, muldiv64(bits, NS_PER_S, until_ns - from_ns));
}
