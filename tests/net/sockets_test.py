#!/usr/bin/env python3
"""Ports that are UDP sockets of the kernel: IPv6 and link-local addresses, workers of their own, two of one node, an end
without a farewell, an address that goes and comes back, and what does not start. Usage: sockets_test.py SLUICE
SLUICE_PLANNER SLUICECTL"""

import glob
import os
import random
import shutil
import subprocess
import sys
import time

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import lab  # noqa: E402

lab.enter_namespace()

FILE_BYTES = 4_000_000
LOOPBACK = {"source": "127.0.0.1", "target": "127.0.0.2"}


class Pair:
    """A source, its planner and a target, whose ports are as `ports` says; `more` goes to both."""

    def __init__(self, programs, ports, addresses, namespaces=None, **more):
        self.directory = lab.temporary_directory()
        self.sites = {name: lab.Appliance(programs[0], self.directory, name, {
            "ports": ports[name],
            "peers": [{"name": other, "address": addresses[other]} for other in addresses if other != name],
            **more}, (namespaces or {}).get(name)) for name in addresses}
        self.source, self.target = self.sites["source"], self.sites["target"]
        self.planner = lab.planner_of(programs[1], self.source)
        self.up()

    def up(self):
        lab.wait_until("peers", lambda: all(site.show("peers")["peers"][0]["state"] == "up" for site in self.sites.values()))

    def send(self, name="big"):
        content = random.Random(name).randbytes(FILE_BYTES)
        path = os.path.join(self.directory, name)
        with open(path, "wb") as file:
            file.write(content)
        text = f"name: {name}\nsource: source\nto: all\nfile: {path}\ndirectory: incoming\n"
        self.source.ask(command="job run", path=os.path.join(self.directory, "job.yaml"), text=text)

    def arrives(self, name="big"):
        def job():
            return next(job for job in self.source.show("jobs")["jobs"] if job["name"] == name)
        lab.wait_until("the job", lambda: job()["state"] in ("done", "failed", "cancelled"))
        assert job()["state"] == "done", job()
        with open(os.path.join(self.target.incoming, name), "rb") as file:
            assert file.read() == random.Random(name).randbytes(FILE_BYTES), "the copy differs"

    def end(self):
        self.planner.stop()
        for name, site in self.sites.items():
            assert site.stop() == 0, f"{name}: {site.text()[-1500:]}"


def loopback(programs, **more):
    return Pair(programs, {name: [{"address": address}] for name, address in LOOPBACK.items()}, LOOPBACK, **more)


def over_ipv6(*programs):
    addresses = {"source": "fd00:9::1", "target": "fd00:9::2"}
    for address in addresses.values():
        lab.run("ip", "-6", "address", "add", address + "/128", "dev", "lo")
    pair = Pair(programs, {name: [{"address": address}] for name, address in addresses.items()}, addresses)
    pair.send()
    pair.arrives()
    pair.end()


def over_link_local_addresses(*programs):
    addresses = {"source": "fe80::1", "target": "fe80::2"}
    lab.run("ip", "link", "add", "one", "type", "veth", "peer", "name", "two")
    namespaces = {name: lab.Namespace() for name in addresses}
    for (name, namespace), interface in zip(namespaces.items(), ("one", "two")):
        lab.run("ip", "link", "set", interface, "netns", f"/proc/{os.getpid()}/fd/{namespace.file.fileno()}")
        with namespace.inside():
            lab.run("ip", "link", "set", interface, "up")
            lab.run("ip", "-6", "address", "add", addresses[name] + "/64", "dev", interface, "nodad")
    ports = {"source": [{"address": "fe80::1%one"}], "target": [{"address": "fe80::2%two"}]}
    pair = Pair(programs, ports, addresses, namespaces)
    pair.send()
    pair.arrives()
    pair.end()


def with_a_worker_of_its_own(*programs):
    cpus = sorted(os.sched_getaffinity(0))[:2]
    if len(cpus) < 2:
        print("     skipped: one CPU")
        return
    pair = loopback(programs, lcores=cpus)
    assert pair.source.show("ports")["ports"][0]["worker"] == 1
    pair.send()
    pair.arrives()
    pair.end()


def by_polling_and_by_yielding(*programs):
    for idle in ("poll", "yield"):
        pair = loopback(programs, idle=idle)
        pair.send()
        pair.arrives()
        pair.end()


