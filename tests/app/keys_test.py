#!/usr/bin/env python3
"""A node's key as people handle it: made once, shown as a line for rosters, compared at each start. usage: keys_test.py
SLUICE SLUICECTL"""
import concurrent.futures
import contextlib
import json
import os
import re
import signal
import stat
import subprocess
import sys
import tempfile
import unittest

SLUICE, SLUICECTL = sys.argv[1:3]
WAIT_S = 60
PUBLIC = re.compile(r"slk1:[A-Za-z0-9_-]{48}")
PRIVATE = re.compile(r"slk1-private:([A-Za-z0-9_-]{48})\n")
INSECURE = "packets are neither authenticated nor encrypted (node.insecure: benchmark)"
OTHERS_KEY = "slk1:AAMGCQwPEhUYGx4hJCcqLTAzNjk8P0JFSEtOUVRXWl2eSIj2"
THIRD_KEY = "slk1:ERYbICUqLzQ5PkNITVJXXGFma3B1en-EiY6TmJ2ip6xvnH1d"


def run(*command, **environment):
    done = subprocess.run(command, capture_output=True, text=True, timeout=WAIT_S, check=False,
                          env={**os.environ, **environment})
    return done.returncode, done.stdout, done.stderr


def beginning(key):
    return key[len("slk1:"):][:8]


class Home(unittest.TestCase):
    def setUp(self):
        directory = tempfile.TemporaryDirectory(prefix="sluice-keys-")
        self.addCleanup(directory.cleanup)
        self.home = directory.name
        self.node_path = os.path.join(self.home, "node.yaml")
        self.key_path = os.path.join(self.home, "state", "n1.key")

    def write_peers(self, other):
        """The file of n1 alone, in which it has no entry."""
        with open(self.node_path, "w", encoding="utf-8") as file:
            file.write(f"node: {{name: n1, key_file: {self.key_path}}}\npeers: [{{name: n2, address: 10.9.9.2, key: {other}}}]\n"
                       "ports: [{device: \"net_null0,no-rx=1\", address: 10.9.9.1/24, rate: 1Gbps}]\n"
                       "memory: {hugepages: false, buffer: 160MiB}\n"
                       f"control: {{socket: {self.home}/sock}}\n")

    def write_node(self, own=None, other=None, more="", address="10.9.9.1/24", options=""):
        """The file that n1 and n2 share; `own` is the key, or the list of keys, of n1."""
        other_address = "fd00::2" if ":" in address else "10.9.9.2"
        with open(self.node_path, "w", encoding="utf-8") as file:
            file.write(f"node: {{key_file: {self.key_path}{options}}}\nroster:\n"
                       f"  - {{name: n1, address: \"{address}\"{more}{f', key: {own}' if own else ''}}}\n"
                       f"  - {{name: n2, address: \"{other_address}\"{f', key: {other}' if other else ''}}}\n"
                       "ports: [{device: \"net_null0,no-rx=1\", rate: 1Gbps}]\n"
                       "memory: {hugepages: false, buffer: 160MiB}\n"
                       f"control: {{socket: {self.home}/sock}}\n")

    def show(self, *words):
        status, said, told = run(SLUICECTL, "key", "show", "-c", self.node_path, "--name", "n1", *words)
        self.assertEqual(status, 0, told)
        return said

    def shown_key(self):
        return PUBLIC.search(self.show()).group()

    def private(self):
        with open(self.key_path, encoding="ascii") as file:
            return PRIVATE.fullmatch(file.read()).group(1)

    def start(self):
        return subprocess.Popen([SLUICE, "-c", self.node_path, "-n", "n1"], stdin=subprocess.DEVNULL,
                                stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)

    def start_and_stop(self):
        """Its status and all that it said; it was ready, unless the status says otherwise."""
        with self.start() as process:
            ready = process.stdout.readline()
            process.send_signal(signal.SIGTERM)
            said, told = process.communicate(timeout=WAIT_S)
        self.assertEqual(ready.endswith("sluice: n1 ready\n"), process.returncode == 0, ready + told)
        return process.returncode, said + told

    def check(self):
        status, said, told = run(SLUICE, "-c", self.node_path, "-n", "n1", "--check-config")
        return status, said + told

    def expect_refused(self, *words):
        """By check and start alike, with these words, and without a byte of the private key."""
        for status, said in (self.check(), self.start_and_stop()):
            self.assertEqual(status, 2, said)
            for word in words:
                self.assertIn(word, said)
            self.assertNotIn("slk1-private:", said)


