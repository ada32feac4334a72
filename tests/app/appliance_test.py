#!/usr/bin/env python3
"""What an appliance does for whoever uses this machine: control socket, console, start and end. Without a peer and without
permissions. usage: appliance_test.py SLUICE PLANNER"""
import contextlib
import json
import os
import re
import resource
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
            json.dump({"node": {"name": "n1"},
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


class ApplianceTest(unittest.TestCase):
    def setUp(self):
        directory = tempfile.TemporaryDirectory(prefix="sluice-appliance-")
        self.addCleanup(directory.cleanup)
        self.home = directory.name

    def test_idle_clients_give_way(self):
        with Appliance(self.home) as appliance:
            clients = [appliance.connect() for _ in range(16)]
            for client in clients[1:]:
                self.assertTrue(ask(client, SHOW)["ok"])  # the first one never says a word
            for _ in range(40):
                with appliance.connect() as client:
                    self.assertTrue(ask(client, SHOW)["ok"])
                self.assertTrue(ask(clients[15], SHOW)["ok"])  # who is in use stays
            self.assertEqual(clients[0].recv(1), b"")
            for client in clients:
                client.close()

    def test_a_log_that_nobody_reads_holds_up_nothing(self):
        with Appliance(self.home) as appliance:
            log = os.open(f"/proc/self/fd/{appliance.process.stderr.fileno()}", os.O_WRONLY | os.O_NONBLOCK)
            for piece in (4096, 1):
                try:
                    while os.write(log, b"x" * piece):
                        pass
                except BlockingIOError:
                    pass
            os.close(log)
            with appliance.connect() as client:
                self.assertTrue(ask(client, run_job("j", "/nothing"))["ok"])
                wait_until(lambda: '"failed"' in ask(client, {"command": "show", "what": "jobs", "json": True})["text"])
            appliance.process.send_signal(signal.SIGTERM)
            self.assertEqual(appliance.process.wait(WAIT_S), 0)

    def test_counters_are_explained(self):
        with Appliance(self.home) as appliance, appliance.connect() as client:
            words = ask(client, {"command": "help counters"})["text"]
            shown = json.loads(ask(client, {"command": "show", "what": "counters", "json": True})["text"])
            port = json.loads(ask(client, {"command": "show", "what": "ports", "json": True})["text"])["ports"][0]
            names = [line.split()[0] for line in words.splitlines() if line.startswith("  ")]
            self.assertTrue(all(len(line.split()) > 2 for line in words.splitlines() if line.startswith("  ")))
            counted = [*shown["counters"], *(key for key in port if key.startswith(("rx_", "tx_", "drop_")))]
            self.assertGreater(len(counted), 50)
            self.assertEqual(set(counted) - set(names), set())

    def test_json_of_what_was_done(self):
        """Whatever has no other answer, and for people the same words."""
        cases = [("job pause", "is paused"), ("job resume", "is resumed"), ("job set", "is changed"),
                 ("job cancel", "is being cancelled")]
        with Appliance(self.home, timeouts={"measure": "60s"}) as appliance, appliance.connect() as client:
            for name, form in (("people", False), ("programs", True)):
                def check(request, done, job):
                    text = ask(client, {**request, "json": form})["text"]
                    told = {**json.loads(text), "id": 0} if form else text
                    self.assertEqual(told, {"job": job, "id": 0, "done": done} if form else done)
                    if form:
                        self.assertEqual(json.loads(text)["id"], newest_job(client, job)["id"])
                check(run_job(name, "/etc/hostname"), f"job {name} accepted", name)
                for command, done in cases:
                    check({"command": command, "name": name, "key": "rate", "value": "20Mbps"}, f"job {name} {done}", name)
            rows = json.loads(ask(client, {"command": "help counters", "json": True})["text"])["counters"]
            self.assertTrue(all(row["help"] for row in rows))
            self.assertFalse(ask(client, {"command": "show train", "peer": "n2", "json": True})["ok"])

    def test_jobs_of_a_name_by_their_ids(self):
        """A line each, and all there is of one; a name that nobody has, or that stands where none is expected, is told so."""
        with Appliance(self.home, timeouts={"measure": "20ms"}) as appliance, appliance.connect() as client:
            ids = []
            for _ in range(2):
                self.assertTrue(ask(client, run_job("j", "/etc/hostname"))["ok"])
                wait_until(lambda: newest_job(client, "j")["state"] == "failed")
                ids.append(newest_job(client, "j")["id"])
            plan = {**run_job("p", "/etc/hostname"), "command": "job plan"}
            self.assertTrue(ask(client, plan)["ok"])
            show = {"command": "show", "what": "jobs"}
            lines = ask(client, show)["text"].splitlines()
            self.assertEqual(lines[0], "jobs:")
            self.assertEqual([line.split()[:4] for line in lines[2:4]], [[str(job), "j", "n1", "failed"] for job in ids])
            self.assertEqual([lines[4], lines[6].split()[1]], ["plans:", "p"])
            for job in ids:
                text = ask(client, {**show, "name": str(job)})["text"]
                self.assertIn(f" {job}\n", text)
                self.assertIn(" n2    failed ", text)
            self.assertEqual(ask(client, {**show, "name": "k"})["error"], "no job 'k' is known here")
            self.assertEqual(ask(client, {**show, "what": "peers", "name": "k"})["error"], "'show peers' takes no name")

    def test_config_tells_every_key_of_the_node_file(self):
        """Given or not; --help-config has the keys."""
        directories = [{"name": "a", "path": self.home, "sources": "any"},
                       {"name": "b", "path": self.home, "sources": ["n2"], "accept": {"owner": True, "xattrs": True}}]
        config = {"directories": directories, "manifests": self.home, "timeouts": {"stall": "30s"}, "outgoing": [{"path": self.home}]}
        with Appliance(self.home, **config) as appliance, appliance.connect() as client:
            request = {"command": "show", "what": "config", "json": True}
            rows = {row["key"]: row for row in json.loads(ask(client, request)["text"])["options"]}
            for key, value, origin in (("directories[0].sources", "any", "file"), ("directories[1].sources", "n2", "file"),
                                       ("directories[1].accept.xattrs", "true", "file"), ("manifests", self.home, "file"),
                                       ("directories[0].accept.owner", "false", "default"), ("timeouts.stall", "30s", "file"),
                                       ("timeouts.hello", "1s", "default"), ("probe.load", "1%", "default")):
                self.assertEqual((rows[key]["value"], rows[key]["from"]), (value, origin), key)
            text = ask(client, {**request, "json": False})["text"]
            self.assertRegex(text, r"\n  timeouts.stall +file +30s\n")
        reference = subprocess.run([SLUICE, "--help-config"], capture_output=True, text=True, check=True).stdout
        keys = [line.split(":")[0] for line in reference.splitlines()[1:] if line[:1].strip() and not line.split(": ")[1].startswith("a map")]
        parents = {key.split("[")[0] for key in rows if "[" in key}
        told = {re.sub(r"\[\d+\]", "[]", key) for key in rows} | parents
        self.assertEqual([key for key in keys if key not in told and not key.startswith("roster[]")], [])

    def test_disk_threads_run_where_told_and_are_shown(self):
        cpu = max(os.sched_getaffinity(0))
        with Appliance(self.home, disk={"threads": 2, "cpus": [cpu]}) as appliance, appliance.connect() as client:
            # Each thread names itself, sooner or later.
            wait_until(lambda: {"disk-0-1", "disk-stream"} <= set(thread_places(appliance.process.pid)))
            places = thread_places(appliance.process.pid)
            threads = [name for name in places if name.startswith("disk-")]
            self.assertEqual([places[name] for name in threads], [{cpu}] * len(threads))
            self.assertTrue(ask(client, run_job("j", self.home))["ok"])  # it is opened, and found to be a directory
            show = {"command": "show", "what": "disk", "json": True}
            wait_until(lambda: json.loads(ask(client, show)["text"])["threads"])
            shown = json.loads(ask(client, show)["text"])
            self.assertEqual({"read_bps", "written_bps", "hashed_bps", "queue", "queue_most", "slowest_ns", "stuck"} - set(shown), set())
            self.assertEqual([(row["name"], row["cpu"]) for row in shown["threads"]], [("disk-slow-0", cpu)])
            self.assertIn("disk-slow-0", ask(client, {**show, "json": False})["text"])

    def test_disk_cpu_that_is_not_there(self):
        with self.assertRaisesRegex(RuntimeError, "disk.cpus: CPU 1023 does not exist or is not permitted to this process"):
            Appliance(self.home, disk={"cpus": [1023]}).__enter__()

    def test_matrix_of_bandwidths_is_read_before_each_job(self):
        path = os.path.join(self.home, "avb.csv")
        with Appliance(self.home, plan={"avb": path}) as appliance, appliance.connect() as client:
            for content, error in ((None, f"plan.avb: {path}: No such file or directory"), ("f,n1\nn2,x\n", f"plan.avb: {path}:2: "),
                                   ("f,n1\nn2,90\n", None)):
                if content is not None:
                    with open(path, "w", encoding="utf-8") as file:
                        file.write(content)
                reply = ask(client, run_job("j", "/nothing"))
                self.assertEqual(reply["ok"], error is None)
                self.assertIn(error or "", reply.get("error", ""))

    def test_bad_record_is_logged(self):
        """A planner's ring that claims a record where there is none."""
        path = os.path.join(self.home, "ring.up")
        with Appliance(self.home) as appliance:
            while not os.path.exists(path):  # another thread makes it, and gives it this name when it is whole
                time.sleep(0.01)
            with open(path, "r+b") as ring:
                ring.seek(64)  # lib/shm/layout.h: produced
                ring.write((24).to_bytes(8, "little"))
            lines = iter(appliance.process.stderr.readline, b"")
            self.assertTrue(any(b"1 bad records on the control ring thrown away" in line for line in lines))

    def test_ring_that_is_cut_short_is_made_anew(self):
        path = os.path.join(self.home, "ring.up")
        with Appliance(self.home) as appliance, appliance.connect() as client:
            while not os.path.exists(path):
                time.sleep(0.01)
            bytes_whole = os.path.getsize(path)
            os.truncate(path, 0)
            lines = iter(appliance.process.stderr.readline, b"")
            self.assertTrue(any(b"cut short the control ring " in line for line in lines))
            wait_until(lambda: os.path.exists(path) and os.path.getsize(path) == bytes_whole)
            self.assertTrue(ask(client, SHOW)["ok"])

    def test_ring_that_is_taken_away_is_made_anew(self):
        """Its planner attaches to the new one."""
        with Appliance(self.home) as appliance, appliance.connect() as client, planner_of(self.home):
            wait_until(lambda: planner_attached(client))
            os.unlink(os.path.join(self.home, "ring.down"))
            lines = iter(appliance.process.stderr.readline, b"")
            for said in (b"took away the control ring ", b"planner is gone", b"planner attached"):
                self.assertTrue(any(said in line for line in lines), said)
            wait_until(lambda: planner_attached(client))

    def test_ring_that_can_not_be_made_is_tried_again(self):
        """Said once while it can't, and once when it is there."""
        folder = os.path.join(self.home, "later")
        control = {"socket": os.path.join(self.home, "sock"), "ring": os.path.join(folder, "ring")}
        with Appliance(self.home, control=control) as appliance:
            lines = iter(appliance.process.stderr.readline, b"")
            self.assertTrue(any(b"no planner can attach for now: " in line for line in lines))
            time.sleep(2.5)  # it was tried again, and nothing was said
            os.mkdir(folder)
            for line in lines:
                if b"is there: a planner can attach" in line:
                    break
                self.assertNotIn(b"no planner", line)
            self.assertEqual(sorted(os.listdir(folder)), ["ring.down", "ring.up"])

    def test_plan_tells_whether_a_planner_is_there(self):
        with Appliance(self.home) as appliance, appliance.connect() as client:
            shown = ask(client, {"command": "show", "what": "plan", "json": True})["text"]
            self.assertEqual(json.loads(shown), {"planner_attached": False, "jobs": []})

    def test_there_is_no_picture_of_a_train_that_never_came(self):
        with Appliance(self.home) as appliance, appliance.connect() as client:
            for peer, said in (("n2", "no train to 'n2' is kept"), ("n3", "there is no peer 'n3'"), ("n" * 99, "too long")):
                self.assertIn(said, ask(client, {"command": "show train", "peer": peer})["error"])

    def test_history_is_asked_of_the_planner(self):
        """Past the node: there is an answer with a planner, and at once one without."""
        request = {"command": "show history", "from": "n1", "to": "n2"}
        with Appliance(self.home) as appliance, appliance.connect() as client:
            self.assertIn("none is attached", ask(client, request)["error"])
            with subprocess.Popen([PLANNER, "--ring", os.path.join(self.home, "ring")], stderr=subprocess.DEVNULL) as planner:
                wait_until(lambda: "none is attached" not in ask(client, request)["error"])
                self.assertEqual(ask(client, request)["error"], "nothing was measured from n1 to n2 yet")
                self.assertIn("names of two nodes", ask(client, {**request, "to": "a b"})["error"])
                planner.send_signal(signal.SIGSTOP)
                self.assertEqual(ask(client, request)["error"], "the planner does not answer")
                planner.kill()

    def test_slow_reader_holds_up_nobody(self):
        """A client that asks much at once and takes its replies slowly: another one is served between two of them."""
        count = 400
        request = json.dumps({"command": "help counters"}).encode() + b"\n"
        with Appliance(self.home) as appliance, appliance.connect() as slow, appliance.connect() as other:
            length = len(json.dumps(ask(other, {"command": "help counters"}), separators=(",", ":"))) + 1
            slow.sendall(request * count)
            other.sendall(json.dumps(SHOW).encode() + b"\n")
            taken = 0
            while not select.select([other], [], [], 0.02)[0]:
                taken += len(slow.recv(4096))
                self.assertLess(taken, length * count // 2)
            self.assertTrue(json.loads(other.recv(65536))["ok"])
            while taken < length * count:  # each of its requests is answered all the same
                piece = slow.recv(1 << 16)
                self.assertNotEqual(piece, b"")
                taken += len(piece)
            self.assertEqual(taken, length * count)

    def test_who_takes_no_reply_is_dropped(self):
        request = json.dumps({"command": "help counters"}).encode() + b"\n"
        with Appliance(self.home) as appliance, appliance.connect() as deaf, appliance.connect() as other:
            deaf.sendall(request * 400)
            self.assertTrue(ask(other, SHOW)["ok"])
            wait_until(lambda: b"is dropped" in drain(appliance.process.stderr))
            self.assertTrue(ask(other, SHOW)["ok"])

    def test_requests_before_the_end_are_answered(self):
        with Appliance(self.home) as appliance, appliance.connect() as client:
            client.sendall(3 * (json.dumps(SHOW).encode() + b"\n"))
            client.shutdown(socket.SHUT_WR)
            with client.makefile() as replies:
                self.assertEqual([json.loads(line)["ok"] for line in replies], 3 * [True])

    def test_bad_requests_end_the_connection(self):
        """After those before them were answered."""
        good = json.dumps(SHOW).encode() + b"\n"
        for bad, words in ((b"cheese\n", "malformed"), (b"[1]\n", "malformed"), (b"x" * (1 << 20), "longer than 1 MiB")):
            with Appliance(self.home) as appliance, appliance.connect() as client:
                client.sendall(good + bad + (good if bad.endswith(b"\n") else b""))
                with client.makefile() as file:
                    replies = []
                    try:
                        replies.extend(json.loads(line) for line in file)
                    except ConnectionResetError:  # what it did not read any more
                        pass
                self.assertEqual([reply["ok"] for reply in replies], [True, False])
                self.assertIn(words, replies[1]["error"])

    def test_all_jobs_of_a_name_are_shown(self):
        """As many as are kept, to as many sites as there may be: whoever follows the newest gets that alone."""
        peers = [{"name": f"site-{i:02}-with-a-rather-long-name", "address": f"10.9.9.{i + 2}"} for i in range(63)]
        show = {"command": "show", "what": "jobs", "json": True}
        with Appliance(self.home, peers=peers, timeouts={"measure": "20ms"}) as appliance, appliance.connect() as client:
            for count in range(1, 18):
                self.assertTrue(ask(client, run_job("nightly", "/etc/hostname"))["ok"])
                wait_until(lambda: newest_job(client, "nightly")["state"] == "failed")
                self.assertEqual(len(json.loads(ask(client, {**show, "job": "nightly"})["text"])["jobs"]), 1)
                for form in (True, False):
                    reply = ask(client, {**show, "json": form})
                    self.assertTrue(reply["ok"], reply)
                    self.assertEqual(reply["text"].count("nightly"), min(count, 16))

    def test_no_more_files(self):
        """accept fails for as long as the process has no file left: it must neither spin nor stay deaf."""
        with Appliance(self.home) as appliance:
            pid = appliance.process.pid
            wait_until(lambda: os.path.join(self.home, "ring.down") in open_files(pid).values())
            alone = open_files(pid)
            clients = [appliance.connect() for _ in range(3)]
            for client in clients:
                self.assertTrue(ask(client, SHOW)["ok"])
            used = max(open_files(pid)) + 1
            before = resource.prlimit(pid, resource.RLIMIT_NOFILE, (used, used))
            self.assertGreater(before[0], used)
            with appliance.connect() as client:  # its place is that of the one that was idle longest
                self.assertTrue(ask(client, SHOW)["ok"])
                self.assertEqual(clients[0].recv(1), b"")
                for other in clients[1:] + [client]:
                    other.close()
            clients[0].close()
            # Nobody is left to give way: the connection waits, the processor is left alone.
            wait_until(lambda: open_files(pid) == alone)
            lowest = min(set(range(used)) - alone.keys())
            resource.prlimit(pid, resource.RLIMIT_NOFILE, (lowest, used))
            with appliance.connect():
                before = sleeps(pid, "control")
                wait_until(lambda: sleeps(pid, "control") >= before + 5)  # one that spins is never put to sleep
            status, said = appliance.stop()
            self.assertEqual(status, 0)
            self.assertEqual(said.count("control socket: Too many open files"), 2)

    def test_socket_path_is_taken(self):
        path = os.path.join(self.home, "sock")
        with open(path, "w", encoding="utf-8") as file:
            file.write("precious")
        with self.assertRaisesRegex(RuntimeError, "sock: something that is no socket lies there"):
            with Appliance(self.home):
                pass
        with open(path, encoding="utf-8") as file:
            self.assertEqual(file.read(), "precious")

    def test_successor_keeps_its_socket(self):
        with Appliance(self.home) as first:
            os.unlink(first.socket_path)
            with Appliance(self.home) as successor:
                self.assertEqual(first.stop()[0], 0)
                with successor.connect() as client:
                    self.assertTrue(ask(client, SHOW)["ok"])
                self.assertEqual(successor.stop()[0], 0)
                self.assertFalse(os.path.exists(successor.socket_path))

    def test_a_terminal_that_closes(self):
        """Ends a console, and nothing else."""
        with Appliance(self.home) as appliance, appliance.connect() as client:
            with planner_of(self.home) as planner:
                wait_until(lambda: planner_attached(client))
                planner.send_signal(signal.SIGHUP)
                appliance.process.send_signal(signal.SIGHUP)
                self.assertTrue(ask(client, SHOW)["ok"])
                self.assertIsNone(appliance.process.poll())
                self.assertRaises(subprocess.TimeoutExpired, planner.wait, 0.2)
                planner.terminate()
                self.assertEqual(planner.wait(WAIT_S), 0)
        for before, status in ((signal.SIG_DFL, 0), (signal.SIG_IGN, None)):
            reader, writer = os.pipe()
            signal.signal(signal.SIGHUP, before)  # inherited: nohup
            with Appliance(self.home, "-i", stdin=reader) as appliance, appliance.connect() as client:
                signal.signal(signal.SIGHUP, signal.SIG_DFL)
                appliance.process.send_signal(signal.SIGHUP)
                if status is None:
                    self.assertTrue(ask(client, SHOW)["ok"])
                    self.assertEqual(appliance.stop()[0], 0)
                else:
                    self.assertEqual(appliance.process.wait(WAIT_S), status)
            os.close(reader)
            os.close(writer)

    def test_second_signal_ends_what_hangs(self):
        """Here the console does, as nobody reads what it says."""
        reader, writer = os.pipe()
        with Appliance(self.home, "-i", stdin=reader) as appliance:
            os.write(writer, 100 * b"help counters\n")
            wait_until(lambda: stands_full(appliance.process.stdout))
            appliance.process.send_signal(signal.SIGTERM)
            appliance.process.send_signal(signal.SIGINT)  # at once: no second word
            self.assertRaises(subprocess.TimeoutExpired, appliance.process.wait, 2.5)
            appliance.process.send_signal(signal.SIGTERM)
            self.assertEqual(appliance.process.wait(WAIT_S), -signal.SIGTERM)
            self.assertIn(b"asked again to end", drain(appliance.process.stderr))
        os.close(reader)
        os.close(writer)

    def test_console_with_half_a_line(self):
        reader, writer = os.pipe()
        with Appliance(self.home, "-i", stdin=reader) as appliance:
            os.close(reader)
            os.write(writer, b"show version\nshow ver")
            while b"dpdk" not in appliance.said:
                appliance.said += appliance.process.stdout.readline()
            status, _ = appliance.stop()
            self.assertEqual(status, 0)
        os.close(writer)

    def test_console_ends_at_the_first_failure(self):
        for text, status, said in ((b"show version\nquit\n", 0, "dpdk"), (b"show version\nquit", 0, "dpdk"),
                                   (b"nonsense\nquit\n", 1, "unknown command"),
                                   (b"show " + 2000 * b"x" + b"\nquit\n", 1, "a line longer than")):
            reader, writer = os.pipe()
            os.write(writer, text)
            os.close(writer)
            with Appliance(self.home, "-i", stdin=reader) as appliance:
                os.close(reader)
                output, errors = appliance.process.communicate(timeout=WAIT_S)
                self.assertEqual(appliance.process.returncode, status, text[:40])
                self.assertIn(said, (appliance.said + output + errors).decode())


USER, GROUP, MORE = 65534, 65534, 54321  # nobody, nogroup, and a group that only the caller is in


def as_user(appliance, requests):
    """Replies to what another user asks, a process of its own."""
    reader, writer = os.pipe()
    child = os.fork()
    if child == 0:
        os.setgroups([MORE])
        os.setgid(GROUP)
        os.setuid(USER)
        with appliance.connect() as client:
            os.write(writer, json.dumps([ask(client, request) for request in requests]).encode())
        os._exit(0)
    os.close(writer)
    with os.fdopen(reader) as file:
        replies = json.load(file)
    os.waitpid(child, 0)
    return replies


def newest_job(client, name):
    text = ask(client, {"command": "show", "what": "jobs", "json": True, "job": name})["text"]
    return json.loads(text)["jobs"][0]


def run_job(name, path, more="", **request):
    kind = "stream" if more == "stream" else "file"
    text = f"name: {name}\nsource: n1\nto: all\nobject: {{{kind}: {path}}}\n" + (more if kind == "file" else "")
    return {"command": "job run", "path": "/job.yaml", "text": text, **request}


@unittest.skipUnless(os.geteuid() == 0, "needs root, to be somebody else")
class OutgoingTest(unittest.TestCase):
    """Whose job may send what. Files of root's and of the other user's in a folder that all may enter."""

    def setUp(self):
        directory = tempfile.TemporaryDirectory(prefix="sluice-outgoing-")
        self.addCleanup(directory.cleanup)
        self.home = directory.name
        os.chmod(self.home, 0o755)
        for name, mode, user, group in (("open", 0o644, 0, 0), ("secret", 0o600, 0, 0), ("own", 0o600, USER, 0),
                                        ("shared", 0o640, 0, MORE), ("denied", 0o604, 0, MORE),
                                        ("tree/a", 0o644, 0, 0), ("bad/deep/a", 0o644, 0, 0),
                                        ("bad/deep/secret", 0o600, 0, 0), ("shut/a", 0o644, 0, 0),
                                        ("listed/secret", 0o600, 0, 0), ("listed/deep/secret", 0o600, 0, 0)):
            self.write(name, mode, user, group)
        os.chmod(self.at("shut"), 0o711)
        for link, target in (("to_open", "open"), ("to_secret", "secret"), ("tree/outside", "../secret"),
                             ("listed/link", "../open"), ("listed/up", "..")):
            os.symlink(target, self.at(link))
        os.mkfifo(self.at("fifo"), 0o600)
        os.mkfifo(self.at("own_fifo"), 0o600)
        os.chown(self.at("own_fifo"), USER, GROUP)

    def at(self, name):
        return os.path.join(self.home, name)

    def write(self, name, mode, user, group):
        os.makedirs(os.path.dirname(self.at(name)), exist_ok=True)
        with open(self.at(name), "w", encoding="utf-8") as file:
            file.write(name)
        os.chown(self.at(name), user, group)
        os.chmod(self.at(name), mode)

    def check(self, config, cases):
        """Each case: path below home, words of the refusal (empty: read), more of the request. Some jobs are refused, others
        fail as soon as their source is opened."""
        with Appliance(self.home, **config) as appliance:
            os.chmod(appliance.socket_path, 0o666)
            for number, (path, words, *more) in enumerate(cases):
                name = f"j{number}"
                reply = as_user(appliance, [run_job(name, self.at(path), *(more or [""]))])[0]
                text = self.opened(appliance, name) if reply["ok"] else reply["error"]
                self.assertEqual(text == "", words == "", (path, text))
                self.assertIn(words, text, path)
                as_user(appliance, [{"command": "job cancel", "name": name}])
            with appliance.connect() as client:  # root may send what it can read
                self.assertTrue(ask(client, run_job("root", self.at("secret")))["ok"])
            self.assertEqual(self.opened(appliance, "root"), "")

    def opened(self, appliance, name):
        """The text of the job once its source was opened, or was not."""
        with appliance.connect() as client:
            request = {"command": "show", "what": "jobs", "json": True, "job": name}
            job = {"state": "accepted"}

            def known():
                job.update(json.loads(ask(client, request)["text"])["jobs"][0])
                return job["state"] != "accepted"
            wait_until(known)
        return job["text"] if job["state"] == "failed" and job["text"].startswith(("source", "input")) else ""

    def test_what_the_caller_can_read(self):
        other = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self.addCleanup(other.close)
        other.bind(self.at("socket"))
        os.chmod(self.at("socket"), 0o666)
        denied = "as user 65534: Permission denied"
        self.check({}, [
            ("open", ""), ("own", ""), ("shared", ""), ("to_open", ""), ("tree", ""), ("own_fifo", "", "stream"),
            ("secret", denied), ("to_secret", denied), ("denied", denied), ("nothing", "No such file"), ("shut", denied),
            ("bad", "look at secret in"), ("fifo", denied, "stream"), ("/proc/self/maps", "it lies on procfs"),
            ("/proc/self/task", "it lies on procfs"), ("/proc/self/maps", "it lies on procfs", "stream"),
            ("socket", "no socket of user 65534", "stream")])

    def test_manifests_go_where_the_caller_may_write(self):
        """`manifest:` is the folder into which they are written, and one that he may not write to is refused at once."""
        os.mkdir(self.at("own_manifests"))
        os.chown(self.at("own_manifests"), USER, GROUP)
        os.makedirs(self.at("writable/not_his"))
        os.chmod(self.at("writable"), 0o777)
        self.check({}, [("open", "", f"manifest: {self.at('own_manifests')}\n"),
                        ("open", "manifest in", f"manifest: {self.at('writable/not_his')}\n"),
                        ("open", "it lies on procfs", "manifest: /proc/self\n"),
                        ("open", "a link of /proc on the way", "manifest: /proc/self/cwd\n"),
                        ("open", "manifest in", f"manifest: {self.home}\n")])
        self.check({"outgoing": [{"path": self.home}]}, [
            ("open", "", f"manifest: {self.at('own_manifests')}\n"),
            ("open", "manifest in", f"manifest: {self.at('writable/not_his')}\n")])

    def test_standard_input_is_the_callers_own(self):
        with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as other, Appliance(self.home) as appliance:
            other.bind(self.at("input"))
            other.listen()
            os.chmod(self.at("input"), 0o666)
            os.chmod(appliance.socket_path, 0o666)
            request = run_job("j", '"-"', "stream", input=self.at("input"))
            self.assertTrue(as_user(appliance, [request])[0]["ok"])
            self.assertIn("no socket of user 65534", self.opened(appliance, "j"))
            os.chown(self.at("input"), USER, GROUP)
            request = run_job("j2", '"-"', "stream", input=self.at("input"))
            self.assertEqual(as_user(appliance, [request])[0], {"ok": True, "text": "job j2 accepted"})
            self.assertEqual(self.opened(appliance, "j2"), "")

    def test_an_input_that_feeds_nothing_opens_nothing(self):
        """What feeds a job need not be listed: a member of the request that feeds none changes nothing."""
        with Appliance(self.home, outgoing=[{"path": self.at("listed")}]) as appliance:
            os.chmod(appliance.socket_path, 0o666)
            for number, (path, *kind) in enumerate((("open",), ("tree",), ("own_fifo", "stream"))):
                request = run_job(f"j{number}", self.at(path), *(kind or [""]), input="x")
                self.assertIn("outgoing lists nothing", as_user(appliance, [request])[0].get("error", ""), path)
            request = run_job("file", '"-"', "stream", input=self.at("open"))
            self.assertTrue(as_user(appliance, [request])[0]["ok"])
            self.assertIn("no socket, which a client's input must be", self.opened(appliance, "file"))

    def test_what_is_listed(self):
        self.check({"outgoing": [{"path": self.at("tree"), "users": ["root", "@root"]},
                                 {"path": self.at("listed"), "users": ["root", "nobody"]},
                                 {"path": self.at("bad") + "/", "users": ["@nogroup"]}, {"path": self.at("shut")}]}, [
            ("listed/secret", ""), ("listed/deep", ""), ("listed", ""), ("bad", ""), ("shut/a", ""),
            ("open", "outgoing lists nothing there that user 65534 may send"), ("listed2", "outgoing lists nothing"),
            ("tree/a", "no entry of outgoing there names user 65534"), ("listed/link", "a symbolic link on the way"),
            ("listed/up/secret", "a symbolic link on the way"), ("listed/../secret", "it leads out of what outgoing lists")])

    def test_an_appliance_that_is_not_root(self):
        """Reads with its own rights what `outgoing` lists, and nothing else for others."""
        os.chmod(self.home, 0o777)
        config = {"outgoing": [{"path": self.at("tree")}]}
        for more, path, words in (({}, "open", "does not run as root"), (config, "tree/a", ""),
                                  (config, "open", "outgoing lists nothing there")):
            with Appliance(self.home, user=MORE, **more) as appliance:
                os.chmod(appliance.socket_path, 0o666)
                reply = as_user(appliance, [run_job("j", self.at(path))])[0]
                self.assertEqual(reply["ok"], words == "", reply)
                self.assertIn(words, reply.get("error", ""))
                if reply["ok"]:
                    self.assertEqual(self.opened(appliance, "j"), "")


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


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
