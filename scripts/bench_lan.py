"""scripts/bench lan: default jobs between hosts on a plain LAN, by real processes and without any emulation.

A namespace for each host, joined by a bridge; an appliance in each, whose port is what a user gets who names no device, a
UDP socket; a planner at the source. One job after the other sends a file in memory to all receivers, with nothing set but
names. Printed for each run: seconds from the order to the end, the rate that each receiver got, the lowest second of any
between its first and last data, CPUs taken by source, worst receiver and disk threads, and packets lost by the way.

Then rsync (its daemon, no checksums beyond its own) and iperf3, over the same interfaces, source to all receivers at once.

    scripts/bench lan [--runs N] [--receivers N] [--size BYTES] [--rate RATE] [--tbf] [--mtu BYTES] [--hogs]
                      [--link plain|af_packet|memif] [--beside af_packet|plain] [--build DIRECTORY] [--base DIRECTORY]
                      [--no-references] [--json FILE]

--hogs: beside a busy loop on every CPU. --base: another build, run by run beside it; --beside: this build by another link,
in the same way. --tbf: each host sends no more than --rate. --link memif: one receiver, no namespaces and no references.
Asked: all runs end verified; the longest takes at most 2 times the median (3 beside hogs); no second below 1 % of the median
of all; with --base, the median rate at least 0.9 of that of base's faster half.
Run it before a change of lib/edge or lib/dpdk lands. Needs root. Exit status 1: a figure is missed, or a run failed.
"""
import argparse
import contextlib
import json
import os
import signal
import statistics
import subprocess
import sys
import tempfile
import threading
import time

import yaml

from namespaces import Lan
from processes import start, stop, wait_for_line
from site_keys import public_key

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
SAMPLE_S = 0.1
SECOND_SAMPLES = 10
LONGEST, LONGEST_HOGS = 2.0, 3.0
SECOND_MIN = 0.01
BASE_MIN = 0.9
RUN_S = 300
PLAIN, DEVICE = "10.67.0", "10.66.0"  # networks of the hosts' own addresses, and of appliances with a device
TBF_BURST = "128k"  # at 15k tbf cuts each piece of up to 64 KB that leaves in one
IPERF_S = 5
DATA_BYTES = 100_000  # in a sample: more than acks and signs of life are
HEADER = ["build", "run", "s", "Mbit/s each", "lowest second", "CPUs: source", "receiver", "lost", "load"]


def write_yaml(path, content):
    with open(path, "w", encoding="utf-8") as file:
        yaml.safe_dump(content, file, sort_keys=False)


def program(build, name):
    return os.path.join(build, name)


class Sites:
    """The appliances of one build, and the source's planner."""

    def __init__(self, options, build, directory, lan, link=None):
        self.options, self.build, self.directory, self.lan, self.link = options, build, directory, lan, link or options.link
        self.names = [f"s{number}" for number in range(options.receivers + 1)]
        self.processes = []

    def port(self, number):
        own = {"rate": self.options.rate, "mtu": getattr(self.options, "mtu", 1500)}
        if self.link == "plain":
            return {"address": f"{PLAIN}.{number + 1}", **own}
        role = "server" if number == 0 else "client"
        devices = {"af_packet": "net_af_packet0,iface=eth1", "tap": f"net_tap0,iface=sluice{os.getpid() % 10000}",
                   "memif": f"net_memif0,role={role},socket={self.directory}/memif.sock,socket-abstract=no"}
        return {"device": devices[self.link], "address": f"{DEVICE}.{number + 1}/24", **own}

    def __enter__(self):
        try:
            for number, name in enumerate(self.names):
                self._start(number, name)
            log = os.path.join(self.directory, "planner.log")
            start(self.processes, log, program(self.build, "planner/sluice-planner"), "--ring", f"{self.directory}/s0.ring")
            time.sleep(2)  # they find each other
        except BaseException:
            self.__exit__()
            raise
        return self

    def _start(self, number, name):
        home = os.path.join(self.directory, name)
        os.makedirs(home, exist_ok=True)
        write_yaml(f"{home}.yaml", self.node_file(number, name))
        command = [program(self.build, "app/sluice/sluice"), "-c", f"{home}.yaml"]
        process = start(self.processes, f"{home}.log", *(self.lan.inside(number, *command) if self.lan else command))
        wait_for_line(process, f"{home}.log", f"sluice: {name} ready")

    def key_file(self, name):
        return os.path.join(os.path.abspath(self.directory), f"{name}.key")

    def key(self, name):
        return public_key(program(self.build, "app/ctl/sluicectl"), self.key_file(name))

    def node_file(self, number, name):
        home = os.path.join(self.directory, name)
        ring = {"ring": f"{self.directory}/s0.ring"} if number == 0 else {}
        keys = {each: self.key(each) for each in self.names}
        return {
            "node": {"name": name, "key_file": self.key_file(name)},
            "ports": [self.port(number)],
            "peers": [{"name": other, "address": f"{PLAIN if self.link == 'plain' else DEVICE}.{index + 1}",
                       "key": keys[other]}
                      for index, other in enumerate(self.names) if other != name],
            "directories": [{"name": "in", "path": home, "sources": "any"}],
            "memory": {"hugepages": False},
            "control": {"socket": f"{home}.sock", **ring}}

    def __exit__(self, *_):
        stop(self.processes)

    def ask(self, *words, number=0):
        command = [program(self.build, "app/ctl/sluicectl"), "-s", f"{self.directory}/s{number}.sock", *words]
        return subprocess.run(command, capture_output=True, text=True, timeout=RUN_S, check=False)

    def edges(self, number):
        return json.loads(self.ask("--json", "show", "edges", number=number).stdout)

    def cpu_s(self):
        return [cpu_s(process.pid) for process in self.processes[:len(self.names)]]


