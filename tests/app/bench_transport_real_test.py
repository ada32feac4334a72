#!/usr/bin/env python3
"""What scripts/bench transport-real makes of its runs: bench_transport_real_test.py SCRIPTS"""
import os
import sys
import tempfile
import unittest

sys.path.insert(0, sys.argv[1])
import bench_transport_real as real  # noqa: E402  (it lies where the argument says)


class TransportReal(unittest.TestCase):
    def test_judged(self):
        rows = (([100], (1.0, 1.0, True)), ([100, 10], (0.55, 1.0, False)), ([95, 92, 70, 82], (0.87, 0.82, False)),
                ([95, 92, 70, 81, 91], (0.91, 0.81, True)), ([95, 92, 70, 71, 91], (0.91, 0.71, False)))
        for goodputs, (median, second, reached) in rows:
            found = real.judged([{"goodput_bps": goodput} for goodput in goodputs], 100)
            self.assertAlmostEqual(found[0], median)
            self.assertAlmostEqual(found[1], second)
            self.assertEqual(found[2], reached)

    def test_largest_gap(self):
        ports = {"ports": [{"name": "p"}], "workers": [{"poll_gap_ns_max": 2_000_000}, {"more": {"poll_gap_ns_max": 5_500_000}}]}
        self.assertEqual(real.largest_gap_ms(ports), 5.5)
        self.assertEqual(real.largest_gap_ms({}), 0)

    def test_prepare(self):
        with tempfile.TemporaryDirectory() as directory:
            options = type("Options", (), {"size": 12345, "build": os.path.join(directory, "build")})()
            ctl = os.path.join(options.build, "app", "ctl", "sluicectl")
            os.makedirs(os.path.dirname(ctl))
            with open(ctl, "w", encoding="ascii") as file:
                file.write("#!/bin/sh\n: >\"$3\"\necho slk1:of-a-site\n")
            os.chmod(ctl, 0o755)
            real.prepare(options, directory)
            self.assertEqual(os.path.getsize(os.path.join(directory, "payload")), 12345)
            for site in ("a", "r0", "r1", "r2"):
                self.assertTrue(os.path.exists(os.path.join(directory, site, "node.yaml")))


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
