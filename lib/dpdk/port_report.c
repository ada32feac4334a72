/* What a port tells about itself. Read while the worker counts (base/count.h). */
#include "dpdk/port.h"

#include <stdio.h>

#include <rte_ethdev.h>

static void report_device(const struct port *port, struct report *report)
{
    struct rte_eth_stats stats;
    if (rte_eth_stats_get(port->id, &stats) != 0)
        return;
    report_u64(report, "device_rx_missed", stats.imissed);
    report_u64(report, "device_rx_no_mbuf", stats.rx_nombuf);
    report_u64(report, "device_rx_errors", stats.ierrors);
    report_u64(report, "device_tx_errors", stats.oerrors);
}

static void mac_format(const uint8_t m[MAC_BYTES], char text[PORT_MAC_TEXT_BYTES])
{
    snprintf(text, PORT_MAC_TEXT_BYTES, "%02x:%02x:%02x:%02x:%02x:%02x", m[0], m[1], m[2], m[3], m[4], m[5]);
}

void port_holder(const struct port *port, char text[PORT_MAC_TEXT_BYTES])
{
    uint64_t number = count_get(&port->holder);
    uint8_t mac[MAC_BYTES];
    text[0] = '\0';
    for (unsigned index = MAC_BYTES; index-- > 0; number >>= 8)
        mac[index] = (uint8_t)number;
    if (count_get(&port->holder) != 0)
        mac_format(mac, text);
}

void port_holder_forget(struct port *port)
{
    count_set(&port->holder, 0);
}

void port_report(const struct port *port, struct report *report)
{
    char mac[PORT_MAC_TEXT_BYTES], holder[PORT_MAC_TEXT_BYTES];
    mac_format(port->mac, mac);
    port_holder(port, holder);
    report_text(report, "device", port->device.name);
    report_text(report, "mac", mac);
    if (holder[0] != '\0' || report->form == REPORT_JSON)
        report_text(report, "address_also_of", holder);
    report_text(report, "link",
                !__atomic_load_n(&port->started, __ATOMIC_RELAXED) ? "stopped"
                : port_link_up(port)                               ? "up"
                                                                   : "down");
    report_u64(report, "frame_bytes_max", port->config.frame_bytes_max);
    report_bool(report, "chains", port->chains);
    report_text(report, "bodies", port->bodies_text);
    report_text(report, "udp_checksums", port->checksums ? "device" : "software");
    report_text(report, "departures", count_get(&port->lane.lead_ns) > 0 ? "device" : "software");
    report_text(report, "arrivals",
                !stamps_arrive(&port->stamps) ? "software"
                : port->stamps.kernel         ? "kernel"
                                              : "device");
    report_u64(report, "device_clock_jumps", port->stamps.clock.jumps);
    port_counters_report(&port->counters, report);
    lane_report(&port->lane, report);
    report_device(port, report);
}
