"""scripts/bench idle: what an appliance costs while it waits, and how exactly it departs; real processes, default settings.

Four parts, all of `idle: sleep`, the default, unless they say otherwise:

idle        CPU of an appliance without work, and how often it wakes: af_packet with none, one and ten peers, memif, tap.
rate        a default job to one receiver over veth, ports of 100 Mbit/s and 1 Gbit/s, af_packet and plain (a UDP
            socket): CPU and wakes of both ends, beside iperf3 -u -l 1448 at the same payload rate over the same interfaces.
departures  the same at 0.1, 1 and 10 Gbit/s: how long rests lasted (p50, p99), beside bare ppolls of as long in the same run:
            packets leave no later than that after their time. (`idle: poll`: `scripts/bench pacer`.)
wan         five appliances over sluice-wanem, all ports af_packet over veth, 100 Mbit/s each, 60 ms, 0.1 %; a default job to
            four; the same in virtual time; CPU of all.

    scripts/bench idle [PART…] [--build DIRECTORY] [--seconds S] [--json FILE]

Asked: idle <= 2, 2, 3 % (af_packet, tap), 5 % (memif), 0.5 % (plain); at 100 Mbit/s the sender at most 2 times, the receiver 3 times iperf3's CPU,
both at most 2,500 wakes a second, plain at most 0.8 and 0.95 of af_packet's CPU; p99 of rests at most 1.3 times the bare ppoll's; wan at least 0.8 of virtual time's goodput, and the
appliances at most 1.2 CPUs together. Figures count on a machine that is not busy. Needs root. Exit status 1: one is missed.
"""
import argparse
import contextlib
import ctypes
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time

from bench_lan import PLAIN, ROOT, Sites, job_run, program, write_yaml
from namespaces import Lan
from processes import start, stop
from wan_sites import WanSites

PARTS = ["idle", "rate", "departures", "wan"]
WIRE_SHARE = 1408 / 1540  # payload of what a full packet takes
SETTLE_S = 4  # the first trains, which know nothing yet, are over
WAN_SITES, WAN_BYTES = 5, 200_000_000
WAN = {"name": "wan", "nodes": {f"s{number}": {"uplink": "100Mbps", "downlink": "100Mbps"} for number in range(WAN_SITES)},
       "links": {"default": {"owd": "30ms", "loss": "0.1%", "rate": "100Mbps"}}}


class Host:
    """CPU and voluntary switches of a process over a span of time; CPU as the scheduler counts it: who wakes with the timer's ticks
    and is gone before the next one is charged whole ticks, or none, by /proc/PID/stat."""

    def __init__(self, pid):
        self.pid = pid

    def __enter__(self):
        self.at, self.cpu, self.wakes = time.monotonic(), self._cpu_s(), self._switches()
        return self

    def __exit__(self, *_):
        span = time.monotonic() - self.at
        self.cpu, self.wakes = (self._cpu_s() - self.cpu) / span, (self._switches() - self.wakes) / span

    def _cpu_s(self):
        found = 0
        for task in os.listdir(f"/proc/{self.pid}/task"):
            with open(f"/proc/{self.pid}/task/{task}/schedstat", encoding="ascii") as file:
                found += int(file.read().split()[0])
        return found / 1e9

    def _switches(self):
        with open(f"/proc/{self.pid}/status", encoding="ascii") as file:
            return next(int(line.split()[1]) for line in file if line.startswith("voluntary"))


class Judge:
    def __init__(self):
        self.rows, self.missed = [], []

    def row(self, name, value, unit, limit=None, least=False):
        good = limit is None or (value >= limit if least else value <= limit)
        asked = "" if limit is None else f" (asked {'>=' if least else '<='} {limit:g})"
        print(f"{'' if good else 'MISS '}{name}: {value:.4g} {unit}{asked}", flush=True)
        self.rows.append({"name": name, "value": value, "unit": unit, "limit": limit})
        if not good:
            self.missed.append(name)


class Labs(Sites):
    """As bench lan's, with what these parts set otherwise."""

    def __init__(self, options, directory, lan, more=None, **values):
        values = {"receivers": 1, "link": "af_packet", "rate": "100Mbps", "size": 0, **values}
        super().__init__(argparse.Namespace(**values), options.build, directory, lan)
        self.more = more or {}

    def node_file(self, number, name):
        return {**super().node_file(number, name), **self.more}


def measured(labs, seconds):
    """Of each appliance: CPU, wakes a second."""
    with contextlib.ExitStack() as stack:
        hosts = [stack.enter_context(Host(process.pid)) for process in labs.processes[:len(labs.names)]]
        time.sleep(seconds)
    return hosts


