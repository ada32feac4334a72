#!/usr/bin/env python3
"""A file between two appliances on a switch, with keys and without, and what somebody on the wire reads of it; a site
whose key is another one than its peer was told; keys that change, and go, while a job runs. Usage: keys_net_test.py
SLUICE SLUICE_PLANNER SLUICECTL"""

import json
import os
import random
import socket
import struct
import subprocess
import sys
import threading

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import lab  # noqa: E402

lab.enter_namespace()

MTU = 1500
JOB, PLACE, FILE, LINE = "annual-accounts", "ledgers", "figures-of-the-year", "turnover by region\n"
SIZE = 300_000
SOL_PACKET, PACKET_STATISTICS = 263, 6


class Listener:
    """Somebody on the wire who keeps all frames, both ways."""

    def __init__(self, interface):
        self.frames = []
        self.socket = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(lab.ETH_P_ALL))
        self.socket.bind((interface, 0))
        self.socket.settimeout(0.1)
        self.ends = threading.Event()
        self.thread = threading.Thread(target=self.listen, daemon=True)
        self.thread.start()

    def listen(self):
        """Until nothing has come for a while after the end."""
        while True:
            try:
                self.frames.append(self.socket.recv(65536))
            except TimeoutError:
                if self.ends.is_set():
                    return

    def end(self):
        """All that was on the wire; nothing was missed."""
        self.ends.set()
        self.thread.join(lab.WAIT_S)
        assert not self.thread.is_alive(), "the wire does not get quiet"
        _, missed = struct.unpack("=II", self.socket.getsockopt(SOL_PACKET, PACKET_STATISTICS, 8))
        self.socket.close()
        assert missed == 0, f"{missed} frames missed"
        return self.frames


class World:
    def __init__(self, program, planner, ctl):
        self.programs, self.ctl = (program, planner), ctl
        self.bridge = lab.Bridge(MTU)
        self.namespaces = {name: self.bridge.plug(name) for name in lab.Pair.ADDRESSES}

    def pair(self, directory, key=None):
        """`key` as lab.Pair has it; None: without keys."""
        place = os.path.join(directory, PLACE)
        os.makedirs(place)
        return lab.Pair(self.programs, MTU, None, self.namespaces.get,
                        directory=directory, key=key, insecure=key is None, directories=[{"name": PLACE, "path": place, "sources": "any"}])

    def keys(self, directory):
        return {name: lab.make_key(self.ctl, directory, name) for name in lab.Pair.ADDRESSES}