def two_of_one_node(*programs):
    directory = lab.temporary_directory()
    sites = {
        "hub": lab.Appliance(programs[0], directory, "hub", {
            "ports": [{"address": "127.0.0.11"}, {"address": "127.0.0.12"}],
            "peers": [{"name": "left", "address": "127.0.0.13", "port": 0}, {"name": "right", "address": "127.0.0.14", "port": 1}]}),
        "left": lab.Appliance(programs[0], directory, "left", {
            "ports": [{"address": "127.0.0.13"}], "peers": [{"name": "hub", "address": "127.0.0.11"}]}),
        "right": lab.Appliance(programs[0], directory, "right", {
            "ports": [{"address": "127.0.0.14"}], "peers": [{"name": "hub", "address": "127.0.0.12"}]}),
    }
    lab.wait_until("peers", lambda: all(peer["state"] == "up" for peer in sites["hub"].show("peers")["peers"]))
    for site in sites.values():
        assert site.stop() == 0, site.text()


def killed_and_started_again(*programs):
    """No file is to be removed by hand."""
    pair = loopback(programs)
    for site in pair.sites.values():
        site.kill()
    for site in pair.sites.values():
        site.start()
    pair.planner = lab.planner_of(programs[1], pair.source)
    pair.up()
    pair.send()
    pair.arrives()
    pair.end()


def an_address_that_goes_and_comes_back(*programs):
    addresses = {"source": "10.77.0.1", "target": "10.77.0.2"}
    for address in addresses.values():
        lab.run("ip", "address", "add", address + "/32", "dev", "lo")
    pair = Pair(programs, {name: [{"address": address}] for name, address in addresses.items()}, addresses)
    lab.run("ip", "address", "del", addresses["source"] + "/32", "dev", "lo")
    lab.wait_until("a count", lambda: pair.source.counters()["port.tx_drop_no_route"] > 0)
    lab.wait_until("the link", lambda: pair.source.show("ports")["ports"][0]["link"] == "down")
    lab.run("ip", "address", "add", addresses["source"] + "/32", "dev", "lo")
    pair.up()
    pair.send()
    pair.arrives()
    assert pair.source.show("ports")["ports"][0]["link"] == "up"
    pair.end()


def a_narrow_way_to_one_stalls_nobody(*programs):
    """A queue of this host towards one peer is full; what goes to the other leaves meanwhile."""
    if shutil.which("tc") is None:
        print("     skipped: there is no tc")
        return
    directory = lab.temporary_directory()
    addresses = {"source": ("10.78.1.1", "10.78.2.1"), "wide": ("10.78.1.2",), "narrow": ("10.78.2.2",)}
    namespaces = {name: lab.Namespace() for name in addresses}
    for number, name in enumerate(("wide", "narrow"), 1):
        lab.run("ip", "link", "add", f"near{number}", "type", "veth", "peer", "name", f"far{number}")
        for end, host, address in (f"near{number}", "source", f"10.78.{number}.1"), (f"far{number}", name, f"10.78.{number}.2"):
            lab.run("ip", "link", "set", end, "netns", f"/proc/{os.getpid()}/fd/{namespaces[host].file.fileno()}")
            with namespaces[host].inside():
                lab.run("ip", "address", "add", address + "/24", "dev", end)
                lab.run("ip", "link", "set", end, "up")
                lab.run("ip", "route", "replace", "default", "dev", end)
    with namespaces["source"].inside():
        lab.run("tc", "qdisc", "add", "dev", "near2", "root", "tbf", "rate", "1mbit", "burst", "16k", "limit", "30k")
        lab.run("ip", "address", "add", "10.78.9.1/32", "dev", "lo")
        lab.run("ip", "link", "set", "lo", "up")
    own = {"source": "10.78.9.1", "wide": "10.78.1.2", "narrow": "10.78.2.2"}
    with namespaces["source"].inside():
        lab.run("ip", "route", "replace", "default", "dev", "near1")
    sites = {name: lab.Appliance(programs[0], directory, name, {
        "ports": [{"address": own[name]}],
        "peers": [{"name": peer, "address": own[peer]} for peer in own
                  if peer != name and "source" in (peer, name)]}, namespaces[name]) for name in own}
    planner = lab.planner_of(programs[1], sites["source"])
    lab.wait_until("peers", lambda: all(peer["state"] == "up" for peer in sites["source"].show("peers")["peers"]))
    path = os.path.join(directory, "file")
    with open(path, "wb") as file:
        file.write(random.Random("narrow").randbytes(20_000_000))
    for to, rate in (("narrow", "100Mbps"), ("wide", "80Mbps")):
        text = (f"name: to-{to}\nsource: source\nto: [{to}]\nfile: {path}\ndirectory: incoming\nrate: {rate}\n"
                f"plan: {{tree: [[source, {to}]]}}\n")
        sites["source"].ask(command="job run", path=os.path.join(directory, "job.yaml"), text=text)

    def job(name):
        return next(job for job in sites["source"].show("jobs")["jobs"] if job["name"] == name)
    began = time.monotonic()
    lab.wait_until("the job of the wide way", lambda: job("to-wide")["state"] in ("done", "failed"))
    assert job("to-wide")["state"] == "done", job("to-wide")
    assert job("to-narrow")["state"] == "running", job("to-narrow")
    counters = sites["source"].counters()
    print(f"     {time.monotonic() - began:.1f} s, {counters['port.tx_full']} times full, {counters['port.tx_drop_queue']} lost there")
    assert counters["port.tx_full"] > 0
    planner.stop()
    for site in sites.values():
        site.stop()


