"""The part `hosts` of scripts/bench probe-real: ordinary hosts, af_packet over veth (--link plain: UDP sockets), nothing set, no
CPU of their own.

Each host is a namespace with one appliance, which sleeps without work; sluice-wanem joins them. In pairs of hosts each row is
measured --runs times by `sluicectl probe`; among five, whose lines out are narrower than their ports, by `probe all`, each
path and each line. --hogs: beside a busy loop on each CPU, sluice-wanem at real-time priority.
"""
import collections
import contextlib
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time

from bench_lan import hogs, job_run
from lab import rate_bps
from namespaces import Lan
from wan_sites import WanSites

VALUES_MIN, HOLD_MIN = 0.95, 0.9
MEDIAN_PERCENT_MAX, EACH_PERCENT_MAX = 3.0, 10.0
HOG_VALUES_MIN, HOG_HOLD_MIN, HOG_PERCENT_MAX = 0.6, 0.9, 20.0
ALL_PAIRS_MIN, ALL_LINE_PERCENT_MAX, ALL_S_MAX = 0.95, 5.0, 15.0
ALL_WAIT_S = 40
JOB_BYTES, JOB_SHARE_MIN = 200_000_000, 0.85
HEADER = ["row", "values", "median error %", "largest error %", "intervals hold", "slowest s", "emulator's gap us"]
Row = collections.namedtuple("Row", "name port line cross rtt loss", defaults=("1Gbps", "100Mbps", 0, "20ms", 0))
ROWS = [Row("20 Mbit/s", line="20Mbps"), Row("100 Mbit/s"), Row("1 Gbit/s", port="10Gbps", line="1Gbps"),
        Row("100, 30 of cross", cross=30e6), Row("100, RTT 200 ms", rtt="200ms"), Row("100, loss 0.1 %", loss="0.1%")]
LINES_BPS = [100e6, 100e6, 20e6, 100e6, 50e6]
LINE_IN_BPS, PORT_BPS = 100e6, 1e9


def pair_scenario(row):
    node = {"uplink": row.port, "downlink": row.port}
    receiver = dict(node)
    if row.cross:
        receiver.update({"downlink": row.line, "downlink_cross": [{"kind": "cbr", "rate": f"{row.cross / 1e6:.0f}Mbps"}]})
    link = {"owd": f"{float(row.rtt.removesuffix('ms')) / 2:g}ms", "queue": "50ms"}
    if not row.cross:  # else it is the line in that has cross traffic, the only narrow place
        link["rate"] = row.line
    return {"name": "pair", "nodes": {"s0": node, "s1": {**receiver, "uplink": row.port}},
            "links": {"default": {**link, **({"loss": row.loss} if row.loss else {})}}}


def five_scenario():
    names = [f"s{number}" for number in range(len(LINES_BPS))]
    ways = {name: [other for other in names if other != name] for name in names}
    shared = [{"name": f"out-{name}", "rate": f"{line / 1e6:.0f}Mbps", "members": [[name, other] for other in ways[name]]}
              for name, line in zip(names, LINES_BPS)]
    shared += [{"name": f"in-{name}", "rate": f"{LINE_IN_BPS / 1e6:.0f}Mbps", "members": [[other, name] for other in ways[name]]}
               for name in names[1:]]
    return {"name": "five", "nodes": {name: {"uplink": "1Gbps", "downlink": "1Gbps"} for name in names},
            "links": {"default": {"owd": "10ms", "queue": "50ms"}}, "shared": shared}


@contextlib.contextmanager
def running(options, scenario, rates=None):
    """Sites of the scenario, hogs beside them if asked for; then the emulator's own figures under `wanem`."""
    options.receivers, options.rate = len(scenario["nodes"]) - 1, "1Gbps"
    first, rest = (("chrt", "-f", "50"), ()) if options.hogs else ((), ("--idle", "yield"))
    with contextlib.ExitStack() as stack:
        directory = stack.enter_context(tempfile.TemporaryDirectory(prefix="sluice-hosts.", dir="/dev/shm"))
        try:
            lan = stack.enter_context(Lan(len(scenario["nodes"]), f"sluice-probe-{os.getpid()}"))
        except PermissionError as error:
            sys.exit(f"bench: hosts needs root, for network namespaces: {error}")
        sites = WanSites(options, options.build, directory, lan, scenario, first, rest, rates)
        with sites:
            time.sleep(2)  # round trips are known
            stack.enter_context(hogs(options.hogs))
            yield sites
        with open(f"{directory}/wanem.json", encoding="utf-8") as file:
            sites.wanem = json.load(file)


