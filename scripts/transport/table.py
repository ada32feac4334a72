"""The edge transport's table in virtual time: scripts/bench transport [PATTERN…]

A PATTERN is a row (jitter), a glob of rows (t*) or of cells ('queue/rtt100*'); all cells unless some are named. A cell
is run with several seeds, two cells at once, and told with the worst of them: PASS or MISS, and each figure beside what
is asked. "p50 …" and "p95 …" are percentiles over the seeds instead. Then a line for each figure of each row.

  --result FILE has every run and is written after each cell, so that it can be read meanwhile and continued by --resume,
    by other patterns, too: what FILE has of cells that are not named stays
  --compare BEFORE AFTER runs nothing: which cells of two such files newly miss, or lose more than 1 % of a figure
Exit status 1 when a figure is missed or a run failed.
"""
import argparse
import fnmatch
import hashlib
import json
import os
import statistics
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor

from transport import clocks, compare, edges, hosts, marks, reroute, rows, shares
from transport.cells import reached, yaml_text

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
SIM = os.path.join(ROOT, "build/app/sim/sluice-sim")
PACKETS_PER_S = 1.0e6  # of a simulation on one core of a 3 GHz machine, for the estimate
RUN_S_MAX = 3600       # a run that takes longer hangs
PERCENTILES = ("p50 ", "p95 ")
LAW = ("stuck_ms", "late_ms", "deep_ms")  # of liveness (lib/sim/alive.h), asked of every run: 0

ROWS = {  # name: cells, judgement across cells, what the row is
    "startup": (rows.startup, None, "start-up, rate unknown"),
    "known": (rows.known, None, "start-up, rate known within 10 %"),
    "step": (shares.step, None, "1000, 200, 1000 Mbit/s"),
    "blackout": (shares.blackout, None, "5 s blackout"),
    "small": (rows.small, None, "1 MB object"),
    "tail": (rows.tail, None, "tail"),
    "queue": (rows.queue, None, "queue at 2 BDP of buffer"),
    "shallow": (rows.shallow, None, "shallow buffers and policers"),
    "loss": (rows.loss, None, "1 Gbit/s, 1 s RTT, loss 10 and 30 %"),
    "burst": (rows.burst, None, "Gilbert-Elliott, bursts of 50, 1 %"),
    "late": (rows.late, None, "25 % of packets 5 ms late"),
    "lostacks": (edges.lostacks, None, "lost acks, 1 GB, 80 ms, 0.5 BDP"),
    "stall": (hosts.stall, None, "hosts that stand still"),
    "objects": (edges.objects, None, "objects of 1 to 25 RTT"),
    "smallpaths": (edges.smallpaths, None, "64 kbit/s to 2 Mbit/s"),
    "slowchild": (rows.slowchild, rows.slowchild_pairs, "ten receivers, one slow"),
    "tensources": (shares.tensources, None, "ten sources, one downlink"),
    "crowd": (shares.crowd, None, "2, 10, 50 sources with 20 ms of jitter"),
    "compete": (shares.compete, None, "one edge against CUBIC and BBRv1"),
    "scavenger": (shares.scavenger, None, "scavenger against all others"),
    "ecn": (marks.ecn, None, "a link that marks"),
    "clocksteps": (clocks.clocksteps, None, "a clock jumps ahead or back"),
    "clockmix": (clocks.clockmix, None, "clocks that drift and are set, beside other trouble"),
    "drift": (clocks.drift, None, "clocks that drift apart"),
    "tenG": (rows.tengig, None, "10 Gbit/s x RTT x loss"),
    "reroute": (reroute.reroute, reroute.reroute_back, "a path that becomes longer"),
    "random": (rows.random, rows.random_share, "random neighbours"),
    "wholefile": (rows.wholefile, None, "whole-file goodput, 60 s, plan rate known"),
    "jitter": (rows.jitter, rows.jitter_columns, "jitter grid, three receivers, 1 Gbit/s"),
}


# ---- what is run ----

def matches(row, cell, patterns):
    return not patterns or any(fnmatch.fnmatch(row, pattern) or fnmatch.fnmatch(f"{row}/{cell.name}", pattern)
                               for pattern in patterns)


def chosen(options):
    """[(row, cell)] in the table's order: what is over soon and tells much comes first."""
    return [(row, cell) for row in ROWS for cell in ROWS[row][0](options) if matches(row, cell, options.patterns)]


