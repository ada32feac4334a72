#!/usr/bin/env python3
"""tcpreplay against a running appliance: what one transfer looked like on the wire comes again, doubled, out of
order and mixed with garbage, first while nothing goes on, then during a second transfer. Counters must account
for every packet, nothing may break, and the second file must arrive whole.
Usage: replay_test.py SLUICE SLUICE_PLANNER"""

import hashlib
import os
import random
import shutil
import struct
import subprocess
import sys
import threading
import time

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import lab  # noqa: E402

if shutil.which("tcpreplay") is None:
    print("skipped: tcpreplay is not installed")
    sys.exit(lab.SKIPPED)
lab.enter_namespace()

FILE_BYTES = 1500000
SEED = 20240817
SITES = {"source": "10.9.0.1", "target": "10.9.0.2"}


class Capture:
    """Everything that the source sends, until stopped."""

    def __init__(self, interface):
        self.wire = lab.Wire(interface)
        self.ending = threading.Event()
        self.frames = []
        self.thread = threading.Thread(target=self.loop, daemon=True)
        self.thread.start()

    def loop(self):
        self.wire.socket.settimeout(0.1)
        while not self.ending.is_set():
            try:
                frame, address = self.wire.socket.recvfrom(65536)
            except TimeoutError:
                continue
            if address[2] != 4:  # PACKET_OUTGOING: what the bridge sends to the source
                self.frames.append(frame)

    def stop(self):
        self.ending.set()
        self.thread.join()
        return self.frames


def write_pcap(path, frames):
    """Classic pcap, one frame a millisecond; tcpreplay sets its own pace."""
    with open(path, "wb") as file:
        file.write(struct.pack("<IHHiIII", 0xa1b2c3d4, 2, 4, 0, 0, 65535, 1))
        for number, frame in enumerate(frames):
            file.write(struct.pack("<IIII", number // 1000, number % 1000 * 1000, len(frame), len(frame)) + frame)


def spoiled(frames):
    """Each frame twice, some of them with a byte turned, cut or exchanged with a neighbour. IP headers of turned
    ones are left alone, so that they reach the node and not only the port."""
    chance = random.Random(SEED)
    result = []
    for frame in frames:
        result.append(frame)
        what = chance.randrange(10)
        copy = bytearray(frame)
        if what == 0 and len(copy) > 60:
            copy[chance.randrange(42, len(copy))] ^= 1 << chance.randrange(8)
        elif what == 1 and len(copy) > 80:
            del copy[chance.randrange(60, len(copy)):]
        elif what == 2:
            copy = bytearray(copy[:12] + bytes(chance.randrange(256) for _ in range(chance.randrange(48, 1000))))
        result.append(bytes(copy))
    for index in range(0, len(result) - 7, 7):
        other = index + chance.randrange(7)
        result[index], result[other] = result[other], result[index]
    return result


class World:
    def __init__(self, program, planner):
        self.directory = lab.temporary_directory()
        bridge = lab.Bridge()
        self.sites = {}
        for name, address in SITES.items():
            self.sites[name] = lab.Appliance(program, self.directory, name, {
                "ports": [lab.port(name, address, rate="30Mbps")],
                "peers": [{"name": other, "address": SITES[other]} for other in SITES if other != name],
            }, bridge.plug(name))
        self.source, self.target = self.sites["source"], self.sites["target"]
        self.planner = lab.planner_of(planner, self.source)
        self.captures = []  # files, and how many frames each holds
        self.hashes = {}

    def start_job(self, name):
        path = os.path.join(self.directory, name + ".bin")
        content = random.Random(name).randbytes(FILE_BYTES)
        with open(path, "wb") as file:
            file.write(content)
        self.hashes[name] = hashlib.sha256(content).hexdigest()
        text = f"name: {name}\nsource: source\nto: all\nfile: {path}\ndirectory: incoming\nexists: replace\n"
        self.source.ask(command="job run", path=os.path.join(self.directory, "job.yaml"), text=text)

    def job_ended(self, name):
        job = [job for job in self.source.show("jobs")["jobs"] if job["name"] == name][0]
        return job["state"] in ("done", "failed", "cancelled")

    def job_finish(self, name):
        lab.wait_until(f"job {name}", lambda: self.job_ended(name))
        with open(os.path.join(self.target.incoming, name + ".bin"), "rb") as file:
            assert hashlib.sha256(file.read()).hexdigest() == self.hashes[name], f"{name} differs"

    def keep(self, frames):
        for at in range(0, len(frames), lab.FRAMES_AT_ONCE):
            part = frames[at:at + lab.FRAMES_AT_ONCE]
            self.captures.append((os.path.join(self.directory, f"{at}.pcap"), len(part)))
            write_pcap(self.captures[-1][0], part)

    def received(self):
        return self.target.counters()["port.rx_packets"]

    def replay(self):
        """Part by part, each taken before the next one comes. The number of frames."""
        before, sent = self.received(), 0
        for path, count in self.captures:
            run = subprocess.run(["tcpreplay", "--intf1=target1", "--pps=2000", "--quiet", path],
                                 capture_output=True, text=True, check=False)
            assert run.returncode == 0, run.stderr + run.stdout
            sent += count
            if lab.PLAIN:  # the kernel keeps the spoiled ones for itself
                settled(self.target)
            else:
                lab.wait_until(f"{sent} frames counted", lambda: self.received() - before >= sent)
        return sent


def settled(appliance):
    """Counters once two readings agree but for hellos and probes, which never end."""
    last = appliance.counters()
    for _ in range(50):
        time.sleep(0.1)
        now = appliance.counters()
        if now["port.rx_packets"] == last["port.rx_packets"]:
            return now
        last = now
    return last


def a_transfer_is_captured(world):
    capture = Capture("source1")
    world.start_job("first")
    world.job_finish("first")
    frames = capture.stop()
    assert len(frames) > FILE_BYTES // 1408, f"only {len(frames)} frames"
    world.keep(spoiled(frames))


def a_replay_is_accounted_for(world):
    before = settled(world.target)
    count = world.replay()
    after = settled(world.target)
    assert lab.unaccounted(before, after) == (0, 0), f"unaccounted: {lab.dropped(before, after)}"
    drops = lab.dropped(before, after)
    assert sum(drops.values()) > count // 3, f"few drops: {drops}"
    print("     " + ", ".join(f"{name} {value}" for name, value in sorted(drops.items())))


def a_replay_does_not_harm_a_transfer(world):
    before = world.target.counters()
    world.start_job("second")
    world.replay()
    world.job_finish("second")
    assert lab.unaccounted(before, settled(world.target)) == (0, 0)


def the_first_file_is_still_whole(world):
    with open(os.path.join(world.target.incoming, "first.bin"), "rb") as file:
        assert hashlib.sha256(file.read()).hexdigest() == world.hashes["first"]
    names = sorted(os.listdir(world.target.incoming))
    assert names == ["first.bin", "second.bin"], f"left behind: {names}"


def both_appliances_end_cleanly(world):
    for name, appliance in world.sites.items():
        status = appliance.stop()
        assert status == 0, f"{name}: exit status {status}:\n{appliance.text()[-1500:]}"


CASES = [a_transfer_is_captured, a_replay_is_accounted_for, a_replay_does_not_harm_a_transfer,
         the_first_file_is_still_whole, both_appliances_end_cleanly]


if __name__ == "__main__":
    sys.exit(lab.run_cases(CASES, World(*sys.argv[1:3])))
