#!/usr/bin/env python3
"""A scapy peer against the real program, over af_packet and veth in a network namespace.

Handshake, probes, ARP, ND, ping; then one packet of every bad kind: each must increment exactly one drop counter
and change nothing else. The appliance has no keys: its handshakes, too, are plain bytes with tags of zeros, whose keys
may be any (lib/seal/insecure.h). Usage: peer_test.py SLUICE"""

import os
import sys
import time

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../wire"))
import lab  # noqa: E402

lab.enter_namespace()

from scapy.layers.inet import ICMP, IP, TCP, UDP  # noqa: E402
from scapy.layers.inet6 import ICMPv6EchoRequest, IPv6  # noqa: E402
from scapy.layers.l2 import ARP, Dot1Q, Ether  # noqa: E402
from scapy.packet import Raw  # noqa: E402

from sluice_scapy import (TAG_BYTES, UDP_PORT, Sluice, SluiceAck, SluiceClose, SluiceData,  # noqa: E402
                          SluiceGreeting, SluiceHello, SluiceInitiation, SluiceMessage, SluiceProbe, SluiceResponse)

APPLIANCE_IP, TESTER_IP, STRANGER_IP = "10.9.0.2", "10.9.0.1", "10.9.0.77"
TESTER_MAC = "02:00:00:00:00:01"
SESSION = 0x1234500
INCARNATION = 0xabcdef
KEY_BYTES = 32


def greeting_in(packet):
    """Of a handshake."""
    return SluiceGreeting(packet.greeting[:-TAG_BYTES])


class Peer:
    """The scapy side: what it knows of the appliance."""

    def __init__(self, wire):
        self.wire = wire
        self.mac = None
        self.session = 0  # what the appliance wants in packets to it
        self.static = b""  # the public key that all such appliances have, and its tag
        self.number = 0
        self.named = 0  # the appliance's newest initiation, which shows that ours is not an old one

    def frame(self, datagram, source=TESTER_IP, **ip):
        return (Ether(src=TESTER_MAC, dst=self.mac) / IP(src=source, dst=APPLIANCE_IP, **ip) /
                UDP(sport=UDP_PORT, dport=UDP_PORT) / datagram)

    def send(self, datagram, **arguments):
        self.wire.send(self.frame(datagram, **arguments))

    def expect(self, layer, seconds=lab.WAIT_S, condition=lambda packet: True):
        """The next datagram of the appliance that has the layer."""
        found = self.wire.receive(lambda frame: layer in Ether(frame) and condition(Ether(frame)), seconds)
        assert found is not None, f"no {layer.__name__} within {seconds} s"
        return Ether(found)

    def hello(self, **fields):
        return self.sluice(1, **fields) / SluiceHello(interval_ms=60000)

    def greeting(self, node="tester", peer="appliance", session=SESSION, edge=0):
        return bytes(SluiceGreeting(incarnation=INCARNATION, edge=edge, session=session, window=4096, mtu=1500,
                                    interval_ms=60000, node=node, peer=peer)) + b"\0" * TAG_BYTES

    def initiation(self, ephemeral=None, static=None, **greeting):
        return Sluice(type=9, packet_number=self.named) / SluiceInitiation(
            ephemeral=ephemeral or os.urandom(KEY_BYTES),
            static=static or self.static, greeting=self.greeting(**greeting))

    def response(self, to, **greeting):
        return Sluice(type=10, session=to) / SluiceResponse(ephemeral=os.urandom(KEY_BYTES),
                                                                 greeting=self.greeting(**greeting))

    def sluice(self, type_, **fields):
        """Under the session and a fresh number, unless others are given."""
        return Sluice(type=type_, **{"session": self.session, "packet_number": self.fresh_number(), **fields})

    def fresh_number(self):
        self.number += 1
        return self.number

    def hear_initiation(self):
        initiation = self.expect(SluiceInitiation)[SluiceInitiation]
        self.static = initiation.static
        self.session = greeting_in(initiation).session
        self.named = int.from_bytes(initiation.ephemeral[:4], "big")
        return greeting_in(initiation)


# ---- reachability ----

