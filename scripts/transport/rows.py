"""The rows of the transport table: steady rates, start-up and tail. Each function yields the cells of one row."""
from transport.cells import (GBPS, Cell, common_figures, data_edges, figure, job, limit_bps, link, long_figures, mean,
                             ms, own_loss, repair_excess, scenario, share, steady_scenario)

TAIL_RTTS = {True: 2.5, False: 5.0}  # loss up to 5 %, beyond


def tail_limit(loss):
    return TAIL_RTTS[loss <= 0.05]


def jitter_grid():
    for rtt in (0.060, 0.120):
        for loss in (0.0, 0.001, 0.007):
            for jitter in range(10):
                for order in ("reorder", "kept"):
                    yield rtt, loss, jitter, order


def jitter(options):
    for rtt, loss, jitter_ms, order in jitter_grid():
        name = f"rtt{round(rtt * 1000)}-loss{loss * 100:g}-jitter{jitter_ms}-{order}"
        values = steady_scenario(name, GBPS, rtt, options, loss, receivers=3, jitter=jitter_ms / 1000,
                                 reorder=order == "reorder")
        yield Cell(name, values, long_figures(limit_bps(GBPS, loss)))


def jitter_columns(cells, _options):
    """The 1 ms column against the 0 ms column: the worst of the curves, each by the means of its seeds."""
    means = {name: mean(run["figures"].get("steady / L") or 0 for run in runs) for name, (runs, _) in cells.items()}
    ratios = [means[name] / means[zero] for name in means
              if "-jitter1-" in name and means.get(zero := name.replace("-jitter1-", "-jitter0-"))]
    return [figure("1 ms / 0 ms column", min(ratios), ">=", 0.99)] if ratios else []


def wholefile(options):
    """Payload ÷ time from the start command, 60 s, the plan's rate known (and kept: 98.5 % of the link)."""
    cells = ((0.06, 0.0, 0, "kept"), (0.06, 0.001, 3, "reorder"), (0.06, 0.007, 9, "reorder"),
             (0.12, 0.001, 3, "kept"), (0.12, 0.007, 0, "kept"), (0.12, 0.007, 9, "reorder"))
    for rtt, loss, jitter_ms, order in cells:
        limit = limit_bps(GBPS, loss)
        name = f"rtt{round(rtt * 1000)}-loss{loss * 100:g}-jitter{jitter_ms}-{order}"
        names = ["r0", "r1", "r2"]
        values = scenario(name, (GBPS, rtt), ["a", *names],
                          {"default": link(GBPS, rtt, loss, jitter_ms / 1000, reorder=order == "reorder")},
                          [job("a", names, limit / 8 * 58, options.congestion, start="plan",
                               plan={"rate": f"{round(0.985 * 1408 / 1538 * 1e6)}kbps"})], 200)

        def read(report, limit=limit):
            return [figure("goodput / L", report["goodput_bps"] / limit, ">=", 0.95), *common_figures(report)]
        yield Cell(name, values, read)


def tengig(options):
    for rtt in (0.010, 0.100, 1.0):
        for loss in (0.0, 0.01, 0.05):
            for mtu in (1500, 9000):
                name = f"rtt{round(rtt * 1000)}-loss{loss * 100:g}-mtu{mtu}"
                values = steady_scenario(name, 10 * GBPS, rtt, options, loss, mtu=mtu)
                yield Cell(name, values, long_figures(limit_bps(10 * GBPS, loss, mtu)))


def loss(options):
    for share_lost, asked in ((0.10, 0.95), (0.30, 0.92)):
        values = steady_scenario(f"loss{share_lost * 100:g}", GBPS, 1.0, options, share_lost)
        yield Cell(f"loss{share_lost * 100:g}", values,
                   long_figures(limit_bps(GBPS, share_lost), asked, 5.0, repairs=(1.03, 0.0)))


def burst(options):
    """Gilbert-Elliott: bursts of 50 packets on average, 1 % of all."""
    values = steady_scenario("ge50", GBPS, 0.2, options,
                             loss_model={"gilbert_elliott": {"p": "0.0202%", "r": "2%"}})
    yield Cell("ge50", values, long_figures(limit_bps(GBPS, 0.01)))


