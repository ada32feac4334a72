#!/usr/bin/env python3
"""Jobs that share a slow disk: the source's, to one or two sites each, or a receiver's. Usage: shared_disk_test.py SLUICE_SIM
DIRECTORY [all]

All are verified within 1.3 times what the disk takes to give their bytes, however many they are and however little memory
there is. A disk that gives nothing at all fails its job by that name; a site that can't take what it gets is given up in its
own time, whatever the source's disk is waited for. `all`: each count with each rate and each memory, not the corners only."""
import itertools
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


def run(name, nodes, jobs):
    path = os.path.join(DIRECTORY, f"{name}.yaml")
    with open(path, "w", encoding="utf-8") as file:
        file.write(f"name: {name}\nseed: 1\nnodes: {nodes}\nlinks: {{default: {{owd: 5ms}}}}\njobs:\n" +
                   "".join(f"  - {{{job}, sparse: true, plan: {{metric: rtt}}}}\n" for job in jobs) +
                   "limit: 400s\nexpect: {counters.blocks_bad: 0}\n")
    out = subprocess.run([SIM, path], capture_output=True, text=True, timeout=170, check=False)
    return out.stdout + out.stderr


def shares(count, rate_mbps, buffer, slow="a"):
    receivers = ["b"] if slow == "b" or count > JOBS_OF_ONE_SOURCE else ["b", "c"]
    size = int(rate_mbps * 1e6 / 8 * DISK_S / count)
    port = f"uplink: 1Gbps, downlink: 1Gbps, queue: 20ms, buffer: {buffer}"
    disk = {slow: f", disk: {{rate: {rate_mbps}Mbps}}"}
    out = run("shares", "{" + ", ".join(f"{site}: {{{port}{disk.get(site, '')}}}" for site in ["a", *receivers]) + "}",
              [f"name: j{job}, source: a, to: all, size: {size}B" for job in range(count)])
    ended = re.search(r"completed in ([\d.]+) s", out)
    good = out.count(" verified") == len(receivers) * count and ended and float(ended[1]) <= 1.3 * DISK_S
    print(f"{'' if good else 'FAILED '}{count} jobs, disk of {slow} {rate_mbps} Mbit/s, {buffer}: "
          f"{ended[1] if ended else out} s, disk {DISK_S} s")
    return good


def fails(name, nodes, jobs, text, ends_s):
    out = run(name, nodes, jobs)
    times = re.findall(r"completed in ([\d.]+) s", out)
    good = text in out and times and float(times[-1]) <= ends_s
    print(f"{'' if good else 'FAILED '}{name}: {times[-1] if times else '-'} s" + ("" if good else f"\n{out}"))
    return good


def main():
    os.makedirs(DIRECTORY, exist_ok=True)
    corners = [(1, 4.8, "10MB"), (16, 4.8, "10MB"), (16, 4.8, "1GB"), (16, 120, "10MB"), (8, 120, "1GB")]
    cases = itertools.product(COUNTS, RATES_MBPS, BUFFERS) if "all" in sys.argv[3:] else corners
    good = [shares(*case) for case in cases] + [shares(12, 4.8, "10MB", "b")]
    port = "uplink: 1Gbps, downlink: 1Gbps, queue: 20ms"
    good.append(fails("gives-nothing", f"{{a: {{{port}, disk: {{rate: 1kbps}}}}, b: {{{port}}}}}",
                      ["name: j, source: a, to: all, size: 10MB"],
                      "its disk has answered nothing for 20 s", STALL_S + 5))
    good.append(fails("takes-nothing", f"{{a: {{{port}, disk: {{rate: 24Mbps}}}}, b: {{{port}}}, "
                      f"c: {{{port}, disk: {{rate: 1kbps}}}}}}",
                      ["name: j, source: a, to: all, size: 100MB"],
                      "c: no progress for 20 s", 45))
    sys.exit(not all(good))


if __name__ == "__main__":
    main()
