#include "node/peer/sparing.h"

#include "base/units.h"

void sparing_init(struct sparing *sparing, uint64_t wanted_ns, uint32_t peers, uint64_t port_bps,
                  uint64_t now_ns)
{
    uint64_t port_ns = muldiv64((uint64_t)peers * SPARING_BYTES * 8 * SPARING_PORT_SHARE, NS_PER_S, port_bps);
    port_ns = MIN(MAX(wanted_ns, port_ns), SPARING_MOST * wanted_ns);
    *sparing = (struct sparing){.port_ns = port_ns, .interval_ns = port_ns, .looked_ns = now_ns};
}

uint64_t sparing_look(struct sparing *sparing, uint64_t data_bytes, uint64_t wanted_ns, uint64_t told_ns,
                      uint64_t now_ns)
{
    uint64_t came_bytes = data_bytes - MIN(sparing->data_bytes, data_bytes);
    uint64_t took_ns = elapsed_ns(now_ns, sparing->looked_ns);
    uint64_t pays_ns = came_bytes == 0 ? 0 : muldiv64(took_ns, SPARING_SHARE * SPARING_BYTES, came_bytes);
    uint64_t ports_ns = MAX(sparing->port_ns, told_ns);
    sparing->interval_ns = MIN(MAX(ports_ns, pays_ns), SPARING_MOST * wanted_ns);
    sparing->looked_ns = now_ns;
    sparing->data_bytes = data_bytes;
    return sparing->interval_ns;
}