def cpu_s(pid):
    """CPU time so far; `ip netns exec` has become the program."""
    with open(f"/proc/{pid}/stat", encoding="utf-8") as file:
        fields = file.read().rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


class Watch(threading.Thread):
    """Bytes that each host had got, every 100 ms."""

    def __init__(self, lan):
        super().__init__(daemon=True)
        self.lan, self.samples, self.over = lan, [], threading.Event()

    def run(self):
        with self.lan.ports() as read:
            while not self.over.wait(SAMPLE_S):
                self.samples.append((time.monotonic(), read()))

    def seconds_bps(self, host):
        """Rates over each span of a second between the first and the last data."""
        rows = self.samples
        moved = [index for index in range(1, len(rows)) if rows[index][1][host] - rows[index - 1][1][host] > DATA_BYTES]
        if not moved:
            return []
        spans = range(moved[0] - 1, moved[-1] - SECOND_SAMPLES + 1)
        return [(rows[at + SECOND_SAMPLES][1][host] - rows[at][1][host]) * 8 /
                (rows[at + SECOND_SAMPLES][0] - rows[at][0]) for at in spans]


def lost(sites):
    """Packets that edges of any site have lost so far."""
    edges = [row for number in range(len(sites.names)) for row in sites.edges(number).get("edges", [])]
    return sum(value for row in edges for name, value in row.items() if name == "lost_packets")


def job_run(options, sites, payload, number):
    path = os.path.join(sites.directory, "job.yaml")
    write_yaml(path, {"name": f"j{number}", "source": "s0", "to": "all", "file": payload, "directory": "in",
                      "exists": "replace"})
    watch = Watch(sites.lan) if sites.lan else None
    if watch:
        watch.start()
    load, cpu_before, lost_before = os.getloadavg()[0], sites.cpu_s(), lost(sites)
    begun = time.monotonic()
    run = sites.ask("job", "run", path)
    lasted = time.monotonic() - begun
    if run.returncode != 0:
        sys.exit(f"bench: the job failed: {run.stdout[-1000:]} {run.stderr[-1000:]}")
    cpus = [(after - before) / lasted for before, after in zip(cpu_before, sites.cpu_s())]
    seconds = []
    if watch:
        watch.over.set()
        watch.join()
        seconds = [watch.seconds_bps(host) for host in range(1, options.receivers + 1)]
    return {"s": lasted, "bps": options.size * 8 / lasted, "seconds_bps": seconds, "cpus_source": cpus[0],
            "cpus_receiver": max(cpus[1:]), "lost": lost(sites) - lost_before, "load": load}


def lowest_bps(run):
    return min((rate for seconds in run["seconds_bps"] for rate in seconds), default=None)


