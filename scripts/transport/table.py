"""Runs the cells in virtual time, several at once, and judges them: a row of the table for every figure.

A figure's worst value over cells and seeds is judged, except "p50 …" and "p95 …": those percentiles over the seeds.
"""
import argparse
import fnmatch
import json
import os
import statistics
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor

from transport import rows, shares
from transport.cells import reached, yaml_text

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
SIM = os.path.join(ROOT, "build/app/sim/sluice-sim")
PACKETS_PER_S = 1.3e6  # of a simulation on one core of a 3 GHz machine, for the estimate

ROWS = {  # name: cells, judgement across cells, what the row is
    "jitter": (rows.jitter, rows.jitter_columns, "jitter grid, three receivers, 1 Gbit/s"),
    "wholefile": (rows.wholefile, None, "whole-file goodput, 60 s, plan rate known"),
    "tenG": (rows.tengig, None, "10 Gbit/s x RTT x loss"),
    "loss": (rows.loss, None, "1 Gbit/s, 1 s RTT, loss 10 and 30 %"),
    "burst": (rows.burst, None, "Gilbert-Elliott, bursts of 50, 1 %"),
    "late": (rows.late, None, "25 % of packets 5 ms late"),
    "tail": (rows.tail, None, "tail"),
    "queue": (rows.queue, None, "queue at 2 BDP of buffer"),
    "shallow": (rows.shallow, None, "shallow buffers and policers"),
    "startup": (rows.startup, None, "start-up, rate unknown"),
    "known": (rows.known, None, "start-up, rate known within 10 %"),
    "step": (shares.step, None, "1000, 200, 1000 Mbit/s"),
    "blackout": (shares.blackout, None, "5 s blackout"),
    "tensources": (shares.tensources, None, "ten sources, one downlink"),
    "compete": (shares.compete, None, "one edge against CUBIC and BBRv1"),
    "scavenger": (shares.scavenger, None, "scavenger against all others"),
    "slowchild": (rows.slowchild, rows.slowchild_pairs, "ten receivers, one slow"),
    "random": (rows.random, rows.random_share, "random neighbours"),
    "small": (rows.small, None, "1 MB object"),
}


def seeds_of(cell, options):
    if options.quick:
        return 1 if cell.seeds <= 1 else 10
    return options.seeds if options.seeds and cell.seeds != 1 else cell.seeds or 5


def chosen(options):
    """[(row, cell, seed)], dear ones first so that no core is idle at the end."""
    runs = []
    for row in options.rows:
        for cell in ROWS[row][0](options):
            picked = fnmatch.fnmatch(cell.name, options.cells) if options.cells else cell.quick or not options.quick
            if picked:
                runs += [(row, cell, seed) for seed in range(1, seeds_of(cell, options) + 1)]
    return runs


def write_cells(runs, folder):
    for row, cell, _ in runs:
        if cell.arguments:
            continue
        path = os.path.join(folder, row, cell.name + ".yaml")
        cell.path = path
        os.makedirs(os.path.dirname(path), exist_ok=True)
        text = yaml_text(cell.scenario, f"{ROWS[row][2]}: written by scripts/bench transport")
        with open(path, "w", encoding="utf-8") as file:
            file.write(text)


def simulate(run, options):
    """(figures as {name: (value, comparison, limit)}, CPU seconds, error)."""
    row, cell, seed = run
    start = time.monotonic()
    command = ["nice", "-n", "10", SIM, *(cell.arguments or [cell.path]), "--seed", str(seed), "--json"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    seconds = time.monotonic() - start
    if done.returncode not in (0, 1) or not done.stdout.strip():
        return {}, seconds, (done.stderr.strip() or f"exit status {done.returncode}")[-300:]
    report = json.loads(done.stdout)
    if options.keep:
        path = os.path.join(options.directory, row, f"{cell.name}-seed{seed}.json")
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "w", encoding="utf-8") as file:
            file.write(done.stdout)
    try:
        figures = {name: (value, comparison, limit) for name, value, comparison, limit in cell.figures(report)}
    except (IndexError, ValueError, ZeroDivisionError) as error:
        return {}, seconds, f"no figures: {error} {[(job['state'], job['text']) for job in report.get('jobs', [])]}"
    return figures, seconds, None


def worst_of(values, comparison):
    if any(value is None for value in values):
        return None
    return min(values) if comparison == ">=" else max(values)


def over_seeds(name, values, comparison):
    """What counts of a cell's seeds."""
    if name[:4] not in ("p50 ", "p95 ") or any(value is None for value in values):
        return worst_of(values, comparison)
    ordered = sorted(values)
    return ordered[min(len(ordered) - 1, int(len(ordered) * int(name[1:3]) / 100))]


