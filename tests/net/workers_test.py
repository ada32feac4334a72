#!/usr/bin/env python3
"""Appliances whose ports have workers of their own, real programs over memif: what arrives is what was sent, every frame is
counted once, and at the end all of them say farewell. Needs no permissions, but two CPUs: skipped with one.
Usage: workers_test.py SLUICE SLUICE_PLANNER SLUICE_BENCH"""

import json
import os
import random
import subprocess
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import lab  # noqa: E402

BYTES = 12_000_000
RELAYED = 128 << 20  # more than the relay keeps: what comes before is not counted
CPUS = sorted(os.sched_getaffinity(0))[:2]
# The hub sends through two ports, one of them its node's own; "right" has two workers as well, "left" has one.
WORKERS = {"hub": [1, 0], "left": [0], "right": [1]}
NETS = {"left": "10.9.1.", "right": "10.9.2."}


def port(role, socket, address, worker):
    return {"device": f"net_memif{socket[1]},role={role},socket-abstract=yes,socket=@sluice-workers-{os.getpid()}-"
                      f"{socket[0]}", "address": address + "/24", "rate": "1Gbps", "worker": worker}


class World:
    def __init__(self, program, planner, bench):
        self.bench = bench
        self.directory = lab.temporary_directory()
        self.sites = {}
        self.start(program, "hub", [port("server", (name, number), NETS[name] + "1", WORKERS["hub"][number])
                                    for number, name in enumerate(NETS)],
                   [{"name": name, "address": NETS[name] + "2", "port": number} for number, name in enumerate(NETS)])
        for name in NETS:
            self.start(program, name, [port("client", (name, 0), NETS[name] + "2", WORKERS[name][0])],
                       [{"name": "hub", "address": NETS[name] + "1"}])
        self.planners = [lab.planner_of(planner, self.sites[name]) for name in ("hub", "left")]

    def start(self, program, name, ports, peers):
        lcores = CPUS if max(WORKERS[name]) > 0 else []
        self.sites[name] = lab.Appliance(program, self.directory, name,
                                         {"ports": ports, "peers": peers, "lcores": lcores})

    def send(self, source, targets):
        content = random.Random(source).randbytes(BYTES)
        path = os.path.join(self.directory, f"of-{source}")
        with open(path, "wb") as file:
            file.write(content)
        site = self.sites[source]
        text = f"name: from-{source}\nsource: {source}\nto: [{', '.join(targets)}]\nfile: {path}\ndirectory: incoming\n"
        site.ask(command="job run", path=os.path.join(self.directory, "job.yaml"), text=text)
        ended = ("done", "failed", "cancelled")
        lab.wait_until("the job", lambda: site.show("jobs")["jobs"][-1]["state"] in ended)
        job = site.show("jobs")["jobs"][-1]
        assert job["state"] == "done", job
        for target in targets:
            with open(os.path.join(self.sites[target].incoming, f"of-{source}"), "rb") as file:
                assert file.read() == content, f"the copy at {target} differs"


def every_port_has_its_worker(world):
    for name, workers in WORKERS.items():
        shown = world.sites[name].show("ports")
        assert [row["worker"] for row in shown["ports"]] == workers, shown
        rows = shown["port_workers"]
        assert [(row["worker"], row["cpu"]) for row in rows] == ([(1, CPUS[1])] if 1 in workers else []), rows
        assert ["node_behind" in row for row in shown["ports"]] == [worker > 0 for worker in workers], shown


def one_sends_through_both_its_ports(world):
    world.send("hub", ["left", "right"])
    busy = world.sites["hub"].show("ports")["port_workers"][0]["busy_share"]
    assert 0 < busy <= 1, busy


def one_sends_back(world):
    world.send("left", ["hub"])


def every_packet_is_counted_once(world):
    for name, site in world.sites.items():
        for row in site.show("ports")["ports"]:
            drops = {key: value for key, value in row.items() if key.startswith("rx_drop_") and value != 0}
            assert not drops, (name, drops)
        lab.wait_until(f"{name}: each frame is counted once", lambda shown=site: all(
            row["rx_packets"] == row["rx_datagrams"] + row["rx_answered"] + row["rx_neighbours"]
            for row in shown.show("ports")["ports"]))  # one may come between two words that are read


def all_say_farewell_and_end(world):
    for planner in world.planners:
        planner.stop()
    for name in ("right", "left", "hub"):
        status = world.sites[name].stop()
        assert status == 0, f"{name}: exit status {status}:\n{world.sites[name].text()[-1500:]}"
        if name != "hub":
            lab.wait_until(f"the hub hears of {name}", lambda: world.sites["hub"].says(f"peer {name} is down"))


def a_relay_over_net_ring(world):
    """Both lcores at it all the time, bodies chained, queues full; a packet spoilt on its way is one more to send."""
    command = [world.bench, "relay", "--workers", "2", "--size", f"{RELAYED}B", "--lcores", "%d,%d" % tuple(CPUS)]
    run = subprocess.run(command, capture_output=True, text=True, check=False)
    assert run.returncode == 0, run.stderr[-500:]
    found = json.loads(run.stdout.strip().split("\n")[-1])
    assert found["chained"] and found["workers"] == 2, found
    assert found["packets"] <= RELAYED / 1408 * 1.1, found


CASES = [every_port_has_its_worker, one_sends_through_both_its_ports, one_sends_back, every_packet_is_counted_once,
         all_say_farewell_and_end, a_relay_over_net_ring]


if __name__ == "__main__":
    if len(CPUS) < 2:
        print("skipped: workers need two CPUs")
        sys.exit(lab.SKIPPED)
    sys.exit(lab.run_cases(CASES, World(*sys.argv[1:4])))