def late(options):
    """A quarter of the packets 5 ms later."""
    def spurious(report):
        return [figure("spurious / packets", max(share(edge["data"]["duplicates"], edge["data"]["sent_packets"])
                                                 for edge in data_edges(report)), "<=", 0.01)]
    for rate in (GBPS, 10 * GBPS):
        values = steady_scenario(f"{rate / GBPS:g}G", rate, 0.197, options, delay_some={"p": "25%", "by": "5ms"})
        yield Cell(f"{rate / GBPS:g}G", values, long_figures(limit_bps(rate), repairs=(1.02, 0.012), more=spurious))


def tail(options):
    """Objects as long as the least steady window, max(5 s, 25 RTT); those of 1 s are printed: what repairs may exceed
    the losses by is a share of the packets, so a short object has few to spend on its tail, and those shorter than 25 RTT
    may repair as in the row objects. The long cells have this figure too."""
    for rtt, seconds in ((0.010, 5), (0.100, 5), (1.0, 25), (0.010, 1), (0.100, 1), (1.0, 1)):
        for lost in (0.0, 0.01, 0.05, 0.30):
            def read(report, lost=lost, short=seconds == 1, allowed=(2.2, 0.005) if seconds < 25 * rtt else (1.02, 0.002)):
                edges = data_edges(report)
                tail_rtts = max(edge["tail_rtts"] for edge in edges)
                tail_figure = (figure("tail RTT, 1 s object", tail_rtts, "<=", None) if short else
                               figure("tail RTT", tail_rtts, "<=", tail_limit(lost)))
                return [tail_figure,
                        figure("repairs / allowed", max(repair_excess(edge, *allowed) for edge in edges), "<=", 1),
                        figure("done", float(report["completed"]), ">=", 1)]
            name = f"rtt{round(rtt * 1000)}-{seconds}s-loss{lost * 100:g}"
            size = seconds * limit_bps(GBPS, lost) / 8
            values = scenario(name, (GBPS, rtt), ["a", "b"], {"default": link(GBPS, rtt, lost)},
                              [job("a", ["b"], size, options.congestion, start=f"{round(0.98 * GBPS / 1e6)}Mbps")], 60)
            yield Cell(name, values, read)


def queue(options):
    for rtt in (0.010, 0.100):
        for jitter_ms in (0, 3):
            for order in ("kept", "reorder")[:1 + (jitter_ms > 0)]:
                name = f"rtt{round(rtt * 1000)}-jitter{jitter_ms}-{order}"
                values = steady_scenario(name, GBPS, rtt, options, extra=24.0, queue="2 BDP", jitter=jitter_ms / 1000,
                                         reorder=order == "reorder",
                                         measure={"from": ms(5.2 + 4 * rtt), "to": "28s"})

                def more(report, jitter_ms=jitter_ms):
                    edge = data_edges(report)[0]
                    return [figure("queue p50 ms / limit", edge["queue_ms_p50"] / max(5, 2 * jitter_ms), "<=", 1),
                            figure("queue p99 ms / limit", edge["queue_ms_p99"] / max(15, 4 * jitter_ms), "<=", 1)]
                yield Cell(name, values, long_figures(limit_bps(GBPS), more=more))


def shallow(options):
    """Buffers of 0.02 BDP (at least 4 packets), and policers in front of links of ten times their rate. Own loss is that
    of the steady time, from 12 RTT after the first data (which leaves after 5 to 10 RTT): the start has rows of its own."""
    def more(report):
        edges = data_edges(report)
        return [figure("own loss", max(own_loss(edge["window"]) for edge in edges), "<=", 0.01),
                figure("own loss with the start", max(own_loss(edge["data"]) for edge in edges), "<=", None)]
    for rtt in (0.010, 0.100):
        for lost in (0.0, 0.01):
            name = f"buffer-rtt{round(rtt * 1000)}-loss{lost * 100:g}"
            values = steady_scenario(name, GBPS, rtt, options, lost, measure={"from": ms(23 * rtt + 0.1)}, queue="0.02 BDP",
                                     queue_min=4)
            yield Cell(name, values, long_figures(limit_bps(GBPS, lost), more=more))
            for depth in ("20KB", "200KB", "2MB"):
                name = f"policer{depth}-rtt{round(rtt * 1000)}-loss{lost * 100:g}"
                values = steady_scenario(name, GBPS, rtt, options, lost, measure={"from": ms(23 * rtt + 0.1)})
                values["links"]["default"].update(rate="10Gbps", policer={"rate": "1Gbps", "depth": depth})
                yield Cell(name, values, long_figures(limit_bps(GBPS, lost), more=more))