def arp_is_answered(peer, appliance):
    del appliance
    peer.wire.send(Ether(src=TESTER_MAC, dst="ff:ff:ff:ff:ff:ff") /
                   ARP(op=1, hwsrc=TESTER_MAC, psrc=TESTER_IP, pdst=APPLIANCE_IP))
    answer = peer.expect(ARP, condition=lambda packet: packet[ARP].op == 2)
    assert answer[ARP].psrc == APPLIANCE_IP
    peer.mac = answer[ARP].hwsrc


def arp_is_asked_and_our_answer_believed(peer, appliance):
    del appliance
    question = peer.expect(ARP, condition=lambda packet: packet[ARP].op == 1 and packet[ARP].pdst == TESTER_IP)
    peer.wire.send(Ether(src=TESTER_MAC, dst=question[ARP].hwsrc) /
                   ARP(op=2, hwsrc=TESTER_MAC, psrc=TESTER_IP, hwdst=question[ARP].hwsrc, pdst=APPLIANCE_IP))
    initiation = peer.expect(SluiceInitiation)
    greeting = greeting_in(initiation[SluiceInitiation])
    assert initiation.dst == TESTER_MAC and greeting.node == b"appliance" and greeting.peer == b"tester"


def ping_is_answered(peer, appliance):
    del appliance
    for size in (0, 1, 56, 1400):
        payload = bytes(range(256)) * 6
        peer.wire.send(Ether(src=TESTER_MAC, dst=peer.mac) / IP(src=TESTER_IP, dst=APPLIANCE_IP) /
                       ICMP(type=8, id=7, seq=size) / Raw(payload[:size]))
        answer = peer.expect(ICMP, condition=lambda packet, seq=size: packet[ICMP].seq == seq)
        assert answer[ICMP].type == 0 and bytes(answer[ICMP].payload)[:size] == payload[:size]
        computed = Ether(bytes(answer))
        del computed[ICMP].chksum
        assert Ether(bytes(computed))[ICMP].chksum == answer[ICMP].chksum


# ---- session ----

def peer_row(appliance):
    return appliance.show("peers")["peers"][0]


def a_response_makes_a_session(peer, appliance):
    peer.wire.drain()
    peer.hear_initiation()
    assert peer.session != 0
    peer.send(peer.response(peer.session))
    peer.expect(SluiceHello, condition=lambda packet: packet[Sluice].session == SESSION)
    peer.send(peer.hello())
    lab.wait_until("peer up", lambda: peer_row(appliance)["state"] == "up")


def an_initiation_is_answered_and_changes_nothing(peer, appliance):
    before = appliance.counters()
    initiation = peer.initiation(session=SESSION + 1)
    peer.send(initiation)
    answer = peer.expect(SluiceResponse)
    again = None
    while again is None:  # the same one gets the same answer, but not more than one in 25 ms
        peer.send(initiation)
        again = peer.wire.receive(lambda frame: SluiceResponse in Ether(frame), 0.1)
    assert answer[Sluice].session == SESSION + 1 and greeting_in(answer[SluiceResponse]).peer == b"tester"
    assert bytes(answer[UDP].payload) == bytes(Ether(again)[UDP].payload)
    assert len(answer[UDP].payload) <= len(initiation), "an answer longer than the question"
    peer.send(peer.hello())
    lab.wait_until("a hello under the old session",
                   lambda: appliance.counters()["rx_hellos"] > before["rx_hellos"])
    after = appliance.counters()
    assert set(lab.dropped(before, after)) <= {"drop_handshake_busy"} and after["peers_reset"] == before["peers_reset"]
    peer.expect(Sluice, condition=lambda packet: packet[Sluice].session == SESSION)


