#!/usr/bin/env python3
"""What an appliance says of the machine: with --check-config, and when it can't start; whom it lets in. usage: check_test.py
SLUICE"""
import grp
import json
import os
import socket
import stat
import subprocess
import sys
import tempfile
import unittest

SLUICE = sys.argv[1]
INSECURE = "packets are neither authenticated nor encrypted (node.insecure: benchmark)"
WAIT_S = 60
GOOD, FAILED, USAGE = 0, 1, 2
NOBODY = 65534


def asked_by(groups, path):
    """What the socket answers another user, or why it does not."""
    reader, writer = os.pipe()
    child = os.fork()
    if child == 0:
        os.setgroups(groups)
        os.setgid(NOBODY)
        os.setuid(NOBODY)
        try:
            with socket.socket(socket.AF_UNIX) as client:
                client.settimeout(WAIT_S)
                client.connect(path)
                client.sendall(b'{"command": "show", "what": "version"}\n')
                os.write(writer, client.recv(1000))
        except OSError as error:
            os.write(writer, str(error).encode())
        os._exit(0)
    os.close(writer)
    with os.fdopen(reader) as file:
        text = file.read()
    os.waitpid(child, 0)
    return text


class CheckTest(unittest.TestCase):
    def setUp(self):
        directory = tempfile.TemporaryDirectory(prefix="sluice-check-")
        self.addCleanup(directory.cleanup)
        self.home = directory.name
        os.chmod(self.home, 0o777)

    def run_sluice(self, device, *options, user=None, **config):
        """Exit status and all lines."""
        result = subprocess.run([SLUICE, "-c", self.write(device, **config), *options], user=user, capture_output=True,
                                text=True, timeout=WAIT_S, check=False)
        return result.returncode, result.stdout + result.stderr

    def write(self, device, **config):
        path = os.path.join(self.home, "node.yaml")
        with open(path, "w", encoding="utf-8") as file:
            json.dump({"node": {"name": "n1"}, "ports": [{"device": device, "address": "10.9.9.1/24", "rate": "100Mbps"}],
                       "memory": {"hugepages": False, "buffer": "160MiB"},
                       "control": {"socket": os.path.join(self.home, "sock")}, **config}, file, indent=1)
        return path

    def test_check_config_looks_at_the_machine(self):
        """What is not here may be elsewhere: said, and the file is valid all the same."""
        for device, said in (("net_null0,no-rx=1", None),
                             ("net_af_packet0,iface=eth99x", "n1: ports[0]: no interface eth99x, there are "),
                             ("ffff:ff:1f.7", "n1: ports[0]: no PCI device ffff:ff:1f.7: lspci "),
                             (f"net_memif0,role=server,socket={self.home}/no/sock",
                              f"n1: ports[0]: no directory {self.home}/no for its socket: mkdir -p {self.home}/no")):
            status, text = self.run_sluice(device, "--check-config")
            self.assertEqual(status, GOOD, text)
            self.assertIn("node.yaml: valid; memory: ", text)
            if said is None:
                self.assertNotIn("ports[0]", text)
            else:
                self.assertIn(said, text)

    def test_insecure_for_what_stays_here_alone(self):
        """By check and start alike, with the line; nothing that comes from elsewhere gets to a disk."""
        for device, store, refused in (("ffff:ff:1f.7", "disk", True), ("ffff:ff:1f.7", "none", False),
                                       ("net_tap0,iface=tap99x", "disk", True), ("net_tap0,iface=tap99x", "none", False),
                                       ("net_af_packet0,iface=lo", "disk", True), ("net_af_packet0,iface=lo", "none", False),
                                       ("net_memif0,role=client,socket=@x", "disk", False), ("net_ring0", "disk", False)):
            config = {"node": {"name": "n1", "store": store, "insecure": "benchmark"}}
            for options in ((), ("--check-config",)) if refused else (("--check-config",),):
                status, text = self.run_sluice(device, *options, **config)
                self.assertEqual(status, USAGE if refused else GOOD, (device, store, text))
                words = f'through ports[0], "{device}", what is written to the disk: store: none, or a memif'
                self.assertEqual(words in text, refused, text)
                self.assertEqual("n1: " + INSECURE in text, not refused, text)
                if refused:
                    self.assertRegex(text, r"node\.yaml:5: node\.insecure: benchmark, but ")

    def test_check_config_of_hugepages_for_a_nic_alone(self):
        for device, said in (("ffff:ff:1f.7", True), ("net_null0,no-rx=1", False)):
            _, text = self.run_sluice(device, "--check-config", memory={"hugepages": True, "buffer": "160MiB"})
            if "from hugepages" not in text:  # a machine that has them misses none
                self.assertEqual("n1: memory: " in text, said, text)

    def test_start_names_what_is_missing(self):
        root = os.geteuid() == 0
        for device, user, said in (("net_af_packet0,iface=eth99x", None, "device net_af_packet0: no interface eth99x"),
                                   ("net_af_packet0,iface=lo", NOBODY if root else None, "needs CAP_NET_RAW and CAP_NET_ADMIN"),
                                   ("ffff:ff:1f.7", None, "device ffff:ff:1f.7: no PCI device")):
            status, text = self.run_sluice(device, user=user)
            self.assertEqual(status, FAILED, text)
            self.assertIn("n1: ports[0]: ", text)
            self.assertIn(said, text)
            self.assertNotIn("not supported", text.splitlines()[-1])

    def test_unknown_group(self):
        for options in ((), ("--check-config",)):
            status, text = self.run_sluice("net_null0,no-rx=1", *options, control={"group": "no-such-group"})
            self.assertEqual(status, USAGE, text)
            self.assertRegex(text, r'node\.yaml:\d+: control.group: "no-such-group", expected the name of a group of this')

    @unittest.skipIf(os.geteuid() != 0, "only root has a list of groups of its own")
    def test_group_of_many_members(self):
        """Its entry is longer than any buffer that one would think of."""
        groups = os.path.join(self.home, "groups")
        with open(groups, "w", encoding="ascii") as file:
            file.write("root:x:0:\nmany:x:4711:" + ",".join(f"member{number}" for number in range(20000)) + "\n")
        path = self.write("net_null0,no-rx=1", control={"group": "many"})
        run = subprocess.run(["unshare", "-m", "sh", "-c", 'mount --bind "$1" /etc/group && exec "$2" -c "$3" --check-config',
                              "sh", groups, SLUICE, path], capture_output=True, text=True, timeout=WAIT_S, check=False)
        self.assertEqual(run.returncode, GOOD, run.stdout + run.stderr)

    @unittest.skipIf(os.geteuid() != 0, "only root can become the members of a group")
    def test_group_of_the_socket(self):
        """Members get in, others do not."""
        group = grp.getgrnam("daemon")
        path = self.write("net_null0,no-rx=1", control={"socket": os.path.join(self.home, "sock"), "group": group.gr_name})
        socket_path = os.path.join(self.home, "sock")
        with subprocess.Popen([SLUICE, "-c", path], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True) as sluice:
            try:
                self.assertIn("sluice: n1 ready\n", sluice.stdout.readline())
                status = os.stat(socket_path)
                self.assertEqual((stat.S_IMODE(status.st_mode), status.st_gid), (0o660, group.gr_gid))
                for groups, said in (([group.gr_gid], '"ok":true'), ([], "Permission denied")):
                    self.assertIn(said, asked_by(groups, socket_path))
            finally:
                sluice.terminate()


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
