#!/usr/bin/env python3
"""A result that hangs on its seed, over seeds 1 to 8: so many of them reach the bound. Usage: seeds_test.py SLUICE_SIM SCENARIO
KEY LEAST OF_EIGHT"""
import concurrent.futures
import json
import os
import subprocess
import sys

SIM, SCENARIO, KEY = sys.argv[1:4]
LEAST, SHARE = float(sys.argv[4]), int(sys.argv[5])


def run(seed):
    out = subprocess.run([SIM, "--json", "--seed", str(seed), SCENARIO], capture_output=True, text=True, timeout=600, check=False)
    return json.loads(out.stdout)[KEY]


def main():
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        values = list(pool.map(run, range(1, 9)))
    good = sum(value >= LEAST for value in values)
    print(f"{os.path.basename(SCENARIO)}: {KEY} of seeds 1 to 8: {', '.join(f'{value:.4g}' for value in values)}; {good} reach "
          f"{LEAST:.4g}, {SHARE} expected")
    sys.exit(good < SHARE)


if __name__ == "__main__":
    main()
