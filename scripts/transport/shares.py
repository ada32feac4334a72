"""Rows of the transport table where the path changes or others use it too."""
from transport.cells import (GBPS, Cell, common_figures, data_edges, figure, jain, job, limit_bps, link, mean, ms,
                             own_loss, scenario, series, settled_steps, steps_until)

STEP_S = 0.1


def competitive(report):
    return figure("competitive s", sum(edge.get("competitive_s", 0) for edge in data_edges(report)), "<=", 0)


def step(options):
    """1000, 200, 1000 Mbit/s; steps of the series are RTTs. Drained: no packet of an RTT waited for 15 ms. The buffer
    of 5 BDP: 500 ms at any rate (time), or what that is at 1 Gbit/s (bytes)."""
    rtt, down, up = 0.1, 10.0, 20.0
    for name, buffer in (("time", "5 BDP"), ("bytes", "62500KB")):
        values = scenario(name, (GBPS, rtt), ["a", "b"], {"default": link(GBPS, rtt, queue=buffer)},
                          [job("a", ["b"], limit_bps(GBPS) / 8 * 22, options.congestion)], 120,
                          measure={"step": ms(STEP_S)},
                          faults=[{"at": f"{down}s", "link": ["a", "b"], "set": {"rate": "200Mbps"}},
                                  {"at": f"{up}s", "link": ["a", "b"], "set": {"rate": "1Gbps"}}])

        def read(report):
            edge = data_edges(report)[0]
            delivered, waits = series(edge), series(edge, "series_queue_us")
            return [figure("RTTs to 200M", settled_steps(delivered, round(down / STEP_S), 200e6), "<=", 10),
                    figure("RTTs to 1000M", settled_steps(delivered, round(up / STEP_S), 1e9), "<=", 10),
                    figure("RTTs to drain", steps_until(waits, round(down / STEP_S), lambda us: us <= 15000), "<=", 20),
                    competitive(report), *common_figures(report)]
        yield Cell(name, values, read)


def blackout(options):
    rtt, begin, length = 0.1, 10.0, 5.0
    for mode in ("drop", "hold"):
        values = scenario(mode, (GBPS, rtt), ["a", "b"], {"default": link(GBPS, rtt)},
                          [job("a", ["b"], limit_bps(GBPS) / 8 * 14, options.congestion)], 120,
                          measure={"step": ms(STEP_S)},
                          faults=[{"at": f"{begin}s", "link": ["a", "b"], "down": f"{length}s", "mode": mode},
                                  {"at": f"{begin}s", "link": ["b", "a"], "down": f"{length}s", "mode": mode}])

        def read(report):
            edge = data_edges(report)[0]
            first, last = round(begin / STEP_S), round((begin + length) / STEP_S)
            sent, delivered = series(edge, "series_sent_bps"), series(edge)
            before = mean(delivered[first - 20:first])
            silent = mean(sent[first + round(max(1.0, 4 * rtt) / STEP_S) + 1:last])
            full = steps_until(delivered, last, lambda rate: rate >= 0.95 * before)
            return [figure("sent in silence", silent / before if before else None, "<=", 0.01),
                    figure("RTTs to full", full - 1 if full else None, "<=", 3), *common_figures(report)]
        yield Cell(mode, values, read)