# ---- idle ----

def part_idle(options, directory, judge):
    for peers, limit in ((1, 0.02), (10, 0.03)):
        with Lan(peers + 1, f"sluice-idle-{os.getpid()}") as lan, \
                Labs(options, directory, lan, {"memory": {"hugepages": False, "buffer": "32MB"}}, receivers=peers) as labs:
            hosts = measured(labs, options.seconds)
            judge.row(f"idle, af_packet, {peers} peers", 100 * hosts[0].cpu, "% of a CPU", 100 * limit)
            judge.row(f"idle, af_packet, {peers} peers, wakes", hosts[0].wakes, "/s")
    with Labs(options, directory, None, link="memif") as labs:
        judge.row("idle, memif", 100 * max(host.cpu for host in measured(labs, options.seconds)), "% of a CPU", 5)
    with Lan(2, f"sluice-idle-{os.getpid()}") as lan:
        lan.give_addresses(PLAIN)
        with Labs(options, directory, lan, link="plain") as labs:
            time.sleep(SETTLE_S)
            judge.row("idle, plain", 100 * measured(labs, options.seconds)[0].cpu, "% of a CPU", 0.5)
    with Labs(options, directory, None, receivers=0, link="tap") as labs:
        judge.row("idle, tap", 100 * measured(labs, options.seconds)[0].cpu, "% of a CPU", 2)


# ---- rate ----

def iperf(lan, payload_bps, seconds, directory):
    """CPU of sender and receiver, as iperf3 tells it."""
    processes = []
    try:
        start(processes, f"{directory}/iperf.log", *lan.inside(1, "iperf3", "-s", "-1"))
        time.sleep(0.5)
        run = subprocess.run(lan.inside(0, "iperf3", "-J", "-u", "-l", "1448", "-b", str(int(payload_bps)), "-t", str(seconds),
                                        "-c", f"{PLAIN}.2"), capture_output=True, text=True, check=True)
        cpus = json.loads(run.stdout)["end"]["cpu_utilization_percent"]
        return cpus["host_total"] / 100, cpus["remote_total"] / 100
    finally:
        stop(processes)


def transfer(labs, directory, bps, seconds):
    """A job that lasts a second longer than is measured: CPU and wakes of both ends."""
    payload, size = os.path.join(directory, "payload"), int(bps * WIRE_SHARE / 8 * (seconds + 2))
    with open(payload, "wb") as file:
        for _ in range(0, size, 1 << 20):
            file.write(os.urandom(1 << 20))
    labs.options.size = size
    path = os.path.join(directory, "job.yaml")
    write_yaml(path, {"name": "j", "source": "s0", "to": "all", "file": payload, "directory": "in", "exists": "replace"})
    run = subprocess.Popen([program(labs.build, "app/ctl/sluicectl"), "-s", f"{directory}/s0.sock", "job", "run", path],
                           stdout=subprocess.PIPE, text=True)
    time.sleep(1)
    hosts = measured(labs, seconds)
    if run.wait(120) != 0:
        sys.exit(f"bench: the job failed: {run.stdout.read()[-1000:]}")
    return hosts


def part_rate(options, directory, judge):
    for rate, bps, judged in (("100Mbps", 100e6, True), ("1Gbps", 1e9, False)):
        used = {}
        with Lan(2, f"sluice-idle-{os.getpid()}") as lan:
            lan.give_addresses(PLAIN)
            for link in ("af_packet", "plain"):
                with Labs(options, directory, lan, rate=rate, link=link) as labs:
                    used[link] = transfer(labs, directory, bps, options.seconds)
            beside = iperf(lan, bps * WIRE_SHARE, options.seconds, directory)
        for end, index, times, share in (("sender", 0, 2, 0.8), ("receiver", 1, 3, 0.95)):
            reference = beside[index]
            for link, hosts in used.items():
                host = hosts[index]
                judge.row(f"{rate}, {link}, {end}", 100 * host.cpu, "% of a CPU")
                judge.row(f"{rate}, {link}, {end}, beside iperf3's {100 * reference:.1f} %", host.cpu / reference, "times",
                          times if judged else None)
                judge.row(f"{rate}, {link}, {end}, wakes", host.wakes, "/s", 2500 if judged else None)
            judge.row(f"{rate}, plain, {end}, beside af_packet", used["plain"][index].cpu / used["af_packet"][index].cpu, "times",
                      share if judged else None)


# ---- departures ----