def seeds_of(cell, options):
    return 1 if options.quick else cell.seeds or options.seeds


def write_cell(row, cell, folder):
    """Its scenario file, unless sluice-sim draws it by itself; and what tells it from one that was changed."""
    if cell.arguments:
        cell.command, identity = list(cell.arguments), " ".join(cell.arguments)
    else:
        path = os.path.join(folder, row, cell.name + ".yaml")
        os.makedirs(os.path.dirname(path), exist_ok=True)
        identity = yaml_text(cell.scenario, f"{ROWS[row][2]}: written by scripts/bench transport")
        with open(path, "w", encoding="utf-8") as file:
            file.write(identity)
        cell.command = [os.path.relpath(path, ROOT) if path.startswith(ROOT) else path]
    cell.identity = hashlib.sha256(identity.encode()).hexdigest()[:12]


def simulate(row, cell, seed, options):
    """One run: {seed, figures: {name: value}, seconds, error}."""
    start = time.monotonic()
    seeded = () if "--seed" in cell.command else ("--seed", str(seed))
    command = ["nice", "-n", "10", options.sim, *cell.command, *seeded, "--json"]
    run = {"cell": f"{row}/{cell.name}", "seed": seed, "scenario": cell.identity, "figures": {}, "error": None}
    try:
        done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=RUN_S_MAX, cwd=ROOT)
    except subprocess.TimeoutExpired:
        return {**run, "seconds": RUN_S_MAX, "error": "hangs"}
    run["seconds"] = round(time.monotonic() - start, 2)
    if done.returncode not in (0, 1) or not done.stdout.strip():
        return {**run, "error": (done.stderr.strip() or f"exit status {done.returncode}")[-300:]}
    report = json.loads(done.stdout)
    run["digest"] = report.get("digest")
    if options.keep:
        path = os.path.join(options.directory, row, f"{cell.name}-seed{seed}.json")
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "w", encoding="utf-8") as file:
            file.write(done.stdout)
    try:
        figures = [*cell.figures(report), *((name, report[name], "<=", 0) for name in LAW)]
    except (IndexError, ValueError, ZeroDivisionError) as error:
        ends = [(job["state"], job["text"]) for job in report.get("jobs", [])]
        return {**run, "error": f"no figures: {error} {ends}"}
    run["figures"] = {name: value for name, value, _, _ in figures}
    if cell.told:
        run["told"] = cell.told(report)
    if cell.kept:
        run["kept"] = cell.kept(report)
    run["asked"] = {name: [comparison, limit] for name, _, comparison, limit in figures}
    return run


# ---- results ----

def worst_of(values, comparison):
    if any(value is None for value in values):
        return None
    return min(values) if comparison == ">=" else max(values)


def over_seeds(name, values, comparison):
    """What counts of a cell's seeds."""
    if not name.startswith(PERCENTILES) or any(value is None for value in values):
        return worst_of(values, comparison)
    ordered = sorted(values)
    return ordered[min(len(ordered) - 1, int(len(ordered) * int(name[1:3]) / 100))]


def judged(runs):
    """Of one cell: [{figure, comparison, asked, value, seed, pass}], seed: of the worst run."""
    good = [run for run in runs if not run["error"]]
    found = []
    for name, (comparison, limit) in (good[0]["asked"] if good else {}).items():
        values = [run["figures"].get(name) for run in good]
        value = over_seeds(name, values, comparison)
        found.append({"figure": name, "comparison": comparison, "asked": limit, "value": value,
                      "median": statistics.median(known) if (known := [v for v in values if v is not None]) else None,
                      "seed": good[values.index(value)]["seed"] if value in values else good[0]["seed"],
                      "pass": reached(value, comparison, limit)})
    return found


def number(value):
    return "none" if value is None else f"{value:.4g}"


def asked(line):
    return f"{line['comparison']} {number(line['asked'])}" if line["asked"] is not None else ""


def cell_line(name, runs, figures):
    """PASS or MISS, and the figures, those that miss first and marked."""
    errors = [run for run in runs if run["error"]]
    ordered = sorted((line for line in figures if line["figure"] not in LAW or not line["pass"]),
                     key=lambda line: line["pass"])
    texts = [f"seed {run['seed']} failed: {run['error']}" for run in errors]
    texts += [f"{'' if line['pass'] else '!'}{line['figure']} {number(line['value'])}"
              f"{' (' + asked(line) + ')' if asked(line) else ''}" for line in ordered]
    texts += [run["told"] for run in runs if "told" in run]
    verdict = "MISS" if errors or not ordered or not ordered[0]["pass"] else "PASS"
    return f"{verdict} {name:<38} " + ", ".join(texts)


