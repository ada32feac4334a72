"""Row of the transport table where the bottleneck marks packets (CE) instead of dropping them."""
from transport.cells import (GBPS, Cell, common_figures, data_edges, figure, jain, job, limit_bps, link, mean, ms,
                             own_loss, scenario, steady, steady_scenario, window_share)

THRESHOLDS_MS = (1, 5)


def queue_figures(edges, threshold_ms):
    return [figure("queue p99 / threshold", max(edge["queue_ms_p99"] for edge in edges) / threshold_ms, "<=", 2),
            figure("queue p50 / threshold", max(edge["queue_ms_p50"] for edge in edges) / threshold_ms, "<=", None),
            figure("own loss", max(own_loss(edge["window"]) for edge in edges), "<=", 0)]


def bottleneck(queue, threshold_ms, sources):
    """One link of 1 Gbit/s that all of them share on the way to r."""
    return [{"name": "bottleneck", "rate": "1Gbps", "queue": queue, "ecn": f"{threshold_ms}ms",
             "members": [[name, "r"] for name in sources]}]


def alone(options):
    for threshold_ms in THRESHOLDS_MS:
        for rtt in (0.010, 0.100):
            name = f"{threshold_ms}ms-alone-rtt{round(rtt * 1000)}"
            values = steady_scenario(name, GBPS, rtt, options, extra=24.0, ecn=f"{threshold_ms}ms",
                                     measure={"from": ms(5.2 + 4 * rtt), "to": "28s"})

            def read(report, threshold_ms=threshold_ms):
                edges = data_edges(report)
                return [figure("steady / L", steady(report, limit_bps(GBPS)), ">=", 0.95),
                        figure("window / asked", min(window_share(edge) for edge in edges), ">=", 1),
                        *queue_figures(edges, threshold_ms), *common_figures(report)]
            yield Cell(name, values, read)


def ten(options):
    """As the row tensources: 2 s apart, measured for a minute."""
    names = [f"s{index}" for index in range(10)]
    for threshold_ms in THRESHOLDS_MS:
        name = f"{threshold_ms}ms-ten"
        jobs = [job(source, ["r"], 6e9, options.congestion, at=f"{2 * index}s") for index, source in enumerate(names)]
        values = scenario(name, (GBPS, 0.1), [*names, "r"], {"default": link(10 * GBPS, 0.1)}, jobs, 119,
                          shared=bottleneck("1 BDP@100ms", threshold_ms, names),
                          measure={"from": "58s", "to": "118s"}, _={"cost_packets": 119 * 82e3})

        def read(report, threshold_ms=threshold_ms):
            edges = data_edges(report)
            rates = [edge["window"]["delivered_wire_bytes"] for edge in edges]
            return [figure("Jain", jain(rates + [0] * (10 - len(rates))), ">=", 0.95),
                    figure("use of 1 Gbit/s", sum(rates) * 8 / 60 / GBPS, ">=", 0.95),
                    *queue_figures(edges, threshold_ms), *common_figures(report)]
        yield Cell(name, values, read)


def beside_cubic(options):
    """CUBIC answers marks as losses. A window that fell by 30 % leaves the path idle wherever the threshold is less than
    that of a round trip: the edge's share is of what the link takes, CUBIC's is printed."""
    seconds = 100
    for threshold_ms in THRESHOLDS_MS:
        for rtt in (0.05, 0.1):
            for first in ("edge", "other"):
                job_at, cross_at = (0, 5) if first == "edge" else (5, 0)
                name = f"{threshold_ms}ms-cubic-rtt{round(rtt * 1000)}-{first}-first"
                cross = {"from": "c", "to": "r", "kind": "cubic", "ecn": True, "start": f"{cross_at}s"}
                values = scenario(name, (GBPS, rtt), ["a", "c", "r"], {"default": link(10 * GBPS, rtt)},
                                  [job("a", ["r"], 40e9, options.congestion, at=f"{job_at}s")], 20 + seconds,
                                  shared=bottleneck(f"1 BDP@{ms(rtt)}", threshold_ms, ["a", "c"]), cross_traffic=[cross],
                                  measure={"from": "20s", "to": f"{20 + seconds}s"},
                                  _={"cost_packets": (20 + seconds) * 82e3})

                def read(report):
                    edges = data_edges(report)
                    own = sum(edge["window"]["delivered_wire_bytes"] for edge in edges) * 8 / seconds / GBPS
                    other = sum(mean(flow["second_wire_bps"][20:20 + seconds]) for flow in report["flows"]) / GBPS
                    return [figure("edge beside cubic", own, ">=", 0.3), figure("cubic beside edge", other, ">=", None),
                            figure("own loss", max(own_loss(edge["window"]) for edge in edges), "<=", 0),
                            *common_figures(report)]
                yield Cell(name, values, read)


def ecn(options):
    yield from alone(options)
    yield from ten(options)
    yield from beside_cubic(options)
