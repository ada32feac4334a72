#!/usr/bin/env python3
"""The console on a terminal: a real appliance on a pseudo terminal, its port a ring. usage: console_test.py SLUICE
PLANNER"""
import json
import os
import pty
import re
import select
import signal
import socket
import subprocess
import sys
import tempfile
import termios
import time
import unittest

SLUICE, PLANNER = map(os.path.abspath, sys.argv[1:3])
WAIT_S = 30
PROMPT = "sluice> "
CLEAR_LINE = "\r\x1b[K"
TIME = r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z "
QUESTION = "stop the appliance? jobs running: %d [y/N] "


class Console:
    """An appliance, and the terminal that it is on. `screen`: what came and was not awaited yet."""

    def __init__(self, home):
        self.socket_path, self.screen = os.path.join(home, "sock"), ""
        path = os.path.join(home, "node.yaml")
        with open(path, "w", encoding="utf-8") as file:
            json.dump({"node": {"name": "n1", "insecure": "benchmark"},
                       "ports": [{"device": "net_ring0", "address": "10.9.9.1/24", "rate": "1Gbps"}],
                       "peers": [{"name": "north", "address": "10.9.9.2"}, {"name": "east", "address": "10.9.9.3"}],
                       "memory": {"hugepages": False, "buffer": "160MiB"}, "timeouts": {"measure": "300s"},
                       "control": {"socket": self.socket_path, "ring": os.path.join(home, "ring")}}, file)
        self.terminal, inner = pty.openpty()
        self.before = termios.tcgetattr(inner)
        self.process = subprocess.Popen([SLUICE, "-c", path, "-i"], stdin=inner, stdout=inner, stderr=inner, cwd=home,
                                        start_new_session=True)
        self.inner = inner
        self.begun = self.wait("link of net_ring0 is up\r\n", PROMPT)
        # Jobs find one, and nobody is started for them: from now on nothing is logged by itself.
        self.planner = subprocess.Popen([PLANNER, "--ring", os.path.join(home, "ring")], stderr=subprocess.DEVNULL)
        self.wait("planner attached\r\n", PROMPT)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        if self.process.poll() is None:
            self.process.kill()
        self.process.wait()
        self.planner.kill()
        self.planner.wait()
        os.close(self.terminal)
        os.close(self.inner)

    def type(self, text):
        os.write(self.terminal, text.encode())

    def wait(self, *texts, pattern=False):
        """Until they have come, one behind the other; returns what came by the last one's end."""
        limit, seen = time.monotonic() + WAIT_S, ""
        for text in texts:
            while True:
                found = re.search(text if pattern else re.escape(text), self.screen)
                if found:
                    break
                if time.monotonic() > limit:
                    raise AssertionError(f"{text!r} did not come: {seen + self.screen!r}")
                if select.select([self.terminal], [], [], 0.2)[0]:
                    self.screen = (self.screen + os.read(self.terminal, 65536).decode()).replace("\r\r", "\r")
            seen += self.screen[:found.end()]
            self.screen = self.screen[found.end():]
        return seen

    def answer(self, line):
        """What is said to the line."""
        self.type(line + "\n")
        return self.wait(line + "\r\n", PROMPT)

    def run_job(self, name):
        """By the control socket; it waits to be measured for as long as the test takes."""
        with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as client:
            client.settimeout(WAIT_S)
            client.connect(self.socket_path)
            text = f"name: {name}\nto: [north]\nfile: /etc/hostname\n"
            client.sendall(json.dumps({"command": "job run", "path": "/job.yaml", "text": text}).encode() + b"\n")
            reply = json.loads(client.makefile().readline())
            assert reply["ok"], reply

    def ends(self):
        """Its exit status; the terminal is as it was."""
        self.wait("\r\n")
        status = self.process.wait(WAIT_S)
        assert termios.tcgetattr(self.inner) == self.before
        return status


