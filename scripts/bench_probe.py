"""scripts/bench probe: estimators of available bandwidth against the link model, in virtual time (app/probe).

Each cell is one path, measured many times with other draws; its row says what is asked of it and what was reached. All
errors are relative to the tight hop's capacity. C = 10 Gbit/s, packets of 1500 bytes, senders at 40 Gbit/s unless said
otherwise; W: what was left while trains kept the tight hop busy, P: over the whole window of the estimate.

  T1       CBR cross traffic at 0 to 90 %, and senders of 10 Gbit/s
  T2       Poisson, a period of 2.5 s
  T3       20 on/off sources with Pareto times, a queue of 5 ms
  T4       T1 with loss, late packets, batches, a skewed clock and noisy stamps; noise of 1 us
  clocks   a receiver's clock that runs up to 500 ppm faster or slower, or is set while trains come
  law      deviation against sqrt(rho L / (C T)) over a decade of T
  hops     two hops, tight and narrow not the same, in both orders, and two alike
  bucket   token bucket, policer
  paper    capacity 2, 7, 10 Gbit/s every 20 s, measured all the time; added delay, loss, jitter
  harm     what trains add to the queue, and what they cost the cross traffic
  pairs    20 x 20 pairs, a link of its own each, Poisson of 0 to 80 %, 4 sites that share 40 Gbit/s, 5 nets: by the rotation,
           only as far as a plan needs it, against every pair in full
  sim      a tenth of T1 to T4 again, through whole nodes in the simulator; what came of P stands for W where both are the same;
           and what background measurements cost a job
  rivals   each other estimator, and this one with its bytes: the smaller error, root of the mean square against P

Exit status 1: a figure that is asked for is missed.
"""
import argparse
import concurrent.futures
import fnmatch
import json
import math
import os
import subprocess
import sys

import bench_probe_sim

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
PROBE = os.path.join(ROOT, "build/app/probe/sluice-probe")
SIM = os.path.join(ROOT, "build/app/sim/sluice-sim")
RUNS, QUICK_RUNS = 1000, 50
LAW_RUNS_MIN = 400  # a deviation of fewer is not known to 15 %
NETS = 5
SIM_RUNS_SHARE = 0.1
LONG_RUNS_SHARE = 0.1  # of cells that last a minute of virtual time each
RUN_S = 3600
RIVALS = ["yaz", "pathload", "pathchirp", "kite2"]
BEST_SHARE_MIN = 0.9
HEADER = ["cell", "runs", "asked", "reached", ""]
COST_HEADER = ["path", "estimator", "P: bias", "sd", "covered", "W: bias", "sd", "MB", "took s", "load", "of any 10 s", "queue KB"]
CAPACITY_BPS = 10e9


class Asked:
    """One figure of a cell: at most or at least so much. `of` makes it from the cell's figures."""

    def __init__(self, name, sign, bound, of=None):
        self.name, self.sign, self.bound = name, sign, bound
        self.of = of or (lambda figures: figures[name])

    def reached(self, figures):
        return self.of(figures)

    def holds(self, figures):
        value = self.of(figures)
        if value is None:
            return False
        return value <= self.bound if self.sign == "<=" else value >= self.bound

    def text(self):
        return f"{self.name} {self.sign} {self.bound:g}"


def most(name, bound, of=None):
    return Asked(name, "<=", bound, of)


def least(name, bound, of=None):
    return Asked(name, ">=", bound, of)


def absolute(name):
    return lambda figures: None if figures[name] is None else abs(figures[name])


def of_values(name):
    """A share of those that gave a value, as one of all runs that were not refused."""
    return lambda figures: 0 if figures[name] is None else figures[name]


def law_ratio(figures):
    if not figures["law_sd"] or figures["error_a_sd"] is None:
        return None
    return figures["error_a_sd"] / figures["law_sd"]


def seconds(text):
    for unit, factor in (("us", 1e-6), ("ms", 1e-3), ("s", 1)):
        if text.endswith(unit):
            return float(text[:-len(unit)]) * factor
    raise ValueError(text)


# ---- the cells: (name, arguments, what is asked, share of the runs) ----

NO_FALSE_FLAG = most("flag_multi-hop", 0.02)