def what_comes_under_a_new_session_takes_it_up(peer, appliance):
    before = appliance.counters()
    edge = 0
    for wanted_resets in (1, 0):  # the first names no edge: both begin anew; the second the one that is there
        peer.wire.drain()
        peer.send(peer.initiation(session=SESSION + 2, edge=edge))
        answer = greeting_in(peer.expect(SluiceResponse)[SluiceResponse])
        if wanted_resets == 0:
            assert answer.edge == edge
        peer.session = answer.session
        peer.send(peer.hello())
        peer.expect(SluiceHello, condition=lambda packet: packet[Sluice].session == SESSION + 2)
        after = appliance.counters()
        assert after["peers_reset"] - before["peers_reset"] == wanted_resets
        before = after
        peer.send(peer.initiation(session=SESSION + 3))
        edge = greeting_in(peer.expect(SluiceResponse)[SluiceResponse]).edge
        assert edge != 0
    assert peer_row(appliance)["state"] == "up"


def many_make_it_begin_itself(peer, appliance):
    """Those that may be old ones: it does not know which is the peer's."""
    before = appliance.counters()
    peer.named = 0
    peer.wire.drain()
    for session in (SESSION + 5, SESSION + 6):
        peer.send(peer.initiation(session=session))
    edge = peer.hear_initiation().edge
    peer.send(peer.response(peer.session, edge=edge, session=SESSION + 2))
    peer.send(peer.hello())
    lab.wait_until("a hello", lambda: appliance.counters()["rx_hellos"] > before["rx_hellos"])
    after = appliance.counters()
    assert lab.dropped(before, after) == {"drop_handshake_busy": 1} and after["peers_reset"] == before["peers_reset"]


def probes_of_the_appliance_get_its_rtt(peer, appliance):
    rtt, limit = 0.0, time.monotonic() + lab.WAIT_S
    while rtt == 0 and time.monotonic() < limit:
        probe = peer.expect(SluiceProbe, condition=lambda packet: packet[Sluice].type == 5)
        assert probe[Sluice].session == SESSION + 2
        now = time.monotonic_ns()
        reply = peer.sluice(6) / SluiceProbe(id=probe[SluiceProbe].id, t1_ns=probe[SluiceProbe].t1_ns, t2_ns=now,
                                             t3_ns=now, zeros=probe[SluiceProbe].zeros)
        peer.send(reply)
        rtt = float(peer_row(appliance)["rtt_ms"])
    assert 0 < rtt < 1000, f"rtt {rtt} ms"


def our_probe_is_reflected(peer, appliance):
    del appliance
    for padding in (0, 100, 1392):
        peer.send(peer.sluice(5) / SluiceProbe(id=99 + padding, t1_ns=12345, zeros=b"\0" * padding))
        answer = peer.expect(SluiceProbe, condition=lambda packet, wanted=99 + padding:
                             packet[Sluice].type == 6 and packet[SluiceProbe].id == wanted)
        assert answer[Sluice].session == SESSION + 2
        assert answer[SluiceProbe].t1_ns == 12345
        assert 0 < answer[SluiceProbe].t2_ns <= answer[SluiceProbe].t3_ns
        assert answer[SluiceProbe].padding == padding


def strangers_get_no_answer(peer, appliance):
    before = appliance.counters()
    peer.wire.drain()
    peer.send(peer.initiation(), source=STRANGER_IP)
    answer = peer.wire.receive(lambda frame: IP in Ether(frame) and Ether(frame)[IP].dst == STRANGER_IP, 0.5)
    assert answer is None, "a stranger was answered"
    lab.wait_until("one drop", lambda: lab.dropped(before, appliance.counters()) == {"drop_source": 1})


def another_holder_of_the_address_is_told(peer, appliance):
    """It asks for somebody else in the appliance's name."""
    mac = "02:00:00:00:00:77"
    assert appliance.show("ports")["ports"][0]["address_also_of"] == ""
    peer.wire.send(Ether(src=mac, dst="ff:ff:ff:ff:ff:ff") / ARP(op=1, hwsrc=mac, psrc=APPLIANCE_IP, pdst=STRANGER_IP))
    lab.wait_until("its MAC", lambda: appliance.show("ports")["ports"][0]["address_also_of"] == mac)
    lab.wait_until("a line", lambda: f"another host has the address of net_af_packet0, {APPLIANCE_IP}, at MAC {mac}\n"
                   in appliance.text())


