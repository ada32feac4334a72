"""The rows of the transport table about the hosts themselves: those that stand still now and then."""
from transport.cells import (GBPS, Cell, data_edges, figure, limit_bps, long_figures, ms, own_loss, share,
                             steady_scenario)

RING = "64MB"
SMALL_RING = "4096 packets"


def stalling(values, who, lasts, every, spread, ring):
    """Sender, receivers or both stand still for so long, every so often."""
    stall = {"every": ms(every), "for": ms(lasts), "spread": ms(spread)}
    values["nodes"] = {name: {"ring": ring, **({"stall": stall} if who in ("both", "sender" if name == "a" else "receiver")
                                               else {})} for name in values["nodes"]}
    return values


def stall_cell(options, rate, who, lasts, ring=RING, rtt=0.060, every=0.275, spread=0.225, name="", lost=0.0, receivers=1,
               **link_values):
    """What arrives, of what the path takes while the sender is awake. Where rings overflow it is only printed."""
    name = f"{rate / GBPS:g}G-{who}-{round(lasts * 1000)}ms" + name + ("-ring4096" if ring == SMALL_RING else "")
    awake = 1 if who == "receiver" else 1 - lasts / every
    values = steady_scenario(name, rate, rtt, options, lost, receivers=receivers, measure={"from": ms(23 * rtt)},
                             **link_values)
    limit = limit_bps(rate, lost) * awake

    def more(report):
        edges = data_edges(report)
        return [figure("own loss", max(own_loss(edge["window"]) for edge in edges), "<=", 0.01),
                figure("queue p50 ms", max(edge["queue_ms_p50"] for edge in edges), "<=", None),
                figure("queue p99 ms", max(edge["queue_ms_p99"] for edge in edges), "<=", None),
                figure("competitive s", max(edge["competitive_s"] for edge in edges), "<=", 0)]

    def read_small(report):
        edges = data_edges(report)
        lost_share = max(share(edge["data"]["lost"], edge["data"]["sent_packets"]) for edge in edges)
        return [figure("steady / L, small ring", min(edge["steady_bps"] for edge in edges) / limit, ">=", None),
                figure("lost in the small ring", lost_share, "<=", None),
                figure("done", float(report["completed"]), ">=", 1)]
    read = read_small if ring == SMALL_RING else long_figures(limit, more=more)
    return Cell(name, stalling(values, who, lasts, every, spread, ring), read)


def stall(options):
    """Every 50 to 500 ms; or every 45 to 55; and beside jitter that keeps the order, with loss."""
    for rate in (GBPS, 10 * GBPS):
        for who in ("receiver", "sender", "both"):
            for lasts in (0.001, 0.005, 0.020):
                yield stall_cell(options, rate, who, lasts)
    for who in ("receiver", "sender", "both"):
        for lasts in (0.001, 0.005, 0.020):
            yield stall_cell(options, GBPS, who, lasts, every=0.05, spread=0.005, name="-often")
        for every, spread, name in ((0.275, 0.225, "-jitter5"), (0.05, 0.005, "-jitter5-often")):
            yield stall_cell(options, 0.2 * GBPS, who, 0.005, every=every, spread=spread, name=name, lost=0.007, receivers=3,
                             jitter=0.005)
    for who in ("receiver", "both"):
        for lasts in (0.001, 0.005, 0.020):
            yield stall_cell(options, 10 * GBPS, who, lasts, ring=SMALL_RING)
