#!/usr/bin/python3
"""Checks sluice_scapy.py against the golden vectors, both ways. Usage: scapy_test.py golden.txt [--print]

--print writes what the scapy layer builds, in the file's form, for pasting after a deliberate change of the
protocol; datagrams.c then has to agree from its own side. Exit status 77: scapy is not installed."""

import os
import sys
import unittest

try:
    from scapy.layers.inet import IP, UDP
    from scapy.layers.inet6 import IPv6
    from scapy.layers.l2 import Dot1Q, Ether
    from scapy.packet import Packet, Padding, Raw
except ImportError:
    print("scapy is not installed")
    sys.exit(77)

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import sluice_scapy as sluice  # noqa: E402

TAGS = bytes(range(0xa0, 0xb0)) + bytes(range(0xb0, 0xc0))
HASH_ONE = bytes(range(32))
HASH_TWO = bytes(range(255, 223, -1))
MACS = {"dst": "02:00:00:00:00:02", "src": "02:00:00:00:00:01"}
PORTS = UDP(sport=7840, dport=7841)


def header(number=0, session=0x11223344, **fields):
    return sluice.Sluice(session=session, packet_number=number, stamp=0x89abcdef, **fields)


def message(number, ack, body=None, **fields):
    packet = header(number + 0x5000) / sluice.SluiceMessage(sequence=number, ack=ack, **fields)
    return packet if body is None else packet / body