def another_with_its_name_is_told(peer, appliance):
    assert appliance.show("peers")["namesake"] == ""
    peer.send(peer.initiation(node="appliance", peer="tester"), source=STRANGER_IP)
    said = f"handshakes in the name of this node, 'appliance', come from {STRANGER_IP}:{UDP_PORT}"
    lab.wait_until("show peers", lambda: appliance.show("peers")["namesake"] == said)
    lab.wait_until("a line", lambda: said + ": are there two of that name?\n" in appliance.text())


# ---- bad packets: what, and the one counter that must count it ----
# No fragments here: DPDK's af_packet has the kernel put them together, they never arrive (tests/wire has them).

def corrupt(packet, offset, value=0xff):
    data = bytearray(bytes(packet))
    data[offset] ^= value
    return Raw(bytes(data))


def bad_handshakes(peer):
    initiation = peer.initiation(session=SESSION + 4)
    data = bytes(initiation)
    yield "initiation cut short", peer.frame(Raw(data[:-1])), "drop_short"
    yield "initiation too long", peer.frame(Raw(data + b"\0")), "drop_length"
    yield "initiation of another key", peer.frame(corrupt(initiation, 16)), "drop_mac"
    yield "initiation under a session", peer.frame(corrupt(initiation, 7)), "drop_value"
    yield "initiation with a stamp", peer.frame(corrupt(initiation, 15)), "drop_value"
    yield "initiation by another static key", peer.frame(corrupt(initiation, 64)), "drop_handshake"
    yield "its ephemeral key again", peer.frame(initiation), "drop_replay"
    yield "initiation whose greeting was changed", peer.frame(corrupt(peer.initiation(), len(data) - 1)), \
        "drop_handshake"
    yield "initiation with an ephemeral key of zeros", peer.frame(peer.initiation(ephemeral=bytes(KEY_BYTES))), \
        "drop_handshake"
    yield "initiation by another name", peer.frame(peer.initiation(node="somebody")), "drop_name"
    yield "initiation to another name", peer.frame(peer.initiation(peer="somebody")), "drop_name"
    yield "initiation with a bad name", peer.frame(peer.initiation(node="../etc")), "drop_value"
    yield "initiation that tells session 0", peer.frame(peer.initiation(session=0)), "drop_value"
    yield "response never asked for", peer.frame(peer.response(peer.session)), "drop_session"
    yield "response under no session", peer.frame(peer.response(0)), "drop_value"
    yield "response too long", peer.frame(Raw(bytes(peer.response(peer.session)) + b"\0")), "drop_length"


