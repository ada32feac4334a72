#!/usr/bin/env python3
"""The path's MTU falls and rises while a file crosses it, directly and behind a relay, and between jobs. Longer packets vanish
without a word, as behind a router whose messages are filtered. Usage: mtu_test.py SLUICE SLUICE_PLANNER"""

import json
import os
import random
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import lab  # noqa: E402

lab.enter_namespace()

WIDE, NARROW = 1500, 1400
ADDRESSES = {"source": "10.9.0.1", "relay": "10.9.0.2", "target": "10.9.0.3"}


class Line:
    """Each site is joined to the common switch by a switch of its own, and a line between the two whose MTU may change: so it
    is no interface of the site's that drops what is too long."""

    def __init__(self):
        self.switch("middle")

    def switch(self, name):
        lab.run("ip", "link", "add", name, "type", "bridge")
        lab.quiet(name)
        lab.run("ip", "link", "set", name, "up")

    def plug(self, name):
        namespace = lab.veth(f"{name}0", f"{name}1", WIDE)
        self.switch(f"{name}-own")
        lab.run("ip", "link", "add", f"{name}-line0", "type", "veth", "peer", "name", f"{name}-line1")
        for end, switch in (f"{name}1", f"{name}-own"), (f"{name}-line0", f"{name}-own"), (f"{name}-line1", "middle"):
            lab.quiet(end)
            lab.run("ip", "link", "set", end, "master", switch, "up")
        return namespace


class World:
    """Three sites: source, relay, target, in a row."""

    def __init__(self, program, planner):
        bridge = Line()
        self.directory = lab.temporary_directory()
        self.sites = {name: lab.Appliance(program, self.directory, name, {
            "ports": [lab.port(name, address)],
            "peers": [{"name": other, "address": ADDRESSES[other]} for other in ADDRESSES if other != name],
        }, bridge.plug(name)) for name, address in ADDRESSES.items()}
        self.planner = lab.planner_of(planner, self.sites["source"])
        self.content = random.Random("mtu").randbytes(16_000_000)
        self.path = os.path.join(self.directory, "big")
        with open(self.path, "wb") as file:
            file.write(self.content)
        self.known("source", "relay", WIDE)
        self.known("relay", "target", WIDE)

    def limit(self, name, mtu):
        """Nothing longer comes to this site, or from it."""
        for end in f"{name}-line0", f"{name}-line1":
            lab.run("ip", "link", "set", end, "mtu", str(mtu))

    def known(self, name, peer, mtu):
        def is_known():
            return any(row["name"] == peer and row["path_mtu"] == mtu and row["state"] == "up"
                       for row in self.sites[name].show("peers")["peers"])
        lab.wait_until(f"{name} knows that the path to {peer} takes {mtu}", is_known)

    def begin(self, name):
        job = {"name": name, "as": name, "source": "source", "to": "all", "file": self.path, "directory": "incoming", "rate": "20Mbps",
               "plan": {"tree": [["source", "relay"], ["relay", "target"]]}}
        self.sites["source"].ask(command="job run", path=os.path.join(self.directory, "job.yaml"), text=json.dumps(job))

    def job(self, name):
        return next(job for job in self.sites["source"].show("jobs")["jobs"] if job["name"] == name)

    def received(self, name, count):
        lab.wait_until(f"{count} bytes of {name}", lambda: self.job(name)["sites"] and min(
            site["received_bytes"] for site in self.job(name)["sites"]) >= count)

    def ends(self, name):
        lab.wait_until("the job", lambda: self.job(name)["state"] in ("done", "failed", "cancelled"))
        assert self.job(name)["state"] == "done", self.job(name)
        for site in ("relay", "target"):
            with open(os.path.join(self.sites[site].incoming, name), "rb") as file:
                assert file.read() == self.content, f"the copy of {site} differs"

    def end(self):
        self.planner.stop()
        for name, appliance in self.sites.items():
            status = appliance.stop()
            assert status == 0, f"{name}: exit status {status}:\n{appliance.text()[-1500:]}"


def falls_and_rises_in_a_job(world):
    """First behind the relay, then before it."""
    world.begin("first")
    world.received("first", 1_000_000)
    world.limit("target", NARROW)
    world.known("relay", "target", NARROW)
    world.received("first", 6_000_000)
    world.limit("target", WIDE)
    world.limit("source", NARROW)
    world.known("source", "relay", NARROW)
    world.ends("first")
    assert world.sites["relay"].counters()["rx_pieces"] > 0
    assert world.sites["target"].counters()["rx_pieces"] > 0


def the_next_job_is_unhindered(world):
    """The path to the target has become narrow unseen, and wide again at the source."""
    world.limit("source", WIDE)
    world.known("source", "relay", WIDE)
    world.known("relay", "target", WIDE)
    world.limit("target", NARROW)
    world.begin("second")
    world.ends("second")
    world.known("relay", "target", NARROW)
    world.end()


CASES = [falls_and_rises_in_a_job, the_next_job_is_unhindered]


if __name__ == "__main__":
    sys.exit(lab.run_cases(CASES, World(*sys.argv[1:3])))