def judge_row(row, cells):
    """cells: [(cell, [figures of each seed])] → lines of the table."""
    collected = {}
    for cell, runs in cells:
        for name in runs[0] if runs else []:
            values = [run[name][0] for run in runs if name in run]
            comparison, limit = runs[0][name][1:]
            collected.setdefault((name, comparison, limit), []).append(
                (cell.name, over_seeds(name, values, comparison), values))
    across = ROWS[row][1]
    if across:
        plain = [(cell, [{name: value[0] for name, value in run.items()} for run in runs]) for cell, runs in cells]
        for name, value, comparison, limit in across(plain):
            collected[(name, comparison, limit)] = [("all", value, [value])]
    lines = []
    for (name, comparison, limit), found in collected.items():
        known = [value for _, _, values in found for value in values if value is not None]
        lines.append({"row": row, "figure": name, "comparison": comparison, "asked": limit,
                      "worst": worst_of([value for _, value, _ in found], comparison),
                      "median": statistics.median(known) if known else None, "cells": len(found),
                      "missed": [cell for cell, value, _ in found if not reached(value, comparison, limit)]})
    return lines


def number(value):
    return "none" if value is None else f"{value:.4g}"


def print_lines(lines):
    for line in lines:
        asked = f"{line['comparison']} {number(line['asked'])}" if line["asked"] is not None else "-"
        verdict = "ok" if not line["missed"] else f"{len(line['missed'])} of {line['cells']} missed"
        if line["asked"] is None:
            verdict = ""
        names = ", ".join(line["missed"][:6]) + (" …" if len(line["missed"]) > 6 else "")
        print(f"{line['row']:<11} {line['figure']:<26} {asked:>9} {number(line['worst']):>9} {number(line['median']):>9} "
              f" {verdict:<16} {names}", flush=True)


def run_all(runs, options):
    """{row: [(cell, [figures])]}, errors, seconds; a row is printed as soon as its last run is in."""
    by_row, errors, spent = {}, [], 0.0
    left = {}
    for row, _, _ in runs:
        left[row] = left.get(row, 0) + 1
    lines = []
    with ThreadPoolExecutor(options.jobs) as pool:
        for run, (figures, seconds, error) in zip(runs, pool.map(lambda run: simulate(run, options), runs)):
            row, cell, seed = run
            spent += seconds
            cells = by_row.setdefault(row, {}).setdefault(cell.name, (cell, []))
            if error:
                errors.append(f"{row}/{cell.name} seed {seed}: {error}")
            else:
                cells[1].append(figures)
            if options.verbose:
                text = error or ", ".join(f"{name} {number(value[0])}" for name, value in figures.items())
                print(f"  {row}/{cell.name} seed {seed} ({seconds:.1f} s): {text}", flush=True)
            left[row] -= 1
            if left[row] == 0:
                added = judge_row(row, list(by_row[row].values()))
                print_lines(added)
                lines += added
    return lines, errors, spent


def parse(arguments):
    parser = argparse.ArgumentParser(prog="scripts/bench transport", description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", default=",".join(ROWS), help="of: " + ", ".join(ROWS))
    parser.add_argument("--cells", metavar="GLOB", help="only cells so called")
    parser.add_argument("--seeds", type=int, default=0, help="of every cell; default 5, 200 of 1 MB objects")
    parser.add_argument("--jobs", type=int, default=len(os.sched_getaffinity(0)), help="simulations at once")
    parser.add_argument("--quick", action="store_true", help="a thinned grid, one seed")
    parser.add_argument("--congestion", default="bql", help="strategy of the edges")
    parser.add_argument("--directory", default=os.path.join(ROOT, "build/transport"), help="where cells are written")
    parser.add_argument("--write-only", action="store_true", help="write the cells and run nothing")
    parser.add_argument("--keep", action="store_true", help="keep each run's JSON beside its cell")
    parser.add_argument("--json", metavar="FILE")
    parser.add_argument("--verbose", action="store_true", help="a line for every run")
    parser.add_argument("--no-build", action="store_true", help="take build/ as it is")
    options = parser.parse_args(arguments)
    options.rows = options.rows.split(",")
    if set(options.rows) - set(ROWS):
        parser.error(f"no such row: {', '.join(sorted(set(options.rows) - set(ROWS)))}")
    return options


def main(options):
    runs = chosen(options)
    write_cells(runs, options.directory)
    estimate = sum(cell.packets() for _, cell, _ in runs) / PACKETS_PER_S / options.jobs
    print(f"transport: {len({(row, cell.name) for row, cell, _ in runs})} cells, {len(runs)} runs, about "
          f"{estimate / 60:.0f} min with {options.jobs} at once; cells in {options.directory}", flush=True)
    if options.write_only:
        return 0
    print(f"{'row':<11} {'figure':<26} {'asked':>9} {'worst':>9} {'median':>9}  verdict          cells that miss it")
    start = time.monotonic()
    lines, errors, spent = run_all(runs, options)
    for error in [] if options.verbose else errors:
        print(f"failed: {error}")
    missed = [line for line in lines if line["missed"]]
    if options.json:
        with open(options.json, "w", encoding="utf-8") as file:
            json.dump({"lines": lines, "errors": errors, "seconds": round(time.monotonic() - start, 1)}, file, indent=1)
    print(f"transport: {len(lines) - len(missed)} of {len(lines)} figures reached, {len(errors)} runs failed, "
          f"{(time.monotonic() - start) / 60:.1f} min, {spent / 60:.1f} min of simulations")
    return 1 if missed or errors else 0


if __name__ == "__main__":
    sys.exit(main(parse(sys.argv[1:])))