def vectors():
    probe = dict(id=7, t1_ns=0x1111111122222222)
    measured = [
        sluice.Measured(peer="oregon", rtt_min_us=136000, rtt_smoothed_us=136250, answered=9, sent=10, mtu=1500),
        sluice.Measured(peer="canada", rtt_min_us=0xffffffff, sent=10),
    ]
    part = dict(job=0xdecade01, epoch=3, source="london", directory="incoming", job_name="demo",
                size_bytes=64 << 20, modified_ns=0x16d6ba3c12345678, symbol_bytes=1408, block_symbols=744,
                durable="block", exists="skip-if-same", congestion="bql", secret=bytes(range(0xc0, 0xe0)))
    close = header() / sluice.SluiceClose(reason="shutdown")
    data = header(0x01020304) / sluice.SluiceData(floor_delta=5, job=0xdecade01, symbol=0x0123456789, stripe=2,
                                                  epoch=7, body=b"symbol")
    ipv4 = IP(src="10.1.2.3", dst="10.1.2.4", id=0, flags="DF", ttl=64, tos=0xb9)
    ipv6 = IPv6(src="fd00::1", dst="fd00::2", hlim=64, tc=0xb9)
    yield "hello", header(session=0xcafe0002) / sluice.SluiceHello(key_opened=255)
    mac = bytes(range(0x10, 0x20))
    shake = dict(ephemeral=bytes(range(0x20, 0x40)), greeting=bytes(range(0x70, 0x70 + 120)))
    yield "initiation", sluice.Sluice(packet_number=0x01020304, tag=mac) / sluice.SluiceInitiation(
        static=bytes(range(0x40, 0x70)), **shake)
    yield "response", sluice.Sluice(session=0xcafe0001, tag=mac) / sluice.SluiceResponse(**shake)
    yield "data", data
    yield "data-two", header(0xffffffff) / sluice.SluiceData(
        floor_delta=0xffffffff, job=1, symbol=0xfffffffffe, count=2, stripe=255, epoch=255, tags=TAGS,
        body=b"AAAAAAAABBBB")
    yield "ack", header() / sluice.SluiceAck(
        base=0xfffffff0, largest=0x00001234, largest_delay=25000, delivered_bytes=0x1122334455667788,
        delivered_stamp=0x01020304, owd_min=0xfffffffe, jump=0x00030d40, late_us=1500, wait=312500, ce_count=3,
        credit=65536, own_rate_kbps=10000000, missed=0xfffffff1, limited_by=2,
        runs=[0, 1, 127, 128, 16383, 16384, 2097151, 2097152, 268435456],
        places=[sluice.Place(job=0xdecade01, full_stripes=0x81, room=3), sluice.Place(job=0xdecade02, room=15)])
    yield "ack-empty", header() / sluice.SluiceAck(base=9, largest=8, credit=1)
    yield "message-ack", message(0, 0x00000102)
    yield "message-gaps", message(0, 0x00000102, sluice.Gaps(echo=0x89abcdee, early_low=1 << 63 | 5, early_high=1))
    yield "measure", message(1, 2, sluice.Measure(job=0xdecade01, duration_ms=2000, age_ms=10000))
    yield "measurement", message(2, 3, sluice.Measurement(
        job=0xdecade01, up_bps=1000000000, down_bps=10000000000, packets_ps=750000,
        window_bytes=256 << 20, leaf=1, total=2, peers=measured))
    yield "part", message(3, 4, sluice.Part(
        file=b"sub dir/file.iso", stripes=2, object="directory", tree=4, index_bytes=4711, start_bps=123456789012,
        index_hash=b"\xab" + bytes(30) + b"\xcd", **part))
    yield "part-source", message(4, 5, sluice.Part(
        file=b"f", mode=0o640, keep=0, start_bps=123456789012, index_hash=b"\xab" + bytes(30) + b"\xcd", **part))
    yield "confirm", message(5, 6, sluice.Confirm(job=0xdecade01, epoch=3, answer="refused", text=b"disk full"))
    yield "start", message(6, 7, sluice.Start(job=0xdecade01, epoch=3))
    yield "status", message(7, 8, sluice.Status(job=0xdecade01, state="verified", received_bytes=64 << 20,
                                                verified_bytes=63 << 20, elapsed_ns=5000000001, laggard=1,
                                                edges=[sluice.Edge(limited_by=3, rate_bps=985000000),
                                                       sluice.Edge(limited_by=6, rate_bps=50000000)],
                                                text=b"/srv/in/caf\xc3\xa9.iso"))
    yield "hashes", message(8, 9, sluice.Hashes(job=0xdecade01, first_block=62, hashes=HASH_ONE + HASH_TWO))
    yield "have", message(9, 10, sluice.Blocks(job=0xdecade01, first_block=0x100000000, count=17), kind="have")
    yield "resend", message(10, 11, sluice.Blocks(job=0xdecade01, first_block=5, count=1), kind="resend")
    yield "close-job", message(11, 12, sluice.CloseJob(job=0xdecade01, outcome="cancelled"))
    yield "adjust", message(12, 13, sluice.Adjust(job=0xdecade01, revision=2, rate_cap_bps=200000000, priority=5,
                                                  dscp=46, paused=1))
    yield "stream-room", message(13, 14, sluice.StreamRoom(job=0xdecade01, blocks=0x100000007))
    yield "stream-end", message(14, 15, sluice.StreamEnd(
        job=0xdecade01, symbols=0x123456789, bytes=0x1234567890a, chain=b"\xab" + bytes(30) + b"\xcd"))
    yield "let-go", message(24, 25, sluice.LetGo(job=0xdecade01, child=3, text=b"too slow"))
    yield "part-stream", message(15, 16, sluice.Part(
        file=b"live", object="stream", stream_slow="wait", stream_blocks=61, stream_window_ms=10000,
        index_hash=b"\xab" + bytes(30) + b"\xcd", **part))
    yield "tree", message(16, 17, sluice.Tree(
        job=0xdecade01, epoch=3, stripe=1, weight=4, parent="london", backup="oregon", children=[
            sluice.Child(node="singapore", rate_bps=900000000, known=1), sluice.Child(node="canada", rate_bps=1000)]))
    yield "tree-source", message(17, 18, sluice.Tree(job=0xdecade01, epoch=3))
    yield "probe", header() / sluice.SluiceProbe(**probe)
    yield "probe-reply", header(type="probe_reply") / sluice.SluiceProbe(
        t2_ns=0x3333333344444444, t3_ns=0x5555555566666666, zeros=bytes(20), **probe)
    yield "close", close
    yield "train", header(type="train") / sluice.SluiceTrain(train=0xdecade05, index=258, count=4096, rest_us=0x01020304,
                                                             zeros=bytes(20))
    began = 0x16d6ba3c12345678
    yield "piece", header(number=0x5001, type="piece") / sluice.SluicePiece(
        whole=0x89abcdef, total=45, index=1, count=3, bytes=b"the middle one.")
    yield "train-report", message(18, 19, sluice.TrainReport(
        train=0xdecade05, stamp_kind=1, batch=32, noise_ns=100, granularity_ns=64, gap_ns=20000, total=300,
        first=294, count=6, index=3, came_ns=began,
        arrivals=[(4, 0x4ce), (6, 0), (5, -1), (7, 1 << 32), (4095, 2)]))
    yield "train-busy", message(19, 20, sluice.TrainReport(train=0xdecade06, answer="over-budget", wait_ms=10000))
    yield "available", message(20, 21, sluice.Available(peers=[
        sluice.AvailablePeer(peer="oregon", avail_kbps=4100000, low_kbps=4000000, high_kbps=4200000, age_ms=1500),
        sluice.AvailablePeer(peer="canada", avail_kbps=9900000, low_kbps=9900000, high_kbps=0xffffffff,
                             line_in=1)]))
    yield "probe-ask", message(21, 22, sluice.ProbeAsk(
        ask=0xdecade07, to="oregon", wait_us=150000, lasts_ms=250, bytes=1500000, trains=4, what=2, rate_kbps=62500))
    yield "probe-answer", message(22, 23, sluice.ProbeAnswer(
        ask=0xdecade07, kind=1, stamp_kind=2, flags=5, avail_bps=4100000000, low_bps=4000000000, high_bps=4200000000,
        capacity_bps=10000000000, depth_bytes=200000, loss_ppm=7, age_ns=150000000, window_ns=2500000000, busy_ns=1000000,
        bytes=1424188, trains=2, discarded=1, rtt_ns=136000000))
    yield "probe-declined", message(23, 24, sluice.ProbeAnswer(ask=0xdecade07, answer="down", text="'oregon' is down"))
    yield "frame-ipv4", Ether(**MACS) / ipv4 / PORTS / data
    yield "frame-ipv4-vlan", Ether(**MACS) / Dot1Q(vlan=0xabc) / ipv4 / PORTS / close
    yield "frame-ipv4-unchecked", Ether(**MACS) / ipv4 / UDP(sport=7840, dport=7841, chksum=0) / close
    yield "frame-ipv6", Ether(**MACS) / ipv6 / PORTS / data
    yield "frame-ipv6-vlan", Ether(**MACS) / Dot1Q(vlan=1) / ipv6 / PORTS / close


