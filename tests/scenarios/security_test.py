#!/usr/bin/env python3
"""The cheap tags of simulations stand for the real ones: with --security real, sizes and none a scenario does the same, packet
by packet. Usage: security_test.py SLUICE_SIM SCENARIOS [COUNT]: the COUNT quickest of the list (all)."""
import concurrent.futures
import json
import os
import subprocess
import sys

# The first ones take least time.
NAMES = ("size-one-byte", "stream-deaf-parent", "small-object", "memory-slow-path", "peer-absent", "relay-restarted", "corrupt",
         "duplicate", "path-mtu-relay", "relay-killed", "directory", "stream", "stream-stripes-killed", "probe-chain", "two-jobs",
         "path-mtu", "weak-uplinks", "two-trees", "clocks", "five-sites")
WORDS = ("sizes", "real", "none")


def result(simulator, path, word):
    run = subprocess.run([simulator, path, "--security", word, "--json"], capture_output=True, text=True, check=False)
    found = json.loads(run.stdout)
    for name in ("wall_s", "events_per_s", "memory_peak_bytes"):
        found.pop(name)
    return found


def main():
    simulator, folder = sys.argv[1:3]
    names = NAMES[:int(sys.argv[3]) if len(sys.argv) > 3 else None]
    failed = 0
    with concurrent.futures.ThreadPoolExecutor(max_workers=2) as pool:
        jobs = {(name, word): pool.submit(result, simulator, os.path.join(folder, name + ".yaml"), word)
                for name in names for word in WORDS}
        for name in names:
            first = jobs[name, WORDS[0]].result()
            for word in WORDS[1:]:
                other = jobs[name, word].result()
                differs = [key for key in first if first[key] != other[key]]
                if differs:
                    failed += 1
                    print(f"{name}: {WORDS[0]} and {word} differ in {', '.join(differs)}")
    print(f"{len(names)} scenarios by {', '.join(WORDS)}: {failed} differ")
    return 1 if failed else 0


sys.exit(main())
