#!/usr/bin/env python3
"""A file between two real programs over descriptor rings, virtio-user and vhost: with ordinary pages, and with huge pages,
which virtio-user needs to send a body from where it lies. Reserves huge pages where it may, and gives them back. Needs no
permissions else.
Usage: vhost_test.py SLUICE SLUICE_PLANNER REACH_TEST"""

import os
import subprocess
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [HERE, os.path.join(HERE, "../../scripts")]
import hugepages  # noqa: E402
import lab  # noqa: E402

BYTES = 8_000_000
HUGE_PAGES = 256


def port_of(appliance):
    return appliance.show("ports")["ports"][0]


def a_file_crosses(programs, mtu, vhost_at, pages):
    """The vhost end makes the socket, so it has to be the first."""
    path = os.path.join(lab.temporary_directory(), "vhost")

    def device(name):
        return f"net_vhost0,iface={path}" if name == vhost_at else f"net_virtio_user0,path={path}"

    pair = lab.Pair(programs, mtu, device, target_first=vhost_at == "target",
                    memory={"hugepages": pages, "buffer": "64MiB"})
    before = pair.source.counters()
    pair.send(BYTES, "400Mbps")
    assert pair.source.show("peers")["peers"][0]["path_mtu"] == mtu, pair.source.show("peers")
    after = pair.source.counters()
    sent, chained = (after[f"port.{name}"] - before.get(f"port.{name}", 0) for name in ("tx_packets", "tx_chained"))
    assert sent < 1.3 * BYTES / (mtu - 92) + 500, f"{sent} packets for {BYTES} bytes"
    assert port_of(pair.source)["bodies"] == "chained", port_of(pair.source)
    assert port_of(pair.source)["udp_checksums"] == "device", port_of(pair.source)
    # Of a block of 1 MiB the last symbol may be short.
    assert chained > BYTES / (mtu - 92) - 20, f"{chained} of {sent} chained"
    if vhost_at == "source" and not pages:
        assert port_of(pair.target)["bodies"].startswith("copied: "), port_of(pair.target)
    at_port = {name: count for name, count in lab.dropped(before, after).items() if name.startswith("port.")}
    assert at_port == {}, at_port
    pair.end()


def from_vhost_on_ordinary_pages(programs, _):
    a_file_crosses(programs, 1500, "source", False)


def from_virtio_user_on_huge_pages(programs, reach_test):
    with hugepages.reserved(HUGE_PAGES) as good:
        if not good:
            print(f"SKIP from_virtio_user_on_huge_pages: {HUGE_PAGES} huge pages are not to be had (reserving takes root)")
            return
        for mtu in (1500, 9000):
            a_file_crosses(programs, mtu, "target", True)
        for mode in ("va", "pa") if os.geteuid() == 0 else ("va",):  # physical addresses are root's to know
            run = subprocess.run([reach_test, mode], capture_output=True, text=True, check=False)
            assert run.returncode == 0, f"{mode}: {(run.stdout + run.stderr)[-1500:]}"


def the_vhost_end_comes_back(programs, _):
    """Killed and started again: the end that keeps the socket goes on, sends through the new one, and ends in order."""
    path = os.path.join(lab.temporary_directory(), "vhost")

    def device(name):
        return f"net_vhost0,iface={path},client=1" if name == "target" else f"net_virtio_user0,path={path},server=1"

    pair = lab.Pair(programs, 1500, device, target_first=True)
    for starts in range(1, 3):
        lab.wait_until("the link", lambda: port_of(pair.source)["link"] == "up")
        lab.wait_until("the peer", lambda: pair.source.show("peers")["peers"][0]["state"] == "up")
        pair.target.kill()
        lab.wait_until("the link's end", lambda: port_of(pair.source)["link"] == "down")
        pair.target.start()
        lab.wait_until("word of the start", lambda: pair.source.counters()["peers_reset"] == starts)
    pair.send(1_000_000, "400Mbps")
    pair.end()


CASES = [from_vhost_on_ordinary_pages, the_vhost_end_comes_back, from_virtio_user_on_huge_pages]


if __name__ == "__main__":
    sys.exit(lab.run_cases(CASES, sys.argv[1:3], sys.argv[3]))
