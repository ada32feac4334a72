"""scripts/bench papers: the papers' experiments in virtual time, by their methods and by the planner's own choice.

AvB-ALM: fifteen hosts with interfaces of 100 Mbit/s, one object from london1 to all others, in four cells:

  pure        no cross traffic
  paths       the paper's cross traffic inside each pair's own 100 Mbit/s
  interfaces  the same through the hosts' interfaces, rows and columns scaled until none exceeds 70 Mbit/s
  raw         as it stands in the paper, through the interfaces: some of them are asked for 135 of their 100 Mbit/s. Not judged

each by the spanning tree on AvB, by the one on RTT (ten draws of ties each: the paper's figures are one draw of such ties), and
by `auto`. The planner is told what the link models leave (plan.avb: truth). MST-ALM: five regions with the same RTTs, edges of
1.28 Gbit/s as there measured; what their hosts could do is assumed (5 Gbit/s of uplink and downlink), so that cell is not judged.

For each: what was published; what arrived at every receiver, whole job, payload (median and spread over the draws), that rate
over the model's rate of the same tree (asked: 0.85 to 1.05), and for `auto` over the bound that no trees exceed.
Exit status 1: a figure that is asked for is missed.
"""
import argparse
import concurrent.futures
import json
import os
import statistics
import subprocess
import sys
import tempfile

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
SIM = os.path.join(ROOT, "build/app/sim/sluice-sim")
RUN_S = 1200
MODEL_MIN, MODEL_MAX = 0.85, 1.05
HOSTS = [f"{site}{host}" for site in ("london", "frankfurt", "canada", "oregon", "singapore") for host in (1, 2, 3)]

AVB_ALM = """
nodes: [{nodes}]
node_defaults: {{uplink: 100Mbps, downlink: 100Mbps, queue: 10ms}}
links:
  default: {{rate: {path}, queue: 50ms}}
matrices: {{rtt_ms: aws15_rtt_ms.csv{cross}}}
{cross_on}
"""
MST_ALM = """
nodes: [london, frankfurt, canada, oregon, singapore]
node_defaults: {uplink: 5Gbps, downlink: 5Gbps, queue: 10ms}
links:
  default: {rate: 1280Mbps, queue: 50ms}
matrices: {rtt_ms: aws5_rtt_ms.csv}
"""


def avb_alm(path, cross="", cross_on=""):
    return AVB_ALM.format(nodes=", ".join(HOSTS), path=path, cross=f", cross_mbps: {cross}" if cross else "",
                          cross_on=f"cross_on: {cross_on}" if cross_on else "")


# name: (net, source, size, published Mbit/s by metric, whether it is judged)
CELLS = {
    "pure": (avb_alm("10Gbps"), "london1", "240MB", {"avb": 23.65, "rtt": 45.81}, True),
    "paths": (avb_alm("100Mbps", "aws15_cross_mbps.csv", "path"), "london1", "120MB", {"avb": 44.65, "rtt": 34.89}, True),
    "interfaces": (avb_alm("10Gbps", "aws15_cross_scaled_mbps.csv", "interfaces"), "london1", "60MB",
                   {"avb": 44.65, "rtt": 34.89}, True),
    "raw": (avb_alm("10Gbps", "aws15_cross_mbps.csv", "interfaces"), "london1", "20MB", {"avb": 44.65, "rtt": 34.89}, False),
    "mst-alm": (MST_ALM, "london", "2GB", {"rtt": 1140}, False),
}


def plan_of(metric, draw):
    ties = f", ties: seed {draw}" if metric != "auto" else ""
    return f"{{metric: {metric}{ties}}}"


