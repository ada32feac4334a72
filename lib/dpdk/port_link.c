/* The state of a port's link, as its driver tells it. */
#include "dpdk/port_link.h"

#include <rte_ethdev.h>

static bool link_read(const struct port *port)
{
    struct rte_eth_link link;
    return port->started && rte_eth_link_get_nowait(port->id, &link) == 0 &&
           link.link_status == RTE_ETH_LINK_UP;
}

void port_link_poll(struct port *port, uint64_t now_ns)
{
    bool up = link_read(port);
    if (up == port->link_up)
        return;
    __atomic_store_n(&port->link_up, up, __ATOMIC_RELAXED);
    port->link_since_ns = now_ns;
    bool asks = port->config.address.family != ADDRESS_NONE && !port->config.static_mac;
    port->probes_left = up && asks ? PORT_PROBES : 0;
    port->probe_ns = now_ns;
    count_add(&port->counters.link_changes, 1);
}

void port_link_refresh(struct port *port)
{
    port_link_poll(port, port->link_since_ns);
}
