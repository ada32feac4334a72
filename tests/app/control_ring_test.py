#!/usr/bin/env python3
"""The ring to the planner: made anew where it is damaged, taken away or could not be made."""
import os
import sys
import time
import unittest

from appliance import Appliance, ask, HomeTest, planner_attached, planner_of, SHOW, wait_until


class ControlRingTest(HomeTest):
    def test_bad_record_is_logged(self):
        """A planner's ring that claims a record where there is none."""
        path = os.path.join(self.home, "ring.up")
        with Appliance(self.home) as appliance:
            wait_until(lambda: os.path.exists(path))  # another thread makes it, and gives it this name when it is whole
            with open(path, "r+b") as ring:
                ring.seek(64)  # lib/shm/layout.h: produced
                ring.write((24).to_bytes(8, "little"))
            lines = iter(appliance.process.stderr.readline, b"")
            self.assertTrue(any(b"1 bad records on the control ring thrown away" in line for line in lines))

    def test_ring_that_is_cut_short_is_made_anew(self):
        path = os.path.join(self.home, "ring.up")
        with Appliance(self.home) as appliance, appliance.connect() as client:
            wait_until(lambda: os.path.exists(path))
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
            self.assertEqual(sorted(os.listdir(folder)), ["ring.down", "ring.lock", "ring.up"])


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
