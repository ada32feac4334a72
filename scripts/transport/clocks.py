"""Rows of the transport table where the clocks of the two ends drift apart or jump."""
from transport.cells import (GBPS, Cell, data_edges, figure, jain, job, limit_bps, link, ms, own_loss, scenario, series, steady,
                             window_share)
from transport.shares import competitive

DRIFTS_PPM = (10, 100, 200, 500)
STEPS = ("1ms", "10ms", "100ms", "1s", "10s")


def queue_factor(rate):
    """The queue that is asked for grows as what an edge keeps does: with the root of the rate's inverse, below 1 Gbit/s."""
    return max(1.0, (GBPS / rate) ** 0.5)


def drift_cell(rate, rtt, drift_ppm, seconds, options):
    """The receiver's clock runs so much faster than the sender's; half of it at either end. The buffer holds the queue that
    is allowed: 2 BDP at an RTT of 2 ms do not."""
    name = f"{rate / GBPS:g}G-rtt{round(rtt * 1000)}-{'fast' if drift_ppm > 0 else 'slow'}{abs(drift_ppm)}"
    name += "-1h" if seconds == 3600 else ""
    values = scenario(name, (rate, rtt), {"a": {"clock": {"skew": f"{-drift_ppm * 500}ppb"}},
                                          "b": {"clock": {"skew": f"{drift_ppm * 500}ppb"}}},
                      {"default": link(rate, rtt, queue="2 BDP" if rtt > 0.02 else ms(0.02 * queue_factor(rate)))},
                      [job("a", ["b"], limit_bps(rate) / 8 * seconds, options.congestion)], 2 * seconds + 60,
                      measure={"from": ms(5.2 + 4 * rtt), "to": f"{seconds - 2}s"})

    def read(report):
        edge = data_edges(report)[0]
        return [figure("steady / L", steady(report, limit_bps(rate)), ">=", 0.95),
                figure("window / asked", window_share(edge), ">=", 1),
                figure("done", float(report["completed"]), ">=", 1),
                figure("own loss", own_loss(edge["window"]), "<=", 0.001),
                figure("queue p50 ms / limit", edge["queue_ms_p50"] / (5 * queue_factor(rate)), "<=", 1),
                figure("queue p99 ms / limit", edge["queue_ms_p99"] / (15 * queue_factor(rate)), "<=", 1),
                competitive(report)]
    return Cell(name, values, read)


def drift(options):
    for rate in (0.1 * GBPS, GBPS, 10 * GBPS):
        for rtt in (0.002, 0.060, 0.300):
            for drift_ppm in DRIFTS_PPM:
                for sign in (1, -1):
                    yield drift_cell(rate, rtt, sign * drift_ppm, 60, options)
    for sign in (1, -1):
        cell = drift_cell(GBPS, 0.060, sign * 200, 3600, options)
        cell.seeds = 1
        yield cell


def clocksteps(options):
    """Windows of one RTT, from 3 RTT after the step on."""
    rtt, at, steps_after = 0.060, 4.98, 60
    for node, end in (("a", "sender"), ("b", "receiver")):
        for step in STEPS:
            for word, sign in (("ahead", ""), ("back", "-")):
                values = scenario(f"{end}-{word}-{step}", (GBPS, rtt), ["a", "b"], {"default": link(GBPS, rtt)},
                                  [job("a", ["b"], limit_bps(GBPS) / 8 * 12, options.congestion)], 60,
                                  measure={"step": ms(rtt)},
                                  faults=[{"at": f"{at}s", "clock": node, "step": f"{sign}{step}"}])

                def read(report):
                    edge = data_edges(report)[0]
                    first = round(at / rtt) + 3
                    after = series(edge)[first:first + steps_after]
                    return [figure("least RTT / L", min(after) / GBPS if after else None, ">=", 0.9),
                            figure("done", float(report["completed"]), ">=", 1), competitive(report)]
                yield Cell(values["name"], values, read)


def mixed_figures(rate, loss=0.0, jitter=0.0, queue=True):
    """Queue and mode are not judged where they are another matter than that of clocks: at 64 kbit/s, and behind a path that has become
    longer at once, which counts as jitter for a while. Jitter that keeps the order adds to what is allowed."""
    def read(report):
        edge, jitter_ms = data_edges(report)[0], 1000 * jitter
        p50 = edge["queue_ms_p50"] / (5 * queue_factor(rate) + jitter_ms)
        p99 = edge["queue_ms_p99"] / (15 * queue_factor(rate) + 2 * jitter_ms)
        return [figure("steady / L", steady(report, limit_bps(rate, loss)), ">=", 0.95 if rate >= 0.002 * GBPS else 0.85),
                figure("done", float(report["completed"]), ">=", 1), figure("own loss", own_loss(edge["window"]), "<=", 0.001),
                figure("queue p50 ms / limit", p50, "<=", 1 if queue else None),
                figure("queue p99 ms / limit", p99, "<=", 1 if queue else None),
                figure("competitive s", edge.get("competitive_s", 0), "<=", 0 if queue else None)]
    return read


