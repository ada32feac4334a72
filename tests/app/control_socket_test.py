#!/usr/bin/env python3
"""Clients of the control socket: who gives way, who waits for whom, and whose path it is."""
import json
import os
import resource
import select
import signal
import socket
import sys
import unittest

from appliance import Appliance, ask, drain, HomeTest, open_files, run_job, SHOW, sleeps, WAIT_S, wait_until


class ControlSocketTest(HomeTest):
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


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