class ConsoleTest(unittest.TestCase):
    def setUp(self):
        directory = tempfile.TemporaryDirectory(prefix="sluice-console-")
        self.addCleanup(directory.cleanup)
        self.home = directory.name
        console = Console(self.home)
        self.console = console.__enter__()
        self.addCleanup(console.__exit__)

    def test_only_a_yes_stops_it(self):
        console = self.console
        console.run_job("j1")
        console.wait("job j1: measuring")
        for key in ("n", "\r", "\x04", "\x1b[A"):  # a second Ctrl-D is no yes
            console.type("\x04")
            console.wait(QUESTION % 1)
            console.type(key)
            console.wait("no\r\n", PROMPT)
        self.assertIn("dpdk", console.answer("show version"))  # nothing of the keys is left in the line
        console.type("exit\n")
        console.wait(QUESTION % 1)
        console.type("n")
        console.wait("no\r\n", PROMPT)
        console.type("exit\n")
        console.wait(QUESTION % 1)
        console.type("y")
        self.assertEqual(console.ends(), 0)

    def test_ctrl_d_in_a_line_deletes(self):
        self.console.type("show versionx\x1b[D\x04\n")
        self.assertIn("dpdk", self.console.wait("\r\n", PROMPT))

    def test_quit_stops_it_at_once(self):
        self.console.type("quit\n")
        self.assertEqual(self.console.ends(), 0)

    def test_signal_stops_it_while_it_asks(self):
        self.console.type("\x04")
        self.console.wait(QUESTION % 0)
        self.console.process.send_signal(signal.SIGTERM)
        self.assertEqual(self.console.ends(), 0)

    def test_terminal_that_goes_away_stops_it(self):
        os.close(self.console.inner)
        os.close(self.console.terminal)
        self.assertEqual(self.console.process.wait(WAIT_S), 0)
        self.console.terminal, self.console.inner = os.pipe()

    def test_tab_completes_and_explains(self):
        console = self.console
        os.makedirs(os.path.join(self.home, "jobs", "nightly"))
        with open(os.path.join(self.home, "jobs", "nightly", "my job.yaml"), "w", encoding="ascii"):
            pass
        console.run_job("archive")
        console.wait("job archive: measuring", PROMPT)
        for typed, added in (("sho", "w "), ("job can", "cel ", ), ("job cancel a", "rchive "), ("probe no", "rth "),
                             ("job run jo", "bs/"), ("job run jobs/", "nightly/"), ("job run jobs/nightly/my", " job.yaml "),
                             ("job set archive ra", "te ")):
            console.type(typed + "\t")
            console.wait(typed[:-1], typed[-1] + added)
            console.type("\x03")
            console.wait(PROMPT)
        console.type("show p\t")
        shown = console.wait("\r\n", PROMPT + "show p")
        self.assertRegex(shown, r"(?m)^ peers +peers, liveness, RTT\r$")
        self.assertRegex(shown, r"(?m)^ plan +trees and rates")
        self.assertNotIn("STRING", shown)
        console.type("\x03")
        console.wait(PROMPT)
        console.type("\t")
        shown = console.wait("\r\n", PROMPT)
        self.assertRegex(shown, r"(?m)^ job +run, plan, cancel")
        self.assertRegex(shown, r"(?m)^ quit +stop the appliance at once")

    def test_wrong_words_are_explained(self):
        for line, said in (("shwo", "unknown command 'shwo': did you mean show?"), ("show peer", "did you mean peers?"),
                           ("show", "show: what? One of:\r\n  version"), ("job cancel", "job cancel: what? job cancel NAME: "),
                           ("quit now", "'quit' takes no argument"), ("  show version  ", "dpdk")):
            self.assertIn(said, self.console.answer(line))

    def test_the_screen_is_cleared(self):
        for typed in ("clear\n", "show\x0c"):
            self.console.type(typed)
            self.console.wait("\x1b[H\x1b[2J", PROMPT)
        self.console.wait("show")
        self.console.type(" version\n")
        self.assertIn("dpdk", self.console.wait("\r\n", PROMPT))

    def test_the_log_leaves_the_typed_line_whole(self):
        console = self.console
        console.type("show ver")
        console.wait("show ver")
        console.run_job("j1")
        seen = console.wait(re.escape(CLEAR_LINE) + TIME + r"n1: job j1: measuring\r\n", re.escape(PROMPT) + "show ver", pattern=True)
        self.assertNotIn("show ver2", seen)
        console.type("sion\n")
        self.assertIn("dpdk", console.wait("\r\n", PROMPT))
        console.type("\x04")
        console.wait(QUESTION % 1)
        console.run_job("j2")
        console.wait("job j2: measuring\r\n", QUESTION % 1)  # the number of when it was asked
        console.type("n")
        console.wait("no\r\n", PROMPT)

    def test_an_abort_leaves_the_terminal_as_it_was(self):
        self.console.process.send_signal(signal.SIGABRT)
        self.assertEqual(self.console.process.wait(WAIT_S), -signal.SIGABRT)
        self.assertEqual(termios.tcgetattr(self.console.inner), self.console.before)

    def test_ready_comes_before_the_prompt(self):
        self.assertRegex(self.console.begun, r"(?s)^" + TIME + r".*\r\n" + TIME + r"sluice: n1 ready\r\n.*sluice> ")


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
