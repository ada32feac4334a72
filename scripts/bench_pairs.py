"""scripts/bench pairs BASE_BUILD NEW_BUILD: two builds against each other, in alternating pairs of runs.

  relay    time per packet of a relay with 4 children; new / base at most 1.05
  goodput  payload rate from one node to another over net_ring; new / base at least 0.95
  file     payload rate from a file in memory to one on the disk, over memif, 1500 bytes; new / base at least 0.95
  sim      user time of the simulator; new / base at most 1.03

The pairs run A B, B A, A B, ...; before, between and after the two runs of a pair sluice-bench cores looks how far apart
the two CPUs are. A pair counts when the three looks agree with each other: the largest at most 1.3 times the least. Pairs
near (median look below 80 ns) and far are kept apart, the kind with more pairs is judged, by the median of its ratios.
Each build measures itself: where their benches differ (the relay's did until it was made fair to bare-relay), ratios say
nothing. Exit status 1: a limit is missed, or too few pairs agreed.
"""
import argparse
import json
import os
import resource
import statistics
import subprocess
import sys
import tempfile
import time

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
NEAR_NS = 80
SPREAD_MAX = 1.3  # of the looks of one pair; a hypervisor's CPUs wander about 80 ns without the program's rate changing with it
TRIES = 8  # pairs run for each one asked for, at most
LIMIT_S = 300


def cpus():
    permitted = sorted(os.sched_getaffinity(0))
    return permitted[0], permitted[1 % len(permitted)]


def run(command):
    """Its output, and its user time in seconds."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime
    done = subprocess.run(command, capture_output=True, text=True, timeout=LIMIT_S, check=False)
    if done.returncode != 0:
        sys.exit(f"bench: {' '.join(command)} failed:\n{done.stderr[-2000:]}")
    return done.stdout, resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime - before


def bench(build, *arguments):
    output, _ = run([os.path.join(build, "app/bench/sluice-bench"), *arguments, "--lcores", "%d,%d" % cpus()])
    return json.loads(output.strip().split("\n")[-1])


def relay(build, quick):
    return bench(build, "relay", "--children", "4", "--size", "256MiB" if quick else "1GiB")["ns_per_packet"]


def goodput(build, quick):
    return bench(build, "goodput", "--link", "ring", "--size", "1GiB" if quick else "4GiB")["goodput_bps"]


def file(build, quick):
    """Both builds send the same content, none of which becomes a hole."""
    piece = os.urandom(1 << 20)
    with tempfile.NamedTemporaryFile(prefix="sluice-bench-", dir="/dev/shm") as source, \
            tempfile.TemporaryDirectory(prefix="sluice-bench-", dir=os.environ.get("BENCH_DIRECTORY")) as folder:
        for _ in range(256 if quick else 1024):
            source.write(piece)
        source.flush()
        return bench(build, "goodput", "--link", "memif", "--source", source.name, "--directory", folder, "--size",
                     "256MiB" if quick else "1GiB", "--idle", "sleep")["goodput_bps"]


def sim(build, quick):
    """The scenario is this tree's for both; one CPU, so that only the program differs."""
    scenario = os.path.join(ROOT, "conf/scenarios", "loss1.yaml" if quick else "five-sites.yaml")
    command = ["taskset", "-c", str(cpus()[0]), os.path.join(build, "app/sim/sluice-sim"), scenario]
    return run(command)[1]


PARTS = {  # name: (measurement, limit, whether less is better)
    "relay": (relay, 1.05, True),
    "goodput": (goodput, 0.95, False),
    "file": (file, 0.95, False),
    "sim": (sim, 1.03, True),
}


def distance(options):
    """Of the CPUs, in ns; always by the new build, as older ones may not know how."""
    return bench(options.new, "cores")["one_way_ns"]


def kind_of(distances):
    if max(distances) > SPREAD_MAX * min(distances):
        return "moved"
    return "near" if statistics.median(distances) < NEAR_NS else "far"


def measure_pair(part, number, options):
    builds = [("base", options.base), ("new", options.new)]
    distances, figures = [distance(options)], {}
    for name, build in builds if number % 2 == 0 else builds[::-1]:
        figures[name] = PARTS[part][0](build, options.quick)
        distances.append(distance(options))
    return {"kind": kind_of(distances), "cores_ns": distances, **figures, "ratio": figures["new"] / figures["base"],
            "load": round(os.getloadavg()[0], 2)}


def measure(part, options):
    pairs = []
    for number in range(TRIES * options.pairs):
        pairs.append(measure_pair(part, number, options))
        pair = pairs[-1]
        distances = " ".join(f"{value:.0f}" for value in pair["cores_ns"])
        print(f"{part} {number + 1}: base {pair['base']:.6g}, new {pair['new']:.6g}, ratio {pair['ratio']:.4f}, "
              f"cores {distances} ns: {pair['kind']}", flush=True)
        if max(len(of_kind(pairs, kind)) for kind in ("near", "far")) == options.pairs:
            break
    return pairs


def of_kind(pairs, kind):
    return [pair["ratio"] for pair in pairs if pair["kind"] == kind]


def judge(part, pairs, options):
    """The verdict in words, and whether the limit holds."""
    _, limit, less = PARTS[part]
    limit = options.limit or limit
    kind = max(("near", "far"), key=lambda name: len(of_kind(pairs, name)))
    ratios = of_kind(pairs, kind)
    if len(ratios) < options.pairs:
        return f"{part}: only {len(ratios)} of {len(pairs)} pairs agreed on the CPUs' distance: inconclusive", False
    median = statistics.median(ratios)
    good = median <= limit if less else median >= limit
    return (f"{part}: median of {len(ratios)} {kind} pairs {median:.4f} (from {min(ratios):.4f} to {max(ratios):.4f}), "
            f"limit {limit}: {'reached' if good else 'MISSED'}"), good


def main(arguments):
    parser = argparse.ArgumentParser(prog="scripts/bench pairs", description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("base", metavar="BASE_BUILD")
    parser.add_argument("new", metavar="NEW_BUILD")
    parser.add_argument("--pairs", type=int, default=9, help="accepted ones of each part")
    parser.add_argument("--only", default=",".join(PARTS), metavar="PART,...", help="of: " + ", ".join(PARTS))
    parser.add_argument("--limit", type=float, metavar="RATIO", help="asked in place of the parts' own")
    parser.add_argument("--quick", action="store_true", help="smaller objects")
    parser.add_argument("--json", metavar="FILE")
    options = parser.parse_args(arguments)
    parts = options.only.split(",")
    if options.pairs < 1 or not set(parts) <= set(PARTS):
        parser.error("at least one pair, and parts of: " + ", ".join(PARTS))
    options.base, options.new = os.path.abspath(options.base), os.path.abspath(options.new)
    begin, document, verdicts = time.time(), {}, []
    for part in parts:
        pairs = measure(part, options)
        words, good = judge(part, pairs, options)
        verdicts.append((words, good))
        document[part] = {"pairs": pairs, "verdict": words, "good": good}
    for words, _ in verdicts:
        print(words)
    print(f"{time.time() - begin:.0f} s, load {os.getloadavg()[0]:.2f}")
    if options.json:
        with open(options.json, "w", encoding="utf-8") as file:
            json.dump(document, file, indent=1)
    return 0 if all(good for _, good in verdicts) else 1
