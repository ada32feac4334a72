#!/usr/bin/env python3
"""Two users of one fanout id in a network namespace: the later appliance says so and ends, and comes up when it is
started again. Usage: fanout_test.py SLUICE"""

import os
import socket
import struct
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import lab  # noqa: E402

lab.enter_namespace()

SOL_PACKET, PACKET_FANOUT = 263, 18
DRIVER_MODE = 0x9000  # by hash, defragmented, rolled over: as the driver has it


def take_the_id_of(interface):
    """In the process that becomes the appliance: a socket that stays open holds the group that its driver will ask
    for, on another interface."""
    holder = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(lab.ETH_P_ALL))
    holder.bind(("lo", 0))
    group = (os.getpid() ^ socket.if_nametoindex(interface)) & 0xffff
    holder.setsockopt(SOL_PACKET, PACKET_FANOUT, struct.pack("=I", DRIVER_MODE << 16 | group))
    os.set_inheritable(holder.detach(), True)


class Unlucky(lab.Appliance):
    """Its first start finds the id taken."""

    def __init__(self, program, name):
        self.interface = f"{name}0"
        namespace = lab.veth(self.interface, f"{name}1")
        with namespace.inside():
            lab.run("ip", "link", "set", "lo", "up")
        super().__init__(program, lab.temporary_directory(), name, {
            "ports": [{"device": f"net_af_packet0,iface={self.interface}", "address": "10.9.0.1/24",
                       "rate": "100Mbps"}],
            "peers": [{"name": "nobody", "address": "10.9.0.2"}],
        }, namespace)

    def launch(self, command, **options):
        if self.starts == 1:
            options.update(preexec_fn=lambda: take_the_id_of(self.interface), close_fds=False)
        return super().launch(command, **options)


def a_taken_id_is_told_and_ends_the_start(program):
    lab.STARTS_MAX = 1
    try:
        Unlucky(program, "once")
    except lab.StartFailed as error:
        assert error.status == 1, f"exit status {error.status}"
        assert "device net_af_packet0: " + lab.FANOUT_TAKEN in str(error), error
        assert "start again" in str(error), error
        return
    raise AssertionError("it started")


def started_again_it_comes_up(program):
    lab.STARTS_MAX = 5
    appliance = Unlucky(program, "twice")
    assert appliance.starts == 2, f"{appliance.starts} starts"
    assert appliance.show("peers")["peers"][0]["name"] == "nobody"
    assert appliance.stop() == 0, appliance.text()[-1500:]


CASES = [a_taken_id_is_told_and_ends_the_start, started_again_it_comes_up]


if __name__ == "__main__":
    sys.exit(lab.run_cases(CASES, sys.argv[1]))
