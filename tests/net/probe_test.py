#!/usr/bin/env python3
"""Paths measured between three real programs: one that the asker is an end of, one that it is not, and all of them; by
sluicectl, with its exit codes, its JSON, and what is refused. What trains find out on a loaded machine is not judged here.
Usage: probe_test.py SLUICE SLUICECTL"""

import json
import os
import signal
import subprocess
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import lab  # noqa: E402

lab.enter_namespace()

SITES = {"one": "10.9.0.1", "two": "10.9.0.2", "three": "10.9.0.3"}
KINDS = ("value", "at-least", "refused", "none")


class World:
    def __init__(self, program, sluicectl):
        self.sluicectl = sluicectl
        directory = lab.temporary_directory()
        bridge = lab.Bridge()
        self.sites = {
            name: lab.Appliance(program, directory, name, {
                "ports": [lab.port(name, address)],
                "peers": [{"name": other, "address": SITES[other]} for other in SITES if other != name],
                "probe": {"bytes": "500KB", "period": "0s"},
            }, bridge.plug(name)) for name, address in SITES.items()}
        for site in self.sites.values():
            lab.wait_until("peers up", lambda site=site: all(
                peer["state"] == "up" for peer in site.show("peers")["peers"]))

    def command(self, *words):
        return [self.sluicectl, "-s", self.sites["one"].socket_path, *words]

    def run(self, *words):
        return subprocess.run(self.command(*words), capture_output=True, text=True, timeout=lab.WAIT_S, check=False,
                              stdin=subprocess.DEVNULL)


def path_between_two_others(world):
    result = world.run("--json", "probe", "two", "three")
    row = json.loads(result.stdout)
    assert (row["from"], row["to"], row["answer"]) == ("two", "three", "measured"), row
    assert row["newest"] in KINDS and result.returncode == (0 if row["newest"] in KINDS[:2] else 1), (row, result)
    assert not row["measuring"] and row["bytes"] > 0, row
    assert world.sites["two"].counters()["asks_served"] == 1
    assert world.sites["two"].counters()["tx_trains"] > 0
    text = world.run("probe", "two", "three").stdout
    assert text.startswith("two > three: "), text
    own = world.run("probe", "one", "three")
    assert own.stdout.startswith("one > three: ") and own.returncode in (0, 1), own


def refusals(world):
    for words, status, said in ((("probe", "two", "nobody"), 4, "there is no peer 'nobody'"),
                                (("probe", "stop"), 4, "all pairs are not being measured"),
                                (("probe", "start"), 4, "not estimated")):
        result = world.run(*words)
        assert result.returncode == status and said in result.stderr, (words, result)


def all_pairs(world):
    result = world.run("--json", "probe", "all", "--yes")
    document = json.loads(result.stdout)
    assert result.returncode in (0, 1), result
    assert "3 nodes, 6 pairs: at most" in result.stderr, result.stderr
    assert document["all"]["state"] == "over" and document["all"]["nodes"] == 3, document["all"]
    assert document["all"]["answered"] >= 6 and document["all"]["missed"] == 0, document["all"]
    assert document["all"]["sent_bytes"] <= document["all"]["cost_bytes"], document["all"]
    assert document["all"]["took_s"] <= document["all"]["cost_s"], document["all"]
    pairs = {(row["from"], row["to"]) for row in document["pairs"]}
    paths = {(one, other) for one in SITES for other in SITES if one != other}
    assert pairs == paths | {(one, "(line)") for one in SITES} | {("(line)", one) for one in SITES}, pairs
    assert all(row["answer"] == "measured" for row in document["pairs"]), document["pairs"]


def interrupted_round(world):
    # stdin is no terminal: it starts without asking
    process = subprocess.Popen(world.command("probe", "all"), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                               stdin=subprocess.DEVNULL)
    lab.wait_until("running", lambda: world.sites["one"].show("probes")["all"]["state"] == "running"
                   or process.poll() is not None)
    process.send_signal(signal.SIGINT)
    out, _ = process.communicate(timeout=lab.WAIT_S)
    assert process.returncode in (130, 0, 1), process.returncode  # over before the signal came, on a slow machine
    assert "of 6 pairs known" in out, out
    assert world.sites["one"].show("probes")["all"]["state"] == "over"


if __name__ == "__main__":
    sys.exit(lab.run_cases([refusals, path_between_two_others, all_pairs, interrupted_round], World(*sys.argv[1:3])))
