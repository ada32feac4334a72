#!/usr/bin/env python3
"""Jobs that share a slow disk: the source's, to one or two sites each, or a receiver's. Usage: shared_disk_test.py SLUICE_SIM
DIRECTORY [all]

All are verified within 1.3 times what the disk takes to give their bytes, however many they are and however little memory
there is. A disk that gives nothing at all fails its job by that name; a site that can't take what it gets is given up in its
own time, whatever the source's disk is waited for, by whichever relay it is reached, and with all its jobs. `all`: each count
with each rate and each memory, not the corners only."""
import itertools
import json
import os
import re
import subprocess
import sys

SIM, DIRECTORY = sys.argv[1:3]
COUNTS = (1, 2, 4, 8, 16)
RATES_MBPS = (4.8, 24, 120)
BUFFERS = ("10MB", "64MB", "1GB")  # 9 slots and more
JOBS_OF_ONE_SOURCE = 12  # more at once are taken by a site that knows no other
DISK_S = 50  # what the disk takes for all of them
STALL_S = 20


def run(name, nodes, jobs, options=()):
    path = os.path.join(DIRECTORY, f"{name}.yaml")
    with open(path, "w", encoding="utf-8") as file:
        file.write(f"name: {name}\nseed: 1\nnodes: {nodes}\nlinks: {{default: {{owd: 5ms}}}}\njobs:\n" +
                   "".join(f"  - {{{job}, sparse: true}}\n" for job in jobs) +
                   "limit: 400s\nexpect: {counters.blocks_bad: 0}\n")
    out = subprocess.run([SIM, path, *options], capture_output=True, text=True, timeout=170, check=False)
    return out.stdout if options else out.stdout + out.stderr


def shares(count, rate_mbps, buffer, slow="a"):
    receivers = ["b"] if slow == "b" or count > JOBS_OF_ONE_SOURCE else ["b", "c"]
    size = int(rate_mbps * 1e6 / 8 * DISK_S / count)
    port = f"uplink: 1Gbps, downlink: 1Gbps, queue: 20ms, buffer: {buffer}"
    disk = {slow: f", disk: {{rate: {rate_mbps}Mbps}}"}
    out = run("shares", "{" + ", ".join(f"{site}: {{{port}{disk.get(site, '')}}}" for site in ["a", *receivers]) + "}",
              [f"name: j{job}, source: a, to: all, size: {size}B, plan: {{metric: rtt}}" for job in range(count)])
    ended = re.search(r"completed in ([\d.]+) s", out)
    good = out.count(" verified") == len(receivers) * count and ended and float(ended[1]) <= 1.3 * DISK_S
    print(f"{'' if good else 'FAILED '}{count} jobs, disk of {slow} {rate_mbps} Mbit/s, {buffer}: "
          f"{ended[1] if ended else out} s, disk {DISK_S} s")
    return good


def fails(name, nodes, jobs, text, ends_s):
    """The jobs whose names begin with j fail for that reason, and until then."""
    result = json.loads(run(name, nodes, jobs, ["--json"]))
    told = [(job["ended_s"], job["text"]) for job in result["jobs"] if job["name"][0] == "j" and job["state"] == "failed"]
    good = len(told) == sum(job.startswith("name: j") for job in jobs)
    good = good and all(ended_s <= ends_s and text in why for ended_s, why in told)
    print(f"{'' if good else 'FAILED '}{name}: {told}")
    return good


def main():
    os.makedirs(DIRECTORY, exist_ok=True)
    corners = [(1, 4.8, "10MB"), (16, 4.8, "10MB"), (16, 4.8, "1GB"), (16, 120, "10MB"), (8, 120, "1GB")]
    cases = itertools.product(COUNTS, RATES_MBPS, BUFFERS) if "all" in sys.argv[3:] else corners
    good = [shares(*case) for case in cases] + [shares(12, 4.8, "10MB", "b")]
    port = "uplink: 1Gbps, downlink: 1Gbps, queue: 20ms"
    gives = f"a: {{{port}, buffer: 10MB, disk: {{rate: 24Mbps}}}}, b: {{{port}}}"
    stuck = f"{{{port}, buffer: 10MB, disk: {{rate: 1kbps}}}}"
    gave_up = "c: no progress for 20 s"
    star, chain = "plan: {metric: rtt}", "plan: {tree: [[a, b], [b, c]]}"
    good.append(fails("gives-nothing", f"{{a: {{{port}, disk: {{rate: 1kbps}}}}, b: {{{port}}}}}",
                      [f"name: j, source: a, to: all, size: 10MB, {star}"],
                      "its disk has answered nothing for 20 s", STALL_S + 5))
    good.append(fails("takes-nothing", f"{{{gives}, c: {stuck}}}", [f"name: j, source: a, to: all, size: 100MB, {star}"],
                      gave_up, 45))
    # One after the other: whoever is given up leaves memory, in which the others get on for a moment.
    good.append(fails("takes-nothing-thrice", f"{{{gives}, c: {stuck}}}",
                      [f"name: j{job}, source: a, to: [c], size: 50MB, {star}" for job in range(3)], gave_up, 90))
    good.append(fails("takes-nothing-below", f"{{{gives}, c: {stuck}}}",
                      [f"name: j, source: a, to: [b, c], size: 30MB, {chain}",
                       f"name: reads, source: a, to: [b], size: 600MB, {star}"], gave_up, 60))
    sys.exit(not all(good))


if __name__ == "__main__":
    main()
