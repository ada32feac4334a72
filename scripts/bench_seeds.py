"""scripts/bench seeds: what scenarios expect, over the seeds 1 to 8 instead of the one that their file names.

A figure that hangs on its seed says little by one of them. Each scenario with anything random runs with eight seeds; of each
thing that it expects the median of what was found and how many seeds hold are printed, as they are. A bound that is worth its
name holds for seven of eight; tests/scenarios/seeds.yaml names those that do not, with how many hold and why.

    scripts/bench seeds [SCENARIO…] [--seeds N] [--sim PROGRAM] [--json FILE]

SCENARIO: as in tests/scenarios/seeds.yaml, without a folder and .yaml; default: all that stand there. Exit status 1: fewer seeds
hold than seven of eight, or than that file says, or as many as would be enough where it says fewer.
"""
import argparse
import concurrent.futures
import json
import math
import os
import statistics
import subprocess
import sys

import yaml

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
LIST = os.path.join(ROOT, "tests/scenarios/seeds.yaml")
SEEDS, SHARE = 8, 7 / 8
RUN_S = 900
LAW = ("stuck_ms", "late_ms", "deep_ms")  # of liveness: 0 where the file expects nothing of it


def read_list():
    """Scenario → what it is known to miss: name of an expectation → {holds, why}."""
    with open(LIST, encoding="utf-8") as file:
        return {name: own or {} for name, own in yaml.safe_load(file).items()}


def run_one(sim, scenario, seed):
    """What one seed found: name → (value or text, whether it holds); "the run": whether all is well."""
    path = os.path.join(ROOT, "conf/scenarios", f"{scenario}.yaml")
    out = subprocess.run([sim, "--json", "--seed", str(seed), path], capture_output=True, text=True, timeout=RUN_S, check=False)
    if out.returncode not in (0, 1):
        sys.exit(f"seeds: {scenario}, seed {seed}: {out.stderr[-1000:]}")
    report = json.loads(out.stdout)
    rows = report["expects"]
    found = {f"{row['name']} {row['compare']} {row['asked']}": (row["found"], row["holds"]) for row in rows}
    # What no row speaks of: an edge that stood still, the limit of virtual time.
    named = {row["name"] for row in rows}
    well = not report["limit_reached"] and not any(report[key] for key in LAW if key not in named)
    return {**found, "the run": (int(well), well)}


def median_of(values):
    numbers = [value for value in values if not isinstance(value, str)]
    return f"{statistics.median(numbers):.6g}" if len(numbers) == len(values) else "/".join(sorted(set(values)))


def judge(found, misses, seeds):
    """Rows of the table, and what is missed: (expectation, median, how many hold, asked, why)."""
    rows, missed = [], []
    for name in found[0]:
        holds = sum(one[name][1] for one in found)
        known = misses.get(name.split()[0]) if name != "the run" else misses.get(name)
        enough = math.floor(SHARE * seeds)
        asked = math.floor(known["holds"] * seeds / SEEDS) if known else enough
        rows.append([name, median_of([one[name][0] for one in found]), f"{holds} of {seeds}", asked, known["why"] if known else ""])
        if holds < asked:
            missed.append(f"{name}: {holds} of {seeds} hold, {asked} expected")
        elif known and seeds == SEEDS and holds >= enough:
            missed.append(f"{name}: {holds} hold: it is mended, take it out of seeds.yaml")
    return rows, missed


def run_scenario(sim, scenario, misses, seeds, pool):
    found = list(pool.map(lambda seed: run_one(sim, scenario, seed), range(1, seeds + 1)))
    return judge(found, misses, seeds)


def parse(arguments):
    parser = argparse.ArgumentParser(prog="scripts/bench seeds", description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("scenarios", nargs="*", metavar="SCENARIO")
    parser.add_argument("--seeds", type=int, default=SEEDS)
    parser.add_argument("--sim", default=os.path.join(ROOT, "build/app/sim/sluice-sim"), metavar="PROGRAM")
    parser.add_argument("--json", metavar="FILE")
    return parser.parse_args(arguments)


def main(arguments):
    options = parse(arguments)
    listed = read_list()
    document, failed = {}, 0
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        for scenario in options.scenarios or listed:
            rows, missed = run_scenario(options.sim, scenario, listed.get(scenario, {}), options.seeds, pool)
            document[scenario] = rows
            for name, median, holds, _, why in rows:
                if holds != f"{options.seeds} of {options.seeds}" or options.scenarios:
                    print(f"{scenario}: {name}: median {median}, {holds} hold{': ' if why else ''}{why}", flush=True)
            for miss in missed:
                print(f"MISS {scenario}: {miss}", flush=True)
            failed += bool(missed)
    print(f"seeds: {len(document)} scenarios, {failed} with something missed")
    if options.json:
        with open(options.json, "w", encoding="utf-8") as file:
            json.dump(document, file, indent=1)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
