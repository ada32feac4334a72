/* CUBIC's law on a window (RFC 9438): what an edge falls back to beside senders that fill the buffer.
 *
 *     W(t) = C (t - K)^3 + W_max,  K = cbrt(W_max (1 - beta) / C),  C = 0.4 packets/s^3, beta = 0.8 (RFC 9438: 0.7)
 *
 * with the Reno-friendly estimate and fast convergence. Once per round trip at most the window shrinks. All
 * in bytes; packets are as large as they were when it began. */
#pragma once

#include <stdint.h>

struct cubic_window {
    uint64_t packet_bytes;
    uint64_t bytes;
    uint64_t max_bytes;  /* W_max */
    uint64_t reno_bytes; /* what Reno would have */
    uint64_t epoch_ns;   /* of the last reduction */
    uint64_t inflect_ms; /* K */
};

/* The window as it is now counts as the largest so far. */
void cubic_init(struct cubic_window *window, uint64_t bytes, uint64_t packet_bytes, uint64_t now_ns);
/* Packets came: the window grows. rtt_ns: as it is now, queue included. */
void cubic_on_acked(struct cubic_window *window, uint64_t acked_bytes, uint64_t rtt_ns, uint64_t now_ns);
/* Loss that is more than chance. */
void cubic_on_loss(struct cubic_window *window, uint64_t rtt_ns, uint64_t now_ns);
