#!/usr/bin/env python3
"""Streams between real programs: what a writer puts into a FIFO, a socket or sluicectl at the source comes out of
FIFOs, sockets and files at two sites, whole and in order; whoever goes away ends with a text that says so and
leaves the others alone. Usage: stream_test.py SLUICE SLUICE_PLANNER SLUICECTL"""

import hashlib
import json
import os
import random
import signal
import socket
import subprocess
import sys
import threading
import time

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import lab  # noqa: E402

lab.enter_namespace()

SITES = {"source": "10.9.0.1", "one": "10.9.0.2", "two": "10.9.0.3"}
BYTES = 3000000


class Taker(threading.Thread):
    """Takes what comes out of a FIFO, at most so many bytes."""

    def __init__(self, path, limit=None):
        super().__init__(daemon=True)
        self.path, self.limit, self.bytes = path, limit, b""
        self.start()

    def run(self):
        with open(self.path, "rb", buffering=0) as fifo:
            while self.limit is None or len(self.bytes) < self.limit:
                part = fifo.read(65536)
                if not part:
                    return
                self.bytes += part

    def whole(self):
        self.join(lab.WAIT_S)
        assert not self.is_alive(), f"{self.path} has no end after {len(self.bytes)} bytes"
        return self.bytes


class SocketTaker(Taker):
    def run(self):
        with socket.socket(socket.AF_UNIX) as listener:
            listener.bind(self.path)
            listener.listen(1)
            connection = listener.accept()[0]
            while part := connection.recv(65536):
                self.bytes += part


class World:
    def __init__(self, program, planner, sluicectl):
        self.sluicectl = sluicectl
        self.directory = lab.temporary_directory()
        bridge = lab.Bridge()
        self.sites = {}
        screen = os.path.join(self.directory, "screen")
        os.mkfifo(screen)
        for name, address in SITES.items():
            home = os.path.join(self.directory, name)
            self.sites[name] = lab.Appliance(program, self.directory, name, {
                "ports": [lab.port(name, address, rate="50Mbps")],
                "peers": [{"name": other, "address": SITES[other]} for other in SITES if other != name],
                "directories": [{"name": "incoming", "path": os.path.join(home, "incoming"), "sources": "any"},
                                {"name": "screen", "path": screen, "sources": "any"}],
            }, bridge.plug(name))
        self.source = self.sites["source"]
        self.planner = lab.planner_of(planner, self.source)

    def out(self, site, name):
        return os.path.join(self.sites[site].incoming, name)

    def fifo(self, name):
        """The job's input. Each has one of its own: a job that is done may still have its own open, and would take what
        is meant for the next."""
        path = os.path.join(self.directory, f"{name}.fifo")
        if not os.path.exists(path):
            os.mkfifo(path)
        return path

    def job_text(self, name, stream=None, to="all", **keys):
        lines = {"name": name, "source": "source", "to": to, "object": f"{{stream: {stream or self.fifo(name)}}}",
                 "measure": "50ms", **keys}
        return "".join(f"{key}: {value}\n" for key, value in lines.items())

    def start(self, name, **arguments):
        self.source.ask(command="job run", path=os.path.join(self.directory, "job.yaml"),
                        text=self.job_text(name, **arguments))

    def job(self, name):
        return [job for job in self.source.show("jobs")["jobs"] if job["name"] == name][0]

    def end(self, name):
        lab.wait_until(f"job {name}", lambda: self.job(name)["state"] in ("done", "failed", "cancelled"))
        return self.job(name)

    def site(self, name, site):
        return [entry for entry in self.job(name)["sites"] if entry["name"] == site][0]


def content(name, size=BYTES):
    return random.Random(name).randbytes(size)


def write_slowly(path, data, pause=0.0):
    with open(path, "wb", buffering=0) as fifo:
        for at in range(0, len(data), 100001):
            fifo.write(data[at:at + 100001])
            time.sleep(pause)


def fifo_to_fifo_and_file(world):
    os.mkfifo(world.out("one", "live"))
    taker = Taker(world.out("one", "live"))
    world.start("live", retention="8MB")
    write_slowly(world.fifo("live"), content("live"), 0.01)
    assert taker.whole() == content("live"), "the FIFO's bytes differ"
    job = world.end("live")
    assert job["state"] == "done", job["text"]
    with open(world.out("two", "live"), "rb") as file:
        assert file.read() == content("live"), "the recording differs"
    assert [site["received_bytes"] for site in job["sites"]] == [BYTES, BYTES]
    assert not os.path.exists(world.out("two", "live.part"))
    manifest = json.loads(world.source.ask(command="show", what="manifest", job="live", json=True))
    assert manifest["size_bytes"] == BYTES and [site["size_bytes"] for site in manifest["sites"]] == [BYTES, BYTES]
    assert len(manifest["sha256_chain_of_block_sha256s"]) == 64, manifest


def sluicectl_to_socket(world):
    takers = [SocketTaker(world.out(site, "piped")) for site in ("one", "two")]
    path = os.path.join(world.directory, "piped.yaml")
    with open(path, "w", encoding="utf-8") as file:
        file.write(world.job_text("piped", stream='"-"', retention="8MB"))
    run = subprocess.run([world.sluicectl, "-s", world.source.socket_path, "job", "run", path],
                         input=content("piped"), capture_output=True, timeout=60, check=False)
    assert run.returncode == 0, run.stdout.decode() + run.stderr.decode()
    for taker in takers:
        assert hashlib.sha256(taker.whole()).digest() == hashlib.sha256(content("piped")).digest()


