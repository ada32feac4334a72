"""scripts/bench probe-real: available bandwidth measured in real time, on two CPUs of this machine.

  ring   two nodes on two lcores of one process over net_ring, the link model between them (sluice-bench probe): 1 Gbit/s
         with 300 Mbit/s of evenly spaced cross traffic. Asked: the median of the errors, of all measurements, at most 3 %
         of capacity, where one without a value counts as the worst. How far departures were from their schedule, and what
         spoiled trains, is printed
  memif  the same link by sluice-wanem, sites and emulator processes of their own, measured by sluicectl probe. Printed:
         three processes share two CPUs, so that each stands still for as long as the others run

  hosts  two appliances on ordinary hosts, and five (scripts/bench_probe_hosts.py): needs root

A figure says something of the program only where the largest poll gaps are far below a train's length (1 to 2 ms): the
gaps stand beside it. Where they are not, what is asked for is an honest interval: "holds" counts those that held what the
link had left.

    scripts/bench probe-real [ring] [memif] [hosts] [--hogs] [--row WORD]… [--runs N] [--build DIRECTORY] [--json FILE]

--row: of hosts those rows alone whose names have the word; `all` (five hosts) and `job` (--pairs pairs of jobs) are rows, too.
--hogs: hosts run beside a busy loop on each CPU. Limits are wider then, and `all` and `job` are only printed.
Exit status 1: a figure of ring or hosts is missed, or a part could not run.
"""
import argparse
import json
import os
import subprocess
import sys
import tempfile
import time

import yaml

import lab
from bench_pairs import cpus
from bench_probe_hosts import part_hosts
from processes import start, stop, wait_for_line

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
CAPACITY_BPS, CROSS_BPS = 1e9, 3e8
ERROR_PERCENT_MAX = 3.0
PROBE_S, RUN_S = 60, 1200
HEADER = ["run", "kind", "available", "interval", "left", "error %", "trains", "of them good", "gaps us"]
SCENARIO = {
    "name": "probe-real",
    "nodes": {"sender": {"uplink": "10Gbps", "downlink": "10Gbps"},
              "receiver": {"uplink": "10Gbps", "downlink": "1Gbps",
                           "downlink_cross": [{"kind": "cbr", "rate": "300Mbps"}]}},
    "links": {"default": {"owd": "500us"}},
}


def mbps(bps):
    return f"{bps / 1e6:.1f}"


def good_share(run):
    sent = run["trains"] + run["discarded"]
    return f"{run['trains']}/{sent}"


def row_of(number, run):
    value = run["kind"] == "value"
    interval = f"{mbps(run['low_bps'])} to {mbps(run['high_bps'])}" if value else ""
    what = mbps(run["avail_bps"]) if value else run["reason"]
    gaps = f"{run['gap_us_max']}, {run['wire_gap_us_max']}" if "gap_us_max" in run else ""
    return [number, run["kind"], what, interval, mbps(run["left_bps"]) if value else "",
            f"{run['error_percent']:.2f}" if value else "", run["trains"] + run["discarded"], good_share(run), gaps]


