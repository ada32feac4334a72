/* What a port tells about itself. Read while the worker counts (base/count.h). */
#include "dpdk/port.h"

#include <stdio.h>

#include <rte_ethdev.h>

#define COUNTER(name, help) {#name, help, offsetof(struct port_counters, name)},
static const struct {
    const char *name, *help;
    size_t offset;
} counter_table[] = {
#include "dpdk/port_counters.def"
};
#undef COUNTER

#define COUNTER_COUNT (sizeof(counter_table) / sizeof(counter_table[0]))

const char *port_counter(const struct port_counters *counters, uint32_t index, uint64_t *value)
{
    if (index >= COUNTER_COUNT)
        return NULL;
    *value = count_get((const uint64_t *)counters + counter_table[index].offset / sizeof(*value));
    return counter_table[index].name;
}

const char *port_counter_help(uint32_t index)
{
    return index < COUNTER_COUNT ? counter_table[index].help : NULL;
}

static void report_lane(const struct port *port, struct report *report)
{
    const struct histogram *error = &port->lane.error_ns;
    report_u64(report, "late_ns_p50", histogram_percentile(error, 500000));
    report_u64(report, "late_ns_p99", histogram_percentile(error, 990000));
    report_u64(report, "late_ns_p999", histogram_percentile(error, 999000));
    report_u64(report, "late_ns_max", count_get(&error->largest));
    report_u64(report, "late_bursts_avoided", count_get(&port->lane.reanchored));
}

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
    uint64_t value;
    for (uint32_t index = 0; index < COUNTER_COUNT; index++) {
        const char *name = port_counter(&port->counters, index, &value);
        if (value != 0 || report->form == REPORT_JSON)
            report_u64(report, name, value);
    }
    report_lane(port, report);
    report_device(port, report);
}
