"""An appliance for tests of what it does for whoever uses this machine: without a peer and without permissions.
usage of each test: NAME_test.py SLUICE PLANNER"""
import contextlib
import json
import os
import select
import signal
import socket
import subprocess
import sys
import tempfile
import time
import unittest

SLUICE, PLANNER = sys.argv[1:3]
WAIT_S = 30


class Appliance:
    """A node on a device that carries nothing. Its files lie in `home`."""

    def __init__(self, home, *options, stdin=subprocess.DEVNULL, user=None, **config):
        self.home, self.options, self.stdin, self.user = home, options, stdin, user
        self.socket_path = os.path.join(home, "sock")
        self.path = os.path.join(home, "node.yaml")
        with open(self.path, "w", encoding="utf-8") as file:
            json.dump({"node": {"name": "n1", "insecure": "benchmark"},
                       "ports": [{"device": "net_null0,no-rx=1", "address": "10.9.9.1/24", "rate": "1Gbps"}],
                       "peers": [{"name": "n2", "address": "10.9.9.2"}],
                       "memory": {"hugepages": False, "buffer": "160MiB"},
                       "control": {"socket": self.socket_path, "ring": os.path.join(home, "ring")}, **config}, file)
        self.process = None

    def __enter__(self):
        self.process = subprocess.Popen([SLUICE, "-c", self.path, *self.options], stdin=self.stdin, user=self.user,
                                        stdout=subprocess.PIPE, stderr=subprocess.PIPE, bufsize=0)
        self.said = b""  # a console may be faster than the line that says ready
        while b"sluice: n1 ready\n" not in self.said:
            line = self.process.stdout.readline()
            self.said += line
            if line == b"":
                raise RuntimeError(self.process.communicate(timeout=WAIT_S)[1].decode())
        return self

    def __exit__(self, *_):
        if self.process.poll() is None:
            self.process.kill()
        self.process.communicate()

    def stop(self):
        """Its exit status after SIGTERM, and what it said."""
        self.process.send_signal(signal.SIGTERM)
        output, errors = self.process.communicate(timeout=WAIT_S)
        return self.process.returncode, (output + errors).decode()

    def connect(self):
        client = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        client.settimeout(WAIT_S)
        client.connect(self.socket_path)
        return client


def ask(client, request):
    client.sendall(json.dumps(request).encode() + b"\n")
    line = b""
    while not line.endswith(b"\n"):
        piece = client.recv(65536)
        if piece == b"":
            raise EOFError
        line += piece
    return json.loads(line)


@contextlib.contextmanager
def planner_of(home):
    with subprocess.Popen([PLANNER, "--ring", os.path.join(home, "ring")], stderr=subprocess.PIPE) as planner:
        try:
            yield planner
        finally:
            planner.kill()


def planner_attached(client):
    return json.loads(ask(client, {"command": "show", "what": "plan", "json": True})["text"])["planner_attached"]


SHOW = {"command": "show", "what": "version", "json": True}


def newest_job(client, name):
    text = ask(client, {"command": "show", "what": "jobs", "json": True, "job": name})["text"]
    return json.loads(text)["jobs"][0]


def run_job(name, path, more="", **request):
    kind = "stream" if more == "stream" else "file"
    text = f"name: {name}\nsource: n1\nto: all\nobject: {{{kind}: {path}}}\n" + (more if kind == "file" else "")
    return {"command": "job run", "path": "/job.yaml", "text": text, **request}


def stands_full(pipe):
    """Nobody can write to it."""
    own = os.open(f"/proc/self/fd/{pipe.fileno()}", os.O_WRONLY | os.O_NONBLOCK)
    writable = select.select([], [own], [], 0)[1]
    os.close(own)
    return not writable


def drain(pipe):
    """What is in it by now."""
    return os.read(pipe.fileno(), 65536) if select.select([pipe], [], [], 0)[0] else b""


def wait_until(condition):
    limit = time.monotonic() + WAIT_S
    while not condition():
        if time.monotonic() > limit:
            raise AssertionError("not within 30 s")
        time.sleep(0.02)


def thread_places(pid):
    """{name of a thread: CPUs that it may run on}"""
    places = {}
    for task in os.listdir(f"/proc/{pid}/task"):
        with open(f"/proc/{pid}/task/{task}/comm", encoding="utf-8") as file:
            places[file.read().strip()] = os.sched_getaffinity(int(task))
    return places


def open_files(pid):
    """What each descriptor stands for."""
    files = {}
    if not os.access(f"/proc/{pid}/fd", os.R_OK):
        raise unittest.SkipTest("the descriptors of a process with keys are root's to see")
    for name in os.listdir(f"/proc/{pid}/fd"):
        with contextlib.suppress(FileNotFoundError):
            files[int(name)] = os.readlink(f"/proc/{pid}/fd/{name}")
    return files


def sleeps(pid, name):
    """How often the thread of this name gave up the processor by itself."""
    for thread in os.listdir(f"/proc/{pid}/task"):
        with open(f"/proc/{pid}/task/{thread}/status", encoding="ascii", errors="replace") as file:
            status = dict(line.rstrip("\n").split(":\t", 1) for line in file)
        if status["Name"] == name:
            return int(status["voluntary_ctxt_switches"])
    raise AssertionError(f"no thread is named {name}")


class HomeTest(unittest.TestCase):
    """A folder for each test."""

    def setUp(self):
        directory = tempfile.TemporaryDirectory(prefix="sluice-appliance-")
        self.addCleanup(directory.cleanup)
        self.home = directory.name