def row_lines(row, cells, options):
    """cells: {name: (runs, figures)} → a line for each figure of the row, and for what is judged across its cells."""
    collected = {}
    for name, (_, figures) in cells.items():
        for line in figures:
            if line["figure"] in LAW:
                continue
            collected.setdefault((line["figure"], line["comparison"], line["asked"]), []).append((name, line))
    across = ROWS[row][1]
    for name, value, comparison, limit in across(cells, options) if across else []:
        line = {"value": value, "median": value, "pass": reached(value, comparison, limit)}
        collected[(name, comparison, limit)] = [("all cells", line)]
    return collected_lines(row, collected)


def law_lines(by_row):
    """Of the whole table."""
    collected = {}
    for row, cells in by_row.items():
        for name, (_, figures) in cells.items():
            for line in figures:
                if line["figure"] in LAW:
                    collected.setdefault((line["figure"], "<=", 0), []).append((f"{row}/{name}", line))
    return collected_lines("all", collected)


def collected_lines(row, collected):
    """{figure: [(cell, its line)]} → a line for each figure."""
    lines = []
    for (figure, comparison, limit), found in collected.items():
        medians = [line["median"] for _, line in found if line["median"] is not None]
        lines.append({"row": row, "figure": figure, "comparison": comparison, "asked": limit,
                      "worst": worst_of([line["value"] for _, line in found], comparison),
                      "median": statistics.median(medians) if medians else None, "cells": len(found),
                      "missed": [name for name, line in found if not line["pass"]]})
    return lines


def print_rows(lines):
    print(f"\n{'row':<11} {'figure':<28} {'asked':>9} {'worst':>9} {'median':>9}  cells that miss it")
    for line in lines:
        verdict = "" if line["asked"] is None else f"PASS {line['cells']}"
        if line["missed"]:
            verdict = f"MISS {len(line['missed'])} of {line['cells']}: " + ", ".join(line["missed"][:6])
            verdict += " …" if len(line["missed"]) > 6 else ""
        print(f"{line['row']:<11} {line['figure']:<28} {asked(line) or '-':>9} {number(line['worst']):>9} "
              f"{number(line['median']):>9}  {verdict}")


# ---- the result file ----

def identity_of_simulator(path):
    with open(path, "rb") as file:
        return hashlib.sha256(file.read()).hexdigest()[:12]


def earlier_results(options, simulator):
    """The result file's cells and runs, when it is to be continued and is this simulator's."""
    if not options.resume or not os.path.exists(options.result):
        return {"cells": {}, "runs": []}
    with open(options.result, encoding="utf-8") as file:
        document = json.load(file)
    if document["simulator"] != simulator:
        print("transport: the result file is another simulator's; all is run anew")
        return {"cells": {}, "runs": []}
    return {key: document[key] for key in ("cells", "runs")}


class Results:
    """Of this run of the table, and of earlier ones that it continues; written whole after each cell."""

    def __init__(self, options, simulator, earlier):
        commit = subprocess.run(["git", "-C", ROOT, "describe", "--always", "--dirty"], capture_output=True, text=True,
                                check=False).stdout.strip()
        self.path = options.result
        self.document = {"commit": commit, "simulator": simulator, "congestion": options.congestion,
                         "cells": dict(earlier["cells"]), "rows": [], "runs": list(earlier["runs"])}

    def add(self, name, cell, runs, figures):
        verdict = bool(figures) and all(line["pass"] for line in figures) and not any(run["error"] for run in runs)
        command = ["build/app/sim/sluice-sim", *cell.command]
        self.document["cells"][name] = {"pass": verdict, "command": command, "figures": figures}
        self.document["runs"] = [run for run in self.document["runs"] if run["cell"] != name] + runs
        self.write()

    def write(self):
        if not self.path:
            return
        with open(self.path + ".new", "w", encoding="utf-8") as file:
            json.dump(self.document, file, indent=1)
        os.replace(self.path + ".new", self.path)