# ---- start-up ----

def by_rtt(edge, limit, asked):
    """RTTs from the first data packet until one RTT's new bytes reached the asked share of L; windows of an RTT
    that end at quarters."""
    quarters = edge["quarter_rtt_new_bytes"]
    need = asked * limit / 8 * edge["base_rtt_ms"] / 1000
    for end in range(4, len(quarters) + 1):
        if sum(quarters[end - 4:end]) >= need:
            return end / 4
    return None


def after_rtt(edge, limit, rtts, count):
    """Least new bytes ÷ L of whole RTTs in the `count` RTTs after that moment, on average."""
    quarters = edge["quarter_rtt_new_bytes"][round(rtts * 4):round((rtts + count) * 4)]
    return sum(quarters) / (limit / 8 * edge["base_rtt_ms"] / 1000 * count)


def dropped_until(edge, rtts):
    sent = sum(edge["quarter_rtt_sent_packets"][:round(rtts * 4)])
    return share(sum(edge["quarter_rtt_dropped_packets"][:round(rtts * 4)]), sent)


def overshoot(edge, rtts):
    """Until full rate is due, or until 10 RTT later: whichever is worse."""
    return max(dropped_until(edge, rtts), dropped_until(edge, rtts + 10))


def start_cell(name, rate, options, start, buffer, read):
    rtt = 0.1
    values = scenario(name, (rate, rtt), ["a", "b"],
                      {"default": link(rate, rtt, queue=f"{buffer:g} BDP", queue_min=4)},
                      [job("a", ["b"], limit_bps(rate) / 8 * 24 * rtt, options.congestion, start=start)], 120)
    return Cell(name, values, read)


def startup(options):
    rate = 10 * GBPS
    for buffer, most in ((0.1, 0.05), (1.0, 0.01)):
        def read(report, most=most):
            edge, limit = data_edges(report)[0], limit_bps(rate)
            return [figure("RTTs to 0.9 L", by_rtt(edge, limit, 0.9), "<=", 8),
                    figure("next 10 RTT / L", after_rtt(edge, limit, 8, 10), ">=", 0.8),
                    figure("overshoot / limit", overshoot(edge, 8) / most, "<=", 1), *common_figures(report)]
        yield start_cell(f"10G-buffer{buffer:g}", rate, options, "unknown", buffer, read)

        def read_slow(report):
            return [figure("5M lost in 8 RTT", dropped_until(data_edges(report)[0], 8), "<=", 0.10)]
        yield start_cell(f"5M-buffer{buffer:g}", 5e6, options, "unknown", buffer, read_slow)


def known(options):
    rate = 10 * GBPS
    for buffer in (0.1, 1.0):
        for factor in (0.9, 1.0, 1.1):
            def read(report):
                edge, limit = data_edges(report)[0], limit_bps(rate)
                return [figure("RTTs to 0.9 L", by_rtt(edge, limit, 0.9), "<=", 2.5),
                        figure("next 10 RTT / L", after_rtt(edge, limit, 2.5, 10), ">=", 0.8),
                        figure("overshoot", overshoot(edge, 2.5), "<=", 0.005), *common_figures(report)]
            yield start_cell(f"10G-buffer{buffer:g}-plan{factor:g}", rate, options, f"{round(10000 * factor)}Mbps",
                             buffer, read)


# ---- small and slow ----

def small(options):
    """1 MB; times from the first data packet, the wait for it by itself."""
    rtt = 0.1
    for start, half, most in (("known", 2.0, 3.0), ("unknown", 3.0, 4.25)):
        def read(report, half=half, most=most):
            edge, told = data_edges(report)[0], report["jobs"][0]
            rtts = (edge["complete_s"] - edge["first_data_s"]) / rtt if report["completed"] else 1e9
            payload = edge["data"]["sent_wire_bytes"] * 1408 / 1538
            return [figure("p50 RTT", rtts, "<=", half), figure("p95 RTT", rtts, "<=", most),
                    figure("sent / object", payload / 1e6, "<=", 1.10),
                    figure("first data RTT", (edge["first_data_s"] - told["start_s"] - 0.005) / rtt, "<=", 3.0)]
        values = scenario(start, (GBPS, rtt), ["a", "b"], {"default": link(GBPS, rtt, 0.01)},
                          [job("a", ["b"], 1e6, options.congestion,
                               start="980Mbps" if start == "known" else "unknown", at="2s")], 60)
        yield Cell(start, values, read, seeds=200)


