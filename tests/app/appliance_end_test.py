#!/usr/bin/env python3
"""What ends an appliance, and what only ends its console."""
import os
import signal
import subprocess
import sys
import unittest

from appliance import (Appliance, ask, drain, HomeTest, planner_attached,
                       planner_of, SHOW, stands_full, WAIT_S, wait_until)


class ApplianceEndTest(HomeTest):
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

    def test_console_explains_a_word_that_is_far_away(self):
        reader, writer = os.pipe()
        with Appliance(self.home, "-i", stdin=reader) as appliance:
            os.close(reader)
            os.write(writer, b"show " + 510 * b" " + b"xyz\n")
            self.assertEqual(appliance.process.wait(WAIT_S), 1)
            said = drain(appliance.process.stdout) + drain(appliance.process.stderr)
            self.assertIn(b"show: there is no 'xyz'; 'help' lists what there is", said)
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


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