def cells_t1():
    for rtt in ("100us", "1ms", "50ms", "150ms"):
        common = ["--rtt", rtt, "--width", "0.5%", "--bytes", "1500KB"]
        asked = [least("share_value", 0.95), least("error_w_within_005", 0.95, of_values("error_w_within_005")),
                 most("took_s_p95", 2 * seconds(rtt) + 0.005), most("bytes_max", 1.5e6), NO_FALSE_FLAG]
        for load in range(0, 100, 10):
            cross = "none" if load == 0 else f"cbr:{load}%"
            yield f"T1/{load}%/{rtt}", [*common, "--cross", cross], asked, 1
        idle = [least("share_at-least", 1), least("at_least_of_c_min", 0.99), most("took_s_p95", 2 * seconds(rtt) + 0.005),
                most("bytes_max", 1.5e6)]
        yield f"T1/sender 10G idle/{rtt}", [*common, "--sender", "10Gbps"], idle, 1
        yield f"T1/sender 10G 40%/{rtt}", [*common, "--sender", "10Gbps", "--cross", "cbr:40%"], asked, 1


def cells_t2():
    asked = [least("error_w_within_003", 0.95, of_values("error_w_within_003")),
             least("error_p_within_010", 0.95, of_values("error_p_within_010")),
             most("|error_p_bias|", 0.002, absolute("error_p_bias")), least("share_value", 0.95),
             most("bytes_max", 25e6), most("load_max", 0.01), NO_FALSE_FLAG]
    for rtt in ("1ms", "50ms"):
        for load in (20, 35, 50, 65, 80):
            yield f"T2/{load}%/{rtt}", ["--rtt", rtt, "--period", "2500ms", "--bytes", "25MB", "--cross", f"poisson:{load}%"], asked, 1


T3 = ["--period", "2500ms", "--bytes", "25MB", "--queue", "5ms", "--cross", "onoff:50%"]


def cells_t3():
    asked = [least("covers_p", 0.93, of_values("covers_p")), most("half_width", 0.08), least("share_value", 0.95),
             most("bytes_max", 25e6), most("load_max", 0.01)]
    for rtt in ("1ms", "50ms"):
        yield f"T3/{rtt}", [*T3, "--rtt", rtt], asked, 1


ROUGH = ["--loss", "1%", "--late", "5%", "--late-by", "50us", "--batch", "32", "--skew", "100ppm"]


def cells_t4():
    for rtt in ("100us", "1ms", "50ms", "150ms"):
        for load in (0, 10, 30, 50, 70, 90):
            path = ["--rtt", rtt, "--cross", "none" if load == 0 else f"cbr:{load}%", *ROUGH]
            yield (f"T4/{load}%/{rtt}", [*path, "--noise", "100ns", "--sender-noise", "100ns", "--width", "1%", "--bytes", "3MB"],
                   [least("error_w_within_010", 0.95, of_values("error_w_within_010")), most("share_refused", 0.05),
                    most("bytes_max", 3e6), most("took_s_p95", 2 * seconds(rtt) + 0.02)], 1)
            if rtt == "1ms":
                yield (f"T4/noise 1us/{load}%", [*path, "--noise", "1us", "--sender-noise", "1us", "--bytes", "3MB"],
                       [most("wrong_p", 0.001, of_values("wrong_p"))], 1)


def cells_clocks():
    """The receiver's clock drifts, or is set while trains come: a step hits up to one train of a run, and of spread ones some."""
    one = ["--rtt", "50ms", "--bytes", "3MB"]
    asked = [least("error_w_within_005", 0.95, of_values("error_w_within_005")), least("share_value", 0.95),
             most("wrong_w", 0.001, of_values("wrong_w"))]
    spread = [least("covers_p", 0.93, of_values("covers_p")), least("share_value", 0.95)]
    for ppm in (-500, -200, -10, 10, 200, 500):
        yield f"clocks/{ppm:+}ppm/cbr", [*one, "--cross", "cbr:50%", "--skew", f"{ppm}ppm"], asked, 1
        yield (f"clocks/{ppm:+}ppm/poisson", ["--period", "2500ms", "--bytes", "25MB", "--cross", "poisson:50%", "--skew", f"{ppm}ppm"],
               spread, 1)
    for step in ("1ms", "-1ms", "1s", "-1s"):
        for cross in ("none", "cbr:50%"):
            for every in ("1700us", "26100us"):
                yield (f"clocks/{step} each {every}/{cross}", [*one, "--cross", cross, "--clock-step", f"{every}:{step}"], asked, 1)
        yield (f"clocks/{step} each 26100us/poisson",
               ["--period", "2500ms", "--bytes", "25MB", "--cross", "poisson:50%", "--clock-step", f"26100us:{step}"], spread, 1)


