"""scripts/bench papers: the papers' experiments in virtual time, by their methods and by the planner's own choice.

AvB-ALM: fifteen hosts with interfaces of 100 Mbit/s, one object from london1 to all others, in four cells:

  pure        no cross traffic
  paths       the paper's cross traffic inside each pair's own 100 Mbit/s
  interfaces  the same through the hosts' interfaces, rows and columns scaled until none exceeds 70 Mbit/s
  raw         as it stands in the paper, through the interfaces: some of them are asked for 135 of their 100 Mbit/s. Not judged

each by the spanning tree on AvB, by the one on RTT (ten draws of ties each: the paper's figures are one draw of such ties), and
by `auto` with at most 4 trees and with at most 8. The planner is told what the link models leave (plan.avb: truth). MST-ALM: five
regions with the same RTTs, edges of 1.28 Gbit/s as there measured; what their hosts could do is assumed (5 Gbit/s of uplink and
downlink), so that cell is not judged.

For each, in payload at the slowest receiver (median and spread over the draws): what was published; what arrived, whole job, from
the order to the last byte; the flow, from a receiver's first block on; the whole job over the model's rate of the same tree (asked:
0.85 to 1.05); the bound that no trees exceed, and the flow over it (asked of `auto`: 0.90, with 8 trees 0.93); and `auto` over the
better of the papers' two trees (asked: 2, where the bound is 2.2 times that tree or more).
With --probe the cells `paths` and `interfaces` alone, and another question: how near `auto` gets when nobody tells the planner anything.
Nodes measure each other in the background for 180 s, at the load that is permitted by default, then the job is planned and sent. Whole job
and flow over those of the same job with plan.avb: truth (asked in `paths`: 0.90 of both, for each seed); and of the 210 paths, after 30, 60, 120
and 180 s, how many are known and by how much of 100 Mbit/s estimates are wrong (the last measurement of each path).
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
FLOW_MIN = {"auto": 0.90, "auto, 8 trees": 0.93}
TWICE, TWICE_FROM = 2.0, 2.2
PROBED_S, KNOWN_S, PROBED_SEEDS = 180, (30, 60, 120, 180), 5
PROBED_MIN = {"paths": 0.90, "interfaces": None}  # of what the truth gives
METRICS = ["avb", "rtt", *FLOW_MIN]
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
    plans = {"auto": "metric: auto, trees: 4", "auto, 8 trees": "metric: auto, trees: 8"}
    return "{" + plans.get(metric, f"metric: {metric}, ties: seed {draw}") + "}"


def simulate(text, what):
    """The result of a scenario."""
    with tempfile.NamedTemporaryFile("w", suffix=".yaml") as file:
        file.write(text)
        file.flush()
        done = subprocess.run([SIM, file.name, "--json"], capture_output=True, text=True, timeout=RUN_S, check=False)
    if not done.stdout:
        sys.exit(f"bench: {what}:\n{done.stderr[-2000:]}")
    return json.loads(done.stdout)


def run(cell, metric, draw):
    """One transfer, all in Mbit/s. None: of a cell that is not judged, where nothing is left of some interface."""
    net, source, size, _, judged = CELLS[cell]
    what = f"{cell}, {metric}, draw {draw}"
    result = simulate(f"name: papers\nseed: {draw}\nplan: {{avb: truth}}\n{net}\n"
                      f"jobs: [{{name: j, source: {source}, to: all, size: {size}, plan: {plan_of(metric, draw)}}}]\n"
                      "limit: 1200s\n", what)
    job = result["jobs"][0]
    if job["state"] != "done" and not judged:
        return None
    if job["state"] != "done":
        sys.exit(f"bench: {what}: {job['state']}: {job['text']}")
    return {"whole": job["goodput_bps"] / 1e6, "flow": result["goodput_flow_bps"] / 1e6,
            "model": job["plan"]["rate_bps"] / 1e6, "bound": job["plan"]["bound_bps"] / 1e6,
            "trees": len(job["plan"]["trees"])}


def scenario(cell, seed, told, job):
    net, source, size, _, _ = CELLS[cell]
    jobs = f"jobs: [{{name: j, source: {source}, to: all, size: {size}, at: {PROBED_S}s, plan: {{metric: auto, trees: 4}}}}]" if job else ""
    return simulate(f"name: probed\nseed: {seed}\n{told}\n{net}\n{jobs}\nlimit: 1200s\n", f"{cell}, probed, seed {seed}")


def probed(cell, seed):
    """Whole job and flow of the probed over those by the truth, and what was known when."""
    by_truth, by_probes = (scenario(cell, seed, told, True) for told in ("plan: {avb: truth}", "probe: {background: on}"))
    reached = [[result["jobs"][0]["goodput_bps"], result["goodput_flow_bps"]] for result in (by_truth, by_probes)]
    known = [scenario(cell, seed, f"probe: {{background: on, until: {second}s}}", False)["probes"] for second in KNOWN_S]
    return reached, known


def print_probed(seeds, table):
    cells = list(PROBED_MIN)
    wanted = [(cell, seed) for cell in cells for seed in range(1, seeds + 1)]
    with concurrent.futures.ThreadPoolExecutor(len(os.sched_getaffinity(0))) as pool:
        results = dict(zip(wanted, pool.map(lambda one: probed(*one), wanted)))
    rows, missed = [], []
    for cell in cells:
        reached = [results[cell, seed][0] for seed in range(1, seeds + 1)]
        row = [cell]
        for kind, what in enumerate(("whole job", "flow")):
            shares = [by_probes[kind] / by_truth[kind] for by_truth, by_probes in reached]
            row += [spread([by_truth[kind] / 1e6 for by_truth, _ in reached]), spread([by_probes[kind] / 1e6 for _, by_probes in reached]),
                    f"{min(shares):.3f}-{max(shares):.3f}"]
            if PROBED_MIN[cell] and min(shares) < PROBED_MIN[cell]:
                missed.append(f"{cell}, {what}: {min(shares):.3f} of that by the truth")
        rows.append(row)
    table(rows, ["cell", "whole job by truth", "by probes", "share", "flow by truth", "by probes", "share"])
    rows = []
    for cell in cells:
        for place, second in enumerate(KNOWN_S):
            by_seed = [[path for path in results[cell, seed][1][place] if "error" in path] for seed in range(1, seeds + 1)]
            errors = sorted(path["error"] for paths in by_seed for path in paths)
            rows.append([cell, f"{second} s", spread([len(paths) for paths in by_seed]), f"{statistics.median(errors):.4f}",
                         f"{errors[int(0.95 * (len(errors) - 1))]:.4f}", f"{errors[-1]:.4f}"])
    table(rows, ["cell", "after", "of 210 known", "error: median", "p95", "worst"])
    return missed


def spread(values):
    if len(values) == 1:
        return f"{values[0]:.2f}"
    return f"{statistics.median(values):.2f} ({min(values):.2f}-{max(values):.2f})"


def missed_by(cell, metric, runs, bound, better):
    """What is asked of a row and not reached. `better`: of the papers' two trees, whole job."""
    ratios = [one["whole"] / one["model"] for one in runs]
    misses = []
    if metric not in FLOW_MIN:
        if min(ratios) < MODEL_MIN or max(ratios) > MODEL_MAX:
            misses.append(f"{cell}, {metric}: {min(ratios):.3f} to {max(ratios):.3f} of the model's rate")
        return misses
    if runs[0]["flow"] < FLOW_MIN[metric] * bound:
        misses.append(f"{cell}, {metric}: {runs[0]['flow'] / bound:.3f} of the bound")
    if bound >= TWICE_FROM * better and runs[0]["whole"] < TWICE * better:
        misses.append(f"{cell}, {metric}: {runs[0]['whole'] / better:.2f} times the papers' better tree")
    return misses


