#!/usr/bin/env python3
"""Five sites, and one path in trouble: to each site in turn, or from it, at the source or at a neighbour; one that carries no
packet of data's size and loses every tenth, or is slow and lossy too, or carries nothing. Usage: troubled_path_test.py
SLUICE_SIM DIRECTORY

All others have the object. The site has it by another way, or is left out with the path's name."""
import itertools
import json
import os
import subprocess
import sys

SIM, DIRECTORY = sys.argv[1:3]
SITES = ["a", "b", "c", "d", "e"]
# What narrow-unknown has, what narrow-absent has, and silence.
TROUBLES = {
    "narrow": "owd: 300ms, rate: 200Mbps, loss: 10%, mtu: 576",
    "slow": "owd: 150ms, rate: 2Mbps, loss: 10%, mtu: 576, queue: 2 packets",
    "dead": "loss: 100%",
}
METRICS = ("rtt", "auto", "star", "chain")


# Several paths at once: (what is right, links, plan). One end knows a path to be narrow of which the other knows nothing; a pin
# leads over a dead path.
CASES = (
    ("fed", ["from: a, to: d, " + TROUBLES["narrow"], "from: a, to: b, mtu: 576", "from: a, to: c, mtu: 576",
             "from: c, to: a, " + TROUBLES["narrow"]], "metric: avb, forbid: [[c, e]]"),
    ("b: the path from a to it answers no probe", ["from: a, to: b, loss: 100%"], "metric: rtt, pin: [[a, b]]"),
)


def scenario(links, plan, late):
    nodes = "".join(f"  {site}: {'{absent: true}' if site == late else '{}'}\n" for site in ["source", *SITES])
    return f"""name: troubled-path
seed: 1
nodes:
{nodes}node_defaults: {{uplink: 100Mbps, downlink: 100Mbps, queue: 30ms}}
links:
  default: {{owd: 10ms, rate: 100Mbps, queue: 30ms}}
  list:
{"".join(f"    - {{{link}}}" + chr(10) for link in links)}jobs:
  - {{name: j, source: source, to: all, size: 1MB, at: 4s, sparse: true, plan: {{{plan}}}}}
faults: [{f"{{at: 7s, kill: {late}, restart_after: 3s}}" if late else ""}]
limit: 100s
"""


def judge(job, start, end):
    """What is wrong; "" else."""
    left_out = [receiver for receiver in job["receivers"] if not receiver["verified"]]
    if len(left_out) > 1:
        return f"{len(left_out)} sites without it: {[(one['node'], one['text']) for one in left_out]}"
    for one in left_out:
        if one["node"] not in (start, end):
            return f"{one['node']} has nothing to do with it: {one['text']}"
        other = start if one["node"] == end else end
        if f"the path from {other}" not in one["text"]:
            return f"{one['node']}: no path named: {one['text']}"
    return ""


def run(links, plan, late=None):
    """The job, and what is told of sites without the object."""
    path = os.path.join(DIRECTORY, "troubled-path.yaml")
    with open(path, "w", encoding="utf-8") as file:
        file.write(scenario(links, plan, late))
    out = subprocess.run([SIM, "--json", path], capture_output=True, text=True, timeout=170, check=False)
    try:
        job = json.loads(out.stdout)["jobs"][0]
    except (ValueError, IndexError):
        print(f"no answer: {out.stderr}")
        sys.exit(1)
    return job, "; ".join(f"{one['node']}: {one['text']}" for one in job["receivers"] if not one["verified"])


def main():
    os.makedirs(DIRECTORY, exist_ok=True)
    count = failed = fed = 0
    for at, site in enumerate(SITES):
        neighbour = SITES[(at + 1) % len(SITES)]
        for other, (into, trouble) in itertools.product(("source", neighbour), itertools.product((True, False), TROUBLES)):
            start, end = (other, site) if into else (site, other)
            metric, late = METRICS[count % len(METRICS)], site if count % 5 == 4 else None
            job, left = run([f"from: {start}, to: {end}, {TROUBLES[trouble]}"], f"metric: {metric}", late)
            wrong = judge(job, start, end)
            count += 1
            failed += wrong != ""
            fed += not wrong and not left
            if wrong or "-v" in sys.argv:
                print(f"{'FAILED ' if wrong else ''}{start} > {end} {trouble}, {metric}{', late' if late else ''}: {wrong or left or 'fed'}")
    for right, links, plan in CASES:
        _, left = run(links, plan)
        if (left or "fed") != right:
            print(f"FAILED {plan}: '{right}' expected, got '{left or 'fed'}'")
            failed += 1
    print(f"{count} paths in trouble: {fed} sites fed another way, {count - failed - fed} left out by name, {failed} wrong")
    sys.exit(failed > 0)


if __name__ == "__main__":
    main()
