#!/usr/bin/env python3
"""Directories from one appliance to another, real programs over memif: what arrives is what was sent, by the policies
of the job, and nothing that looks whole is left where a job failed. Needs no permissions.
Usage: files_test.py SLUICE SLUICE_PLANNER SLUICECTL"""

import os
import random
import re
import signal
import stat
import subprocess
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import lab  # noqa: E402

SEED = 20240911
SITES = {"source": ("10.9.1.1", "server"), "target": ("10.9.1.2", "client")}
NOBODY = {"name": "nobody", "address": "10.9.1.3"}  # a peer of the source that is not there
FILES = 300
TIME = r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z "  # what a line of the log begins with


def write(path, content, mode=0o644, seconds=1_500_000_000):
    with open(path, "wb") as file:
        file.write(content)
    os.chmod(path, mode)
    os.utime(path, ns=(0, seconds * 10**9 + 987654321))


def make_tree(root):
    chance = random.Random(SEED)
    root = os.fsencode(root)
    os.makedirs(root + b"/empty")
    os.makedirs(root + b"/deep/" + b"/".join([b"d"] * 20))
    for number in range(FILES):
        content = chance.randbytes(chance.choice((0, 1, 100, 10_000, 20_000)))
        write(root + b"/deep/%03d" % number, content, chance.choice((0o400, 0o644, 0o751)), 1_400_000_000 + number)
    write(root + b"/not utf-8 \xff\xfe\n", b"x")
    write(root + b"/big", chance.randbytes(3_000_000))
    os.link(root + b"/big", root + b"/deep/again")
    os.symlink(b"../../outside", root + b"/link")
    os.chmod(root + b"/empty", 0o750)
    os.utime(root + b"/empty", (0, 1_234_567_890))
    os.utime(root, (0, 1_111_111_111))


def described(root):
    """Everything that is kept of a tree, by path."""
    root = os.fsencode(root)
    found, first_names = {}, {}
    paths = [root]
    for folder, directories, files in os.walk(root):
        paths += [os.path.join(folder, name) for name in directories + files]
    for path in sorted(paths):
        info = os.lstat(path)
        if stat.S_ISLNK(info.st_mode):
            content = os.readlink(path)
        elif stat.S_ISREG(info.st_mode):
            with open(path, "rb") as file:
                content = file.read()
        else:
            content = None
        name = os.path.relpath(path, root)
        same = None if stat.S_ISDIR(info.st_mode) else first_names.setdefault(info.st_ino, name)
        found[name] = (info.st_mode, info.st_mtime_ns, same, content)
    return found


def assert_same(left, right):
    left, right = described(left), described(right)
    assert left.keys() == right.keys(), f"names differ: {sorted(left.keys() ^ right.keys())[:5]}"
    differ = [name for name in left if left[name] != right[name]]
    assert not differ, f"{differ[0]}: {left[differ[0]][:3]} became {right[differ[0]][:3]}"


class World:
    def __init__(self, program, planner, ctl):
        self.ctl = os.path.abspath(ctl)
        self.directory = lab.temporary_directory()
        self.tree = os.path.join(self.directory, "tree")
        make_tree(self.tree)
        self.sites = {}
        for name, (address, role) in SITES.items():
            socket = f"@sluice-files-{os.getpid()}"
            self.sites[name] = lab.Appliance(program, self.directory, name, {
                "ports": [{"device": f"net_memif0,role={role},socket-abstract=yes,socket={socket}",
                           "address": address + "/24", "rate": "1Gbps"}],
                "peers": [{"name": other, "address": SITES[other][0]} for other in SITES if other != name] +
                         ([NOBODY] if name == "source" else []),
            })
        self.source, self.target = self.sites["source"], self.sites["target"]
        self.planner = lab.planner_of(planner, self.source)

    def start(self, name, path, **keys):
        job = {"name": name, "source": "source", "to": "[target]", "file": path, "as": "tree", **keys}
        text = "".join(f"{key}: {value}\n" for key, value in job.items())
        self.source.ask(command="job run", path=os.path.join(self.directory, "job.yaml"), text=text)

    def job(self, name):
        return [job for job in self.source.show("jobs")["jobs"] if job["name"] == name][0]

    def finish(self, name):
        lab.wait_until(f"job {name}", lambda: self.job(name)["state"] in ("done", "failed", "cancelled"))
        return self.job(name)

    def arrived(self):
        return os.path.join(self.target.incoming, "tree")


