"""Rows of the transport table where the clocks of the two ends drift apart or jump."""
from transport.cells import (GBPS, Cell, data_edges, figure, job, limit_bps, link, ms, own_loss, scenario, series, steady,
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
