#!/usr/bin/env python3
"""The planner that an appliance starts by itself, or does not: two appliances, joined by memif, and jobs from one to the
other. usage: starter_test.py SLUICE PLANNER SLUICECTL"""
import contextlib
import json
import os
import re
import signal
import subprocess
import sys
import tempfile
import time
import unittest

SLUICE, PLANNER, SLUICECTL = map(os.path.abspath, sys.argv[1:4])
ADDRESSES = {"a": "10.9.0.1", "b": "10.9.0.2"}
WAIT_S = 60
NOBODY = 65534


def wait_until(what, condition):
    limit = time.monotonic() + WAIT_S
    while not condition():
        if time.monotonic() > limit:
            raise AssertionError(f"{what}: not within {WAIT_S} s")
        time.sleep(0.02)


def is_alive(process):
    """A zombie is not: nobody may be there to collect it."""
    try:
        with open(f"/proc/{process}/stat", encoding="ascii") as file:
            return file.read().rpartition(") ")[2][0] != "Z"
    except FileNotFoundError:
        return False


def status_of(process):
    with open(f"/proc/{process}/status", encoding="ascii") as file:
        return dict(line.rstrip("\n").split(":\t", 1) for line in file if ":\t" in line)


def files_of(process):
    found = {}
    if not os.access(f"/proc/{process}/fd", os.R_OK):
        raise unittest.SkipTest("the descriptors of a process with keys are root's to see")
    for name in os.listdir(f"/proc/{process}/fd"):
        with contextlib.suppress(FileNotFoundError):  # closed meanwhile
            found[int(name)] = os.readlink(f"/proc/{process}/fd/{name}")
    return found


@contextlib.contextmanager
def planner_beside(*words):
    """One that an operator starts."""
    with subprocess.Popen([PLANNER, *words], stderr=subprocess.DEVNULL) as planner:
        try:
            yield
        finally:
            planner.kill()


class Site:
    """An appliance; `programs` is its PATH, where it finds sluice-planner or does not."""

    def __init__(self, home, name, programs, user=None, **config):
        self.home, self.name, self.user, self.programs = os.path.join(home, name), name, user, programs
        self.incoming = os.path.join(self.home, "incoming")
        self.log, self.path = os.path.join(self.home, "log"), os.path.join(self.home, "node.yaml")
        self.socket_path = os.path.join(self.home, "control.sock")
        os.makedirs(self.incoming)
        role = "server" if name == "a" else "client"
        with open(self.path, "w", encoding="utf-8") as file:
            json.dump({
                "node": {"name": name, "insecure": "benchmark"},
                "ports": [{"device": f"net_memif0,role={role},socket={home}/memif,socket-abstract=no",
                           "address": ADDRESSES[name] + "/24", "rate": "1Gbps"}],
                "peers": [{"name": other, "address": ADDRESSES[other]} for other in ADDRESSES if other != name],
                "directories": [{"name": "incoming", "path": self.incoming, "sources": "any"}],
                "memory": {"hugepages": False, "buffer": "64MiB"},
                "control": {"socket": self.socket_path}, **config}, file)
        self.process = None

    def __enter__(self):
        with open(self.log, "wb") as log, open(self.path, "rb") as inherited:
            os.set_inheritable(inherited.fileno(), True)
            self.process = subprocess.Popen([SLUICE, "-c", self.path], stdin=subprocess.DEVNULL, stdout=log, stderr=log,
                                            env={**os.environ, "PATH": self.programs}, close_fds=False, user=self.user)
        wait_until(f"{self.name} ready", lambda: self.says("ready\n") or self.process.poll() is not None)
        return self

    def __exit__(self, *_):
        if self.process.poll() is None:
            self.process.terminate()
        self.process.wait(WAIT_S)

    def text(self):
        with open(self.log, encoding="utf-8", errors="replace") as file:
            return file.read()

    def says(self, words):
        return words in self.text()

    def planners(self):
        """Process ids of all that it started, the newest last."""
        return [int(number) for number in re.findall(r"sluice-planner was started as process (\d+)", self.text())]

    def ctl(self, *words):
        return subprocess.run([SLUICECTL, "-s", self.socket_path, *words], capture_output=True, text=True, timeout=WAIT_S,
                              check=False)

    def send(self, name):
        """This program, under that name at the other site."""
        return self.ctl("send", os.path.abspath(__file__), "b", "--as", name)


