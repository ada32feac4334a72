#!/usr/bin/env python3
"""What an appliance answers: of itself, its jobs, its configuration, and of what was done."""
import json
import os
import re
import signal
import subprocess
import sys
import unittest

from appliance import (Appliance, ask, HomeTest, newest_job, PLANNER,
                       planner_attached, run_job, SLUICE, thread_places, wait_until)


class ApplianceTest(HomeTest):
    def test_without_keys_each_answer_says_so(self):
        with Appliance(self.home) as appliance, appliance.connect() as client:
            for what in ("peers", "version", "config", "counters"):
                for form in (False, True):
                    answer = ask(client, {"command": "show", "what": what, "json": form})
                    self.assertTrue(answer["ok"], answer)
                    if form:
                        self.assertEqual(json.loads(answer["text"])["insecure"], "benchmark")
                    else:
                        self.assertRegex(answer["text"], r"^insecure: packets are neither authenticated nor encrypted ")
            said = appliance.stop()[1]
        self.assertIn("n1: packets are neither authenticated nor encrypted (node.insecure: benchmark)", said)

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
            lines = ask(client, show)["text"].splitlines()[1:]  # without the word that it has no keys
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

    def test_plan_tells_whether_a_planner_is_there(self):
        with Appliance(self.home) as appliance, appliance.connect() as client:
            shown = ask(client, {"command": "show", "what": "plan", "json": True})["text"]
            self.assertEqual(json.loads(shown), {"insecure": "benchmark", "planner_attached": False, "jobs": []})

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


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