def run_all(cells, options):
    """Runs what is not there yet; prints each cell when its last seed is in. → (lines of rows, errors, seconds)."""
    simulator = identity_of_simulator(options.sim)
    before = earlier_results(options, simulator)
    earlier = {(run["cell"], run["seed"], run["scenario"]): run for run in before["runs"]}
    results = Results(options, simulator, before)
    by_row, failed, spent = {}, 0, 0.0
    with ThreadPoolExecutor(options.jobs) as pool:
        waiting = []
        for row, cell in cells:
            key = f"{row}/{cell.name}"
            waiting.append((row, cell, key, [
                earlier.get((key, seed, cell.identity)) or pool.submit(simulate, row, cell, seed, options)
                for seed in range(cell.first_seed, cell.first_seed + seeds_of(cell, options))]))
        for row, cell, key, futures in waiting:
            runs = [future if isinstance(future, dict) else future.result() for future in futures]
            figures = judged(runs)
            by_row.setdefault(row, {})[cell.name] = (runs, figures)
            failed += sum(bool(run["error"]) for run in runs)
            spent += sum(run["seconds"] for run in runs)
            results.add(key, cell, runs, figures)
            print(cell_line(key, runs, figures), flush=True)
    lines = [line for row, found in by_row.items() for line in row_lines(row, found, options)] + law_lines(by_row)
    results.document.update(rows=lines, seconds=round(spent, 1))
    results.write()
    return lines, failed, spent


def parse(arguments):
    parser = argparse.ArgumentParser(prog="scripts/bench transport", description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("patterns", nargs="*", metavar="PATTERN", help="rows: " + ", ".join(ROWS))
    parser.add_argument("--seeds", type=int, default=5, help="of every cell but the 1 MB object's (200); default 5")
    parser.add_argument("--quick", action="store_true", help="one seed")
    parser.add_argument("--draw-seeds", type=lambda text: [int(seed) for seed in text.split(",")], default=[1],
                        metavar="SEED,…", help="of the row random: 200 draws each; default 1")
    parser.add_argument("--jobs", type=int, default=2, help="simulations at once")
    parser.add_argument("--congestion", default="bql", help="strategy of the edges")
    parser.add_argument("--directory", help="where cells are written; default build/transport, of another strategy than bql\n"
                        "build/transport-NAME")
    parser.add_argument("--write-only", action="store_true", help="write the cells and run nothing")
    parser.add_argument("--keep", action="store_true", help="keep each run's JSON beside its cell")
    parser.add_argument("--result", metavar="FILE", help="JSON: every run, cell and row")
    parser.add_argument("--resume", action="store_true", help="take what --result FILE has already")
    parser.add_argument("--compare", nargs=2, metavar=("BEFORE", "AFTER"), help="two result files; runs nothing")
    parser.add_argument("--sim", metavar="FILE", default=SIM, help="the simulator; default build/app/sim/sluice-sim")
    parser.add_argument("--no-build", action="store_true", help="take build/ as it is")
    options = parser.parse_args(arguments)
    if options.directory is None:
        own = "" if options.congestion == "bql" else "-" + options.congestion
        options.directory = os.path.join(ROOT, "build/transport" + own)
    options.sim, options.directory = os.path.abspath(options.sim), os.path.abspath(options.directory)
    if options.resume and not options.result:
        parser.error("--resume needs --result FILE")
    return options


def main(options):
    if options.compare:
        return compare.main(options.compare)
    cells = chosen(options)
    if not cells:
        print(f"transport: no row or cell is called {' or '.join(options.patterns)}", file=sys.stderr)
        return 2
    for row, cell in cells:
        write_cell(row, cell, options.directory)
    runs = sum(seeds_of(cell, options) for _, cell in cells)
    estimate = sum(cell.packets() * seeds_of(cell, options) for _, cell in cells) / PACKETS_PER_S / options.jobs
    print(f"transport: {len(cells)} cells, {runs} runs, about {estimate / 60:.0f} min with {options.jobs} at once; "
          f"cells in {options.directory}", flush=True)
    if options.write_only:
        return 0
    start = time.monotonic()
    lines, failed, spent = run_all(cells, options)
    print_rows(lines)
    missed = [line for line in lines if line["missed"]]
    print(f"transport: {len(lines) - len(missed)} of {len(lines)} figures reached, {failed} runs failed, "
          f"{(time.monotonic() - start) / 60:.1f} min, {spent / 60:.1f} min of simulations")
    return 1 if missed or failed else 0


if __name__ == "__main__":
    sys.exit(main(parse(sys.argv[1:])))