def golden_read(path):
    lines = open(path, encoding="ascii").read().splitlines()
    pairs = [line.split(" = ") for line in lines if line and not line.startswith("#")]
    return {name: bytes.fromhex(digits) for name, digits in pairs}


def layers(packet):
    while isinstance(packet, Packet) and packet.name != "NoPayload":
        yield packet
        packet = packet.payload


class GoldenTest(unittest.TestCase):
    maxDiff = None

    def test_same_vectors(self):
        self.assertEqual(list(GOLDEN), [name for name, _ in vectors()])

    def test_builds(self):
        for name, packet in vectors():
            with self.subTest(name):
                self.assertEqual(bytes(packet).hex(), GOLDEN[name].hex())

    def test_decodes(self):
        for name, packet in vectors():
            with self.subTest(name):
                self.compare(type(packet)(GOLDEN[name]), packet)

    def compare(self, decoded, expected):
        """Same layers; every field that the expected packet sets reads the same after decoding."""
        self.assertEqual([type(one) for one in layers(decoded)], [type(one) for one in layers(expected)])
        self.assertFalse(decoded.haslayer(Raw) or decoded.haslayer(Padding))
        for one, other in zip(layers(decoded), layers(expected)):
            for field in other.fields:
                self.compare_field(one.getfieldval(field), other.getfieldval(field), field)

    def compare_field(self, one, other, field):
        if isinstance(other, str) and isinstance(one, bytes):
            other = other.encode()
        if isinstance(other, list) and other and isinstance(other[0], Packet):
            self.assertEqual(len(one), len(other), field)
            for left, right in zip(one, other):
                self.compare(left, right)
        else:
            self.assertEqual(one, other, field)

    def test_rebuilds_after_a_change(self):
        """Lengths and counts of a decoded packet follow its content once they are deleted."""
        packet = sluice.Sluice(GOLDEN["ack"])
        packet[sluice.SluiceAck].runs = [3, 300]
        packet[sluice.SluiceAck].run_bytes = None
        again = sluice.Sluice(bytes(packet))
        self.assertEqual(again[sluice.SluiceAck].run_bytes, 3)
        self.assertEqual(again[sluice.SluiceAck].runs, [3, 300])

    def test_garbage_does_not_build_messages(self):
        packet = sluice.Sluice(b"\x01\xff" + bytes(40))
        self.assertFalse(any(isinstance(one, sluice.SluiceLayer) for one in layers(packet)))


if __name__ == "__main__":
    path = sys.argv[1]
    if "--print" in sys.argv:
        for vector, built in vectors():
            print(vector, "=", bytes(built).hex())
        sys.exit(0)
    GOLDEN = golden_read(path)
    unittest.main(argv=sys.argv[:1])
