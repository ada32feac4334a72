#include "node/peer/port.h"

#include "base/units.h"

#define IN_RATE_INTERVAL_NS (100 * NS_PER_MS)
#define LATE_PART           8

const uint8_t port_zeros[MTU_MAX];

void port_note_lag(struct node_port *port, uint64_t lag_ns, uint64_t now_ns)
{
    if (now_ns == port->late_at_ns || lag_ns > PORT_LATE_NS_MAX)
        return;
    port->late_at_ns = now_ns;
    port->late_ns -= port->late_ns / LATE_PART;
    port->late_ns += lag_ns / LATE_PART;
}

uint32_t port_in_rate_kbps(struct node_port *port, uint64_t now_ns)
{
    uint64_t passed_ns = elapsed_ns(now_ns, port->rate_ns);
    if (passed_ns >= IN_RATE_INTERVAL_NS) {
        port->in_rate_bps = muldiv64(port->received_bytes - port->rate_bytes, 8 * NS_PER_S, passed_ns);
        port->rate_bytes = port->received_bytes;
        port->rate_ns = now_ns;
    }
    return (uint32_t)MIN((port->in_rate_bps + 999) / 1000, (uint64_t)UINT32_MAX);
}