def bad_packets(peer):
    hello = peer.hello()
    data = peer.sluice(2, packet_number=1) / SluiceData(job=777, symbol=0, count=1, body=b"x" * 1408)
    probe = peer.sluice(5) / SluiceProbe(id=1, t1_ns=1)
    ether = Ether(src=TESTER_MAC, dst=peer.mac)
    to_us = IP(src=TESTER_IP, dst=APPLIANCE_IP)
    udp = UDP(sport=UDP_PORT, dport=UDP_PORT)
    yield "empty datagram", peer.frame(b""), "drop_short"
    yield "31 bytes", peer.frame(Raw(bytes(hello)[:31])), "drop_short"
    yield "hello cut short", peer.frame(Raw(bytes(hello)[:-1])), ("drop_short", "drop_length")
    yield "hello too long", peer.frame(Raw(bytes(peer.hello()) + b"\0")), "drop_length"
    yield "version 1", peer.frame(corrupt(hello, 0, 3)), "drop_version"
    yield "type 0", peer.frame(peer.sluice(0)), "drop_type"
    yield "type 200", peer.frame(peer.sluice(200)), "drop_type"
    yield "key 5", peer.frame(peer.hello(key_id=5)), "drop_key"
    yield "a tag", peer.frame(peer.hello(tag=b"x" * TAG_BYTES)), "drop_tag"
    yield "session 0", peer.frame(peer.hello(session=0)), "drop_value"
    yield "hello without interval", peer.frame(peer.sluice(1) / SluiceHello(interval_ms=0)), "drop_value"
    yield from bad_handshakes(peer)
    yield "wrong session", peer.frame(Sluice(type=2, session=peer.session ^ 0x10000) / data.payload), "drop_session"
    yield "session of nobody", peer.frame(Sluice(type=5, session=0x55) / probe.payload), "drop_session"
    yield "right session, wrong source", peer.frame(probe, source=STRANGER_IP), "drop_source"
    yield "data of an unknown job", peer.frame(data), "drop_data_job"
    yield "the same number again", peer.frame(data), "drop_data_duplicate"
    yield "data without body", peer.frame(peer.sluice(2, packet_number=2) / SluiceData(job=777, count=1)), \
        ("drop_length", "drop_short")
    yield "data of 9 symbols", peer.frame(peer.sluice(2, packet_number=3) / SluiceData(job=777, count=9, body=b"x")), \
        ("drop_length", "drop_value")
    yield "data far beyond the window", peer.frame(peer.sluice(2, packet_number=0x40000000) /
                                                   SluiceData(floor_delta=0x40000000, job=777, count=1, body=b"x" * 1408)), \
        "drop_data_window"
    yield "ack of what was never sent", peer.frame(peer.sluice(3) / SluiceAck(base=5000, largest=9000, runs=[10])), \
        "drop_ack"
    yield "ack whose runs are cut", peer.frame(peer.sluice(3) / SluiceAck(run_bytes=100, runs=[1])), \
        ("drop_length", "drop_short")
    yield "message beyond the window", peer.frame(peer.sluice(4) / SluiceMessage(sequence=1000000, kind=5) /
                                                  Raw(b"\0" * 8)), "drop_message_window"
    yield "message of wrong length", peer.frame(peer.sluice(4) / SluiceMessage(kind=5, length=99)), \
        ("drop_length", "drop_short")
    yield "reply never asked for", peer.frame(peer.sluice(6) / SluiceProbe(id=0xdead, t1_ns=1)), "drop_probe_reply"
    yield "probe of wrong length", peer.frame(Raw(bytes(probe) + b"\0")), ("drop_length", "drop_short")
    yield "its number again", peer.frame(probe), "drop_replay"
    yield "TCP", ether / to_us / TCP(dport=UDP_PORT), "port.rx_drop_not_udp"
    yield "other UDP port", ether / to_us / UDP(sport=UDP_PORT, dport=UDP_PORT + 1) / probe, "port.rx_drop_not_ours"
    yield "other address", ether / IP(src=TESTER_IP, dst="10.9.0.9") / udp / probe, "port.rx_drop_not_ours"
    yield "bad UDP checksum", ether / to_us / UDP(sport=UDP_PORT, dport=UDP_PORT, chksum=0x1234) / probe, \
        "port.rx_drop_bad_udp"
    yield "bad IP checksum", ether / IP(src=TESTER_IP, dst=APPLIANCE_IP, chksum=0x1234) / udp / probe, \
        "port.rx_drop_bad_ip"
    yield "IP options", ether / IP(src=TESTER_IP, dst=APPLIANCE_IP, options=b"\x01\x01\x01\x00") / udp / probe, \
        "port.rx_drop_bad_ip"
    yield "VLAN", Ether(src=TESTER_MAC, dst=peer.mac) / Dot1Q(vlan=5) / to_us / udp / probe, "port.rx_drop_vlan"
    yield "LLDP", Ether(src=TESTER_MAC, dst="01:80:c2:00:00:0e", type=0x88cc) / Raw(b"x" * 50), \
        "port.rx_drop_not_ip"
    yield "IP length beyond the frame", ether / IP(src=TESTER_IP, dst=APPLIANCE_IP, len=1400) / udp / probe, \
        "port.rx_drop_bad_ip"
    yield "UDP length beyond the packet", ether / to_us / UDP(sport=UDP_PORT, dport=UDP_PORT, len=900) / probe, \
        "port.rx_drop_bad_udp"
    yield "IPv6 echo to an IPv4 port", ether / IPv6(src="fd00::1", dst="fd00::2") / ICMPv6EchoRequest(), \
        "port.rx_drop_not_udp"
    yield "ping with a bad checksum", ether / to_us / ICMP(type=8, chksum=0x1234), "port.rx_drop_bad_control"
    yield "ARP cut short", Ether(src=TESTER_MAC, dst=peer.mac, type=0x0806) / Raw(b"\0\1\x08\0\6\4\0\1"), \
        "port.rx_drop_bad_control"


