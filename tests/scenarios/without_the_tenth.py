#!/usr/bin/env python3
"""without_the_tenth.py SLUICE-SIM SCENARIO star|relay: the same job with and without the receiver `slow`, which hangs on the source
or on the relay b. The others may take at most 3 % longer with it, and it gets at least 0.95 of what its path can carry."""
import json
import subprocess
import sys

ALLOWED = 1.03
SLOW_BPS = 50e6 * 1408 / 1538
FAST = list("bcdefghij")


def run(sim, scenario, tree, receivers):
    edges = ", ".join(f"[{parent}, {child}]" for parent, child in tree if child in receivers)
    command = [sim, scenario, "--json", "--set", f"jobs[0].to=[{', '.join(receivers)}]",
               "--set", f"jobs[0].plan={{tree: [{edges}]}}"]
    if "slow" not in receivers:
        command += ["--set", "expect={completed: true}"]
    output = subprocess.run(command, stdout=subprocess.PIPE, check=True).stdout
    return json.loads(output)["jobs"][0]


def times(job):
    return {receiver["node"]: receiver["complete_s"] for receiver in job["receivers"]}


def compare(sim, scenario, tree):
    alone, job = run(sim, scenario, tree, FAST), run(sim, scenario, tree, FAST + ["slow"])
    before, after = times(alone), times(job)
    worst = max(FAST, key=lambda node: after[node] / before[node])
    rate_bps = job["size_bytes"] * 8 / (after["slow"] - job["first_data_s"])
    print(f"{worst} ends after {before[worst]:.3f} s alone, {after[worst]:.3f} s with the slow one; "
          f"that gets {rate_bps / 1e6:.2f} Mbit/s, {rate_bps / SLOW_BPS:.3f} of its limit")
    return after[worst] <= ALLOWED * before[worst] and rate_bps >= 0.95 * SLOW_BPS


def main():
    sim, scenario, place = sys.argv[1:]
    trees = {"star": [("a", node) for node in FAST + ["slow"]],
             "relay": [("a", "b")] + [("b", node) for node in FAST[1:] + ["slow"]]}
    sys.exit(0 if compare(sim, scenario, trees[place]) else 1)


main()