def cells_law():
    asked = [most("error_a_sd / law_sd", 1.15, law_ratio), least("error_a_sd / law_sd", 0.85, law_ratio)]
    for size in ("2500KB", "8MB", "25MB"):
        yield f"law/{size}", ["--period", "2500ms", "--bytes", size, "--cross", "poisson:50%"], asked, 1


def cells_hops():
    def hop(capacity, cross):
        return ["--capacity", capacity, "--cross", cross]
    for kind in ("cbr", "poisson"):
        loaded, empty = hop("10Gbps", f"{kind}:70%"), hop("5Gbps", "none")
        for name, hops in (("tight first", [*loaded, "--next-hop", *empty]), ("narrow first", [*empty, "--next-hop", *loaded]),
                           ("two alike", [*hop("10Gbps", f"{kind}:50%"), "--next-hop", *hop("10Gbps", f"{kind}:50%")])):
            yield (f"hops/{name}/{kind}", [*hops, "--receiver", "10Gbps", "--period", "2500ms", "--bytes", "25MB"],
                   [least("bound_p", 0.95)], 1)


def cells_bucket():
    for rate in ("1Gbps", "5Gbps"):
        for kind in ("shaper", "policer"):
            yield (f"bucket/{kind} {rate}", [f"--{kind}", f"{rate}/200KB", "--period", "1s", "--bytes", "10MB"],
                   [least(f"flag_{kind}", 0.95), most("capacity_error_p95", 0.02), most("depth_error_p95", 0.1)], 1)


def cells_paper():
    steps = ["--continuous", "--capacity", "2Gbps", "--step", "20s:7Gbps", "--step", "40s:10Gbps", "--limit", "60s"]
    asked = [most("seen_s_max", 1), most("steps_missed", 0), most("steady_error_p95", 0.005), most("load_max", 0.01),
             least("steady_values", 0.95)]
    for name, more in (("1ms", ["--rtt", "1ms"]), ("+0.5ms", ["--rtt", "2ms"]), ("+5ms", ["--rtt", "11ms"]),
                       ("+50ms", ["--rtt", "101ms"]), ("1% loss", ["--rtt", "1ms", "--loss", "1%"])):
        yield f"paper/{name}", [*steps, *more], asked, LONG_RUNS_SHARE
    yield ("paper/jitter 0.5ms", [*steps, "--rtt", "1ms", "--jitter", "500us"], [most("steady_wrong", 0.001, of_values("steady_wrong"))],
           LONG_RUNS_SHARE)


def cells_harm():
    asked = [most("added_max", 250e3), most("added_first_max", 800e3), most("cross_added_loss", 1e-5)]
    for load in ("poisson:20%", "poisson:50%", "poisson:80%", "onoff:50%"):
        yield (f"harm/{load}", ["--harm", "--queue", "5ms", "--cross", load, "--continuous", "--limit", "10s"], asked, LONG_RUNS_SHARE)


def cells_pairs():
    """The worst of the nets, but for the rate: what `auto` finds differs by some per cent between nets that hardly differ."""
    asked = [least("tau_min", 0.95), most("bytes_share_max", 0.25), most("took_s_max", 10), least("rate", 0.97)]
    yield "pairs/20", ["--pairs", "20", "--limit", "10s", "--load", "0%", "--rtt", "20ms"], asked, NETS / RUNS


