#!/usr/bin/env python3
"""Fifteen sites, one of them bad before the job runs: as a leaf of the plan, and as what would be its relay. Usage:
left_out_test.py SLUICE_SIM DIRECTORY

The others have the object in at most 1.1 times what they need without that site, and 3 s more; where the source has to
wait to find out (nobody answers, a disk opens and opens) 10 s more. The bad one is named with its cause."""
import os
import re
import subprocess
import sys

SIM, DIRECTORY = sys.argv[1:3]
SITES = [f"s{index:02}" for index in range(1, 15)]
NARROW = "".join(f"    - {{from: {site}, to: bad, mtu: 600, symmetric: true, owd: 8ms}}\n" for site in ["a", *SITES])
# name: what is bad of it, jobs and faults besides, links, seconds that are waited, the cause told
KINDS = {
    "absent": ("{absent: true}", "", "", "", 10, "does not answer"),
    "disk full": ("{disk: {free: 1MB}}", "", "", "", 0, "no space left"),
    "opens in a minute": ("{disk: {rate: 8Mbps}}",
                          "  - {name: before, source: a, to: [bad], size: 60MB, sparse: true, plan: {metric: rtt}}\n",
                          "", "", 10, "did not confirm"),
    "MTU 600": ("{}", "", "", NARROW, 0, "no packets of 1280 bytes"),
    "restarts while planned": ("{}", "", "faults:\n  - {at: 5s, planner: a, down: 900ms}\n"
                               "  - {at: 5400ms, kill: bad, restart_after: 50ms}\n", "", 0, "restarted"),
}


def scenario(kind, relay, with_bad):
    bad, jobs, faults, links, _, _ = KINDS[kind] if with_bad else ("{}", "", "", "", 0, "")
    nodes = "".join(f"  {site}: {{}}\n" for site in SITES)
    near = "".join(f"    - {{from: bad, to: {site}, owd: 4ms, symmetric: true}}\n" for site in ["a", *SITES]) if relay else ""
    return f"""name: left-out
seed: 1
nodes:
  a: {{}}
{nodes}{f"  bad: {bad}" if with_bad else ""}
node_defaults: {{uplink: 100Mbps, downlink: 100Mbps, queue: 20ms}}
links:
  default: {{owd: 20ms}}
  list:
    - {{from: a, to: s01, owd: 19ms, symmetric: true}}
{(links or near) if with_bad else ""}jobs:
{jobs}  - {{name: j, source: a, to: [{", ".join(SITES + (["bad"] if with_bad else []))}], size: 10MB, at: 5s, plan: {{metric: rtt}}}}
{faults}limit: 400s
expect: {{state.j: {"failed" if with_bad else "done"}}}
"""


def run(kind, relay, with_bad):
    """Seconds until the last of the others has it, and what is told of the bad one."""
    path = os.path.join(DIRECTORY, "left-out.yaml")
    with open(path, "w", encoding="utf-8") as file:
        file.write(scenario(kind, relay, with_bad))
    out = subprocess.run([SIM, path], capture_output=True, text=True, timeout=170, check=False)
    job = out.stdout[out.stdout.index("job j:"):]
    times = {site: float(seconds) for site, seconds in re.findall(r"^  (s\d\d) +([\d.]+) s .* verified$", job, re.M)}
    told = re.search(r"^  bad .*$", job, re.M)
    missing = [site for site in SITES if site not in times]
    if missing:
        print(f"{kind}: {', '.join(missing)} not verified\n{out.stdout}{out.stderr}")
        sys.exit(1)
    return max(times.values()), told.group(0).strip() if told else ""


def main():
    os.makedirs(DIRECTORY, exist_ok=True)
    without, _ = run("absent", False, False)
    failed = False
    for kind, (*_, waits, cause) in KINDS.items():
        for relay in (False, True):
            took, told = run(kind, relay, True)
            allowed = 1.1 * without + 3 + waits
            good = took <= allowed and cause in told
            failed |= not good
            print(f"{'' if good else 'FAILED '}{kind}, {'relay' if relay else 'leaf'}: {took:.2f} s, without it "
                  f"{without:.2f}, allowed {allowed:.2f}; {told}")
    sys.exit(failed)


if __name__ == "__main__":
    main()