def mbps(value):
    return "-" if value is None else f"{value / 1e6:.0f}"


def row_of(build, number, run):
    return [build, number, f"{run['s']:.1f}", mbps(run["bps"]), mbps(lowest_bps(run)), f"{run['cpus_source']:.2f}",
            f"{run['cpus_receiver']:.2f}", run["lost"], f"{run['load']:.1f}"]


def variants(options):
    """Name → build and link."""
    found = {"build": (options.build, options.link)}
    if options.base:
        found["base"] = (options.base, options.link)
    if options.beside:
        found[options.beside] = (options.build, options.beside)
    return found


def run_builds(options, payload, directory, lan):
    """Variant → its runs. Appliances live through all runs, unless there are several variants: they share the ports."""
    wanted = variants(options)
    found = {name: [] for name in wanted}
    with contextlib.ExitStack() as stack:
        alone = None
        if len(wanted) == 1:
            alone = stack.enter_context(Sites(options, options.build, directory, lan, options.link))
        for number in range(1, options.runs + 1):
            for name, (build, link) in wanted.items():
                with contextlib.nullcontext(alone) if alone else Sites(options, build, directory, lan, link) as sites:
                    run = job_run(options, sites, payload, number)
                found[name].append(run)
                print("  ".join(str(cell).rjust(len(head)) for cell, head in zip(row_of(name, number, run), HEADER)),
                      flush=True)
    return found


# ---- references ----

def together_s(commands):
    """Until the last of them has ended."""
    begun = time.monotonic()
    runs = [subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) for command in commands]
    if any(run.wait(RUN_S) != 0 for run in runs):
        sys.exit("bench: a reference failed: " + " ".join(commands[0]))
    return time.monotonic() - begun


def rsync_bps(options, payload, directory, lan, processes):
    for number in range(1, options.receivers + 1):
        path = os.path.join(directory, f"rsyncd{number}")
        with open(path + ".conf", "w", encoding="utf-8") as file:
            file.write(f"use chroot = no\nuid = {os.getuid()}\ngid = {os.getgid()}\n[in]\npath = {directory}/s{number}\n"
                       "read only = no\n")
        start(processes, path + ".log", *lan.inside(number, "rsync", "--daemon", "--no-detach", "--config", path + ".conf",
                                                    "--port", "8730"))
    time.sleep(0.5)
    spent = together_s([lan.inside(0, "rsync", "--whole-file", "--inplace", "--ignore-times", payload,
                                   f"rsync://{PLAIN}.{number + 1}:8730/in/reference")
                        for number in range(1, options.receivers + 1)])
    return options.size * 8 / spent


def iperf_bps(options, directory, lan, processes):
    """What each receiver got, at least, by TCP."""
    for number in range(1, options.receivers + 1):
        start(processes, f"{directory}/iperf{number}.log", *lan.inside(number, "iperf3", "-s"))
    time.sleep(0.5)
    runs = [subprocess.Popen(lan.inside(0, "iperf3", "-J", "-t", str(IPERF_S), "-c", f"{PLAIN}.{number + 1}"),
                             stdout=subprocess.PIPE, text=True) for number in range(1, options.receivers + 1)]
    return min(json.loads(run.communicate()[0])["end"]["sum_received"]["bits_per_second"] for run in runs)


def references(options, payload, directory, lan):
    processes = []
    try:
        found = {"rsync_bps": rsync_bps(options, payload, directory, lan, processes),
                 "iperf3_bps": iperf_bps(options, directory, lan, processes)}
    finally:
        stop(processes)
    print(f"beside it, each of {options.receivers}: rsync {mbps(found['rsync_bps'])} Mbit/s, "
          f"iperf3 {mbps(found['iperf3_bps'])} Mbit/s")
    return found


# ---- verdict ----