def what_does_not_start(*programs):
    pair = loopback(programs)
    rows = (({"address": "127.0.0.1"}, 1, "UDP port 7840 is taken: ss -lunp 'sport = 7840' shows by whom"),
            ({"address": "192.0.2.99"}, 1, "this host does not have that address: ip address shows those that it has"),
            ({"address": "fe80::1%nowhere0"}, 1, "this host has no interface nowhere0"),
            ({"address": "127.0.0.3", "vlan": 7}, 2, "ports[0].vlan: is the host's affair where the port has no device"),
            ({"address": "127.0.0.3", "gateway": "127.0.0.4"}, 2, "ports[0].gateway: is the host's affair"),
            ({"address": "127.0.0.3", "gateway": "127.0.0.4", "gateway_mac": "02:00:00:00:00:01"}, 2, "is the host's affair"),
            ({"address": "fe80::1"}, 2, "link-local, expected with its interface like fe80::1%eth0"),
            ({"address": "127.0.0.3%lo"}, 2, "only link-local addresses"))
    for port, status, said in rows:
        six = port["address"].startswith("fe80")
        try:
            lab.Appliance(programs[0], lab.temporary_directory(), "other", {
                "ports": [port], "peers": [{"name": "peer", "address": "fe80::9" if six else "127.0.0.9"}]})
        except lab.StartFailed as error:
            assert error.status == status and said in str(error), (port, error)
        else:
            raise AssertionError(f"{port} starts")
    pair.end()


def several_on_one_machine(sluice, _, ctl):
    """sluicectl finds the one that runs, and asks which where there are more."""
    if glob.glob("/run/sluice/*.sock") + glob.glob("/var/lib/sluice/*.sock"):
        print("     skipped: this machine may have an appliance of its own")
        return
    home = lab.temporary_directory()
    environment = {"HOME": home, "XDG_RUNTIME_DIR": os.path.join(home, "run"), "PATH": "/usr/bin:/bin"}
    os.makedirs(os.path.join(home, "run", "sluice"))

    def ask(*words):
        out = subprocess.run([ctl, *words, "show", "version"], capture_output=True, text=True, check=False, env=environment)
        return out.returncode, out.stdout + out.stderr
    status, said = ask()
    assert status == 3 and "no appliance is running here" in said and home in said, said
    sites = [lab.Appliance(sluice, lab.temporary_directory(), name, {
        "ports": [{"address": address}], "peers": [{"name": "far", "address": "127.0.0.99"}],
        "control": {"socket": os.path.join(home, "run", "sluice", f"{name}.sock")}})
        for name, address in (("one", "127.0.0.21"), ("two", "127.0.0.22"))]
    status, said = ask()
    assert status == 2 and "several appliances: " in said and "one" in said and "two" in said, said
    assert ask("-n", "one")[0] == 0
    sites[1].kill()  # its socket stays
    assert ask()[0] == 0
    assert sites[0].stop() == 0


CASES = [over_ipv6, over_link_local_addresses, with_a_worker_of_its_own, by_polling_and_by_yielding, two_of_one_node,
         killed_and_started_again, an_address_that_goes_and_comes_back, a_narrow_way_to_one_stalls_nobody, what_does_not_start, several_on_one_machine]


if __name__ == "__main__":
    lab.run("ip", "link", "set", "lo", "up")
    sys.exit(lab.run_cases(CASES, *sys.argv[1:4]))
