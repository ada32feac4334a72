#!/usr/bin/env python3
"""Where a running appliance has its private key: in memory of no core, no swap device and no child, and nowhere else.
usage: key_memory_test.py SLUICE SLUICECTL. Skipped where memory of another process may not be read."""
import base64
import json
import os
import re
import shutil
import socket
import subprocess
import sys
import tempfile

SLUICE, SLUICECTL = sys.argv[1:3]
WAIT_S = 60
OTHERS_KEY = "slk1:AAMGCQwPEhUYGx4hJCcqLTAzNjk8P0JFSEtOUVRXWl2eSIj2"
SKIPPED = 77
PIECE = 1 << 24
RANGE = re.compile(r"^([0-9a-f]+)-([0-9a-f]+) (\S+) ")
SHOWN = ("version", "config", "ports", "disk", "peers", "edges", "counters", "jobs", "plan", "probes")


def key_gen(path):
    return subprocess.run([SLUICECTL, "key", "gen", path], capture_output=True, text=True, check=True).stdout.strip()


def private_of(path):
    """The text of the key, and the bytes that it stands for, without those that X25519 changes."""
    with open(path, encoding="ascii") as file:
        text = file.read().strip().split(":")[1]
    return text.encode(), base64.urlsafe_b64decode(text)[1:31]


def ranges(pid):
    """(first, end, flags) of each mapping that can be read."""
    found = []
    with open(f"/proc/{pid}/smaps", encoding="utf-8", errors="replace") as file:
        for line in file:
            if match := RANGE.match(line):
                found.append([int(match[1], 16), int(match[2], 16), match[3], ()])
            elif line.startswith("VmFlags:"):
                found[-1][3] = line.split()[1:]
    return [(first, end, flags) for first, end, mode, flags in found if mode.startswith("r")]


def has(memory, first, end, word):
    at, before = first, b""
    while at < end:
        try:
            memory.seek(at)
            piece = memory.read(min(PIECE, end - at))
        except (OSError, ValueError):  # of the kernel
            return False
        if not piece:
            return False
        if word in before + piece:
            return True
        before, at = piece[-len(word):], at + len(piece)
    return False


def flags_of_ranges_with(pid, word):
    with open(f"/proc/{pid}/mem", "rb", buffering=0) as memory:
        return [flags for first, end, flags in ranges(pid) if has(memory, first, end, word)]


def children(pid):
    with open(f"/proc/{pid}/task/{pid}/children", encoding="ascii") as file:
        return [int(child) for child in file.read().split()]


def shown(path, what):
    with socket.socket(socket.AF_UNIX) as connection:
        connection.settimeout(WAIT_S)
        connection.connect(path)
        connection.sendall(json.dumps({"command": "show", "what": what, "json": True}).encode() + b"\n")
        return connection.makefile("rb").readline()


def core_of(pid, folder):
    """The whole text of what a debugger writes, which leaves out what a core leaves out; None: there is no debugger."""
    if shutil.which("gcore") is None:
        return None
    done = subprocess.run(["gcore", "-o", os.path.join(folder, "core"), str(pid)], capture_output=True, text=True,
                          timeout=WAIT_S, check=False)
    path = os.path.join(folder, f"core.{pid}")
    assert os.path.exists(path), done.stdout + done.stderr
    return path


def check(pid, folder, text, key):
    found = flags_of_ranges_with(pid, key)
    assert len(found) == 1, f"{len(found)} mappings have the private key: {found}"
    for flag, means in (("dd", "in no core"), ("wf", "in no child"), ("lo", "on no swap device")):
        assert flag in found[0], f"not {means}: {found[0]}"
    assert not flags_of_ranges_with(pid, text), "its text is still there"
    assert children(pid), "no process that starts planners"
    for child in children(pid):
        assert not flags_of_ranges_with(child, key) and not flags_of_ranges_with(child, text), "a child has it"
    core = core_of(pid, folder)
    if core is None:
        print("     no gcore here")
        return
    with open(core, "rb") as file:
        size = os.path.getsize(core)
        assert has(file, 0, size, base64.urlsafe_b64decode(OTHERS_KEY[5:])[:32]), "the core is none"
        assert not has(file, 0, size, key) and not has(file, 0, size, text), "the core has it"


def main():
    with tempfile.TemporaryDirectory(prefix="sluice-key-memory-") as home:
        key_path, node_path, log_path = (os.path.join(home, name) for name in ("key", "node.yaml", "log"))
        own = key_gen(key_path)
        words = private_of(key_path)
        with open(node_path, "w", encoding="utf-8") as file:
            json.dump({"node": {"name": "n1", "key_file": key_path},
                       "ports": [{"device": "net_null0,no-rx=1", "address": "10.9.9.1/24", "rate": "1Gbps"}],
                       "roster": [{"name": "n1", "address": "10.9.9.1/24", "key": own},
                                  {"name": "n2", "address": "10.9.9.2", "key": OTHERS_KEY}],
                       "memory": {"hugepages": False, "buffer": "64MiB"},
                       "control": {"socket": os.path.join(home, "sock")}}, file)
        with open(log_path, "wb") as log, subprocess.Popen([SLUICE, "-c", node_path], stdin=subprocess.DEVNULL,
                                                           stdout=subprocess.PIPE, stderr=log) as sluice:
            try:
                said = sluice.stdout.readline()
                assert said.endswith(b"sluice: n1 ready\n"), said
                answers = b"".join(shown(os.path.join(home, "sock"), what) for what in SHOWN)
                assert not any(word in answers for word in words), "show tells it"
                try:
                    check(sluice.pid, home, *words)
                except PermissionError:
                    print("skipped: no permission to read the memory of another process")
                    return SKIPPED
            finally:
                sluice.terminate()
                sluice.communicate(timeout=WAIT_S)
        with open(log_path, "rb") as log:
            told = log.read()
        assert b"n1: " in told and not any(word in told for word in words), "the log has it"
    return 0


if __name__ == "__main__":
    sys.exit(main())
