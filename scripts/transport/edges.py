"""Rows of the transport table at the limits of what an edge meets."""
from transport.cells import (GBPS, Cell, data_edges, figure, job, limit_bps, link, ms, own_loss, repair_excess,
                             scenario, steady_scenario)


def lostacks(options):
    """1 GB whose acks get lost: so many of all, or in bursts of 50 messages on average, 2 % of all."""
    rtt = 0.080
    bursts = {"loss_model": {"gilbert_elliott": {"p": "0.0408%", "r": "2%"}}}
    for name, back in (("20", {"loss": 0.2}), ("50", {"loss": 0.5}), ("bursts", bursts)):
        links = {"default": link(GBPS, rtt, queue="0.5 BDP"),
                 "list": [{"from": "b", "to": "a", **link(GBPS, rtt, queue="0.5 BDP", **back)}]}
        values = scenario(name, (GBPS, rtt), ["a", "b"], links, [job("a", ["b"], 1e9, options.congestion)], 120)
        limit = limit_bps(GBPS)

        def read(report, limit=limit):
            edge = data_edges(report)[0]
            return [figure("steady / L", edge["steady_bps"] / limit, ">=", 0.95),
                    figure("own loss with the start", own_loss(edge["data"]), "<=", 0.005),
                    figure("tail RTT", edge["tail_rtts"], "<=", None),
                    figure("repairs / allowed", repair_excess(edge), "<=", 1),
                    figure("done", float(report["completed"]), ">=", 1)]
        yield Cell(name, values, read)


def objects(options):
    """Objects of few round trips, the rate known. Repairs: up to 2.2 x what got lost and 0.5 % of the packets."""
    for rtt in (0.100, 1.0):
        for trips in (1, 2, 5, 12, 25):
            for lost in (0.0, 0.01, 0.05):
                def read(report):
                    edges = data_edges(report)
                    return [figure("tail RTT", max(edge["tail_rtts"] for edge in edges), "<=", 2.5),
                            figure("repairs / allowed", max(repair_excess(edge, 2.2, 0.005) for edge in edges), "<=", 1),
                            figure("done", float(report["completed"]), ">=", 1)]
                name = f"rtt{round(rtt * 1000)}-{trips}rtt-loss{lost * 100:g}"
                values = scenario(name, (GBPS, rtt), ["a", "b"], {"default": link(GBPS, rtt, lost)},
                                  [job("a", ["b"], trips * rtt * limit_bps(GBPS, lost) / 8, options.congestion,
                                       start=f"{round(0.98 * GBPS / 1e6)}Mbps")], 90)
                yield Cell(name, values, read)


def smallpaths(options):
    """Narrow, long and lossy; a buffer of 400 ms, or of 10 packets where that is more. Own loss: from 20 RTT after the
    first data on, which leaves after about 10."""
    for rate in (64e3, 256e3, 2e6):
        for rtt in (0.300, 0.700, 1.200):
            for lost in (0.0, 0.03, 0.10):
                def read(report, limit=limit_bps(rate, lost)):
                    edge = data_edges(report)[0]
                    return [figure("steady / L", edge["steady_bps"] / limit, ">=", 0.9),
                            figure("own loss", own_loss(edge["window"]), "<=", 0.01),
                            figure("own loss with the start", own_loss(edge["data"]), "<=", None),
                            figure("repairs / allowed", repair_excess(edge), "<=", None),
                            figure("done", float(report["completed"]), ">=", 1)]
                name = f"{rate / 1e3:g}k-rtt{round(rtt * 1000)}-loss{lost * 100:g}"
                values = steady_scenario(name, rate, rtt, options, lost, extra=60.0,
                                         queue=ms(max(0.4, 10 * 1538 * 8 / rate)), measure={"from": ms(30 * rtt + 1)})
                yield Cell(name, values, read)