class Keys(Home):
    def test_gen(self):
        path = os.path.join(self.home, "a b.key")
        status, said, _ = run(SLUICECTL, "key", "gen", path)
        self.assertEqual(status, 0)
        self.assertTrue(PUBLIC.fullmatch(said.strip()), said)
        self.assertEqual(stat.S_IMODE(os.stat(path).st_mode), 0o600)
        with open(path, "rb") as file:
            kept = file.read()
        status, said, told = run(SLUICECTL, "key", "gen", path)
        self.assertEqual((status, said), (1, ""))
        self.assertIn("no command overwrites", told)
        with open(path, "rb") as file:
            self.assertEqual(file.read(), kept)
        self.assertEqual(os.listdir(self.home), ["a b.key"])  # no temporary file either
        other = os.path.join(self.home, "other.key")
        status, said, _ = run(SLUICECTL, "key", "gen", other, "--json")
        self.assertEqual(json.loads(said)["file"], other)
        self.assertNotIn(json.loads(said)["key"].encode(), kept)

    def test_gen_keeps_whatever_is_there(self):
        os.mkdir(os.path.join(self.home, "state"))
        for make in (lambda: os.symlink("/nowhere/at/all", self.key_path), lambda: os.mkfifo(self.key_path),
                     lambda: os.mkdir(self.key_path)):
            make()
            before = os.lstat(self.key_path)
            status, said, told = run(SLUICECTL, "key", "gen", self.key_path)
            self.assertEqual((status, said), (1, ""), told)
            self.assertEqual(os.lstat(self.key_path).st_ino, before.st_ino)
            (os.rmdir if stat.S_ISDIR(before.st_mode) else os.unlink)(self.key_path)
        os.rmdir(os.path.join(self.home, "state"))
        with open(os.path.join(self.home, "state"), "w", encoding="ascii"):
            pass
        status, _, told = run(SLUICECTL, "key", "gen", self.key_path)
        self.assertEqual(status, 1)
        self.assertIn("Not a directory", told)

    def test_show(self):
        self.write_node()
        line = self.show()
        key = PUBLIC.search(line).group()
        self.assertEqual(line, f"  - {{name: n1, address: 10.9.9.1/24, key: {key}}}\n")
        self.assertEqual(self.show(), line)
        self.assertEqual(stat.S_IMODE(os.stat(os.path.dirname(self.key_path)).st_mode), 0o700)
        self.assertEqual(stat.S_IMODE(os.stat(self.key_path).st_mode), 0o600)
        self.assertEqual(json.loads(self.show("-j")), {"name": "n1", "address": "10.9.9.1/24", "key": key})
        self.assertNotIn(self.private(), line)
        status, said, _ = run(SLUICECTL, "key", "show", "-n", "n1", SLUICE_CONFIG=self.node_path)
        self.assertEqual((status, said), (0, line))

    def test_show_before_the_roster_has_all_keys(self):
        for own, other in ((None, OTHERS_KEY), ("slk1:nonsense", None), (OTHERS_KEY, OTHERS_KEY)):
            self.write_node(own, other)
            self.assertIn("- {name: n1, address: 10.9.9.1/24, key: slk1:", self.show())

    def test_a_shown_line_is_an_entry(self):
        """Others put it into their roster as it is."""
        for more, address in (("", "10.9.9.1/24"), (", gateway: 10.9.9.254, udp_port: 9000", "10.9.9.1/24"),
                              (', gateway: "fd00::fe"', "fd00::1/64")):
            self.write_node(more=more, address=address)
            line = self.show()
            with open(self.node_path, "w", encoding="utf-8") as file:
                file.write(f"node: {{key_file: {self.key_path}}}\nroster:\n{line}"
                           "ports: [{device: \"net_null0,no-rx=1\"}]\nmemory: {hugepages: false, buffer: 160MiB}\n")
            self.assertEqual(self.show(), line)
            status, said = self.check()
            self.assertEqual(status, 0, said)

    def test_first_start_makes_the_key(self):
        self.write_peers(OTHERS_KEY)
        status, said = self.check()
        self.assertEqual(status, 2, said)
        self.assertIn("no such key file: the first start makes it", said)
        self.assertFalse(os.path.exists(self.key_path))  # a check makes nothing
        status, said = self.start_and_stop()
        self.assertEqual(status, 0, said)
        self.assertEqual(stat.S_IMODE(os.stat(self.key_path).st_mode), 0o600)
        private = self.private()
        self.assertNotIn(private, said)
        self.assertEqual(self.start_and_stop()[0], 0)
        self.assertEqual(self.private(), private)

    def test_no_start_without_keys(self):
        """Each line that lacks one, and where it is to be had."""
        self.write_node()
        self.expect_refused("node.yaml:3: roster[0]: key missing: at that site `sluicectl key show -c FILE -n n1` prints it",
                            "node.yaml:4: roster[1]: key missing: at that site `sluicectl key show -c FILE -n n2` prints it")
        self.assertFalse(os.path.exists(self.key_path))
        self.write_node(options=", insecure: benchmark", other=OTHERS_KEY)
        self.expect_refused("node.yaml:1: node.insecure: benchmark means no keys, but roster[1] has one")

    def test_insecure_needs_no_key_file(self):
        self.key_path = "/proc/nobody-may-write-here/n1.key"
        self.write_node(options=", insecure: benchmark")
        for status, said in (self.check(), self.start_and_stop()):
            self.assertEqual(status, 0, said)
            self.assertIn("n1: " + INSECURE, said)

    def test_the_rosters_key(self):
        self.write_node()
        key = self.shown_key()
        for own in (key, f"[{OTHERS_KEY}, {key}]"):
            self.write_node(own, THIRD_KEY)
            status, said = self.check()
            self.assertEqual(status, 0, said)
            status, said = self.start_and_stop()
            self.assertEqual(status, 0, said)

    def test_another_key_than_the_rosters(self):
        self.write_node()
        key = self.shown_key()
        self.write_node(OTHERS_KEY, THIRD_KEY)
        self.expect_refused(self.node_path + ":3: ", beginning(key), beginning(OTHERS_KEY), "sluicectl key show")

    def test_a_lost_key(self):
        """No start makes another one in its place, which the others do not know."""
        self.write_node(OTHERS_KEY, THIRD_KEY)
        self.expect_refused("node.yaml:3: ", "no such key file, but the roster has a key of n1", "sluicectl key show")
        self.assertFalse(os.path.exists(self.key_path))

    def test_a_key_that_others_may_read(self):
        self.write_node()
        self.write_node(self.shown_key(), OTHERS_KEY)
        for mode in (0o640, 0o604, 0o620, 0o644, 0o601):
            os.chmod(self.key_path, mode)
            self.expect_refused(self.key_path, f"mode {mode:03o}", "chmod 600")
            status, said, told = run(SLUICECTL, "key", "show", "-c", self.node_path, "-n", "n1")
            self.assertEqual((status, said), (1, ""))
            self.assertIn("chmod 600", told)
            self.assertEqual(stat.S_IMODE(os.stat(self.key_path).st_mode), mode)
        os.chmod(self.key_path, 0o600)
        self.assertEqual(self.check()[0], 0)

    @unittest.skipIf(os.geteuid() != 0, "only root gives files away")
    def test_a_key_that_belongs_to_somebody_else(self):
        """Root that checks does not know who starts; root that starts does."""
        self.write_node()
        self.write_node(self.shown_key(), OTHERS_KEY)
        os.chown(self.key_path, 65534, 65534)
        status, said = self.check()
        self.assertEqual(status, 0, said)
        self.assertIn(f"n1: {self.key_path}: belongs to user 65534", said)
        status, said = self.start_and_stop()
        self.assertEqual(status, 2, said)
        self.assertIn(f"{self.key_path}: belongs to user 65534", said)
        os.chown(self.key_path, 0, 0)
        status, said = self.check()
        self.assertEqual(status, 0, said)
        self.assertNotIn("belongs to", said)

    def test_a_damaged_key_file(self):
        self.write_node()
        self.write_node(self.shown_key(), OTHERS_KEY)
        with open(self.key_path, "rb") as file:
            whole = file.read()
        swapped = whole[:20] + (b"B" if whole[20:21] != b"B" else b"C") + whole[21:]
        for content, why in ((b"", "it begins neither with"), (whole[:30], "too few"), (whole[:-2], "too few"),
                             (whole + b"x", "too few or too many"), (whole + b"\n", "too few or too many"),
                             (whole[:-1] + b"\0", "too few or too many"), (whole * 1000, "too few or too many"),
                             (swapped, "wrong checksum"), (OTHERS_KEY.encode(), "of the other kind"),
                             (b"\0" * 62, "it begins neither with"), (whole[:-3] + b"\0" + whole[-2:], "too few")):
            with open(self.key_path, "wb") as file:
                file.write(content)
            self.expect_refused(self.key_path, "no whole private key", why, "left as it is")
            with open(self.key_path, "rb") as file:
                self.assertEqual(file.read(), content)
        with open(self.key_path, "wb") as file:
            file.write(whole[:-1])  # an editor's: all of the key is there
        self.assertEqual(self.check()[0], 0)

    def test_what_is_no_file(self):
        self.write_node()
        self.write_node(self.shown_key(), OTHERS_KEY)
        os.unlink(self.key_path)
        os.mkfifo(self.key_path, 0o600)
        self.expect_refused(self.key_path, "no file")

    def test_many_at_once_make_one_key(self):
        self.write_node()
        with concurrent.futures.ThreadPoolExecutor(16) as pool:
            shown = list(pool.map(lambda _: self.show(), range(48)))
        self.assertEqual(len(set(shown)), 1)
        self.assertEqual(os.listdir(os.path.dirname(self.key_path)), ["n1.key"])

    def test_two_starts_at_once_make_one_key(self):
        self.write_peers(OTHERS_KEY)
        with self.start() as one, self.start() as other:
            for process in (one, other):  # one of them has the control socket
                process.stdout.readline()
                process.send_signal(signal.SIGTERM)
            for process in (one, other):
                process.communicate(timeout=WAIT_S)
        self.assertTrue(self.private())
        self.assertEqual(os.listdir(os.path.dirname(self.key_path)), ["n1.key"])

    def test_usage(self):
        self.write_node()
        for words, told in ((("key",), "unknown command"), (("key", "show"), "-c NODE.yaml expected"),
                            (("key", "show", "-c"), "which node file"), (("key", "show", "-n"), "which name"),
                            (("key", "show", "a"), "'key show' takes no argument"),
                            (("key", "gen", "--force"), "unknown option"),
                            (("key", "gen", "/a", "-n", "b"), "expected one of them"),
                            (("key", "gen", "-c", "x"), "-c is an option of key show"),
                            (("show", "jobs", "-c", "x"), "-c is an option of key"),
                            (("key", "show", "-c", "/nowhere.yaml"), "/nowhere.yaml: No such file"),
                            (("key", "show", f"--config={self.node_path}", "--name=n3"), "has no entry of this node")):
            status, said, error = run("env", "-u", "SLUICE_CONFIG", SLUICECTL, *words)
            self.assertEqual((status, said), (2, ""), words)
            self.assertIn(told, error)
        _, said, _ = run(SLUICECTL, "help")
        for word in ("key gen", "key show", "--config", "--name"):
            self.assertIn(word, said)