def a_tree_arrives_as_it_was(world):
    world.start("first", world.tree)
    job = world.finish("first")
    assert job["state"] == "done", job
    assert job["sites"][0]["text"] == world.arrived(), job["sites"]
    assert_same(world.tree, world.arrived())
    assert os.listdir(world.target.incoming) == ["tree"], os.listdir(world.target.incoming)


def both_ends_log_what_it_came_to(world):
    size = r": [0-9.]+ [kMG]?B in [0-9.]+ s, [0-9.]+ [kMG]?bit/s$"
    expected = {world.target: "target: job first: received incoming/tree from source" + size,
                world.source: f"source: job first: done; sent {re.escape(world.tree)} to 1 of 1 sites" + size}
    for site, line in expected.items():
        line = "^" + TIME + line
        lab.wait_until(line, lambda s=site, e=line: re.search(e, s.text(), re.MULTILINE))


def one_that_is_there_is_refused(world):
    world.start("again", world.tree)
    job = world.finish("again")
    assert job["state"] == "failed" and "is there already" in job["text"], job
    lab.wait_until("its cause in the log", lambda: re.search("^" + TIME + "source: job again: failed: .*is there already.*",
                                                             world.source.text(), re.MULTILINE))


def every_line_of_the_logs_has_its_time(world):
    assert world.planner.says("attached to"), world.planner.text()
    for process in (world.source, world.target, world.planner):
        bare = [line for line in process.text().split("\n")[:-1] if not re.match(TIME, line)]
        assert not bare, bare


def the_same_one_is_skipped(world):
    inode = os.stat(world.arrived()).st_ino
    world.start("skipped", world.tree, exists="skip-if-same")
    job = world.finish("skipped")
    assert job["state"] == "done" and job["sites"][0]["state"] == "skipped", job
    assert os.stat(world.arrived()).st_ino == inode


def another_one_takes_its_place_whole(world):
    write(os.path.join(world.tree, "new"), b"new")
    os.unlink(os.path.join(world.tree, "deep", "007"))
    write(os.path.join(world.arrived(), "only here"), b"gone afterwards")
    world.start("replaced", world.tree, exists="replace", durable="none")
    job = world.finish("replaced")
    assert job["state"] == "done", job
    assert_same(world.tree, world.arrived())
    assert os.listdir(world.target.incoming) == ["tree"]


def a_change_during_the_job_is_told_by_name(world):
    """The cap holds the job up until the last file is another one: the buffer has room for less than half."""
    before = described(world.arrived())
    large = os.path.join(world.directory, "large")
    os.makedirs(large)
    noise = random.Random(SEED).randbytes(1_000_000)
    for number in range(150):
        write(os.path.join(large, f"{number:03d}"), noise)
    world.start("changing", large, exists="replace", rate="10Mbps")
    lab.wait_until("data", lambda: world.job("changing")["state"] == "running")
    write(os.path.join(large, "149"), b"short")
    world.source.ask(command="job set", name="changing", key="rate", value="none")
    job = world.finish("changing")
    assert job["state"] == "failed" and "149: changed since the job began" in job["text"], job
    assert described(world.arrived()) == before, "the tree that was there is not the same any more"
    lab.wait_until("the rest is removed", lambda: os.listdir(world.target.incoming) == ["tree"])


def what_is_no_file_is_told_by_name(world):
    os.mkfifo(os.path.join(world.tree, "pipe"))
    world.start("pipe", world.tree, exists="replace")
    job = world.finish("pipe")
    assert job["state"] == "failed" and "pipe" in job["text"] and "neither file" in job["text"], job


