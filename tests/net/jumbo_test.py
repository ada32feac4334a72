#!/usr/bin/env python3
"""An MTU of 9000 on the wire: a file between two real programs, over af_packet and over memif, in packets of that size.
Usage: jumbo_test.py SLUICE SLUICE_PLANNER"""

import os
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import lab  # noqa: E402

lab.enter_namespace()

MTU = 9000
BYTES = 20_000_000


def a_file_crosses(world):
    before = world.source.counters()
    world.send(BYTES, "200Mbps")
    assert world.source.show("peers")["peers"][0]["path_mtu"] == MTU, world.source.show("peers")
    packets = world.source.counters()["port.tx_packets"] - before["port.tx_packets"]
    assert packets < BYTES / 4000, f"{packets} packets for {BYTES} bytes"
    world.end()


def over_a_wire(*programs):
    bridge = lab.Bridge(MTU)
    a_file_crosses(lab.Pair(programs, MTU, None, bridge.plug))


def over_memif(*programs):
    def device(name):
        role = "server" if name == "source" else "client"
        return f"net_memif0,role={role},socket-abstract=yes,socket=@sluice-jumbo-{os.getpid()}"
    a_file_crosses(lab.Pair(programs, MTU, device))


CASES = [over_a_wire] if lab.PLAIN else [over_a_wire, over_memif]


if __name__ == "__main__":
    sys.exit(lab.run_cases(CASES, *sys.argv[1:3]))
