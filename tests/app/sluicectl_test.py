#!/usr/bin/env python3
"""sluicectl against a fake appliance: exit codes, output and what it asks for. usage: sluicectl_test.py SLUICECTL"""
import json
import os
import pty
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
import unittest

SLUICECTL = sys.argv[1]
JOB = "name: j1\nsource: a\nto: all\nfile: data.bin\n"


def site(name, state, received=0, complete=0, text=""):
    return {"name": name, "state": state, "received_bytes": received, "verified_bytes": received,
            "complete_ns": complete, "text": text}


def job(state, sites, now_s=1, text=""):
    return {"name": "j1", "state": state, "text": text, "source": True, "size_bytes": 1000000,
            "created_ns": 1, "running_ns": 1000000000, "ended_ns": 0, "now_ns": int(now_s * 1e9),
            "tree": "a\n└── b\n", "plan": {"rate_bps": 1000000, "common_rate_bps": 8000000}, "sites": sites}


def jobs(*list_of_jobs):
    return {"ok": True, "text": json.dumps({"jobs": list(list_of_jobs)})}


RUNNING = jobs(job("running", [site("b", "receiving", 500000), site("c", "receiving")], 2))
DONE = jobs(job("done", [site("b", "verified", 1000000, 3000000000, "/srv/b/data.bin"),
                         site("c", "skipped", 0, 0, "/srv/c/data.bin")], 3))
RUNNING_47, DONE_47 = [jobs({**json.loads(reply["text"])["jobs"][0], "id": 47}) for reply in (RUNNING, DONE)]
ACCEPTED = {"ok": True, "text": "job j1 accepted"}


class Late:
    def __init__(self, seconds, reply):
        self.seconds, self.reply = seconds, reply


class Appliance(threading.Thread):
    """Answers each request with the next reply; the last one is repeated. None closes the connection."""

    def __init__(self, path, replies):
        super().__init__(daemon=True)
        self.listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self.listener.bind(path)
        self.listener.listen(1)
        self.replies, self.requests = list(replies), []
        self.asked = threading.Event()  # several requests came: the client is polling
        self.late = threading.Event()   # it waits for a reply that takes its time

    def run(self):
        connection, _ = self.listener.accept()
        for line in connection.makefile():
            self.requests.append(json.loads(line))
            reply = self.replies.pop(0) if len(self.replies) > 1 else self.replies[0]
            if len(self.requests) > 2:
                self.asked.set()
            if reply is None:
                break
            if isinstance(reply, Late):
                self.late.set()
                time.sleep(reply.seconds)
                reply = reply.reply
            text = reply if isinstance(reply, str) else json.dumps(reply)
            connection.sendall(text.encode() + b"\n")
        connection.close()


