/* Between the files of this folder: udp_errors.c, udp_rx.c and udp_tx.c below udp_port.c. */
#pragma once

#include "udp/udp_port.h"

/* ---- udp_errors.c ---- */
/* All that stands in the socket's queue of errors: times of departure, and what ICMP says. Times that the kernel does not
 * tell in time are those of the call. True: there was something of ICMP. */
bool udp_errors_take(struct udp_port *port, uint64_t now_ns);
/* `cookie` left in that call; its time will be told, or is the call's. */
void udp_departed(struct udp_port *port, uint64_t cookie, uint64_t from_ns, uint64_t until_ns);
void udp_report(struct udp_port *port, const struct tx_report *report);
void udp_say(struct udp_port *port, enum udp_word word, const struct net_address *of, int error);

/* ---- udp_rx.c ---- */
uint16_t udp_receive(void *port, struct rx_packet *packets, uint16_t room, uint16_t *frames, uint64_t now_ns);
void udp_receive_done(void *port);
uint16_t udp_receive_keep(void *port, void **buffers);
void udp_release(void *port, void **buffers, uint16_t count);
/* Counts what the kernel lost since the last look. */
void udp_drops_look(struct udp_port *port);

/* ---- udp_tx.c ---- */
uint16_t udp_send_room(const void *port);
void udp_send(void *port, const struct tx_packet *packets, uint16_t count, uint64_t now_ns);
uint16_t udp_flush(void *port, uint64_t now_ns);
uint16_t udp_reports(void *port, struct tx_report *reports, uint16_t room);