def bare_ppoll_ns(for_ns, count=2000):
    """How long ppoll(NULL, 0, for_ns) takes, sorted."""
    libc = ctypes.CDLL(None)

    class Timespec(ctypes.Structure):
        _fields_ = [("s", ctypes.c_long), ("ns", ctypes.c_long)]

    libc.prctl(29, 1, 0, 0, 0)  # PR_SET_TIMERSLACK
    span, found = Timespec(0, int(for_ns)), []
    for _ in range(count):
        begun = time.monotonic_ns()
        libc.ppoll(None, 0, ctypes.byref(span), None)
        found.append(time.monotonic_ns() - begun)
    return sorted(found)


def part_departures(options, directory, judge):
    for rate, bps, gather_ns in (("100Mbps", 100e6, 1_000_000), ("1Gbps", 1e9, 312_500), ("10Gbps", 10e9, 98_800)):
        with Lan(2, f"sluice-idle-{os.getpid()}") as lan, Labs(options, directory, lan, rate=rate) as labs:
            transfer(labs, directory, min(bps, 1e9), options.seconds)
            worker = json.loads(labs.ask("--json", "show", "ports").stdout)["worker"]
        bare = bare_ppoll_ns(gather_ns)
        judge.row(f"departures, {rate}: rests, p50", worker["rest_ns_p50"] / 1000, "us")
        judge.row(f"departures, {rate}: rests, p99", worker["rest_ns_p99"] / 1000, "us")
        judge.row(f"departures, {rate}: bare ppoll of {gather_ns / 1000:.0f} us, p99", bare[len(bare) * 99 // 100] / 1000, "us")


# ---- wan ----

def part_wan(options, directory, judge):
    write_yaml(os.path.join(directory, "virtual.yaml"), {**WAN, "limit": "120s", "jobs": [
        {"name": "j", "source": "s0", "to": "all", "size": WAN_BYTES, "sparse": True, "hash": "none"}]})
    run = subprocess.run([program(options.build, "app/sim/sluice-sim"), f"{directory}/virtual.yaml", "--json"],
                         capture_output=True, text=True, check=True)
    virtual_bps = json.loads(run.stdout)["goodput_bps"]
    ends = argparse.Namespace(receivers=WAN_SITES - 1, link="af_packet", rate="100Mbps", size=WAN_BYTES)
    payload, found, cpus = os.path.join(directory, "payload"), [], []
    with open(payload, "wb") as file:
        for _ in range(0, WAN_BYTES, 1 << 20):
            file.write(os.urandom(1 << 20))
        file.truncate(WAN_BYTES)
    with Lan(WAN_SITES, f"sluice-idle-{os.getpid()}") as lan, WanSites(ends, options.build, directory, lan, WAN) as labs:
        for number in range(3):
            with contextlib.ExitStack() as stack:
                emulator = stack.enter_context(Host(labs.emulator[0].pid))
                before, begun = sum(labs.cpu_s()), time.monotonic()
                job = job_run(labs.options, labs, payload, number)
                cpus.append((sum(labs.cpu_s()) - before) / (time.monotonic() - begun))
            found.append(job["bps"])
    judge.row("wan, five appliances, of virtual time's goodput", statistics.median(found) / virtual_bps, "", 0.8, least=True)
    judge.row("wan, goodput to each of four", statistics.median(found) / 1e6, "Mbit/s")
    judge.row("wan, all appliances", statistics.median(cpus), "CPUs", 1.2)
    judge.row("wan, sluice-wanem", emulator.cpu, "CPUs")


def main(arguments):
    parser = argparse.ArgumentParser(prog="scripts/bench idle", description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("parts", nargs="*", choices=[*PARTS, []], metavar="PART")
    parser.add_argument("--build", default=os.path.join(ROOT, "build"), metavar="DIRECTORY")
    parser.add_argument("--seconds", type=int, default=8)
    parser.add_argument("--json", metavar="FILE")
    options = parser.parse_args(arguments)
    options.build = os.path.abspath(options.build)
    judge = Judge()
    parts = {"idle": part_idle, "rate": part_rate, "departures": part_departures, "wan": part_wan}
    for part in options.parts or PARTS:
        print(f"== {part}, load {os.getloadavg()[0]:.1f}")
        with tempfile.TemporaryDirectory(prefix="sluice-idle.", dir="/dev/shm") as directory:
            try:
                parts[part](options, directory, judge)
            except PermissionError as error:
                sys.exit(f"bench: idle needs root, for network namespaces: {error}")
    if options.json:
        with open(options.json, "w", encoding="utf-8") as file:
            json.dump({"rows": judge.rows, "missed": judge.missed}, file, indent=1)
    print("idle: " + ("missed: " + "; ".join(judge.missed) if judge.missed else "every asked figure reached"))
    return 1 if judge.missed else 0
