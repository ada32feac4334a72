#!/usr/bin/env python3
"""What moves data has nothing in it that only looks like a seal. Usage: symbols_test.py PROGRAM..."""
import subprocess
import sys

BARRED = ("sizes_primitives", "nonces_use")
THERE = "insecure_primitives"  # else nothing is to be seen at all


def faults(program):
    listed = subprocess.run(["nm", program], capture_output=True, text=True, check=True).stdout
    names = {line.split()[-1] for line in listed.splitlines() if line}
    if THERE not in names:
        yield f"{program}: no {THERE} among its symbols"
    yield from (f"{program} has {name}, which is for simulations and tests" for name in BARRED if name in names)


found = [fault for program in sys.argv[1:] for fault in faults(program)]
print("\n".join(found) or "symbols: clean")
sys.exit(1 if found else 0)
