/* A sender fed with acks written by hand, for its tests: contents are 1000 + number, what the sender hands
 * back is noted. */
#pragma once

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>

#include <cmocka.h>

#include "base/units.h"
#include "edge/sender.h"

#define MS           NS_PER_MS
#define WINDOW       1024
#define PACKET_BYTES 1000
#define RATE_BPS     (8 * NS_PER_S) /* a byte a ns: one packet a us */
#define EVENTS_MAX   70000

struct fixture {
    struct sender sender;
    void *memory;
    uint64_t acked[EVENTS_MAX], lost[EVENTS_MAX], probed[EVENTS_MAX];
    uint32_t acked_count, lost_count, probed_count;
};

static struct fixture fixture;

static inline bool on_acked(void *owner, uint64_t content, uint16_t tag)
{
    struct fixture *f = owner;
    assert_int_equal(tag, content % 1000);
    f->acked[f->acked_count++] = content;
    return true;
}

static inline bool on_lost(void *owner, uint64_t content, uint16_t tag)
{
    struct fixture *f = owner;
    assert_int_equal(tag, content % 1000);
    f->lost[f->lost_count++] = content;
    return true;
}

static inline bool on_probe(void *owner, uint64_t content, uint16_t tag)
{
    struct fixture *f = owner;
    assert_int_equal(tag, content % 1000);
    f->probed[f->probed_count++] = content;
    return true;
}

static const struct sender_events events = {
    .on_acked = on_acked, .on_lost = on_lost, .on_probe = on_probe, .owner = &fixture};

static inline void open_sender(uint32_t window)
{
    struct sender_config config = {.window_packets = window, .packet_bytes_max = PACKET_BYTES};
    free(fixture.memory);
    size_t bytes = sender_bytes(&config);
    void *memory = aligned_alloc(ARENA_ALIGN, bytes);
    assert_non_null(memory);
    fixture = (struct fixture){.memory = memory};
    struct arena arena;
    arena_init(&arena, memory, bytes);
    sender_init(&fixture.sender, &config, &arena);
    assert_int_equal(arena.used, bytes);
    sender_set_congestion(&fixture.sender, &congestion_fixed_type, RATE_BPS, true, 0);
    fixture.sender.reorder.watched_ns = TIME_NEVER / 2; /* a path that was known before */
}

static inline int setup(void **state)
{
    (void)state;
    open_sender(WINDOW);
    return 0;
}

static inline int teardown(void **state)
{
    (void)state;
    free(fixture.memory);
    fixture.memory = NULL;
    return 0;
}

/* Sends contents 1000 + number, one each `spacing_ns` from start_ns on. */
static inline void send(uint32_t count, uint64_t start_ns, uint64_t spacing_ns)
{
    for (uint32_t index = 0; index < count; index++) {
        uint64_t content = 1000 + fixture.sender.next_number;
        uint64_t number = sender_on_sent(&fixture.sender, content, (uint16_t)(content % 1000), PACKET_BYTES,
                                         false, start_ns + index * spacing_ns);
        assert_int_equal(number, content - 1000);
    }
}

struct told {
    uint64_t base, largest;
    uint32_t largest_delay, late_us, credit, wait_ns, marks, missed;
    uint64_t delivered_bytes;
    uint64_t owd_ns, jump_ns, clock_offset_ns; /* of the receiver */
    uint64_t delivered_ago_ns;                 /* before the ack came */
    uint32_t runs[8];                          /* ended by two zeros */
};

static inline bool ack(const struct told *told, uint64_t now_ns)
{
    uint8_t runs[64];
    struct wire_ack_view view = {
        .fixed = {.base = (uint32_t)told->base,
                  .largest = (uint32_t)told->largest,
                  .largest_delay = told->largest_delay,
                  .late_us = told->late_us,
                  .ce_count = told->marks,
                  .missed = told->missed,
                  .wait = told->wait_ns / WIRE_STAMP_UNIT_NS,
                  .credit = told->credit ? told->credit : 100000,
                  .delivered_bytes = told->delivered_bytes,
                  .owd_min = wire_stamp(told->owd_ns + told->clock_offset_ns),
                  .jump = wire_stamp(told->jump_ns),
                  .delivered_stamp = wire_stamp(now_ns - told->delivered_ago_ns + told->clock_offset_ns)},
        .stamp = wire_stamp(now_ns + told->clock_offset_ns),
        .runs = runs};
    for (int index = 0; told->runs[index] != 0 || told->runs[index + 1] != 0; index++)
        view.fixed.run_bytes =
            (uint16_t)(view.fixed.run_bytes + wire_run_put(runs + view.fixed.run_bytes, told->runs[index]));
    return sender_on_ack(&fixture.sender, &view, now_ns, &events);
}