def one_site_that_is_missing_is_left_out(world):
    """0: all have it; 5: some have, the others are named; 1: nobody has."""
    path = os.path.join(world.directory, "job.yaml")
    for sites, status in (("target", 0), ("target, nobody", 5), ("nobody", 1)):
        with open(path, "w", encoding="utf-8") as file:
            file.write(f"name: some\nsource: source\nto: [{sites}]\nfile: {world.tree}/big\nexists: replace\n")
        out = subprocess.run([world.ctl, "-s", world.source.socket_path, "job", "run", path], capture_output=True, text=True,
                             timeout=100, check=False)
        said = out.stdout + out.stderr
        assert out.returncode == status, f"{sites}: exit status {out.returncode}, {status} expected: {said}"
        assert ("nobody: does not answer" in said) == ("nobody" in sites), said


def a_file_is_sent_without_a_job_file(world):
    """Options of the job and of sluicectl anywhere; the file's name as it is, and what a job may be called of it."""
    path = os.path.join(world.directory, "my \"own\" \u0085\u2028file.tar")
    write(path, b"own")
    out = subprocess.run([world.ctl, "send", "my \"own\" \u0085\u2028file.tar", "--priority", "high", "target", "-s", world.source.socket_path,
                          "--json"], capture_output=True, text=True, timeout=100, check=False, cwd=world.directory)
    assert out.returncode == 0, out.stdout + out.stderr
    missing = subprocess.run([world.ctl, "send", "--no-wait", "-s", world.source.socket_path, "not here", "target"],
                             capture_output=True, text=True, timeout=100, check=False, cwd=world.directory)
    assert missing.returncode == 0, missing.stdout + missing.stderr
    assert os.path.join(world.directory, "not here") in world.finish("not_here")["text"], world.job("not_here")
    assert world.job("my__own_______file.tar")["state"] == "done"
    with open(os.path.join(world.target.incoming, "my \"own\" \u0085\u2028file.tar"), "rb") as file:
        assert file.read() == b"own"


def a_job_that_stands_still_says_so(world):
    """In its progress and in the table: paused while it is, stalled with since when and why while its site is dumb."""
    def table():
        lines = world.source.ask(command="show", what="jobs").splitlines()
        return next(line.split() for line in lines if " big " in line)

    log = os.path.join(world.directory, "slow.log")
    run = lab.Process([world.ctl, "-s", world.source.socket_path, "send", f"{world.tree}/big", "target", "--rate", "2Mbps",
                       "--as", "slow"], log)
    lab.wait_until("bytes", lambda: re.search(r"^big: target [1-9]\d*% .* ETA", run.text(), re.MULTILINE))
    world.source.ask(command="job pause", name="big")
    lab.wait_until("paused", lambda: re.search(r"^big: target \d+% paused$", run.text(), re.MULTILINE))
    assert table()[3] == "paused", table()
    world.source.ask(command="job resume", name=str(world.job("big")["id"]))
    lab.wait_until("bytes again", lambda: world.job("big")["sites"][0]["state"] == "receiving")
    world.target.process.send_signal(signal.SIGSTOP)
    lab.wait_until("stalled", lambda: re.search(r"^big: target \d+% stalled \d+ s: target does not answer$", run.text(), re.MULTILINE))
    assert table()[3] == "stalled", table()
    world.target.process.send_signal(signal.SIGCONT)
    world.source.ask(command="job set", name="big", key="rate", value="none")
    lab.wait_until("the end", run.ended)
    assert run.process.returncode == 0 and "verified" in run.text(), run.text()


def both_appliances_end_cleanly(world):
    for name, appliance in world.sites.items():
        status = appliance.stop()
        assert status == 0, f"{name}: exit status {status}:\n{appliance.text()[-1500:]}"


CASES = [a_tree_arrives_as_it_was, both_ends_log_what_it_came_to, one_that_is_there_is_refused, the_same_one_is_skipped,
         another_one_takes_its_place_whole, a_change_during_the_job_is_told_by_name, what_is_no_file_is_told_by_name,
         one_site_that_is_missing_is_left_out, a_file_is_sent_without_a_job_file,
         a_job_that_stands_still_says_so, both_appliances_end_cleanly,
         every_line_of_the_logs_has_its_time]


if __name__ == "__main__":
    sys.exit(lab.run_cases(CASES, World(*sys.argv[1:4])))