def tensources(options):
    """Ten jobs into one downlink; all run on when the measured time ends."""
    cases = {"same": ([0.1] * 10, 0.0), "spread": ([0.02 * (index + 1) for index in range(10)], 0.0),
             "jitter": ([0.1] * 10, 0.020), "jitter-kept": ([0.1] * 10, 0.020)}
    names = [f"s{index}" for index in range(10)]
    for case, (rtts, jitter) in cases.items():
        path = {"jitter": jitter, "reorder": case != "jitter-kept", "symmetric": True}
        links = [{"from": name, "to": "r", **link(10 * GBPS, rtt, **path)} for name, rtt in zip(names, rtts)]
        jobs = [job(name, ["r"], 6e9, options.congestion, at=f"{2 * index}s") for index, name in enumerate(names)]
        nodes = {**{name: {} for name in names}, "r": {"downlink": "1Gbps", "queue": "1 BDP@100ms"}}
        values = scenario(case, (GBPS, max(rtts)), nodes,
                          {"default": link(10 * GBPS, 0.1), "list": links}, jobs, 119,
                          measure={"from": "58s", "to": "118s"}, _={"cost_packets": 119 * 82e3})

        def read(report, jitter=jitter, case=case):
            edges = [edge for edge in data_edges(report) if edge["to"] == "r"]
            rates = [edge["window"]["delivered_wire_bytes"] for edge in edges]
            rates += [0] * (10 - len(rates))
            found = [figure("Jain", jain(rates), ">=", {"same": 0.95, "spread": 0.93}.get(case)),
                     figure("least share x 10", min(rates) / (sum(rates) / 10), ">=", 0.5 if jitter else None),
                     figure("use of 1 Gbit/s", sum(rates) * 8 / 60 / GBPS, ">=", None),
                     figure("queue p50 ms", max(edge["queue_ms_p50"] for edge in edges), "<=",
                            max(15, 2000 * jitter)),
                     figure("own loss", max(own_loss(edge["window"]) for edge in edges), "<=", 0.001)]
            return found + [competitive(report), *common_figures(report)]
        yield Cell(case, values, read)


def crowd_values(count, apart_s, order, options):
    """Sources into one link of 1 Gbit/s; of fifty each ten share a job's start, five receivers each (a shared link). The
    order of packets under 20 ms of jitter is "kept" or not ("reorder"); "steady": no jitter."""
    rtt, jitter, sources = 0.06, 0 if order == "steady" else 0.020, min(count, 10)
    names, each = [f"s{index}" for index in range(sources)], count // sources
    ends = [f"r{index}" for index in range(each)]
    last = apart_s * (sources - 1)
    path = link(10 * GBPS, rtt, jitter=jitter, reorder=order == "reorder", symmetric=True)
    links = {"default": link(10 * GBPS, rtt), "list": [{"from": name, "to": end, **path} for name in names for end in ends]}
    seconds = last + 80
    size = limit_bps(GBPS) / 8 * seconds / each
    jobs = [job(name, ends, size, options.congestion, at=f"{apart_s * index}s") for index, name in enumerate(names)]
    values = scenario(f"{count}-{apart_s}s-{order}", (GBPS, rtt), {n: {} for n in names + ends},
                      links, jobs, seconds, measure={"from": f"{seconds - 60}s", "to": f"{seconds}s", "step": "1s"},
                      shared=[{"name": "waist", "rate": "1Gbps", "queue": "100ms",
                               "members": [[name, end] for name in names for end in ends]}],
                      _={"cost_packets": seconds * 82e3})
    return values, last + 2, seconds


def crowd_loss(edges, first_s, last_s):
    """What the waist dropped in those seconds, of all that was sent to it."""
    dropped = sum(sum(series(edge, "series_dropped_bps")[first_s:last_s]) for edge in edges)
    return dropped / max(sum(sum(series(edge, "series_sent_bps")[first_s:last_s]) for edge in edges), 1)


def crowd(options):
    """The last 60 s; and each 10 s from 2 s after the last came."""
    for count in (2, 10, 50):
        for apart_s in (0, 2, 60):
            for order in ("kept", "reorder", "steady"):
                if apart_s == 60 and (count == 50 or order == "steady"):
                    continue
                values, first_s, last_s = crowd_values(count, apart_s, order, options)

                def read(report, first_s=first_s, last_s=last_s, count=count):
                    edges = [edge for edge in data_edges(report) if edge["data"]["sent_packets"] > 0]
                    rates = [edge["window"]["delivered_wire_bytes"] for edge in edges] + [0] * (count - len(edges))
                    spans = range(first_s, last_s - 9, 10)
                    shares = [jain([mean(series(edge)[at:at + 10]) for edge in edges]) for at in spans]
                    losses = [crowd_loss(edges, at, at + 10) for at in spans]
                    return [figure("Jain", jain(rates), ">=", 0.9), figure("least Jain of 10 s", min(shares), ">=", 0.9),
                            figure("own loss", max(own_loss(edge["window"]) for edge in edges), "<=", 0.005),
                            figure("most own loss of 10 s", max(losses), "<=", 0.005),
                            figure("queue p50 ms", max(edge["queue_ms_p50"] for edge in edges), "<=", 40),
                            figure("use of 1 Gbit/s", sum(rates) * 8 / 60 / GBPS, ">=", None)]
                yield Cell(values["name"], values, read)


