#!/usr/bin/env python3
"""What scripts/bench probe-real makes of measurements: bench_probe_real_test.py SCRIPTS"""
import sys
import unittest

sys.path.insert(0, sys.argv.pop())

import bench_probe_real as real  # noqa: E402  (it lies where the argument says)


def value(error, low=600e6, high=800e6):
    return {"kind": "value", "avail_bps": 700e6, "low_bps": low, "high_bps": high, "left_bps": 700e6,
            "error_percent": error, "trains": 3, "discarded": 1}


REFUSED = {"kind": "refused", "reason": "departures-late", "left_bps": 0, "trains": 0, "discarded": 3}


class Summary(unittest.TestCase):
    def test_no_value_is_the_worst(self):
        self.assertEqual(real.summary_of([value(1), REFUSED, value(2)]),
                         {"runs": 3, "values": 2, "hold": 2, "median_error_percent": 2})
        self.assertEqual(real.summary_of([value(1), REFUSED])["median_error_percent"], float("inf"))

    def test_intervals_that_hold(self):
        self.assertEqual(real.summary_of([value(1, high=699e6), value(1, low=701e6), value(1)])["hold"], 1)

    def test_rows(self):
        self.assertEqual(real.row_of(1, value(1.234))[1:], ["value", "700.0", "600.0 to 800.0", "700.0", "1.23", 4, "3/4", ""])
        row = real.row_of(2, {**REFUSED, "gap_us_max": 5, "wire_gap_us_max": 6})
        self.assertEqual(row[1:], ["refused", "departures-late", "", "", "", 3, "0/3", "5, 6"])
        self.assertEqual(len(row), len(real.HEADER))


if __name__ == "__main__":
    unittest.main()