def fed(world, name, stdin):
    """sluicectl that feeds a job, once the job runs."""
    path = os.path.join(world.directory, f"{name}.yaml")
    with open(path, "w", encoding="utf-8") as file:
        file.write(world.job_text(name, stream='"-"', retention="8MB"))
    run = subprocess.Popen([world.sluicectl, "-s", world.source.socket_path, "job", "run", path], stdin=stdin,
                           stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    lab.wait_until(f"{name} runs", lambda: [job for job in world.source.show("jobs")["jobs"]
                                            if (job["name"], job["state"]) == (name, "running")])
    return run


def the_feeder_is_killed(world):
    """What has come is whole as far as it goes, and nobody takes it for the stream."""
    for signal_number in (signal.SIGTERM, signal.SIGKILL):
        name = f"cut{signal_number}"
        run = fed(world, name, subprocess.PIPE)
        run.stdin.write(content(name)[:1000])
        run.stdin.flush()
        run.send_signal(signal_number)
        run.wait()
        job = world.end(name)
        assert job["state"] == "failed" and "went away without telling its end" in job["text"], job
        assert not os.path.exists(world.out("two", name)), "a recording that is cut short has its name"
        run.stdin.close()


def the_input_does_not_wait(world):
    """A standard input that somebody made non-blocking has not ended where nothing is there yet."""
    reader, writer = os.pipe2(os.O_NONBLOCK | os.O_CLOEXEC)
    run = fed(world, "nonblocking", reader)
    os.close(reader)
    os.write(writer, b"all of it")
    os.close(writer)
    assert run.wait(lab.WAIT_S) == 0
    with open(world.out("two", "nonblocking"), "rb") as file:
        assert file.read() == b"all of it"


def the_input_pauses(world):
    """Little by little: what was written comes out soon, though no symbol is full."""
    os.mkfifo(world.out("one", "bits"))
    taker = Taker(world.out("one", "bits"))
    world.start("bits", to="[one]", retention="8MB", flush="5ms")
    with open(world.fifo("bits"), "wb", buffering=0) as fifo:
        for number in range(5):
            fifo.write(b"tick %d\n" % number)
            lab.wait_until(f"tick {number}", lambda wanted=number: b"tick %d\n" % wanted in taker.bytes)
            time.sleep(0.2)
    assert taker.whole() == b"".join(b"tick %d\n" % number for number in range(5))
    assert world.end("bits")["state"] == "done"


def the_writer_is_gone_before_a_reader_comes(world):
    os.mkfifo(world.out("one", "early"))
    world.start("early", to="[one]", retention="8MB")
    write_slowly(world.fifo("early"), content("early", 500000))
    lab.wait_until("job early", lambda: world.job("early")["state"] == "running")
    time.sleep(0.3)
    assert world.job("early")["state"] == "running"
    assert Taker(world.out("one", "early")).whole() == content("early", 500000)
    assert world.end("early")["state"] == "done"


def an_empty_stream(world):
    world.start("empty", retention="8MB")
    write_slowly(world.fifo("empty"), b"")
    assert world.end("empty")["state"] == "done"
    assert os.path.getsize(world.out("one", "empty")) == 0


def a_place_that_is_itself_a_sink(world):
    taker = Taker(os.path.join(world.directory, "screen"))
    world.start("shown", to="[two]", directory="screen", retention="8MB")
    write_slowly(world.fifo("shown"), content("shown", 200000))
    assert taker.whole() == content("shown", 200000)
    assert world.end("shown")["state"] == "done"


def a_reader_goes_away(world):
    os.mkfifo(world.out("one", "left"))
    Taker(world.out("one", "left"), limit=100000)
    world.start("left", retention="8MB")
    write_slowly(world.fifo("left"), content("left"), 0.01)
    job = world.end("left")
    assert job["state"] == "failed"
    assert "the reader went away" in world.site("left", "one")["text"], job
    assert world.site("left", "two")["state"] == "verified", job
    with open(world.out("two", "left"), "rb") as file:
        assert file.read() == content("left")


def a_reader_is_too_slow(world):
    os.mkfifo(world.out("one", "slow"))
    size = 4 * BYTES
    slow = os.open(world.out("one", "slow"), os.O_RDONLY | os.O_NONBLOCK)  # reads nothing
    world.start("slow", retention="4MB")
    write_slowly(world.fifo("slow"), content("slow", size), 0.02)
    job = world.end("slow")
    os.close(slow)
    assert "too slow for the retention window" in world.site("slow", "one")["text"], job
    assert world.site("slow", "two")["state"] == "verified", job
    with open(world.out("two", "slow"), "rb") as file:
        assert file.read() == content("slow", size)


def what_is_no_stream_is_refused(world):
    for name, stream, text in (("nothing", os.path.join(world.directory, "none"), "No such file"),
                               ("folder", world.directory, "a directory is no stream")):
        world.start(name, stream=stream, retention="8MB")
        job = world.end(name)
        assert job["state"] == "failed" and text in job["text"], job


def all_appliances_end_cleanly_with_a_stream_under_way(world):
    os.mkfifo(world.out("one", "open"))
    world.start("open", to="[one]", retention="8MB")
    lab.wait_until("job open", lambda: world.job("open")["state"] == "running")
    for name, appliance in world.sites.items():
        status = appliance.stop()
        assert status == 0, f"{name}: exit status {status}:\n{appliance.text()[-1500:]}"


CASES = [fifo_to_fifo_and_file, sluicectl_to_socket, the_feeder_is_killed, the_input_does_not_wait,
         the_input_pauses, the_writer_is_gone_before_a_reader_comes, an_empty_stream,
         a_place_that_is_itself_a_sink, a_reader_goes_away, a_reader_is_too_slow,
         what_is_no_stream_is_refused, all_appliances_end_cleanly_with_a_stream_under_way]


if __name__ == "__main__":
    sys.exit(lab.run_cases(CASES, World(*sys.argv[1:4])))