def run_job(pair):
    """The job after its end, and what was sent."""
    content = (LINE * (SIZE // len(LINE))).encode()
    path = os.path.join(pair.directory, FILE)
    with open(path, "wb") as file:
        file.write(content)
    text = f"name: {JOB}\nsource: source\nto: [target]\nfile: {path}\ndirectory: {PLACE}\nrate: 20Mbps\n"
    pair.source.ask(command="job run", path=os.path.join(pair.directory, "job.yaml"), text=text)
    lab.wait_until("the end", lambda: pair.job()["state"] in ("done", "failed", "cancelled"))
    return pair.job(), content


def words_on_the_wire(world, key, directory):
    """How many frames had each name, and a line of the file, while a file came over; and the counters of both sites."""
    listener = Listener("source1")
    pair = world.pair(directory, key)
    job, content = run_job(pair)
    assert job["state"] == "done", job
    with open(os.path.join(directory, PLACE, FILE), "rb") as file:
        assert file.read() == content, "the copy differs"
    counters = {name: appliance.counters() for name, appliance in pair.sites.items()}
    assert pair.source.show("manifest")["security"] == ("sealed" if key else "none"), pair.source.show("manifest")
    pair.end()
    frames = listener.end()
    assert sum(len(frame) for frame in frames) > len(content), "the wire was not listened to"
    return {word: sum(word.encode() in frame for frame in frames) for word in (JOB, PLACE, FILE, LINE)}, counters


def with_keys_no_word_is_on_the_wire(world):
    directory = lab.temporary_directory()
    found, counters = words_on_the_wire(world, world.keys(directory).get, directory)
    assert not any(found.values()), found
    for name, counted in counters.items():
        assert counted["drop_tag"] == 0 and counted["drop_mac"] == 0 and counted["drop_data_body"] == 0, f"{name}: {lab.dropped({}, counted)}"


def without_keys_every_word_is(world):
    found, _ = words_on_the_wire(world, None, lab.temporary_directory())
    assert all(found.values()), found


def another_key_than_expected_fails_the_job_by_name(world):
    """The source was told a key that is not the target's."""
    directory = lab.temporary_directory()
    keys = world.keys(directory)
    keys["target"] = lab.make_key(world.ctl, directory, "stranger")
    pair = world.pair(directory, keys.get)
    job, _ = run_job(pair)
    assert job["state"] == "failed" and job["text"].startswith("target: does not answer"), job
    assert not os.listdir(os.path.join(directory, PLACE)), "something arrived"
    said = {"source": "a key that is not in the roster, unproved: compare with what sluicectl key show prints at target",
            "target": "not for this node's key: its roster may have an old one of 'target'"}
    for name, appliance in pair.sites.items():
        counters = appliance.counters()
        assert counters["drop_mac"] > 0, f"{name}: {lab.dropped({}, counters)}"
        [peer] = appliance.show("peers")["peers"]
        assert peer["state"] == "down" and said[name] in peer["misfit"], peer
    pair.end()


def one_of_five_with_another_key_is_left_out(world):
    """The others get the file; the command's status and words say which one did not, and why."""
    directory = lab.temporary_directory()
    addresses = {**lab.Pair.ADDRESSES, "third": "10.9.0.3", "fourth": "10.9.0.4", "fifth": "10.9.0.5"}
    keys = {name: lab.make_key(world.ctl, directory, name) for name in addresses}
    keys["fifth"] = lab.make_key(world.ctl, directory, "stranger")
    namespaces = {name: world.namespaces.get(name) or world.bridge.plug(name) for name in addresses}
    sites = {name: lab.Appliance(world.programs[0], directory, name, {
        "ports": [lab.port(name, address)],
        "peers": [{"name": peer, "address": addresses[peer], "key": keys[peer]} for peer in addresses if peer != name],
    }, namespaces[name]) for name, address in addresses.items()}
    planner = lab.planner_of(world.programs[1], sites["source"])
    path = os.path.join(directory, FILE)
    content = (LINE * 100_000).encode()
    with open(path, "wb") as file:
        file.write(content)
    others = [name for name in addresses if name != "source"]
    sent = subprocess.run([world.ctl, "-s", sites["source"].socket_path, "send", path, *others],
                          capture_output=True, text=True, timeout=lab.WAIT_S, check=False)
    said = sent.stdout + sent.stderr
    assert sent.returncode == 5, said
    assert "fifth" in said and "key" in said, said
    for name in others:
        arrived = os.path.join(sites[name].incoming, FILE)
        assert os.path.exists(arrived) == (name != "fifth"), f"{name}: {said}"
        if name != "fifth":
            with open(arrived, "rb") as file:
                assert file.read() == content, f"{name}: the copy differs"
    planner.stop()
    for appliance in sites.values():
        assert appliance.stop() == 0, appliance.text()[-1500:]


def one_side_without_keys_meets_nobody(world):
    """Who asks for it alone gets no session, and both are told what may be the cause."""
    directory = lab.temporary_directory()
    keys = world.keys(directory)
    sites = {}
    for name, address in lab.Pair.ADDRESSES.items():
        other = "target" if name == "source" else "source"
        sites[name] = lab.Appliance(world.programs[0], directory, name, {
            "ports": [lab.port(name, address)],
            "peers": [{"name": other, "address": lab.Pair.ADDRESSES[other],
                       **({"key": keys[other]} if name == "source" else {})}],
        }, world.namespaces[name], insecure=name == "target")
    said = {"source": "of no key (node.insecure there)", "target": "of a key, and this node has none"}
    for name, appliance in sites.items():
        lab.wait_until(f"word at {name}", lambda at=appliance: at.show("peers")["peers"][0]["misfit"] != "")
        [peer] = appliance.show("peers")["peers"]
        assert peer["state"] == "down" and said[name] in peer["misfit"], peer
        assert appliance.counters()["rx_handshakes"] == 0, appliance.counters()
    assert sites["target"].show("peers")["insecure"] == "benchmark"
    for appliance in sites.values():
        assert appliance.stop() == 0, appliance.text()[-1500:]


def on_other_devices_it_does_not_start(world):
    """A veth's packets stay here; of a bridge that can't be told."""
    directory = lab.temporary_directory()
    try:
        lab.Appliance(world.programs[0], directory, "source", {
            "ports": [{"device": "net_af_packet0,iface=bridge0", "address": "10.9.0.1/24", "rate": "1Gbps"}],
            "peers": [{"name": "target", "address": "10.9.0.2"}]}, insecure=True)
    except lab.StartFailed as error:
        assert error.status == 2, error
        assert 'through ports[0], "net_af_packet0,iface=bridge0", what is written to the disk' in str(error), error
        return
    raise AssertionError("it started")


def reload_keys(appliance, change):
    """`change` gets the node file's peer."""
    path = os.path.join(appliance.home, "node.yaml")
    with open(path, encoding="utf-8") as file:
        config = json.load(file)
    change(config["peers"])
    with open(path, "w", encoding="utf-8") as file:
        json.dump(config, file)
    return appliance.ask(command="reload keys")


def start_job(pair, rate, size):
    path = os.path.join(pair.directory, FILE)
    with open(path, "wb") as file:
        file.write(random.Random(JOB).randbytes(size))
    text = f"name: {JOB}\nsource: source\nto: [target]\nfile: {path}\ndirectory: {PLACE}\nrate: {rate}\n"
    pair.source.ask(command="job run", path=os.path.join(pair.directory, "job.yaml"), text=text)
    lab.wait_until("the start", lambda: pair.job()["state"] == "running")


def a_key_follows_another_while_a_job_runs(world):
    """Both keys at the source, then the new one at the target, then the old one away; and no counter of loss."""
    directory = lab.temporary_directory()
    keys = world.keys(directory)
    pair = world.pair(directory, keys.get)
    start_job(pair, "8Mbps", 8_000_000)
    new = lab.make_key(world.ctl, directory, "next")
    reload_keys(pair.source, lambda peers: peers[0].update(key=[new, keys["target"]]))
    os.rename(os.path.join(directory, "next", "key"), os.path.join(pair.target.home, "key"))
    before = pair.target.counters()["rx_handshakes"]
    said = reload_keys(pair.target, lambda peers: None)
    assert said.startswith("target: key ") and keys["target"][5:13] in said, said
    lab.wait_until("a session with the new key", lambda: pair.target.counters()["rx_handshakes"] > before)
    reload_keys(pair.source, lambda peers: peers[0].update(key=new))
    assert pair.job()["state"] == "running", pair.job()
    lab.wait_until("the end", lambda: pair.job()["state"] in ("done", "failed", "cancelled"))
    assert pair.job()["state"] == "done", pair.job()
    for name, appliance in pair.sites.items():
        counters = appliance.counters()
        assert counters["peers_reset"] == 0 and counters["drop_tag"] == 0, f"{name}: {lab.dropped({}, counters)}"
    pair.end()


def a_removed_key_ends_the_job_by_name(world):
    directory = lab.temporary_directory()
    pair = world.pair(directory, world.keys(directory).get)
    start_job(pair, "2Mbps", 8_000_000)
    lab.wait_until("data", lambda: pair.target.counters()["rx_data"] > 100)
    reload_keys(pair.source, lambda peers: peers.clear())
    [peer] = pair.source.show("peers")["peers"]
    assert peer["state"] == "down" and peer["misfit"] == "its key is not in the roster any more", peer
    sent = pair.source.counters()["tx_data"]
    lab.wait_until("the end", lambda: pair.job()["state"] in ("done", "failed", "cancelled"))
    job = pair.job()
    assert job["state"] == "failed" and job["text"] == "target: has no key in the roster any more", job
    assert pair.source.counters()["tx_data"] == sent
    lab.wait_until("a word of it", lambda: pair.source.says(f"peer target does not fit: {peer['misfit']}"))
    pair.end()


CASES = [with_keys_no_word_is_on_the_wire, without_keys_every_word_is, another_key_than_expected_fails_the_job_by_name,
         one_of_five_with_another_key_is_left_out, one_side_without_keys_meets_nobody, on_other_devices_it_does_not_start,
         a_key_follows_another_while_a_job_runs, a_removed_key_ends_the_job_by_name]
if lab.PLAIN:  # without keys a socket writes nothing to a disk, but on the loopback interface
    CASES = [case for case in CASES if case not in (without_keys_every_word_is, one_side_without_keys_meets_nobody)]


if __name__ == "__main__":
    sys.exit(lab.run_cases(CASES, World(*sys.argv[1:4])))