class Sluicectl(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.path = os.path.join(self.folder.name, "s")
        self.file = os.path.join(self.folder.name, "job.yaml")
        self.appliance = None
        with open(self.file, "w") as file:
            file.write(JOB)

    def tearDown(self):
        if self.appliance:
            self.appliance.listener.close()
        self.folder.cleanup()

    def serve(self, *replies):
        self.appliance = Appliance(self.path, replies)
        self.appliance.start()

    def run_ctl(self, *words):
        return subprocess.run([SLUICECTL, "-s", self.path, *words], capture_output=True, text=True, timeout=60)

    def expect(self, status, *words):
        result = self.run_ctl(*words)
        self.assertEqual(result.returncode, status, result.stdout + result.stderr)
        return result

    def test_show(self):
        self.serve({"ok": True, "text": "peers:\n  name b\n"})
        self.assertEqual(self.expect(0, "show", "peers").stdout, "peers:\n  name b\n")
        self.assertEqual(self.appliance.requests, [{"command": "show", "what": "peers", "json": False}])

    def test_show_json(self):
        self.serve({"ok": True, "text": '{"peers":[]}'})
        self.assertEqual(self.expect(0, "--json", "show", "peers").stdout, '{"peers":[]}\n')
        self.assertIs(self.appliance.requests[0]["json"], True)

    def test_show_plan_as_a_picture(self):
        self.serve({"ok": True, "text": "digraph plan {}\n"})
        self.assertEqual(self.expect(0, "show", "plan", "--dot").stdout, "digraph plan {}\n")
        self.assertEqual(self.appliance.requests[0]["what"], "dot")

    def test_why_an_edge_is_not_used(self):
        self.serve({"ok": True, "text": "why  a is a leaf\n"})
        self.assertEqual(self.expect(0, "job", "why", "j1", "a", "b").stdout, "why  a is a leaf\n")
        self.assertEqual(self.appliance.requests[0],
                         {"command": "job why", "name": "j1", "from": "a", "to": "b", "json": False})

    def test_plan(self):
        shown = {"ok": True, "text": "a\n└── b"}
        for option, word in ((None, "plan"), ("--dry-run", "plan"), ("--svg", "svg"), ("--why", "why")):
            self.serve(ACCEPTED, jobs(job("planning", [], 1)), jobs(job("done", [site("b", "pending")], 2)), shown)
            words = ["job", "plan", self.file] + ([option] if option else [])
            self.assertEqual(self.expect(0, *words).stdout, "a\n└── b\n")
            self.assertEqual(self.appliance.requests[0]["command"], "job plan")
            self.assertEqual(self.appliance.requests[-1],
                             {"command": "show", "what": word, "json": False, "job": "j1"})
            self.appliance.listener.close()
            os.unlink(self.path)

    def test_probe(self):
        def probes(**fields):
            row = {"to": "b", "kind": "none", "avail_bps": 0, "low_bps": 0, "high_bps": 0, "capacity_bps": 0, "stamps": "",
                   "flags": "", "reason": "none", "trains": 0, "bytes": 0, "measuring": False, **fields}
            return {"ok": True, "text": json.dumps({"probes": [{"to": "c", "measuring": True}, row]})}
        value = dict(kind="value", avail_bps=4100000000, low_bps=4000000000, high_bps=4200000000,
                     capacity_bps=10000000000, stamps="software", flags="batched", trains=2, bytes=1424188)
        for reply, status, said in (
                (probes(**value), 0, "b: 4.100 Gbit/s available, 4.000 to 4.200, of 10.000 (on the wire; 2 trains, "
                                     "1.424 MB, stamps: software; batched)\n"),
                (probes(kind="at-least", avail_bps=990000000, trains=1), 0, "b: at least 0.990 Gbit/s available (on"),
                (probes(kind="refused", reason="jitter"), 1, "b: refused: jitter ("),
                (probes(kind="refused", reason="departures-late"), 1,
                 "stamps: )\n  departures-late: the sending host's CPU was away while trains left: give its worker a CPU of its own"),
                ({"ok": True, "text": json.dumps({"probes": []})}, 1, "")):
            self.serve(ACCEPTED, probes(measuring=True), reply)
            self.assertIn(said, self.expect(status, "probe", "b").stdout)
            self.assertEqual(self.appliance.requests[0], {"command": "probe", "peer": "b"})
            self.assertEqual(self.appliance.requests[1], {"command": "show", "what": "probes", "json": True})
            self.assertEqual(len(self.appliance.requests), 3)
            self.appliance.listener.close()
            os.unlink(self.path)
        self.serve({"ok": False, "error": "there is no peer 'b'"})
        self.expect(4, "probe", "b")

    def test_probe_from_elsewhere(self):
        def pairs(**fields):
            row = {"from": "b", "to": "c", "kind": "none", "newest": "none", "avail_bps": 0, "reason": "none", "trains": 0,
                   "bytes": 0, "measuring": False, "why": "", **fields}
            other = {"from": "c", "to": "b", "measuring": True}
            return {"ok": True, "text": json.dumps({"node": "a", "probes": [{"to": "c"}], "pairs": [other, row]})}
        value = dict(kind="value", newest="value", avail_bps=4100000000, low_bps=4000000000, high_bps=4200000000, trains=2)
        for reply, status, said in (
                (pairs(**value), 0, "b > c: 4.100 Gbit/s available, 4.000 to 4.200 (on the wire; 2 trains"),
                (pairs(kind="none", newest="refused", why="'c' is down, as b sees it"), 1, "b > c: none: 'c' is down, as b"),
                (pairs(**{**value, "newest": "refused", "why": "b has not answered"}), 1, "b > c: refused: b has not")):
            self.serve(ACCEPTED, pairs(measuring=True), reply)
            self.assertIn(said, self.expect(status, "probe", "b", "c").stdout)
            self.assertEqual(self.appliance.requests[0], {"command": "probe", "peer": "b", "to": "c"})
            self.appliance.listener.close()
            os.unlink(self.path)
        for words in (["probe", "b", "c", "d"], ["probe", "b", "c", "--plot", "x"], ["probe", "b", "--yes"]):
            self.assertIn("usage:", self.expect(2, *words).stderr)

    def test_probe_all(self):
        def probes(state, known=0, refused=0, **fields):
            cost = dict(nodes=3, cost_pairs=6, cost_trains=96, cost_bytes=36000000, cost_node_bytes=12000000, cost_s=2.5)
            row = {"from": "a", "to": "b", "kind": "at-least", "newest": "at-least", "avail_bps": 9900000000, "trains": 2,
                   "bytes": 1}
            done = dict(known=known, refused=refused, trains=12, sent_bytes=9000000, took_s=0.7, left_s=1.0, silent="")
            return {"ok": True, "text": json.dumps({"all": {"state": state, **cost, **done, **fields}, "pairs": [row]})}
        for known, refused, status, silent in ((6, 0, 0, ""), (4, 2, 0, ""), (4, 0, 1, "c")):
            self.serve(ACCEPTED, probes("meeting"), probes("ready"), ACCEPTED, probes("running", 2),
                       probes("over", known, refused, silent=silent))
            result = self.expect(status, "probe", "all", "--order", "--yes")
            self.assertIn("3 nodes, 6 pairs: at most 96 trains, 36.0 MB in all, 12.0 MB sent by each node", result.stderr)
            self.assertIn("a > b: at least 9.900 Gbit/s available", result.stdout)
            self.assertIn(f"{known} of 6 pairs known, {refused} refused; 12 trains, 9.0 MB, 0.7 s", result.stdout)
            self.assertEqual("no answer: c" in result.stdout, silent == "c")
            commands = [request["command"] for request in self.appliance.requests]
            self.assertEqual(commands, ["probe order", "show", "show", "probe start", "show", "show"])
            self.appliance.listener.close()
            os.unlink(self.path)
        self.serve(ACCEPTED, probes("ready"), ACCEPTED, probes("over", 6))
        self.assertEqual(json.loads(self.expect(0, "--json", "probe", "all").stdout)["all"]["known"], 6)
        self.assertEqual(self.appliance.requests[0]["command"], "probe all")
        self.appliance.listener.close()
        os.unlink(self.path)
        self.serve({"ok": False, "error": "no peer is up"})
        self.expect(4, "probe", "all")

    def test_refusals_of_probe_all_are_explained(self):
        """Each word once; of a pair that is known the newest refusal does not hide what is known."""
        row = {"from": "a", "kind": "refused", "newest": "refused", "trains": 0, "bytes": 0, "why": "departures-late"}
        known = {**row, "to": "c", "kind": "at-least", "avail_bps": 900000000}
        down = {**row, "to": "d", "kind": "none", "why": "'d' is down, as a sees it"}
        rows = [{**row, "to": "b"}, known, {**row, "to": "e"}, {**row, "to": "f", "why": "jitter"}, down]
        total = {"state": "over", "nodes": 3, "cost_pairs": 5, "known": 1, "refused": 4, "cost_s": 1.0, "took_s": 1.0}
        over = {"ok": True, "text": json.dumps({"all": total, "pairs": rows})}
        self.serve(ACCEPTED, {"ok": True, "text": json.dumps({"all": {**total, "state": "ready"}})}, ACCEPTED, over)
        lines = self.expect(0, "probe", "all", "--yes").stdout.splitlines()
        self.assertIn("a > c: at least 0.900 Gbit/s available (on the wire; 0 trains, 0.000 MB, stamps: ); the newest: departures-late",
                      lines)
        self.assertIn("a > b: refused: departures-late (on the wire; 0 trains, 0.000 MB, stamps: )", lines)
        self.assertEqual([line.split(":")[0] for line in lines if line.startswith("  ")], ["  departures-late", "  jitter"])
        self.assertRegex(lines[-1], "^1 of 5 pairs known, 4 refused;")

    def test_probe_as_a_picture(self):
        def probes(kind):
            return {"ok": True, "text": json.dumps({"probes": [{"to": "b", "kind": kind, "measuring": False}]})}
        drawn = {"ok": True, "text": "<svg>\u00b5</svg>\n"}
        file = os.path.join(self.folder.name, "out.svg")
        nowhere = os.path.join(self.folder.name, "none", "out.svg")
        for kind, picture, path, status, said in (
                ("value", drawn, file, 0, ""), ("refused", drawn, file, 1, ""),
                ("value", drawn, nowhere, 2, "none/out.svg: No such file"),
                ("value", {"ok": False, "error": "no train to 'b' is kept"}, file, 4, "no train to 'b' is kept"),
                ("value", drawn, "/dev/full", 2, "No space left")):
            self.serve(ACCEPTED, probes(kind), picture)
            result = self.expect(status, "probe", "b", "--plot", path)
            self.assertIn("b: ", result.stdout)
            self.assertIn(said, result.stderr)
            self.assertEqual(self.appliance.requests[-1], {"command": "show train", "peer": "b"})
            if status < 2:
                with open(file, encoding="utf-8") as stream:
                    self.assertEqual(stream.read(), drawn["text"])
                os.unlink(file)
            self.assertFalse(os.path.exists(file))
            self.appliance.listener.close()
            os.unlink(self.path)
        for words in (["probe", "b", "--plot"], ["probe", "--plot", file], ["probe", "b", "--svg"],
                      ["show", "peers", "--plot", file]):
            self.assertIn("usage:", self.expect(2, *words).stderr)
        self.serve(drawn)
        self.assertEqual(self.expect(0, "show", "train", "b").stdout, drawn["text"])

    def test_job_file_from_a_pipe(self):
        self.serve(ACCEPTED)
        with open(self.file) as text:
            result = subprocess.run([SLUICECTL, "-s", self.path, "job", "run", "/dev/stdin", "--no-wait"],
                                    input=text.read(), capture_output=True, text=True, timeout=60)
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertEqual(self.appliance.requests[0]["text"], JOB)

    def test_plan_failed(self):
        self.serve(ACCEPTED, jobs(job("failed", [], 1, "planner: no way to b")))
        self.assertIn("job j1: planning failed: planner: no way to b", self.expect(1, "job", "plan", self.file).stderr)

    def test_cancel(self):
        self.serve({"ok": True, "text": "cancelled"})
        self.expect(0, "job", "cancel", "j1")
        self.assertEqual(self.appliance.requests[0], {"command": "job cancel", "name": "j1", "json": False})

    def test_usage(self):
        for words in ([], ["dance"], ["show"], ["show", "cheese"], ["show", "peers", "x"],
                      ["show", "peers", "--dot"], ["show", "plan", "--red"], ["job"], ["job", "run"],
                      ["job", "run", self.file, "--later"], ["job", "cancel"], ["job", "cancel", "a", "b"],
                      ["job", "stop", "a"], ["--frob"]):
            told = self.expect(2, *words).stderr
            self.assertIn("usage:", told)
            self.assertTrue(words == ["--frob"] or len(told.splitlines()) == 2, told)

    def test_help(self):
        self.assertIn("usage:", self.expect(0, "help").stdout)
        self.assertIn("plan.max_children", self.expect(0, "help", "job").stdout)

    def test_unreachable(self):
        self.assertIn("No such file", self.expect(3, "show", "peers").stderr)

    def test_appliance_goes_away(self):
        self.serve(None)
        self.assertIn("closed the connection", self.expect(3, "show", "peers").stderr)

    def test_malformed_reply(self):
        self.serve("cheese")
        self.expect(3, "show", "peers")

    def test_refused(self):
        self.serve({"ok": False, "error": "there is no planner"})
        self.assertIn("there is no planner", self.expect(4, "job", "run", self.file).stderr)

    def test_job_file_with_errors(self):
        with open(self.file, "w") as file:
            file.write("name: j1\nhash: md5\n")
        result = self.expect(2, "job", "run", self.file)
        self.assertIn(self.file + ":2: hash: \"md5\", expected sha256 | none", result.stderr)

    def test_bytes_that_are_no_utf8(self):
        """Paths and job files have them; as characters that nobody writes they go into JSON. Other words may not."""
        folder = os.path.join(self.folder.name.encode(), b"caf\xe9  two ")
        os.mkdir(folder)
        path = os.path.join(folder, b" lead.yaml ")
        with open(path, "wb") as file:
            file.write(JOB.encode() + b"as: \xff\n")
        self.serve(ACCEPTED)
        result = subprocess.run([SLUICECTL.encode(), b"-s", self.path.encode(), b"job", b"run", path, b"--no-wait"],
                                capture_output=True, timeout=60, check=False)
        self.assertEqual(result.returncode, 0, result.stderr)
        request = self.appliance.requests[0]
        self.assertEqual(request["text"], JOB + "as: \U0010ffff\n")
        self.assertTrue(request["path"].endswith("/caf\U0010ffe9  two / lead.yaml "), request["path"])
        for words in ((b"job", b"cancel"), (b"probe",), (b"show", b"history", b"x")):
            result = subprocess.run([SLUICECTL.encode(), *words, b"caf\xe9"], capture_output=True, timeout=60, check=False)
            self.assertEqual(result.returncode, 2)
            self.assertIn(b"no UTF-8, or has control characters: caf?\n", result.stderr)

    def test_job_file_missing(self):
        self.assertIn("No such file", self.expect(2, "job", "run", self.file + "x").stderr)

    def test_run(self):
        self.serve(ACCEPTED, RUNNING, DONE)
        result = self.expect(0, "job", "run", self.file)
        self.assertEqual(self.appliance.requests[0],
                         {"command": "job run", "path": os.path.realpath(self.file), "text": JOB, "json": True})
        self.assertEqual(self.appliance.requests[1],
                         {"command": "show", "what": "jobs", "json": True, "job": "j1"})
        self.assertEqual(result.stdout.splitlines(), [
            "j1: running, 976.5 KiB, 0 of 2 sites complete, plan 8.0 Mbit/s",
            "j1: b 50% 0 bit/s ETA -",
            "j1: c 0% 0 bit/s ETA -",
            "j1: done, 976.5 KiB, 2 of 2 sites complete, plan 8.0 Mbit/s",
            "j1: b 100% verified",
            "j1: c 100% skipped",
            "",
            "a",
            "└── b",
            "",
            "b     verified       4.0 Mbit/s     2.000 s  /srv/b/data.bin",
            "c     skipped                 -           -  /srv/c/data.bin"])

    def test_run_json(self):
        """One document: the job that was started, followed by its id."""
        self.serve({"ok": True, "text": json.dumps({"job": "j1", "id": 47, "done": "job j1 accepted"})}, RUNNING_47, DONE_47)
        result = self.expect(0, "--json", "job", "run", self.file)
        self.assertEqual([(row["id"], row["state"]) for row in json.loads(result.stdout)["jobs"]], [(47, "done")])
        self.assertEqual([request.get("job") for request in self.appliance.requests], [None, "47", "47"])

    def test_json_of_what_fails(self):
        """The standard output is one document, whatever went wrong; exit status and standard error are as without."""
        bad = os.path.join(self.folder.name, "bad.yaml")
        with open(bad, "w") as file:
            file.write("name: j1\nhash: md5\nsource: a\nto: all\nfile: x\npriority: huge\n")
        for reply, status, words, error in (
                ({"ok": False, "error": "there is no job 'j'"}, 4, ("job", "cancel", "j"), "there is no job 'j'"),
                ({"ok": False, "error": "there is no planner"}, 4, ("job", "run", self.file), "there is no planner"),
                (None, 3, ("show", "peers"), f"{self.path}: the appliance closed the connection"),
                ("cheese", 3, ("show", "peers"), f"{self.path}: the reply is none of an appliance"),
                (ACCEPTED, 2, ("job", "run", bad), f"{bad}:2: hash: \"md5\", expected sha256 | none\n{bad}:6: "),
                (ACCEPTED, 2, ("job", "run", bad + "x"), f"{bad}x: No such file or directory"),
                (ACCEPTED, 2, ("send", "x", "--frob", "b"), "unknown option of send: --frob"),
                (ACCEPTED, 2, ("dance",), "unknown command 'dance'"), (ACCEPTED, 2, ("show", "peers", "x"), "no word is expected"),
                (jobs(), 4, ("job", "watch", "j9"), "there is no job j9 of which this appliance is the source")):
            self.serve(reply)
            result = self.expect(status, "--json", *words)
            document = json.loads(result.stdout)
            self.assertEqual((list(document), document["ok"]), (["ok", "error"], False))
            self.assertIn(error, document["error"])
            self.assertIn(document["error"].splitlines()[-1], result.stderr)
            self.appliance.listener.close()
            os.unlink(self.path)
        missing = json.loads(self.expect(3, "-j", "show", "peers").stdout)["error"]
        self.assertEqual(missing, f"{self.path}: No such file or directory")

    def test_json_of_a_job_that_fails_is_the_job(self):
        self.serve(ACCEPTED, jobs(job("failed", [site("b", "not started", text="no planner")], 3, "no planner")))
        document = json.loads(self.expect(1, "--json", "job", "run", self.file).stdout)
        self.assertEqual(document["jobs"][0]["text"], "no planner")

    def test_job_by_name_or_id(self):
        self.serve({"ok": True, "text": "name: j1\n"})
        self.expect(0, "show", "jobs", "47")
        self.assertEqual(self.appliance.requests[0], {"command": "show", "what": "jobs", "name": "47", "json": False})
        self.appliance.listener.close()
        os.unlink(self.path)
        self.serve(DONE_47)
        self.assertIn("j1: done", self.expect(0, "job", "watch", "47").stdout)

    def test_no_wait(self):
        self.serve(ACCEPTED)
        self.assertEqual(self.expect(0, "job", "run", self.file, "--no-wait").stdout, "job j1 accepted\n")
        self.assertEqual(len(self.appliance.requests), 1)
        self.appliance.listener.close()
        os.unlink(self.path)
        self.serve({"ok": True, "text": '{"job":"j1","id":47,"done":"job j1 accepted"}'})
        self.assertEqual(self.expect(0, "job", "run", self.file, "--no-wait").stdout, "job j1 accepted\n")

    def test_no_wait_json(self):
        done = '{"job":"j1","id":47,"done":"job j1 accepted"}'
        self.serve({"ok": True, "text": done})
        self.assertEqual(self.expect(0, "--json", "job", "run", self.file, "--no-wait").stdout, done + "\n")
        self.assertIs(self.appliance.requests[0]["json"], True)

    def test_job_failed(self):
        for end, text in (("failed", "b does not answer"), ("cancelled", "by the operator")):
            self.serve(ACCEPTED, RUNNING, jobs(job(end, [site("b", "receiving")], 3, text)))
            self.assertIn("job j1: %s: %s" % (end, text), self.expect(1, "job", "run", self.file).stderr)
            self.appliance.listener.close()
            os.unlink(self.path)

    def test_one_site_failed(self):
        self.serve(ACCEPTED, jobs(job("done", [site("b", "verified", 1000000, 2), site("c", "failed", 1, 0, "no space")])))
        result = self.expect(5, "job", "run", self.file)
        self.assertIn("no space", result.stdout)
        self.assertIn("not every site", result.stderr)

    def test_waits_for_an_appliance_that_stands_still(self):
        """While it is followed. Nobody waits for ever to get in, even where all places are taken."""
        full = os.path.join(self.folder.name, "full")
        listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        listener.bind(full)
        listener.listen(0)
        first = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        first.connect(full)
        with subprocess.Popen([SLUICECTL, "-s", full, "show", "peers"], stderr=subprocess.PIPE, text=True) as stuck:
            self.serve(ACCEPTED, RUNNING, Late(11, DONE))
            self.assertIn("does not answer: waiting for it", self.expect(0, "job", "run", self.file).stderr)
            self.assertIn("does not answer", stuck.communicate(timeout=60)[1])
            self.assertEqual(stuck.returncode, 3)
        first.close()
        listener.close()

    def test_interrupt_while_the_appliance_stands_still(self):
        self.serve(ACCEPTED, RUNNING, RUNNING, Late(60, DONE))
        process = subprocess.Popen([SLUICECTL, "-s", self.path, "job", "run", self.file], stdout=subprocess.DEVNULL,
                                   stderr=subprocess.PIPE, text=True)
        self.assertTrue(self.appliance.late.wait(60))
        process.send_signal(signal.SIGINT)
        _, errors = process.communicate(timeout=30)
        self.assertEqual(process.returncode, 130)
        self.assertIn("job watch j1", errors)

    def test_job_vanishes(self):
        self.serve(ACCEPTED, RUNNING, jobs())
        self.expect(1, "job", "run", self.file)

    def test_appliance_dies_during_the_job(self):
        self.serve(ACCEPTED, RUNNING, None)
        self.assertIn("The job may go on.\n  follow it again:", self.expect(3, "job", "run", self.file).stderr)

    def test_watch(self):
        self.serve(DONE)
        self.expect(0, "job", "watch", "j1")

    def test_watch_unknown(self):
        self.serve(jobs())
        self.expect(4, "job", "watch", "j1")

    def test_interrupt_detaches(self):
        self.serve(ACCEPTED, RUNNING)
        process = subprocess.Popen([SLUICECTL, "-s", self.path, "job", "run", self.file], stdout=subprocess.DEVNULL,
                                   stderr=subprocess.PIPE, text=True)
        self.assertTrue(self.appliance.asked.wait(60))
        process.send_signal(signal.SIGINT)
        _, errors = process.communicate(timeout=60)
        self.assertEqual(process.returncode, 130)
        self.assertIn("job cancel j1", errors)
        self.assertNotIn("job cancel", [request["command"] for request in self.appliance.requests])

    def test_terminal_redraws_in_place(self):
        self.serve(ACCEPTED, RUNNING, DONE)
        try:
            master, slave = pty.openpty()
        except OSError as error:  # a chroot without /dev/pts
            self.skipTest(str(error))
        process = subprocess.Popen([SLUICECTL, "-s", self.path, "job", "run", self.file], stdout=slave,
                                   env=dict(os.environ, TERM="xterm"))
        os.close(slave)
        shown = b""
        while True:
            try:
                part = os.read(master, 65536)
            except OSError:  # the other side has gone
                break
            if not part:
                break
            shown += part
        os.close(master)
        self.assertEqual(process.wait(60), 0)
        text = shown.decode()
        self.assertIn("\x1b[3A", text)  # up over the job's line and two bars
        self.assertIn("[#", text)
        self.assertIn("/srv/b/data.bin", text)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