def probe_once(sites, left_bps, capacity_bps):
    begun = time.monotonic()
    try:
        told = json.loads(sites.ask("--json", "probe", "s1").stdout.strip().split("\n")[-1])
        told.setdefault("kind", "none")
        told.setdefault("reason", told.get("error", "?"))
    except (ValueError, subprocess.TimeoutExpired):
        told = {"kind": "none", "reason": "no answer"}
    told["seconds"] = time.monotonic() - begun
    if told["kind"] == "value":
        told["error_percent"] = abs(told["avail_bps"] - left_bps) / capacity_bps * 100
        told["holds"] = told["low_bps"] <= left_bps <= told["high_bps"]
    return told


def share(part, of):
    return part / of if of else 0.0


def pair_row(options, row):
    capacity, left = rate_bps(row.line), rate_bps(row.line) - row.cross
    with running(options, pair_scenario(row)) as sites:
        runs = [probe_once(sites, left, capacity) for _ in range(options.runs)]
    values = [run for run in runs if run["kind"] == "value"]
    errors = sorted(run["error_percent"] for run in values) or [float("inf")]
    found = {"row": row.name, "runs": runs, "values": share(len(values), len(runs)), "median": errors[len(errors) // 2],
             "largest": errors[-1], "hold": share(sum(run["holds"] for run in values), len(values)),
             "seconds": max(run["seconds"] for run in runs), "gap_us": sites.wanem.get("gap_us_max", 0)}
    refused = collections.Counter(run["reason"] for run in runs if run["kind"] != "value")
    return found, ", ".join(f"{count} {reason}" for reason, count in refused.items())


def pair_misses(options, found):
    if options.hogs:
        limits = [(found["values"] >= HOG_VALUES_MIN, "values"), (found["hold"] >= HOG_HOLD_MIN, "hold"),
                  (found["largest"] <= HOG_PERCENT_MAX, "error of each")]
    else:
        limits = [(found["values"] >= VALUES_MIN, "values"), (found["hold"] >= HOLD_MIN, "hold"),
                  (found["median"] <= MEDIAN_PERCENT_MAX, "median error"), (found["largest"] <= EACH_PERCENT_MAX, "error of each")]
    return [f"{found['row']}: {what}" for good, what in limits if not good]


# ---- among five ----

def truth_bps(pair):
    if pair["from"] == "(line)":
        return PORT_BPS if pair["to"] == "s0" else LINE_IN_BPS
    line = LINES_BPS[int(pair["from"][1:])]
    return line if pair["to"] in ("(line)", "s0") else min(line, LINE_IN_BPS)


def measure_all(sites):
    """What `probe all` told of each pair and line, and how long it took."""
    begun = time.monotonic()
    sites.ask("probe", "all")
    pairs = []
    while time.monotonic() - begun < ALL_WAIT_S:
        told = json.loads(sites.ask("--json", "show", "probes").stdout)
        pairs = told["pairs"]
        if told["all"]["state"] == "over":
            break
        time.sleep(0.2)
    return pairs, time.monotonic() - begun


def error_percent(pair):
    if pair["kind"] != "value":
        return float("inf")
    return abs(pair["avail_bps"] - truth_bps(pair)) / truth_bps(pair) * 100


def part_all(options, table):
    with running(options, five_scenario()) as sites:
        pairs, seconds = measure_all(sites)
    cells = [[pair["from"], pair["to"], pair["kind"], f"{pair['avail_bps'] / 1e6:.1f}", f"{truth_bps(pair) / 1e6:.0f}", pair["why"]]
             for pair in pairs]
    table(cells, ["from", "to", "kind", "available", "truth", "why"])
    paths = [error_percent(pair) for pair in pairs if "(line)" not in (pair["from"], pair["to"])]
    lines = [error_percent(pair) for pair in pairs if pair["to"] == "(line)"]
    good = sum(error <= EACH_PERCENT_MAX for error in paths)
    good_lines = sum(error <= ALL_LINE_PERCENT_MAX for error in lines)
    # Of a line in a value is told where it shows itself; "at least" is right, too.
    lines_in = [pair for pair in pairs if pair["from"] == "(line)" and pair["kind"] == "value"]
    print(f"all: {sum(error_percent(pair) <= ALL_LINE_PERCENT_MAX for pair in lines_in)} of {len(lines_in)} lines in that were told "
          f"within {ALL_LINE_PERCENT_MAX:g} %")
    print(f"all: {good} of {len(paths)} paths within {EACH_PERCENT_MAX:g} %, {good_lines} of {len(lines)} lines within "
          f"{ALL_LINE_PERCENT_MAX:g} %, {seconds:.1f} s, emulator's gap {sites.wanem.get('gap_us_max', 0)} us")
    limits = [(good >= ALL_PAIRS_MIN * len(LINES_BPS) * (len(LINES_BPS) - 1), "paths"),
              (good_lines == len(LINES_BPS), "lines"), (seconds <= ALL_S_MAX, "seconds")]
    return pairs, [] if options.hogs else [f"all: {what}" for met, what in limits if not met]


# ---- a job ----

def told_rates():
    """What an operator writes who knows the lines."""
    return {f"s{number}": {"rate": f"{line / 1e6:.0f}Mbps", "rate_down": "1Gbps" if number == 0 else f"{LINE_IN_BPS / 1e6:.0f}Mbps"}
            for number, line in enumerate(LINES_BPS)}


def job_bps(options, rates):
    with running(options, five_scenario(), rates) as sites:
        payload = f"{sites.directory}/payload"
        with open(payload, "wb") as file:
            for _ in range(JOB_BYTES >> 20):
                file.write(os.urandom(1 << 20))
        options.size = os.path.getsize(payload)
        return job_run(options, sites, payload, 1)["bps"]


def part_job(options, table):
    """A default job to four, in pairs: nothing told, and the lines told by `rate:`."""
    pairs = []
    for number in range(options.pairs):
        found = {}
        for way in ("default", "told") if number % 2 == 0 else ("told", "default"):
            found[way] = job_bps(options, told_rates() if way == "told" else None)
        pairs.append(found)
    table([[number, f"{pair['default'] / 1e6:.1f}", f"{pair['told'] / 1e6:.1f}", f"{pair['default'] / pair['told']:.2f}"]
           for number, pair in enumerate(pairs, 1)], ["pair", "default Mbit/s", "told", "share"])
    median = statistics.median(pair["default"] / pair["told"] for pair in pairs)
    print(f"job: median share {median:.2f} of {len(pairs)} pairs")
    return pairs, [] if options.hogs or median >= JOB_SHARE_MIN else ["job: share"]


def part_hosts(options, table):
    rows, document, missed = [], [], []
    for row in ROWS:
        if options.row and not any(word in row.name for word in options.row):
            continue
        found, refused = pair_row(options, row)
        rows.append([row.name, f"{found['values']:.0%} {refused}", f"{found['median']:.2f}", f"{found['largest']:.2f}",
                     f"{found['hold']:.0%}", f"{found['seconds']:.1f}", found["gap_us"]])
        document.append(found)
        missed += pair_misses(options, found)
    if rows:
        table(rows, HEADER)
    if not options.row or "all" in options.row:
        pairs, misses = part_all(options, table)
        document.append({"row": "all", "pairs": pairs})
        missed += misses
    if not options.row or "job" in options.row:
        pairs, misses = part_job(options, table)
        document.append({"row": "job", "pairs": pairs})
        missed += misses
    return document, missed
