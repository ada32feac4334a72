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


def scenario(start, end, trouble, metric, late):
    nodes = "".join(f"  {site}: {'{absent: true}' if site == late else '{}'}\n" for site in ["source", *SITES])
    return f"""name: troubled-path
seed: 1
nodes:
{nodes}node_defaults: {{uplink: 100Mbps, downlink: 100Mbps, queue: 30ms}}
links:
  default: {{owd: 10ms, rate: 100Mbps, queue: 30ms}}
  list:
    - {{from: {start}, to: {end}, {TROUBLES[trouble]}}}
jobs:
  - {{name: j, source: source, to: all, size: 1MB, at: 1s, sparse: true, plan: {{metric: {metric}}}}}
faults: [{f"{{at: 4s, kill: {late}, restart_after: 3s}}" if late else ""}]
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


def run(start, end, trouble, metric, late):
    path = os.path.join(DIRECTORY, "troubled-path.yaml")
    with open(path, "w", encoding="utf-8") as file:
        file.write(scenario(start, end, trouble, metric, late))
    out = subprocess.run([SIM, "--json", path], capture_output=True, text=True, timeout=170, check=False)
    try:
        job = json.loads(out.stdout)["jobs"][0]
    except (ValueError, IndexError):
        return f"no answer: {out.stderr}", ""
    left = [f"{one['node']}: {one['text']}" for one in job["receivers"] if not one["verified"]]
    return judge(job, start, end), "; ".join(left)


def main():
    os.makedirs(DIRECTORY, exist_ok=True)
    count = failed = fed = 0
    for at, site in enumerate(SITES):
        neighbour = SITES[(at + 1) % len(SITES)]
        for other, (into, trouble) in itertools.product(("source", neighbour), itertools.product((True, False), TROUBLES)):
            start, end = (other, site) if into else (site, other)
            metric, late = METRICS[count % len(METRICS)], site if count % 5 == 4 else None
            wrong, left = run(start, end, trouble, metric, late)
            count += 1
            failed += wrong != ""
            fed += not wrong and not left
            if wrong or "-v" in sys.argv:
                print(f"{'FAILED ' if wrong else ''}{start} > {end} {trouble}, {metric}{', late' if late else ''}: {wrong or left or 'fed'}")
    print(f"{count} paths in trouble: {fed} sites fed another way, {count - failed - fed} left out by name, {failed} wrong")
    sys.exit(failed > 0)


if __name__ == "__main__":
    main()