def cells_sim():
    for owd, rtt, load in (("50us", 0.0001, 0), ("500us", 0.001, 30), ("25ms", 0.05, 50), ("75ms", 0.15, 90)):
        cross = "" if load == 0 else f"{{kind: cbr, rate: {load * 100}Mbps}}"
        yield (f"sim/T1/{load}%/{owd}", bench_probe_sim.scenario(owd, cross),
               [least("share_value", 0.95), least("error_p_within_005", 0.95), most("took_s_p95", 2 * rtt + 0.005),
                most("bytes_max", 1.5e6)], SIM_RUNS_SHARE)
    for owd, rtt, load in (("50us", 0.0001, 10), ("500us", 0.001, 50), ("25ms", 0.05, 50), ("75ms", 0.15, 80)):
        cross = f"{{kind: cbr, rate: {load * 100}Mbps}}"
        yield (f"sim/T4/{load}%/{owd}", bench_probe_sim.scenario(owd, cross, size="3MB", width="1%", ends=True),
               [least("error_p_within_010", 0.95), least("share_value", 0.95), most("took_s_p95", 2 * rtt + 0.02), most("bytes_max", 3e6)],
               SIM_RUNS_SHARE)
    for owd, load in (("500us", 50), ("25ms", 80)):
        cross = f"{{kind: poisson, rate: {load * 100}Mbps}}"
        yield (f"sim/T2/{load}%/{owd}", bench_probe_sim.scenario(owd, cross, "2500ms", "25MB", "1%"),
               [least("share_value", 0.95), least("error_p_within_010", 0.95),
                most("|error_p_bias|", 0.002, absolute("error_p_bias")), most("bytes_max", 25e6)], SIM_RUNS_SHARE)
    cross = "{kind: onoff, rate: 1Gbps, sources: 20, on: 5ms, off: 15ms, alpha: 1.5}"
    yield ("sim/T3/25ms", bench_probe_sim.scenario("25ms", cross, "2500ms", "25MB", "1%", "5ms"),
           [least("covers_p", 0.93), most("half_width", 0.08), most("bytes_max", 25e6)], SIM_RUNS_SHARE)
    yield "sim/jobs", bench_probe_sim.JOB, [least("goodput_ratio_min", 0.99)], NETS / RUNS


def cells_rivals():
    """No figure is asked of a single one: judge_rivals."""
    for rtt in ("1ms", "50ms"):
        for cross in ("cbr:20%", "cbr:50%", "cbr:80%", "poisson:20%", "poisson:50%", "poisson:80%", "onoff:50%"):
            for rival in RIVALS:
                yield f"rivals/{rival}/{cross}/{rtt}", ["--rtt", rtt, "--cross", cross, "--queue", "5ms", "--load", "0%"], [], 1


GROUPS = [cells_t1, cells_t2, cells_t3, cells_t4, cells_clocks, cells_law, cells_hops, cells_bucket, cells_paper, cells_harm, cells_pairs, cells_sim, cells_rivals]


def probe(program, arguments):
    command = [program, "--json", *arguments]
    run = subprocess.run(command, capture_output=True, text=True, timeout=RUN_S, check=False)
    if run.returncode != 0:
        sys.exit(f"bench: {' '.join(command)}:\n{run.stderr[-2000:]}")
    return [json.loads(line) for line in run.stdout.splitlines()]


def pooled(nets):
    """Of several nets the mean of each figure, the least and the greatest."""
    figures = {"runs": len(nets)}
    for name in nets[0]:
        values = [net[name] for net in nets]
        figures.update({name: sum(values) / len(values), name + "_min": min(values), name + "_max": max(values)})
    return figures


def root_mean_square(figures):
    """Against P; None: no run gave a value."""
    if figures["error_p_bias"] is None or figures["error_p_sd"] is None:
        return None
    return math.hypot(figures["error_p_bias"], figures["error_p_sd"])


def run_cell(cell, options, runs):
    name, arguments, _, share = cell
    if name.startswith("sim/"):
        of_sim = bench_probe_sim.jobs if name == "sim/jobs" else bench_probe_sim.run
        return {"cell": name, "figures": of_sim(options.sim, arguments, max(2, round(runs * share)))}
    count = max(2, round(runs * share), LAW_RUNS_MIN if name.startswith("law/") else 0)
    common = [*arguments, "--runs", str(count)]
    mine = ["--estimator", options.estimator]
    if name.startswith("pairs/"):
        return {"cell": name, "figures": pooled(probe(options.program, [*mine, *common]))}
    if not name.startswith("rivals/"):
        return {"cell": name, "figures": probe(options.program, [*mine, *common])[0]}
    theirs = probe(options.program, ["--estimator", name.split("/")[1], *common])[0]
    spent = ["--bytes", str(round(theirs["bytes"])), "--period", f"{round(theirs['took_s'] * 1e6)}us"]
    return {"cell": name, "rival": theirs, "figures": probe(options.program, [*mine, *common, *spent])[0]}


# ---- rows ----

def shown(value):
    return "-" if value is None else f"{value:.4g}"


def rows_of(cell, result):
    """Rows of the table, and what is missed."""
    name, _, asked, _ = cell
    figures, rows, missed = result["figures"], [], []
    for one in asked:
        good = one.holds(figures)
        rows.append([name, int(figures["runs"]), one.text(), shown(one.reached(figures)), "" if good else "missed"])
        if not good:
            missed.append(f"{name}: {one.text()}: {shown(one.reached(figures))}")
    return rows, missed


