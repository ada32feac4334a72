/* Looking at a port's link: below receiving and looking after, which both do it. */
#pragma once

#include "dpdk/port.h"

/* Asks the driver; a change is counted and dated. */
void port_link_poll(struct port *port, uint64_t now_ns);
/* The same for a frame that comes while the link counts as down: up since then as far as redialling goes. */
void port_link_refresh(struct port *port);