def judge(options, found):
    runs = found["build"]
    seconds = [run["s"] for run in runs]
    longest, allowed = max(seconds) / statistics.median(seconds), LONGEST_HOGS if options.hogs else LONGEST
    all_bps = [rate for run in runs for host in run["seconds_bps"] for rate in host]
    missed = []
    summary = f"{len(runs)} runs, median {statistics.median(seconds):.1f} s, longest {longest:.2f} times that"
    if longest > allowed:
        missed.append(f"the longest run takes at most {allowed:.0f} times the median")
    if options.link != "memif" and not all_bps:
        missed.append("data for a second and more: give a larger --size")
    elif all_bps:
        share = min(all_bps) / statistics.median(all_bps)
        summary += f"; lowest second {share:.3f} of the median of all"
        if share < SECOND_MIN:
            missed.append(f"no second below {SECOND_MIN:.0%} of the median")
    if options.beside:
        shares = [other["s"] / own["s"] for own, other in zip(runs, found[options.beside])]
        summary += f"; {statistics.median(shares):.2f} times the rate of {options.beside} (median of pairs)"
    if "base" in found:
        fast = sorted(run["s"] for run in found["base"])[:(len(found["base"]) + 1) // 2]
        share = statistics.median(fast) / statistics.median(seconds)
        summary += f"; {share:.2f} of base's faster half"
        if share < BASE_MIN:
            missed.append(f"at least {BASE_MIN} of base's faster half")
    return summary, missed


def parse(arguments):
    parser = argparse.ArgumentParser(prog="scripts/bench lan", description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runs", type=int, default=10)
    parser.add_argument("--receivers", type=int, default=3)
    parser.add_argument("--size", type=int, default=500_000_000, metavar="BYTES")
    parser.add_argument("--rate", default="10Gbps", help="of the ports, as told (10Gbps)")
    parser.add_argument("--hogs", action="store_true")
    parser.add_argument("--tbf", action="store_true", help="each host sends --rate at most")
    parser.add_argument("--mtu", type=int, default=1500)
    parser.add_argument("--link", choices=["plain", "af_packet", "memif"], default="plain")
    parser.add_argument("--beside", choices=["af_packet", "plain"])
    parser.add_argument("--build", default=os.path.join(ROOT, "build"), metavar="DIRECTORY")
    parser.add_argument("--base", metavar="DIRECTORY")
    parser.add_argument("--no-build", action="store_true", help="take build/ as it is")
    parser.add_argument("--no-references", action="store_true")
    parser.add_argument("--json", metavar="FILE")
    options = parser.parse_args(arguments)
    if options.link == "memif" and options.receivers != 1:
        parser.error("--link memif joins two: --receivers 1")
    options.build = os.path.abspath(options.build)
    options.no_build |= options.build != os.path.join(ROOT, "build")
    options.base = options.base and os.path.abspath(options.base)
    return options


@contextlib.contextmanager
def hogs(wanted):
    """A busy loop for each CPU; they end with this process."""
    command = ["setpriv", "--pdeathsig", "KILL", "sh", "-c", "while :; do :; done"]
    processes = [subprocess.Popen(command) for _ in range(os.cpu_count() if wanted else 0)]
    try:
        yield
    finally:
        for process in processes:
            process.kill()
            process.wait()


def main(options):
    for number in (signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, lambda *_: sys.exit(1))  # namespaces, appliances and files go on every way out
    memory = "/dev/shm" if os.path.isdir("/dev/shm") else None
    with contextlib.ExitStack() as stack:
        directory = stack.enter_context(tempfile.TemporaryDirectory(prefix="sluice-lan.", dir=memory))
        lan = None
        if options.link != "memif":
            try:
                lan = stack.enter_context(Lan(options.receivers + 1, f"sluice-lan-{os.getpid()}", options.mtu))
            except PermissionError as error:
                sys.exit(f"bench: lan needs root, for network namespaces: {error}")
            lan.give_addresses(PLAIN)
            if options.tbf:
                lan.limit(options.rate.replace("bps", "bit"), TBF_BURST)
        payload = os.path.join(directory, "payload")
        with open(payload, "wb") as file:
            for _ in range(0, options.size, 1 << 20):
                file.write(os.urandom(1 << 20))
            file.truncate(options.size)
        print("  ".join(HEADER))
        with hogs(options.hogs):
            found = run_builds(options, payload, directory, lan)
            beside = references(options, payload, directory, lan) if lan and not options.no_references else {}
    summary, missed = judge(options, found)
    print(f"lan: {summary}")
    if options.json:
        with open(options.json, "w", encoding="utf-8") as file:
            json.dump({"runs": found, "beside": beside, "summary": summary, "missed": missed}, file, indent=1)
    for miss in missed:
        print(f"missed: {miss}")
    return 1 if missed else 0