RANDOM_DRAWS = 200


def drawn(report):
    """What a draw is like, and what it misses: the shares of draws are asked, so a draw by itself is not judged."""
    sent = "sent_packets" in report
    misses = [word for word, missed in (("sent nothing: " + report["text"] + ": ", not sent),
                                        ("below 0.9 L: ", sent and report["steady_share"] < 0.9),
                                        ("repairs too much: ", sent and repair_excess({"data": report}) > 1)) if missed]
    order = "overtaking" if report["reorder"] else "kept"
    return "".join(misses) + (f"{report['rate_bps'] / 1e6:.4g} Mbit/s, RTT {report['rtt_ms']:.4g} ms, buffer "
                              f"{report['queue_bdp']:.3g} BDP, loss {report['loss_percent']:.3g} %, jitter "
                              f"{report['jitter_ms']:.3g} ms {order}"
                              + (f", own loss {100 * own_loss(report):.2g} %" if sent else ""))


def random(options):
    """Draws of sluice-sim --random, which sizes and runs them; --draw-seeds says of which seeds."""
    for seed in options.draw_seeds:
        for draw in range(RANDOM_DRAWS):
            def read(report):
                excess = repair_excess({"data": report}) if "sent_packets" in report else None
                return [figure("steady / L", report.get("steady_share", 0.0), ">=", None),
                        figure("repairs / allowed", excess, "<=", None),
                        figure("done", float(report["completed"]), ">=", 1)]
            arguments = ("--random", str(RANDOM_DRAWS), "--draw", str(draw), "--set",
                         f"jobs[0].congestion={options.congestion}", "--seed", str(seed))
            name = f"draw{draw}" if len(options.draw_seeds) == 1 else f"seed{seed}-draw{draw}"
            yield Cell(name, {"_": {"cost_packets": 5e5}}, read, seeds=1, arguments=arguments, told=drawn)


def random_share(cells, _options):
    """Of all draws so many must do; a draw by itself is not judged."""
    found = []
    for name, label, good in (("steady / L", "draws with 0.9 L", lambda value: value >= 0.9),
                              ("repairs / allowed", "draws that repair as allowed", lambda value: value <= 1)):
        values = [run["figures"].get(name) for runs, _ in cells.values() for run in runs]
        found.append(figure(label, share(sum(value is not None and good(value) for value in values), len(values)), ">=",
                            0.97))
    return found


def slowchild(options):
    """Nine receivers at 1 Gbit/s, with and without a tenth at 50 Mbit/s."""
    nine = [f"r{index}" for index in range(9)]
    for tenth in (False, True):
        names = nine + (["slow"] if tenth else [])
        links = {"default": link(GBPS, 0.05)}
        if tenth:
            links["list"] = [{"from": "a", "to": "slow", **link(50e6, 0.05)}]
        values = scenario("with-slow" if tenth else "without", (GBPS, 0.05), ["a", *names], links,
                          [job("a", names, 600e6, options.congestion)], 400)

        def read(report):
            done = {row["node"]: row["complete_s"] for row in report["jobs"][0]["receivers"]}
            found = [figure("nine: last done s", max(done[name] for name in nine), "<=", None)]
            for edge in data_edges(report):
                if edge["to"] == "slow":
                    found.append(figure("tenth / its L", edge["steady_bps"] / limit_bps(50e6), ">=", 0.95))
            return found + common_figures(report)
        yield Cell(values["name"], values, read)


def slowchild_pairs(cells, _options):
    """Seed by seed."""
    times = {(name, run["seed"]): run["figures"].get("nine: last done s")
             for name, (runs, _) in cells.items() for run in runs}
    ratios = [time / times["without", seed] for (name, seed), time in times.items()
              if name == "with-slow" and time and times.get(("without", seed))]
    return [figure("nine: with / without", max(ratios), "<=", 1.03)] if ratios else []