def run(cell, metric, draw):
    """One transfer: (payload rate at the slowest receiver, the model's, the bound), all in Mbit/s. None: of a cell that is
    not judged, where nothing is left of some interface."""
    net, source, size, _, judged = CELLS[cell]
    text = (f"name: papers-{cell}-{metric}-{draw}\nseed: {draw}\nplan: {{avb: truth}}\n{net}\n"
            f"jobs: [{{name: j, source: {source}, to: all, size: {size}, plan: {plan_of(metric, draw)}}}]\n"
            "limit: 1200s\n")
    with tempfile.NamedTemporaryFile("w", suffix=".yaml") as file:
        file.write(text)
        file.flush()
        done = subprocess.run([SIM, file.name, "--json"], capture_output=True, text=True, timeout=RUN_S, check=False)
    if not done.stdout:
        sys.exit(f"bench: {cell}, {metric}, draw {draw}:\n{done.stderr[-2000:]}")
    result = json.loads(done.stdout)
    job = result["jobs"][0]
    if job["state"] != "done" and not judged:
        return None
    if job["state"] != "done":
        sys.exit(f"bench: {cell}, {metric}, draw {draw}: {job['state']}: {job['text']}")
    return job["goodput_bps"] / 1e6, job["plan"]["rate_bps"] / 1e6, job["plan"]["bound_bps"] / 1e6


def spread(values):
    return f"{statistics.median(values):.2f} ({min(values):.2f}-{max(values):.2f})"


def row_of(cell, metric, runs, bound):
    """A row of the table, what is missed of it, and its figures."""
    _, _, _, published, judged = CELLS[cell]
    if not runs:
        none = [cell, metric, f"{published[metric]:.2f}" if metric in published else "-", "no plan: an interface is full"]
        return none + [""] * (len(HEADER) - len(none)), [], {"cell": cell, "metric": metric, "rates_mbps": []}
    ratios = [rate / model for rate, model, _ in runs]
    rates = [rate for rate, _, _ in runs]
    known = published.get(metric)
    inside = "" if known is None else "yes" if min(rates) <= known <= max(rates) else "no"
    misses = []
    if judged and metric != "auto" and not (min(ratios) >= MODEL_MIN and max(ratios) <= MODEL_MAX):
        misses.append(f"{cell}, {metric}: {min(ratios):.3f} to {max(ratios):.3f} of the model's rate")
    share = f"{statistics.median(rates) / bound:.3f}" if bound else "-"
    row = [cell, metric, "-" if known is None else f"{known:.2f}", spread(rates), inside, spread(ratios), f"{bound:.2f}", share]
    return row, misses, {"cell": cell, "metric": metric, "rates_mbps": rates, "of_model": ratios, "bound_mbps": bound}


HEADER = ["cell", "metric", "published", "here (spread)", "inside", "of the model", "bound", "of bound"]


def main(arguments, table):
    """`table` prints rows below a header."""
    parser = argparse.ArgumentParser(prog="scripts/bench papers", description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--draws", type=int, default=10, help="of ties, for each of the papers' metrics")
    parser.add_argument("--only", default=",".join(CELLS), metavar="CELL,...", help="of: " + ", ".join(CELLS))
    parser.add_argument("--json", metavar="FILE")
    options = parser.parse_args(arguments)
    cells = options.only.split(",")
    if options.draws < 1 or not set(cells) <= set(CELLS):
        parser.error("at least one draw, and cells of: " + ", ".join(CELLS))
    wanted = [(cell, metric, draw) for cell in cells for metric in ("avb", "rtt", "auto")
              for draw in range(1, 2 if metric == "auto" else options.draws + 1)]
    with concurrent.futures.ThreadPoolExecutor(len(os.sched_getaffinity(0))) as pool:
        results = list(pool.map(lambda one: run(*one), wanted))
    rows, missed, document = [], [], []
    for cell in cells:
        # The least of what the plans name: where `auto` gives slow receivers a pace of their own, its bound is that of the others.
        bound = min((result[2] for one, result in zip(wanted, results) if one[0] == cell and result), default=0)
        for metric in ("avb", "rtt", "auto"):
            runs = [result for one, result in zip(wanted, results) if one[:2] == (cell, metric) and result is not None]
            row, misses, figures = row_of(cell, metric, runs, bound)
            rows.append(row)
            missed += misses
            document.append(figures)
    table(rows, HEADER)
    if options.json:
        with open(options.json, "w", encoding="utf-8") as file:
            json.dump(document, file, indent=1)
    print("bench: " + ("missed: " + "; ".join(missed) if missed else "every asked figure reached"))
    return 1 if missed else 0