def clockmix(options):
    """Clocks that drift and are set, by turns and beside other trouble; 100 Mbit/s, 60 ms, 60 s unless the name says otherwise."""
    rate, rtt, seconds = 0.1 * GBPS, 0.060, 60

    def cell(name, faults, skew_ppm=0, rate=rate, rtt=rtt, queue=True, **path):
        buffer = ms(max(0.02 * queue_factor(rate), 2 * rtt) if rate > 1e6 else 2.0)
        values = scenario(name, (rate, rtt), {"a": {"clock": {"skew": f"{-skew_ppm * 500}ppb"}},
                                              "b": {"clock": {"skew": f"{skew_ppm * 500}ppb"}}},
                          {"default": link(rate, rtt, queue=buffer, **path)},
                          [job("a", ["b"], limit_bps(rate, path.get("loss", 0)) / 8 * seconds, options.congestion)], 4 * seconds + 60,
                          measure={"from": ms(5.2 + 4 * rtt), "to": f"{seconds - 2}s"}, faults=faults)
        if not faults:
            del values["faults"]
        return Cell(name, values, mixed_figures(rate, path.get("loss", 0), path.get("jitter", 0), queue))

    def each(every, steps, node="b"):
        times = range(1, int(seconds / every))
        return [{"at": ms(1.013 + every * turn), "clock": node, "step": steps[turn % len(steps)]} for turn in times]

    slew = [{"at": f"{10 * turn + 5}s", "clock": node, "skew": f"{sign * (-1) ** turn * 250}ppm"}
            for turn in range(6) for node, sign in (("a", 1), ("b", -1))]
    yield cell("slew-500", slew, 500)
    yield cell("slew-500-jitter", slew, 500, jitter=0.005)
    rough = {"jitter": 0.005, "loss": 0.007}
    for sign, word in ((1, "fast"), (-1, "slow")):
        yield cell(f"rough-{word}200-steps", each(10, ["50ms", "-50ms"]), 200 * sign, **rough)
        yield cell(f"rough-{word}500", [], 500 * sign, **rough)
        yield cell(f"64k-{word}500-steps", each(10, ["50ms", "-50ms"]), 500 * sign, rate=64e3, rtt=0.3,
                   queue=False)
    for step in ("1ms", "20ms", "1s"):
        yield cell(f"each-second-{step}", each(1, [step, f"-{step}"]))
        yield cell(f"each-second-ahead-{step}", each(1, [step]))
        yield cell(f"each-second-back-{step}", each(1, [f"-{step}"]))
    for step in ("20ms", "-20ms", "5ms", "-5ms"):
        for owd, word in (("50ms", "longer"), ("10ms", "shorter")):
            yield cell(f"path-{word}-{step}", [{"at": "20s", "clock": "b", "step": step},
                                               {"at": "20s", "link": ["a", "b"], "set": {"owd": owd}, "symmetric": True}],
                       queue=word == "shorter")
    for step in ("500ms", "-500ms", "50ms"):
        yield cell(f"overtaking-{step}", each(10, [step]), rtt=0.1, jitter=0.04, reorder=True)

    def two(report):
        edges = [edge for edge in data_edges(report) if edge["to"] == "r"]
        rates = [edge["window"]["delivered_wire_bytes"] for edge in edges]
        return [figure("Jain", jain(rates), ">=", 0.95), figure("use of the link", sum(rates) * 8 / 40 / rate, ">=", 0.95),
                figure("own loss", max(own_loss(edge["window"]) for edge in edges), "<=", 0.001),
                figure("queue p50 ms", max(edge["queue_ms_p50"] for edge in edges), "<=", 2 * 5 * queue_factor(rate)),
                competitive(report)]
    for ppm in (0, 200, 500):
        nodes = {"fast": {"clock": {"skew": f"{-ppm}ppm"}}, "slow": {"clock": {"skew": f"{ppm}ppm"}},
                 "r": {"downlink": "100Mbps", "queue": "100ms"}}
        values = scenario(f"two-opposite-{ppm}", (rate, rtt), nodes, {"default": link(10 * GBPS, rtt)},
                          [job(name, ["r"], 6e9, options.congestion, at=at) for name, at in (("fast", "0s"), ("slow", "2s"))], 59,
                          measure={"from": "18s", "to": "58s"}, _={"cost_packets": 59 * 8.2e3})
        yield Cell(f"two-opposite-{ppm}", values, two)
