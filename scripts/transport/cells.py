"""What the cells of `scripts/bench transport` are made of: scenarios, L, and figures read from sluice-sim's --json.

Rates are wire rates in bit/s, times in seconds, loss a share. A cell is a scenario and a function that reads figures
from its report. A figure is (name, value, comparison, limit); limit None: it is printed and not judged.
"""
import json
from dataclasses import dataclass
from typing import Callable

GBPS = 1e9
STEADY_RTTS = 12
PAYLOAD = {1500: 1400 / 1538, 9000: 8900 / 9038}


@dataclass
class Cell:
    name: str
    scenario: dict
    figures: Callable
    seeds: int = 0             # 0: as the run says
    arguments: tuple = ()      # of sluice-sim, instead of a scenario file
    told: Callable = None      # of a report: what else its line says
    kept: Callable = None      # of a report: what the judgement across cells needs besides figures
    first_seed: int = 1
    command: list = ()         # both as run, filled when the cell is written
    identity: str = ""

    def packets(self):
        """Data packets of one run, roughly: what its time depends on."""
        if "cost_packets" in self.scenario.get("_", {}):
            return self.scenario["_"]["cost_packets"]
        receivers = len(self.scenario["nodes"]) - 1
        body_bytes = self.scenario["node_defaults"].get("mtu", 1500) - 100
        return sum(job["_bytes"] for job in self.scenario["jobs"]) / body_bytes * receivers


def figure(name, value, comparison, limit):
    return (name, value, comparison, limit)


def reached(value, comparison, limit):
    if limit is None:
        return True
    if value is None:
        return False
    return value >= limit if comparison == ">=" else value <= limit


# ---- YAML ----

def scalar(value):
    if isinstance(value, bool):
        return "true" if value else "false"
    return str(value)


def flow(value):
    if isinstance(value, dict):
        return "{" + ", ".join(f"{key}: {flow(item)}" for key, item in value.items() if key[0] != "_") + "}"
    if isinstance(value, list):
        return "[" + ", ".join(flow(item) for item in value) + "]"
    text = scalar(value)
    return json.dumps(text) if any(mark in text for mark in ",:#%>") or " " in text else text


def yaml_text(scenario, comment):
    lines = [f"# {comment}"]
    for key, value in scenario.items():
        if key[0] == "_":
            continue
        if isinstance(value, list) and value and isinstance(value[0], dict):
            lines.append(f"{key}:")
            lines += [f"  - {flow(item)}" for item in value]
        elif isinstance(value, dict) and key in ("nodes", "links", "expect"):
            lines.append(f"{key}:")
            for inner, item in value.items():
                if isinstance(item, list):
                    lines.append(f"  {inner}:")
                    lines += [f"    - {flow(entry)}" for entry in item]
                else:
                    lines.append(f"  {inner}: {flow(item)}")
        else:
            lines.append(f"{key}: {flow(value)}")
    return "\n".join(lines) + "\n"


def with_unit(value, units):
    """A whole number of the largest unit that holds it exactly."""
    for name, factor in units:
        if value % factor == 0:
            return f"{value // factor}{name}"
    raise ValueError(value)


def ms(seconds):
    return with_unit(round(seconds * 1e6), (("ms", 1000), ("us", 1)))


def bps(rate):
    return with_unit(round(rate / 1000), (("Gbps", 10**6), ("Mbps", 1000), ("kbps", 1)))


def percent(share):
    return f"{share * 100:.6g}%"


# ---- scenarios ----

def limit_bps(rate, loss=0.0, mtu=1500):
    """L of the definitions."""
    return rate * (1 - loss) * PAYLOAD[mtu]


def window_s(rtt):
    return max(5.0, 25 * rtt)


def link(rate, rtt, loss=0.0, jitter=0.0, queue="1 BDP", **more):
    """One link of the pair; a queue in BDP counts in the pair's RTT."""
    if queue.endswith("BDP"):
        queue = f"{queue}@{ms(rtt)}"
    values = {"owd": ms(rtt / 2), "rate": bps(rate), "queue": queue}
    if loss:
        values["loss"] = percent(loss)
    if jitter:
        values["jitter"] = ms(jitter)
    values.update(more)
    return values


NODE_RATE = 40 * GBPS  # of all interfaces where links are the bottleneck


def buffer_of(rate, rtt):
    """What six round trips and a second bring, so that what waits for repairs of repairs is not the limit."""
    return f"{round(min(max(rate / 8 * (6 * rtt + 1), 64e6), 16e9) / 1e6)}MB"