def summary_of(runs):
    """Errors of all, those without a value at the end; their median is the worse of two middle ones."""
    errors = sorted(run["error_percent"] if run["kind"] == "value" else float("inf") for run in runs)
    values = [run for run in runs if run["kind"] == "value"]
    held = sum(run["low_bps"] <= run["left_bps"] <= run["high_bps"] for run in values)
    return {"runs": len(runs), "values": len(values), "hold": held, "median_error_percent": errors[len(errors) // 2]}


def told(figures):
    median = figures["median_error_percent"]
    what = "no value in half of them" if median == float("inf") else f"median error {median:.2f} %"
    return f"{figures['runs']} measurements: {what}, {figures['values']} values, {figures['hold']} intervals hold"


def part_ring(options, table):
    command = [os.path.join(options.build, "app/bench/sluice-bench"), "probe", "--runs", str(options.runs),
               "--capacity", f"{CAPACITY_BPS / 1e6:.0f}Mbps", "--cross", f"{CROSS_BPS / 1e6:.0f}Mbps", "--lcores", "%d,%d" % cpus()]
    run = subprocess.run(command, capture_output=True, text=True, timeout=RUN_S, check=False)
    if run.returncode != 0:
        sys.exit(f"bench: {' '.join(command)} failed:\n{run.stderr[-2000:]}")
    found = json.loads(run.stdout.strip().split("\n")[-1])
    table([row_of(number, each) for number, each in enumerate(found["runs"], 1)], HEADER)
    departure, spoiled = found["departure_ns"], found["spoiled_by"]
    print(f"departures off by p50 {departure['p50']} ns, p99 {departure['p99']} ns, largest {departure['largest']} ns")
    print(f"trains {found['trains']} and {found['trains_lost']} without a report; spoiled {found['spoiled_share']:.1%}: "
          + ", ".join(f"{name} {count}" for name, count in spoiled.items()))
    figures = summary_of(found["runs"])
    print(f"ring: {told(figures)}")
    missed = figures["median_error_percent"] > ERROR_PERCENT_MAX
    return {**found, **figures}, ["ring: median error at most 3 %"] if missed else []


# ---- over memif ----

def start_sites(options, directory, processes, sites, *of_wanem):
    """The emulator of scenario.yaml, and a node for each site by its node.yaml; all are ready then."""
    log = os.path.join(directory, "wanem.log")
    wanem = start(processes, log, os.path.join(options.build, "app/wanem/sluice-wanem"), "-c",
                  os.path.join(directory, "scenario.yaml"), "--sockets", directory, *of_wanem, "--json",
                  os.path.join(directory, "wanem.json"))
    wait_for_line(wanem, log, "sluice-wanem: ready")
    for site in sites:
        log = os.path.join(directory, site + ".log")
        node = start(processes, log, os.path.join(options.build, "app/sluice/sluice"), "-c",
                     os.path.join(directory, site, "node.yaml"))
        wait_for_line(node, log, f"sluice: {site} ready")


def node_files(options, directory):
    for site in SCENARIO["nodes"]:
        os.makedirs(os.path.join(directory, site, "incoming"))
    roster = lab.roster(SCENARIO["nodes"], directory, os.path.join(options.build, "app/ctl/sluicectl"))
    for site, own in SCENARIO["nodes"].items():
        content = lab.node_file(site, roster, own, directory)
        content["memory"] = {"hugepages": False}
        content["idle"] = "yield"
        content["probe"] = {"period": "1s"}
        with open(os.path.join(directory, site, "node.yaml"), "w", encoding="utf-8") as file:
            yaml.safe_dump(content, file, sort_keys=False)


def ask(options, directory):
    command = [os.path.join(options.build, "app/ctl/sluicectl"), "-s", os.path.join(directory, "sender/sluice.sock"),
               "--json", "probe", "receiver"]
    run = subprocess.run(command, capture_output=True, text=True, timeout=PROBE_S, check=False)
    try:
        return json.loads(run.stdout.strip().split("\n")[-1])
    except ValueError:
        return {"kind": "none", "reason": run.stderr.strip()[:60]}


def measure_memif(options, directory, processes):
    scenario = os.path.join(directory, "scenario.yaml")
    with open(scenario, "w", encoding="utf-8") as file:
        yaml.safe_dump(SCENARIO, file, sort_keys=False)
    node_files(options, directory)
    start_sites(options, directory, processes, SCENARIO["nodes"], "--idle", "yield")
    time.sleep(3)  # they find each other, and know their round trip
    left_bps = CAPACITY_BPS - CROSS_BPS
    runs = []
    for _ in range(options.runs):
        run = {"trains": 0, "discarded": 0, **ask(options, directory), "left_bps": left_bps}
        if run["kind"] == "value":
            run["error_percent"] = abs(run["avail_bps"] - left_bps) / CAPACITY_BPS * 100
        runs.append(run)
    return runs


def part_memif(options, table):
    processes = []
    with tempfile.TemporaryDirectory(prefix="sluice-probe.") as directory:
        try:
            runs = measure_memif(options, directory, processes)
        finally:
            stop(processes)
        with open(os.path.join(directory, "wanem.json"), encoding="utf-8") as file:
            wanem = json.load(file)
    table([row_of(number, run) for number, run in enumerate(runs, 1)], HEADER)
    figures = summary_of(runs)
    print(f"memif: {told(figures)}; largest poll gap of the emulator {wanem.get('gap_us_max', '?')} us")
    return {"runs_of": runs, **figures}, []


def main(arguments, table):
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("parts", nargs="*", help="ring, memif, hosts; all unless named")
    parser.add_argument("--runs", type=int, default=20)
    parser.add_argument("--pairs", type=int, default=5)
    parser.add_argument("--hogs", action="store_true")
    parser.add_argument("--link", choices=["af_packet", "plain"], default="af_packet", help="of the sites of hosts")
    parser.add_argument("--row", action="append")
    parser.add_argument("--build", type=os.path.abspath, default=os.path.join(ROOT, "build"))
    parser.add_argument("--json")
    options = parser.parse_args(arguments)
    runners = {"ring": part_ring, "memif": part_memif, "hosts": part_hosts}
    if not set(options.parts) <= set(runners):
        parser.error(f"parts are {', '.join(runners)}")
    document, missed = {}, []
    for part in options.parts or runners:
        print(f"== {part}, load {os.getloadavg()[0]:.1f}")
        document[part], misses = runners[part](options, table)
        missed += misses
    if options.json:
        with open(options.json, "w", encoding="utf-8") as file:
            json.dump(document, file, indent=1)
    print("bench: " + ("missed: " + "; ".join(missed) if missed else "every asked figure reached"))
    return 1 if missed else 0
