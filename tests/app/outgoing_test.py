#!/usr/bin/env python3
"""Whose job may send what."""
import json
import os
import socket
import sys
import tempfile
import unittest

from appliance import Appliance, ask, run_job, wait_until


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


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