# ---- others on the same link ----

def cross_share(report, rate, first_s, last_s):
    """What the competitors delivered in those seconds, as a share of the link."""
    return sum(mean(flow["second_wire_bps"][first_s:last_s]) for flow in report["flows"]) / rate


def shared(name, rtt, options, buffer, kind, job_at, cross_at, measure, stop=None, congestion=None, seconds=200,
           jitter=0.0):
    """An edge and one competitor, from two nodes through one node's downlink."""
    cross = {"from": "c", "to": "b", "kind": kind, "start": f"{cross_at}s"}
    if stop:
        cross["stop"] = f"{stop}s"
    nodes = {"a": {}, "c": {}, "b": {"downlink": "1Gbps", "queue": f"{buffer:g} BDP@{ms(rtt)}"}}
    return scenario(name, (GBPS, rtt), nodes, {"default": link(10 * GBPS, rtt, jitter=jitter)},
                    [job("a", ["b"], 40e9, congestion or options.congestion, at=f"{job_at}s")],
                    seconds, cross_traffic=[cross], measure=measure, _={"cost_packets": seconds * 82e3})


def compete(options):
    seconds = 180
    least = {"cubic": (0.25, 0.25), "bbr1": (0.20, 0.40)}
    for kind, (edge_least, other_least) in least.items():
        for rtt in (0.05, 0.1):
            for buffer in (1.0, 0.1):
                for first in ("edge", "other"):
                    job_at, cross_at = (0, 5) if first == "edge" else (5, 0)
                    name = f"{kind}-rtt{round(rtt * 1000)}-buffer{buffer:g}-{first}-first"
                    values = shared(name, rtt, options, buffer, kind, job_at, cross_at,
                                    {"from": "20s", "to": "200s"})
                    judged = buffer == 1.0

                    def read(report, judged=judged, edge_least=edge_least, other_least=other_least, kind=kind,
                             buffer=buffer):
                        tag = "" if buffer == 1.0 else " (0.1 BDP)"
                        own = sum(edge["window"]["delivered_wire_bytes"] for edge in data_edges(report))
                        return [figure(f"edge beside {kind}{tag}", own * 8 / seconds / GBPS, ">=",
                                       edge_least if judged else None),
                                figure(f"{kind} beside edge{tag}", cross_share(report, GBPS, 20, 200), ">=",
                                       other_least if judged else None), *common_figures(report)]
                    yield Cell(name, values, read)
    yield beside_kept_jitter(options)


def beside_kept_jitter(options):
    """CUBIC's queue looks like packets that wait for their predecessors."""
    values = shared("cubic-rtt50-buffer4-kept14", 0.05, options, 4.0, "cubic", 5, 0, {"from": "20s", "to": "200s"},
                    jitter=0.014)

    def read(report):
        own = sum(edge["window"]["delivered_wire_bytes"] for edge in data_edges(report))
        return [figure("edge beside cubic, packets wait", own * 8 / 180 / GBPS, ">=", None),
                figure("cubic beside edge, packets wait", cross_share(report, GBPS, 20, 200), ">=", 0.25)]
    return Cell(values["name"], values, read)


def scavenger(options):
    """Measured from 20 s after the later start until the other stops at 80 s."""
    rtt, stop = 0.1, 80.0
    for kind in ("cubic", "bbr1", "bql"):
        for first in ("scavenger", "other"):
            job_at, cross_at = (0, 20) if first == "scavenger" else (20, 0)
            name = f"{kind}-{first}-first"
            values = shared(name, rtt, options, 1.0, kind, job_at, cross_at, {"from": "40s", "to": "80s",
                            "step": ms(STEP_S)}, stop=stop, congestion="scavenger", seconds=90)

            def read(report, kind=kind):
                edge = data_edges(report)[0]
                own = edge["window"]["delivered_wire_bytes"] * 8 / (stop - 40) / GBPS
                back = steps_until(series(edge), round(stop / STEP_S), lambda rate: rate >= 0.9 * GBPS)
                return [figure("share beside others", own, "<=", 0.10), figure("RTTs back to 90 %", back, "<=", 30),
                        figure("share of the other", cross_share(report, GBPS, 40, 80), ">=", None),
                        *common_figures(report)]
            yield Cell(name, values, read)
