#!/usr/bin/env python3
"""A site whose port is a UDP socket, and one on af_packet, joined by veths: what is not summed is dropped and said, with the
command that helps, and after that command they meet. Usage: mixed_test.py SLUICE SLUICE_PLANNER"""

import os
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import lab  # noqa: E402

lab.enter_namespace()

MTU, BYTES = 1500, 3_000_000


def it_says_what_helps_and_then_they_meet(*programs):
    bridge = lab.Bridge(MTU)
    namespaces = {name: bridge.plug(name) for name in lab.Pair.ADDRESSES}
    with namespaces["source"].inside():
        lab.give_address("source", lab.Pair.ADDRESSES["source"], offload=True)
    lab.run("ip", "link", "set", "source1", "arp", "on")
    pair = lab.Pair(programs, MTU, lambda name: None if name == "source" else f"net_af_packet0,iface={name}0", namespaces.get)
    lab.wait_until("a word of it", lambda: pair.target.says("have no checksums and are dropped"))
    assert pair.target.says("ethtool -K INTERFACE tx off"), pair.target.text()
    assert pair.target.counters()["port.rx_drop_bad_udp"] > 0
    with namespaces["source"].inside():
        lab.offload_nothing("source0")
    lab.wait_until("the peers", lambda: pair.source.show("peers")["peers"][0]["state"] == "up")
    pair.send(BYTES, "200Mbps")
    pair.end()


CASES = [it_says_what_helps_and_then_they_meet]


if __name__ == "__main__":
    sys.exit(lab.run_cases(CASES, *sys.argv[1:3]))