class StarterTest(unittest.TestCase):
    def setUp(self):
        directory = tempfile.TemporaryDirectory(prefix="sluice-starter-")
        self.addCleanup(directory.cleanup)
        self.home = directory.name
        os.chmod(self.home, 0o755)  # a planner of another user finds the ring
        self.stack = contextlib.ExitStack()
        self.addCleanup(self.stack.close)

    def start(self, programs=os.path.dirname(PLANNER), **config):
        """Both sites; the source, which has that configuration."""
        source = self.stack.enter_context(Site(self.home, "a", programs, **config))
        self.target = self.stack.enter_context(Site(self.home, "b", programs))
        return source

    def expect_sent(self, source, name):
        run = source.send(name)
        self.assertEqual(run.returncode, 0, run.stdout + run.stderr + source.text())
        with open(os.path.join(self.target.incoming, name), "rb") as copy, open(__file__, "rb") as original:
            self.assertEqual(copy.read(), original.read())

    def expect_nothing_of(self, source, planner):
        """A planner has /dev/null, its ring and a pipe, and none of these is the appliance's but the ring."""
        files = files_of(planner)
        ring = os.path.join(source.home, "control.ring")
        self.assertEqual({name: path for name, path in files.items() if name != 2 and path != "/dev/null"},
                         {3: ring + ".down", 4: ring + ".up"})
        self.assertTrue(files[2].startswith("pipe:"), files)
        self.assertNotIn(files[2], files_of(source.process.pid).values())
        self.assertEqual(status_of(planner)["NoNewPrivs"], "1")
        starter = int(status_of(planner)["PPid"])
        self.assertEqual(int(status_of(starter)["PPid"]), source.process.pid)
        sockets = [path for path in files_of(starter).values() if path.startswith("socket:")]
        self.assertEqual(len(sockets), 1)
        self.assertNotIn(sockets[0], files_of(source.process.pid).values())

    def test_job_needs_nobody_to_start_it(self):
        """Killed, it comes again; with the appliance it goes."""
        source = self.start()
        self.assertEqual(source.planners(), [])
        self.expect_sent(source, "first")
        self.assertEqual(len(source.planners()), 1)
        self.expect_nothing_of(source, source.planners()[0])
        self.expect_sent(source, "second")
        self.assertEqual(len(source.planners()), 1)
        os.kill(source.planners()[0], signal.SIGKILL)
        wait_until("the end is told", lambda: source.says("sluice-planner was ended by signal 9"))
        self.expect_sent(source, "third")
        self.assertEqual(len(source.planners()), 2)
        source.process.kill()
        source.process.wait(WAIT_S)
        for planner in source.planners():
            wait_until("the planner is gone", lambda planner=planner: not is_alive(planner))

    def test_it_ends_with_the_appliance(self):
        """Also one that stands still; nothing is left when the appliance is gone."""
        for stopped in (False, True):
            with self.subTest(stopped=stopped), tempfile.TemporaryDirectory(prefix="sluice-starter-") as self.home:
                source = self.start()
                self.expect_sent(source, "file")
                planner = source.planners()[0]
                starter = int(status_of(planner)["PPid"])
                if stopped:
                    os.kill(planner, signal.SIGSTOP)
                source.process.terminate()
                self.assertEqual(source.process.wait(WAIT_S), 0)
                self.assertFalse(is_alive(planner) or is_alive(starter))
                self.stack.close()

    @unittest.skipIf(os.geteuid() != 0, "only root can give a planner another user")
    def test_planner_user(self):
        source = self.start(planner_user="nobody")
        self.expect_sent(source, "first")
        planner = source.planners()[0]
        self.expect_nothing_of(source, planner)
        status = status_of(planner)
        self.assertEqual(status["Uid"].split(), 4 * [str(NOBODY)])
        self.assertEqual({int(status[name], 16) for name in status if name.startswith("Cap") and name != "CapBnd"}, {0})
        self.assertFalse(source.says("planners are started as root"))
        self.assertEqual([os.stat(os.path.join(source.home, "control.ring" + end)).st_uid for end in (".down", ".up")],
                         [0, NOBODY])

    @unittest.skipIf(os.geteuid() != 0, "only root can start an appliance as another user")
    def test_planner_user_is_for_root(self):
        os.chmod(self.home, 0o777)
        site = Site(self.home, "a", "", user=NOBODY, planner_user="root")
        os.chown(site.home, NOBODY, NOBODY)
        with site:
            self.assertEqual(site.process.wait(WAIT_S), 1)
            self.assertTrue(site.says("planner_user: only root can start a planner as root"))

    def test_user_that_does_not_exist(self):
        site = Site(self.home, "a", "", planner_user="no-such-user")
        check = subprocess.run([SLUICE, "-c", site.path, "--check-config"], capture_output=True, text=True, check=False)
        self.assertEqual(check.returncode, 2)
        self.assertIn("planner_user: there is no user \"no-such-user\"", check.stderr)

    def test_off(self):
        """A job is refused at once, with the command to start one, which works."""
        source = self.start(planner="off")
        run = source.send("first")
        self.assertEqual(run.returncode, 4)
        command = re.search(r"no planner is attached; start one: (sluice-planner --ring \S+)", run.stderr).group(1)
        with planner_beside(*command.split()[1:]):
            wait_until("it is attached", lambda: source.says("planner attached"))
            self.expect_sent(source, "first")
        self.assertEqual(source.planners(), [])

    def test_one_that_is_there_is_enough(self):
        """What an operator starts beside the appliance serves its jobs."""
        source = self.start()
        with planner_beside("--ring", os.path.join(source.home, "control.ring")):
            wait_until("it is attached", lambda: source.says("planner attached"))
            self.expect_sent(source, "first")
        self.assertEqual(source.planners(), [])

    def stub(self, script):
        """A program under the planner's name, which is to be found in that folder."""
        programs = os.path.join(self.home, "programs")
        os.makedirs(programs, exist_ok=True)
        path = os.path.join(programs, "sluice-planner")
        with open(path + ".new", "w", encoding="utf-8") as file:
            file.write("#!/bin/sh\n" + script)
        os.chmod(path + ".new", 0o755)
        os.rename(path + ".new", path)
        return programs

    def test_one_that_does_not_attach(self):
        """It is killed, and the job goes on with the next one."""
        source = self.start(self.stub("exec /bin/sleep 1000\n"), timeouts={"plan": "120s"})
        with subprocess.Popen([SLUICECTL, "-s", source.socket_path, "send", os.path.abspath(__file__), "b", "--as", "x"],
                              stdout=subprocess.DEVNULL) as send:
            try:
                wait_until("it is started", source.planners)
                self.stub(f"exec {PLANNER} \"$@\"\n")
                self.assertEqual(send.wait(WAIT_S), 0, source.text())
            finally:
                send.kill()
        self.assertTrue(source.says("a: sluice-planner has not attached for 10 s: it is killed"))
        self.assertTrue(source.says("sluice-planner was ended by signal 9, tried again after 1 s"))
        self.assertEqual(len(source.planners()), 2)

    def test_what_it_says_is_its_own(self):
        """No line of it passes for another one's, and none steers a terminal."""
        script = ("printf 'half ' >&2; printf 'whole\\n\\033[2J<3>x\\n<3>a: job x: done\\n' >&2\n"
                  "i=0; while [ $i -lt 100 ]; do echo flood >&2; i=$((i + 1)); done; printf 'no end' >&2\n")
        source = self.start(self.stub(script), timeouts={"plan": "1s"})
        source.send("x")
        wait_until("the rest", lambda: source.says("more lines were not logged"))
        lines = [line.partition("Z ")[2] for line in source.text().splitlines()]
        for line in ("half whole", "?[2J<3>x", "a: job x: done"):
            self.assertIn("sluice-planner: " + line, lines)
        self.assertLess(lines.count("sluice-planner: flood"), 100)
        self.assertNotIn("\033", source.text())

    def test_starter_that_hangs(self):
        """It is not waited for, and takes its planner along."""
        source = self.start()
        self.expect_sent(source, "file")
        planner = source.planners()[0]
        starter = int(status_of(planner)["PPid"])
        os.kill(starter, signal.SIGSTOP)
        source.process.terminate()
        try:
            self.assertEqual(source.process.wait(WAIT_S), 0)
        finally:
            if source.process.poll() is None:
                os.kill(starter, signal.SIGKILL)
        wait_until("both are gone", lambda: not is_alive(planner) and not is_alive(starter))

    def test_one_that_does_not_live(self):
        """Or can't be started: the job that waited for it says so."""
        cases = (("#!/bin/sh\necho no good >&2\nexit 3\n", 0o755, "sluice-planner exited with status 3, tried again after"),
                 ("", 0o644, "sluice-planner: Permission denied, tried again after"),
                 (None, 0, "sluice-planner beside sluice or in PATH: No such file or directory, tried again after"))
        programs = os.path.join(self.home, "programs")
        os.makedirs(programs)
        source = self.start(programs, timeouts={"plan": "1s"})
        for number, (script, mode, words) in enumerate(cases):
            path = os.path.join(programs, "sluice-planner")
            with contextlib.suppress(FileNotFoundError):
                os.unlink(path)
            if script is not None:
                with open(path, "w", encoding="ascii") as file:
                    file.write(script)
                os.chmod(path, mode)
            wait_until(words, lambda number=number, words=words: words in source.send(f"f{number}").stderr)
        self.assertTrue(source.says("no good\n"))


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1], verbosity=2)
