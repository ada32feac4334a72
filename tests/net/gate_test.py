#!/usr/bin/env python3
"""Memif servers whose clients connect, talk nonsense and go away, some thousand times: each loses its own connection,
and the process and its link go on. Usage: gate_test.py SLUICE SLUICE_PLANNER SLUICE_WANEM"""

import json
import os
import socket
import subprocess
import sys
import threading
import time

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import lab  # noqa: E402

SECONDS = 3.0
MESSAGE_BYTES = 128
# What a client says before it goes: nothing, that it wants device 0, that it is ready without having said more, nonsense.
WORDS = [b"", b"", b"\3\0\0\2".ljust(MESSAGE_BYTES, b"\0"), b"\6\0".ljust(MESSAGE_BYTES, b"\0"),
         b"\xff" * MESSAGE_BYTES, b"x", b"y" * 1000]
AS_NOBODY = """
import os, socket, sys
os.setgroups([]); os.setgid(65534); os.setuid(65534)
for _ in range(200):
    with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as client:
        client.settimeout(5)
        client.connect(sys.argv[1].replace("@@", "\\0@", 1))
        assert client.recv(512) == b"", "it was let in"
"""


class Hostile(threading.Thread):
    """Connects to the socket and goes away, until told to stop."""

    def __init__(self, path):
        super().__init__(daemon=True)
        self.path, self.stopping, self.count = path, False, 0
        self.start()

    def run(self):
        while not self.stopping:
            with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as client:
                client.settimeout(1)
                try:
                    client.connect(self.path)
                    if self.count % 3 == 0:
                        client.recv(512)
                    client.send(WORDS[self.count % len(WORDS)])
                except OSError:
                    pass  # ended at the other end
            self.count += 1
            if self.count % 2:
                time.sleep(0.001)

    def stop(self):
        self.stopping = True
        self.join()
        return self.count


def attack(path, seconds=SECONDS):
    hostile = Hostile(path)
    time.sleep(seconds)
    count = hostile.stop()
    assert count > 100, f"only {count} connections"


def memif(role, path):
    return f"net_memif0,role={role},socket={path}"


def an_appliance_lives_and_its_link_works(sluice, planner, _):
    """Before its client is there, and beside it."""
    path = os.path.join(lab.temporary_directory(), "link.memif")

    def device(name):
        if name == "target":
            attack(path)
        return memif("server" if name == "source" else "client", path)

    pair = lab.Pair((sluice, planner), 1500, device)
    hostile = Hostile(path)
    pair.send(20_000_000, "100Mbps")
    assert hostile.stop() > 100
    pair.end()
    assert not os.path.exists(path), "the socket was left behind"


def an_abstract_name_is_for_its_user(sluice, planner, _):
    """Whoever it is: where this test may become another user."""
    if os.geteuid() != 0 or subprocess.run([sys.executable, "-c", "import os; os.setuid(65534)"], check=False,
                                           capture_output=True).returncode != 0:
        return
    name = f"@sluice-gate-{os.getpid()}"
    pair = lab.Pair((sluice, planner), 1500,
                    lambda site: memif("server" if site == "source" else "client", name))
    subprocess.run([sys.executable, "-c", AS_NOBODY, "@" + name], check=True)
    lab.wait_until("the count", lambda: pair.source.show("ports")["ports"][0]["refused_clients"] == 200)
    pair.send(1_000_000, "200Mbps")
    pair.end()


def an_emulator_lives_and_its_sites_meet(sluice, _, wanem):
    directory = lab.temporary_directory()
    scenario = os.path.join(directory, "scenario.yaml")
    with open(scenario, "w", encoding="utf-8") as file:
        json.dump({"name": "gate", "nodes": ["a", "b"], "links": {"default": {"owd": "5ms"}}}, file)
    emulator = lab.Process([wanem, "-c", scenario, "--sockets", directory], os.path.join(directory, "wanem.log"))
    lab.wait_until("wanem", lambda: emulator.says("sluice-wanem: ready") or emulator.ended())
    attack(os.path.join(directory, "a.memif"))
    assert not emulator.ended(), emulator.text()
    addresses = {"a": "10.77.1.2", "b": "10.77.2.2"}
    sites = [lab.Appliance(sluice, directory, name, {
        "ports": [{"device": memif("client", os.path.join(directory, f"{name}.memif")), "address": address + "/24",
                   "gateway": address[:-1] + "1", "rate": "1Gbps"}],
        "peers": [{"name": other, "address": addresses[other]} for other in addresses if other != name],
    }) for name, address in addresses.items()]
    attack(os.path.join(directory, "b.memif"))
    lab.wait_until("the peers", lambda: all(site.show("peers")["peers"][0]["state"] == "up" for site in sites))
    for site in sites:
        assert site.stop() == 0, site.text()[-1500:]
    assert emulator.stop() == 0, emulator.text()[-1500:]


CASES = [an_appliance_lives_and_its_link_works, an_abstract_name_is_for_its_user, an_emulator_lives_and_its_sites_meet]


if __name__ == "__main__":
    sys.exit(lab.run_cases(CASES, *sys.argv[1:4]))