def scenario(name, path, nodes, links, jobs, limit, **more):
    """All interfaces at NODE_RATE, with disks and buffers that are never the limit, unless the nodes say otherwise. The
    path: (rate, RTT)."""
    return {"name": name[:31], "nodes": nodes,
            "node_defaults": {"uplink": bps(NODE_RATE), "downlink": bps(NODE_RATE), "queue": "10ms",
                              "buffer": buffer_of(*path), "disk": {"rate": "100Gbps"}},
            "links": links, "jobs": jobs, "limit": f"{limit:.3f}s", **more}


def job(source, receivers, size, congestion, plan=None, start="unknown", **more):
    tree = [[source, receiver] for receiver in receivers]
    return {"name": f"j-{source}", "source": source, "to": receivers, "size": f"{-(-int(size) // 1000)}kB", "sparse": True,
            "congestion": congestion, "plan": {"tree": tree, **({"start": start} if start else {}), **(plan or {})},
            "_bytes": size, **more}


def long_size(rate, rtt, loss=0.0, mtu=1500, extra=0.0):
    """So much that at L the steady window is as long as asked."""
    return limit_bps(rate, loss, mtu) / 8 * 1.012 * (STEADY_RTTS * rtt + window_s(rtt) + extra)


def steady_scenario(name, rate, rtt, options, loss=0.0, receivers=1, extra=0.0, mtu=1500, measure=None, **link_values):
    """One source, receivers behind links of their own."""
    size = long_size(rate, rtt, loss, mtu, extra)
    names = [f"r{index}" for index in range(receivers)]
    limit = 4 * (size * 8 / limit_bps(rate, loss)) + 60
    values = scenario(name, (rate, rtt), ["a", *names], {"default": link(rate, rtt, loss, **link_values)},
                      [job("a", names, size, options.congestion)], limit, **({"measure": measure} if measure else {}))
    if mtu != 1500:
        values["node_defaults"]["mtu"] = mtu
    return values


# ---- figures ----

def data_edges(report):
    return [edge for edge in report["edges"] if "data" in edge]


def share(part, whole):
    return part / whole if whole else 0.0


def repair_excess(edge, factor=1.02, constant=0.002):
    """Repairs ÷ what is allowed; 1 is the limit."""
    data = edge["data"]
    return share(data["repairs"], factor * (data["lost"] + data["dropped"]) + constant * data["sent_packets"])


def own_loss(sums):
    return share(sums["dropped"], sums["sent_packets"])


def feedback(report):
    return max(share(edge["feedback_wire_bytes"], edge["data"]["sent_wire_bytes"]) for edge in data_edges(report))


def steady(report, limit):
    return min((edge["steady_bps"] / limit for edge in data_edges(report)), default=None)


def common_figures(report, repairs=(1.02, 0.002)):
    """Of every cell that sends for long."""
    return [figure("repairs / allowed", max(repair_excess(edge, *repairs) for edge in data_edges(report)), "<=", 1),
            figure("feedback share", feedback(report), "<=", 0.005)]


def window_share(edge):
    """The steady time ÷ what it must be at least: else the cell's object is too small to judge by."""
    return edge["steady_s"] / window_s(edge["base_rtt_ms"] / 1000)


def long_figures(limit, asked=0.95, tail=2.5, repairs=(1.02, 0.002), more=None):
    """Of every cell with a steady window: steady, repairs, feedback, tail and completion."""
    def read(report):
        edges = data_edges(report)
        found = [figure("steady / L", steady(report, limit), ">=", asked),
                 figure("window / asked", min(window_share(edge) for edge in edges), ">=", 1),
                 *common_figures(report, repairs),
                 figure("done", float(report["completed"]), ">=", 1),
                 figure("tail RTT", max(edge["tail_rtts"] for edge in edges), "<=", tail)]
        return found + (more(report) if more else [])
    return read


# ---- series ----

def series(edge, key="series_bps"):
    return edge.get(key, [])


def mean(values):
    values = list(values)
    return sum(values) / len(values) if values else 0.0


def settled_steps(values, first, rate, tolerance=0.1, hold=5):
    """Steps from `first` until the rate is within the tolerance and stays so on the mean of `hold` steps."""
    for step in range(first, len(values) - hold):
        if abs(values[step] / rate - 1) <= tolerance and \
                abs(mean(values[step:step + hold]) / rate - 1) <= tolerance:
            return step - first + 1
    return None


def steps_until(values, first, test):
    for step in range(first, len(values)):
        if test(values[step]):
            return step - first + 1
    return None


def jain(values):
    return sum(values) ** 2 / (len(values) * sum(value * value for value in values)) if any(values) else 0.0