def every_bad_packet_counts_once(peer, appliance):
    wrong = []
    for what, frame, counters in list(bad_packets(peer)):
        counters = (counters,) if isinstance(counters, str) else counters
        before = appliance.counters()
        frame = bytes(frame)
        peer.wire.send(frame)
        lab.wait_until(what, lambda: appliance.counters()["port.rx_packets"] > before["port.rx_packets"])
        after = appliance.counters()
        found = lab.dropped(before, after)
        if len(found) != 1 or list(found.values()) != [1] or next(iter(found)) not in counters:
            wrong.append(f"{what}: {found or 'nothing counted'}, expected {' or '.join(counters)}")
    assert not wrong, "\n  " + "\n  ".join(wrong)


def oversize_frames_are_refused(peer, appliance):
    """Longer than the appliance's MTU: dropped by device or port, never handed up."""
    before = appliance.counters()
    datagram = peer.sluice(5) / SluiceProbe(id=5, t1_ns=1, zeros=b"\0" * 1800)
    peer.send(datagram)
    peer.send(peer.sluice(5) / SluiceProbe(id=6, t1_ns=1))
    peer.expect(SluiceProbe, condition=lambda packet: packet[SluiceProbe].id == 6)
    after = appliance.counters()
    assert after["rx_probes"] - before["rx_probes"] == 1


def random_datagrams_break_nothing(peer, appliance):
    before = appliance.counters()
    seed = 1
    for number in range(2000):
        seed = (seed * 6364136223846793005 + 1442695040888963407) & (1 << 64) - 1
        length = seed >> 33 & 1023
        body = (seed.to_bytes(8, "little") * 200)[:length]
        if number % 2:
            body = bytes([2, 1 + number % 11]) + body[2:]
        peer.send(Raw(body))
        if number % lab.FRAMES_AT_ONCE == lab.FRAMES_AT_ONCE - 1:
            lab.wait_until("all counted", lambda sent=number + 1: appliance.counters()["port.rx_packets"] -
                           before["port.rx_packets"] >= sent)
    assert lab.unaccounted(before, appliance.counters()) == (0, 0)


def close_is_obeyed_and_a_handshake_revives(peer, appliance):
    peer.send(peer.sluice(7) / SluiceClose(reason=1))
    lab.wait_until("peer down", lambda: peer_row(appliance)["state"] != "up")
    a_response_makes_a_session(peer, appliance)


def the_appliance_ends_cleanly(peer, appliance):
    peer.wire.drain()
    status = appliance.stop()
    assert status == 0, f"exit status {status}:\n{appliance.text()[-1500:]}"
    peer.expect(SluiceClose)


CASES = [
    arp_is_asked_and_our_answer_believed, arp_is_answered, ping_is_answered, a_response_makes_a_session,
    an_initiation_is_answered_and_changes_nothing, what_comes_under_a_new_session_takes_it_up,
    many_make_it_begin_itself, probes_of_the_appliance_get_its_rtt, our_probe_is_reflected, strangers_get_no_answer,
    another_holder_of_the_address_is_told, another_with_its_name_is_told,
    every_bad_packet_counts_once, oversize_frames_are_refused, random_datagrams_break_nothing,
    close_is_obeyed_and_a_handshake_revives, the_appliance_ends_cleanly,
]


def main():
    program = sys.argv[1]
    namespace = lab.veth("sluice0", "tester0", mtu=2000)
    appliance = lab.Appliance(program, lab.temporary_directory(), "appliance", {
        "ports": [{"device": "net_af_packet0,iface=sluice0", "address": APPLIANCE_IP + "/24", "rate": "100Mbps"}],
        "peers": [{"name": "tester", "address": TESTER_IP}],
    }, namespace, insecure=True)
    return lab.run_cases(CASES, Peer(lab.Wire("tester0")), appliance)


if __name__ == "__main__":
    sys.exit(main())