class Reload(Home):
    """The keys of a running appliance."""

    def setUp(self):
        super().setUp()
        self.write_node()
        self.own = self.shown_key()
        self.write_node(self.own, OTHERS_KEY)

    @contextlib.contextmanager
    def running(self):
        """Its log is self.log after that."""
        with self.start() as process:
            self.assertTrue(process.stdout.readline().endswith("ready\n"))
            try:
                yield
            finally:
                process.send_signal(signal.SIGTERM)
                self.log = process.communicate(timeout=WAIT_S)[1]

    def reload(self, *words):
        status, said, told = run(SLUICECTL, "reload", "keys", "-s", os.path.join(self.home, "sock"), *words)
        self.assertNotIn("slk1-private:", said + told)
        return status, said, told

    def assert_refused(self, *words):
        status, said, told = self.reload()
        self.assertEqual((status, said), (4, ""), told)
        for word in words:
            self.assertIn(word, told)

    def misfit(self):
        _, said, _ = run(SLUICECTL, "show", "peers", "--json", "-s", os.path.join(self.home, "sock"))
        return json.loads(said)["peers"][0]["misfit"]

    def test_a_peers_key(self):
        with self.running():
            self.assertEqual(self.reload(), (0, "no key has changed\n", ""))
            self.write_node(self.own, f"[{THIRD_KEY}, {OTHERS_KEY}]")
            both = f"n2: key {beginning(THIRD_KEY)}, {beginning(OTHERS_KEY)}, before {beginning(OTHERS_KEY)}\n"
            self.assertEqual(self.reload(), (0, both, ""))
            self.write_node(self.own, THIRD_KEY)
            one = f"n2: key {beginning(THIRD_KEY)}, before {beginning(THIRD_KEY)}, {beginning(OTHERS_KEY)}"
            self.assertEqual(json.loads(self.reload("--json")[1]), {"done": one})
            _, said, _ = run(SLUICECTL, "show", "config", "-s", os.path.join(self.home, "sock"))
            self.assertEqual(PUBLIC.findall(said), [self.own, THIRD_KEY])
            self.assertEqual(self.reload(), (0, "no key has changed\n", ""))
        self.assertIn(f"n1: reload keys: {both}", self.log)
        self.assertIn(f"n1: reload keys: {one}\n", self.log)

    def write_three(self, *others):
        """Peers without a roster: n2, and n3 behind it, those of them that are named."""
        addresses = {"n2": "10.9.9.2", "n3": "10.9.9.3"}
        keys = {"n2": OTHERS_KEY, "n3": THIRD_KEY}
        peers = ", ".join(f"{{name: {name}, address: {addresses[name]}, key: {keys[name]}}}" for name in others)
        with open(self.node_path, "w", encoding="utf-8") as file:
            file.write(f"node: {{name: n1, key_file: {self.key_path}}}\npeers: [{peers}]\n"
                       "ports: [{device: \"net_null0,no-rx=1\", address: 10.9.9.1/24, rate: 1Gbps}]\n"
                       "memory: {hugepages: false, buffer: 160MiB}\n"
                       f"control: {{socket: {self.home}/sock}}\n")

    def test_one_peer_after_the_other_is_shut_out(self):
        """The first of them first: what the appliance was started with counts, not who is left."""
        self.write_three("n2", "n3")
        with self.running():
            self.write_three("n3")
            self.assertEqual(self.reload(), (0, f"n2: key none, before {beginning(OTHERS_KEY)}\n", ""))
            self.write_three()
            self.assertEqual(self.reload(), (0, f"n3: key none, before {beginning(THIRD_KEY)}\n", ""))
            self.write_three("n3")
            self.assertEqual(self.reload(), (0, f"n3: key {beginning(THIRD_KEY)}, before none\n", ""))

    def test_a_file_that_no_start_would_take(self):
        with self.running():
            self.write_node(self.own, OTHERS_KEY.replace("slk1:", "slk9:"))
            self.assert_refused("roster[1].key", "begins neither with slk1")
            with open(self.node_path, "a", encoding="utf-8") as file:
                file.write("rooster: [n1]\n")
            self.assert_refused("rooster")
            self.write_node(self.own, OTHERS_KEY)
            if os.geteuid() == 0:
                os.chown(self.key_path, 65534, 65534)
                self.assert_refused(f"{self.key_path}: belongs to user 65534")
                os.chown(self.key_path, 0, 0)
            self.assertEqual(self.reload(), (0, "no key has changed\n", ""))

    def test_the_own_key(self):
        new_path = os.path.join(self.home, "new.key")
        with self.running():
            new = run(SLUICECTL, "key", "gen", new_path)[1].strip()
            self.write_node(f"[{new}, {self.own}]", OTHERS_KEY)
            self.assertEqual(self.reload(), (0, "no key has changed\n", ""))  # both may be its own
            os.rename(new_path, self.key_path)
            self.assertEqual(self.reload(), (0, f"n1: key {beginning(new)}, before {beginning(self.own)}\n", ""))
            self.write_node(self.own, OTHERS_KEY)
            self.assert_refused(beginning(new), beginning(self.own), "restore the key file")
            os.unlink(self.key_path)
            self.assert_refused("no such key file")

    def test_a_removed_peer(self):
        with self.running():
            self.assertEqual(self.misfit(), "")
            with open(self.node_path, encoding="utf-8") as file:
                lines = file.readlines()
            with open(self.node_path, "w", encoding="utf-8") as file:
                file.writelines(line for line in lines if "name: n2" not in line)
            self.assertEqual(self.reload(), (0, f"n2: key none, before {beginning(OTHERS_KEY)}\n", ""))
            self.assertEqual(self.misfit(), "its key is not in the roster any more")
            self.write_node(self.own, OTHERS_KEY)
            self.assertEqual(self.reload(), (0, f"n2: key {beginning(OTHERS_KEY)}, before none\n", ""))
            self.assertEqual(self.misfit(), "")

    def test_what_changes_nothing(self):
        with self.running():
            self.write_node(self.own, "slk1:nonsense")
            self.assert_refused(f"{self.node_path}:4: roster[1].key: no public key")
            os.rename(self.node_path, self.node_path + ".away")
            self.assert_refused(self.node_path, "No such file")
            self.write_node()
            self.assert_refused("roster[0]: key missing")
            for before, after, said in (("10.9.9.1", "10.9.9.7", "the own address has changed"),
                                        ("10.9.9.2", "10.9.9.7", "the address of n2 has changed"),
                                        ("name: n2", "name: n3", "n3 is new")):
                self.write_node(self.own, THIRD_KEY)
                with open(self.node_path, encoding="utf-8") as file:
                    text = file.read()
                with open(self.node_path, "w", encoding="utf-8") as file:
                    file.write(text.replace(before, after))
                self.assert_refused(f"{said}: that needs a restart")
            self.write_node(self.own, OTHERS_KEY)
            self.assertEqual(self.reload(), (0, "no key has changed\n", ""))

    def test_started_without_keys(self):
        self.write_node(options=", insecure: benchmark")
        with self.running():
            self.write_node(self.own, OTHERS_KEY)
            self.assert_refused("started without keys: that needs a restart")

if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
