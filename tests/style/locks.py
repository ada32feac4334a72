#!/usr/bin/env python3
"""No instruction that locks a cache line on the way of packets, but those listed here; proved on what the compiler made.

    locks.py BUILD

Looks (`objdump`) at the objects of all that a worker runs, the node's or a port's: the core, the port, the queue to the
disk, the loops themselves. DPDK's own libraries are not looked at; on this way a ring with one producer and one consumer
(net_ring, memif) has none, and a pool takes a lock when the worker's cache of 256 buffers runs out or over.

Skipped (77) on other processors than x86-64, and where the linker makes the code (release builds).
"""
import os
import platform
import re
import subprocess
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import cycles  # noqa: E402

SKIPPED = 77

# Folders or files of the workers' way.
WAY = ("lib/base/", "lib/wire/", "lib/edge/", "lib/store/", "lib/node/", "probe/",
       "lib/dpdk/chain.c", "lib/dpdk/crossing.c", "lib/dpdk/lane.c", "lib/dpdk/histogram.c", "lib/dpdk/idle.c",
       "lib/dpdk/tsc.c", "lib/dpdk/stamps.c", "lib/dpdk/device_clock.c", "lib/dpdk/port.c", "lib/dpdk/port_link.c",
       "lib/dpdk/port_rx.c", "lib/dpdk/port_tx.c", "lib/dpdk/neighbour.c",
       "lib/dpdk/responder.c", "lib/dpdk/answer_budget.c", "lib/disk/ring.c",
       "app/sluice/worker.c", "app/sluice/port_worker.c", "app/sluice/turns.c", "app/sluice/events.c",
       "app/sluice/channel.c")

# File, function → why it may. Those of DPDK are inline functions of its headers, within whatever file uses them.
PERMITTED = {
    ("lib/dpdk/chain.c", "chain_on_free"): "any thread that frees the last frame of a body takes a ticket: once a body",
    ("lib/dpdk/crossing.c", "crossing_send"): "once a burst, if the port's worker may sleep: it must not miss it",
    ("lib/dpdk/crossing.c", "crossing_turn"): "the same of the node's worker",
    ("app/sluice/worker.c", "worker_turn"): "once a job: a planner is wanted, or no more",
    ("app/sluice/channel.c", "channel_call"): "control threads only: the worker may sleep",
    ("app/sluice/channel.c", "outbox_commit"): "once a record for the planner: the background thread may sleep",
    ("app/sluice/port_worker.c", "port_workers_stop"): "at the end",
    ("lib/disk/ring.c", "ring_push"): "a request, once a block: the disk's thread, about to sleep, must not miss it",
}
PERMITTED_DPDK = re.compile(r"(__)?rte_(pkt)?mbuf_\w+$")  # only where more than one holds a buffer, which none here does


def is_locked(instruction):
    """A lock prefix, or an exchange with memory, which has it unsaid."""
    return re.match(r"lock\b", instruction) is not None or re.match(r"xchg\w?\s.*\(", instruction) is not None


def locked_functions(listing):
    """objdump's text → {function: its first such instruction}"""
    found, function = {}, ""
    for line in listing.split("\n"):
        head = re.match(r"[0-9a-f]+ <([^>]+)>:$", line)
        if head is not None:
            function = head.group(1)
        parts = line.split("\t")
        if len(parts) > 1 and is_locked(parts[1]):
            found.setdefault(re.sub(r"\.(cold|part|constprop|isra).*", "", function), parts[1].strip())
    return found


def check(listings):
    """{file: objdump's text} → what is wrong, as lines."""
    problems, seen = [], set()
    for path, listing in sorted(listings.items()):
        for function, instruction in sorted(locked_functions(listing).items()):
            seen.add((path, function))
            if (path, function) not in PERMITTED and PERMITTED_DPDK.match(function) is None:
                problems.append(f"{path}: {function}: {instruction}: not on the list of locks.py")
    for path, function in sorted(set(PERMITTED) - seen):
        if path in listings:
            problems.append(f"{path}: {function}: on the list of locks.py, and has none")
    return problems


def main(build):
    if platform.machine() != "x86_64":
        print("skipped: another processor")
        return SKIPPED
    listings = {}
    for path, output in cycles.objects(build).items():
        if not path.startswith(WAY):
            continue
        run = subprocess.run(["objdump", "-d", "--no-show-raw-insn", output], capture_output=True, check=True)
        listings[path] = run.stdout.decode()
    if not any("<" in listing for listing in listings.values()):
        print("skipped: objects without code, as of a release build")
        return SKIPPED
    problems = check(listings)
    print("\n".join(problems) if problems else f"locks: none in {len(listings)} files but {len(PERMITTED)} that are listed")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