def row_of(cell, metric, runs, bound, better):
    """A row of the table, what is missed of it, and its figures."""
    _, _, _, published, judged = CELLS[cell]
    known = published.get(metric)
    row = [cell, metric, "-" if known is None else f"{known:.2f}"]
    if not runs:
        row.append("no plan: an interface is full")
        return row + [""] * (len(HEADER) - len(row)), [], {"cell": cell, "metric": metric, "runs": []}
    whole, flow = [one["whole"] for one in runs], [one["flow"] for one in runs]
    inside = "" if known is None else "yes" if min(whole) <= known <= max(whole) else "no"
    row += [spread(whole), inside, spread(flow), spread([one["whole"] / one["model"] for one in runs]), f"{bound:.2f}",
            f"{statistics.median(flow) / bound:.3f}", f"{whole[0] / better:.2f}" if metric in FLOW_MIN else "",
            "-".join(str(count) for count in sorted({one["trees"] for one in runs}))]
    misses = missed_by(cell, metric, runs, bound, better) if judged else []
    return row, misses, {"cell": cell, "metric": metric, "bound_mbps": bound, "runs": runs}


HEADER = ["cell", "metric", "published", "whole job (spread)", "inside", "flow", "of the model", "bound", "flow of bound",
          "of the better", "trees"]


def rows_of_cell(cell, of_metric):
    """`of_metric`: the runs by each metric."""
    # The least of what the plans name: where `auto` gives slow receivers a pace of their own, its bound is that of the others.
    bound = min((one["bound"] for runs in of_metric.values() for one in runs), default=0)
    better = max((statistics.median(one["whole"] for one in of_metric[metric]) for metric in ("avb", "rtt")
                  if of_metric[metric]), default=0)
    return [row_of(cell, metric, of_metric[metric], bound, better) for metric in METRICS]


def main(arguments, table):
    """`table` prints rows below a header."""
    parser = argparse.ArgumentParser(prog="scripts/bench papers", description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--draws", type=int, default=10, help="of ties, for each of the papers' metrics")
    parser.add_argument("--only", default=",".join(CELLS), metavar="CELL,...", help="of: " + ", ".join(CELLS))
    parser.add_argument("--json", metavar="FILE")
    parser.add_argument("--probe", action="store_true", help=f"nothing is given but {PROBED_S} s of background probing ({PROBED_SEEDS} seeds)")
    options = parser.parse_args(arguments)
    if options.probe:
        return conclude(print_probed(PROBED_SEEDS, table))
    cells = options.only.split(",")
    if options.draws < 1 or not set(cells) <= set(CELLS):
        parser.error("at least one draw, and cells of: " + ", ".join(CELLS))
    wanted = [(cell, metric, draw) for cell in cells for metric in METRICS
              for draw in range(1, 2 if metric in FLOW_MIN else options.draws + 1)]
    with concurrent.futures.ThreadPoolExecutor(len(os.sched_getaffinity(0))) as pool:
        results = dict(zip(wanted, pool.map(lambda one: run(*one), wanted)))
    rows, missed, document = [], [], []
    for cell in cells:
        of_metric = {metric: [result for one, result in results.items() if one[:2] == (cell, metric) and result is not None]
                     for metric in METRICS}
        for row, misses, figures in rows_of_cell(cell, of_metric):
            rows.append(row)
            missed += misses
            document.append(figures)
    table(rows, HEADER)
    if options.json:
        with open(options.json, "w", encoding="utf-8") as file:
            json.dump(document, file, indent=1)
    return conclude(missed)


def conclude(missed):
    print("bench: " + ("missed: " + "; ".join(missed) if missed else "every asked figure reached"))
    return 1 if missed else 0
