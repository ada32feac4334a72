#!/usr/bin/env python3
"""An MTU of 9000 on the wire: a file between two real programs, over af_packet and over memif, in packets of that size.
Usage: jumbo_test.py SLUICE SLUICE_PLANNER"""

import os
import random
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import lab  # noqa: E402

lab.enter_namespace()

MTU = 9000
BYTES = 20_000_000
SITES = {"source": "10.9.0.1", "target": "10.9.0.2"}


class World:
    """Two sites; device(name) and namespace(name) say how each is joined to the other."""

    def __init__(self, programs, device, namespace):
        program, planner = programs
        self.directory = lab.temporary_directory()
        self.sites = {}
        for name, address in SITES.items():
            self.sites[name] = lab.Appliance(program, self.directory, name, {
                "ports": [{"device": device(name), "address": address + "/24", "rate": "1Gbps", "mtu": MTU}],
                "peers": [{"name": other, "address": SITES[other]} for other in SITES if other != name],
            }, namespace(name))
        self.source, self.target = self.sites["source"], self.sites["target"]
        self.planner = lab.Process([planner, "--ring", self.source.ring], os.path.join(self.directory, "planner.log"))

    def send(self):
        """The job's view once it has ended."""
        self.content = random.Random("jumbo").randbytes(BYTES)
        path = os.path.join(self.directory, "big")
        with open(path, "wb") as file:
            file.write(self.content)
        text = f"name: big\nsource: source\nto: all\nfile: {path}\ndirectory: incoming\nrate: 200Mbps\n"
        self.source.ask(command="job run", path=os.path.join(self.directory, "job.yaml"), text=text)
        lab.wait_until("the job", lambda: self.job()["state"] in ("done", "failed", "cancelled"))
        return self.job()

    def job(self):
        return self.source.show("jobs")["jobs"][0]

    def end(self):
        self.planner.stop()
        for name, appliance in self.sites.items():
            status = appliance.stop()
            assert status == 0, f"{name}: exit status {status}:\n{appliance.text()[-1500:]}"


def a_file_crosses(world):
    before = world.source.counters()
    job = world.send()
    assert job["state"] == "done", job
    with open(os.path.join(world.target.incoming, "big"), "rb") as file:
        assert file.read() == world.content, "the copy differs"
    assert world.source.show("peers")["peers"][0]["path_mtu"] == MTU, world.source.show("peers")
    packets = world.source.counters()["port.tx_packets"] - before["port.tx_packets"]
    assert packets < BYTES / 4000, f"{packets} packets for {BYTES} bytes"
    world.end()


def over_af_packet(*programs):
    bridge = lab.Bridge(MTU)
    a_file_crosses(World(programs, lambda name: f"net_af_packet0,iface={name}0", bridge.plug))


def over_memif(*programs):
    def device(name):
        role = "server" if name == "source" else "client"
        return f"net_memif0,role={role},socket-abstract=yes,socket=@sluice-jumbo-{os.getpid()}"
    a_file_crosses(World(programs, device, lambda name: None))


CASES = [over_af_packet, over_memif]


if __name__ == "__main__":
    sys.exit(lab.run_cases(CASES, *sys.argv[1:3]))