def rows_of_rival(cell, result):
    mine, theirs = root_mean_square(result["figures"]), root_mean_square(result["rival"])
    best = mine is not None and (theirs is None or mine <= theirs)
    cost = f"{result['rival']['bytes'] / 1e6:.2f} MB, {result['rival']['took_s']:.3f} s"
    return [cell[0], int(result["figures"]["runs"]), f"error below {shown(theirs)} ({cost})", shown(mine), "" if best else "larger"], best


def percent(value):
    return "-" if value is None else f"{100 * value:.2f}"


def cost_rows(cell, result, estimator):
    """What a rival and the one that is judged each said and cost, in per cent of the capacity."""
    _, rival, path = cell[0].split("/", 2)
    rows = []
    for name, figures in ((rival, result["rival"]), (f"{estimator}, its bytes", result["figures"])):
        load = figures["bytes"] * 8 / figures["took_s"] / CAPACITY_BPS
        rows.append([path, name, percent(figures["error_p_bias"]), percent(figures["error_p_sd"]), percent(figures["covers_p"]),
                     percent(figures["error_w_bias"]), percent(figures["error_w_sd"]), f"{figures['bytes'] / 1e6:.2f}",
                     f"{figures['took_s']:.3f}", percent(load), percent(figures["load_max"]), f"{figures['queue_max'] / 1e3:.0f}"])
    return rows


def print_results(cells, results, estimator, table):
    """All rows; returns what is missed."""
    rows, costs, missed, compared, best = [], [], [], 0, 0
    for cell, result in zip(cells, results):
        if "rival" in result:
            row, good = rows_of_rival(cell, result)
            rows.append(row)
            costs += cost_rows(cell, result, estimator)
            compared, best = compared + 1, best + good
        else:
            of_cell, misses = rows_of(cell, result)
            rows += of_cell
            missed += misses
    table(rows, HEADER)
    if compared > 0:
        print("\nper cent of the capacity, but for cost and queue")
        table(sorted(costs, key=lambda row: row[0]), COST_HEADER)
        print(f"smallest error in {best} of {compared} comparisons, {BEST_SHARE_MIN:g} asked")
        if best < BEST_SHARE_MIN * compared:
            missed.append(f"rivals: smallest error in {best} of {compared}")
    return missed


def main(arguments, table):
    """`table` prints rows below a header."""
    parser = argparse.ArgumentParser(prog="scripts/bench probe", description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help=f"{QUICK_RUNS} runs of a cell instead of {RUNS}")
    parser.add_argument("--runs", type=int, help="of a cell")
    parser.add_argument("--cells", default="*", metavar="PATTERN,...", help="only those whose names match, as 'T1/*'")
    parser.add_argument("--estimator", default="sluice", help="whom to judge (sluice)")
    parser.add_argument("--program", metavar="FILE", default=PROBE, help="sluice-probe (that of build/)")
    parser.add_argument("--sim", metavar="FILE", default=SIM, help="sluice-sim (that of build/)")
    parser.add_argument("--list", action="store_true", help="names of the cells, and how sluice-probe is called")
    parser.add_argument("--json", metavar="FILE")
    options = parser.parse_args(arguments)
    patterns = options.cells.split(",")
    cells = [cell for group in GROUPS for cell in group() if any(fnmatch.fnmatch(cell[0], pattern) for pattern in patterns)]
    if not cells:
        parser.error(f"no cell matches {options.cells}")
    if options.list:
        table([[name, "a scenario" if name.startswith("sim/") else " ".join(arguments)] for name, arguments, _, _ in cells], ["cell", "sluice-probe"])
        return 0
    for program in (options.program, options.sim):
        if not os.path.exists(program):
            sys.exit(f"bench: {program}: not built")
    runs = options.runs or (QUICK_RUNS if options.quick else RUNS)
    with concurrent.futures.ThreadPoolExecutor(len(os.sched_getaffinity(0))) as pool:
        results = list(pool.map(lambda cell: run_cell(cell, options, runs), cells))
    missed = print_results(cells, results, options.estimator, table)
    if options.json:
        with open(options.json, "w", encoding="utf-8") as file:
            json.dump(results, file, indent=1)
    print(f"bench: {len(cells)} cells: " + (f"{len(missed)} missed" if missed else "every asked figure reached"))
    return 1 if missed else 0
