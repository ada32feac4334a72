#!/usr/bin/env python3
"""What all programs have in common: --version and --help, wrong words, exit status. Usage: programs_test.py PROGRAM..."""
import os
import re
import subprocess
import sys


def run(*command):
    out = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
    return out.returncode, out.stdout, out.stderr


def faults(program):
    name = os.path.basename(program)
    status, said, told = run(program, "--version")
    if status != 0 or told or not re.fullmatch(rf"{name} \d+\.\d+\.\d+ \(\S.*\)\n", said):
        yield f"--version: {status} {said!r} {told!r}"
    if run(program, "anything", "--version") != (status, said, told):
        yield "--version behind other words says something else"
    status, said, told = run(program, "--help")
    if status != 0 or told:
        yield f"--help: {status} {told!r}"
    for word in (name, "--version", "--help"):
        if word not in said:
            yield f"--help does not name {word}"
    if max(map(len, said.splitlines())) > 120:
        yield "--help has lines of more than 120 columns"
    status, said, told = run(program, "--no-such-option")
    if status != 2 or said or not told:
        yield f"--no-such-option: {status} {said!r} {told!r}, 2 and words on stderr expected"


def options_stand_anywhere(sluicectl):
    """Each asks the same socket, where nobody listens."""
    nobody = os.path.join(os.getcwd(), "no-such-socket")
    for words in (("-s", nobody, "--json", "show", "jobs"), ("show", "jobs", "--json", "--socket", nobody),
                  ("show", f"--socket={nobody}", "jobs", "-j")):
        status, _, told = run(sluicectl, *words)
        if status != 3 or nobody not in told:
            yield f"{' '.join(words)}: {status} {told!r}"
    status, _, told = run(sluicectl, "show", "jobs", "-s")
    if status != 2 or "socket" not in told:
        yield f"-s without a socket: {status} {told!r}"


def main():
    wrong = [(program, fault) for program in sys.argv[1:] for fault in faults(program)]
    wrong += [(program, fault) for program in sys.argv[1:] if program.endswith("sluicectl")
              for fault in options_stand_anywhere(program)]
    for program, fault in wrong:
        print(f"{program}: {fault}")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
