"""Scapy layers of the Sluice protocol: `Ether(frame)` or `Sluice(datagram)` decodes, `bytes(packet)` builds.

Words and numbers of kinds, states and the like are read from the lists in lib/wire/*.h, and so are the fields of
messages that have no tail; the layout of all others is written here once more, so that the golden vectors compare two
implementations of it. Lengths and counts left at None are computed when the packet is built."""

import glob
import os
import re

from scapy.fields import (BitField, ByteEnumField, ByteField, FieldLenField, IntField, LongField,
                          PacketListField, ShortField, StrField, StrFixedLenField, StrLenField, XIntField,
                          XLongField)
from scapy.layers.inet import UDP
from scapy.packet import Packet, bind_layers

UDP_PORT = 7840
TAG_BYTES = 16
NAME_BYTES = 32
HASH_BYTES = 32
SEALED_BYTES = 120  # a greeting and its tag

HEADERS = os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../lib/wire/*.h")


def declared(parameter, row):
    """Every list of the headers whose rows are called `parameter`: {name of the list: what `row` finds in it}."""
    text = "".join(open(path, encoding="utf-8").read() for path in sorted(glob.glob(HEADERS)))
    lists = re.findall(r"^#define (\w+)\(%s\)((?:[^\n]*\\\n)*[^\n]*)" % parameter, text, re.M)
    return {name: re.findall(row, body) for name, body in lists}


LISTS = {name: {int(number): word for number, word in rows}
         for name, rows in declared("ROW", r'ROW\(\w+, (\d+), "([^"]+)"').items()}
FIELDS = declared("FIELD", r"FIELD\((\w+), (\w+)\)")
KINDS = {0: "ack", **LISTS["CONTROL_KINDS"]}


class NameField(StrFixedLenField):
    """A node, job or directory name: zero padded on the wire, a plain string here."""

    def __init__(self, name, default=""):
        super().__init__(name, default.encode(), length=NAME_BYTES)

    def i2m(self, pkt, value):
        value = value.encode() if isinstance(value, str) else (value or b"")
        return value.ljust(NAME_BYTES, b"\0")

    def addfield(self, pkt, s, value):
        return s + self.i2m(pkt, value)

    def getfield(self, pkt, s):
        return s[NAME_BYTES:], s[:NAME_BYTES].rstrip(b"\0")


def runs_encode(runs):
    """Unsigned LEB128, least significant seven bits first."""
    out = bytearray()
    for run in runs:
        while run >= 0x80:
            out.append(run & 0x7f | 0x80)
            run >>= 7
        out.append(run)
    return bytes(out)


def runs_decode(data):
    runs, value, shift = [], 0, 0
    for byte in data:
        value |= (byte & 0x7f) << shift
        shift += 7
        if byte < 0x80:
            runs.append(value)
            value, shift = 0, 0
    if shift:
        raise ValueError("the last run is cut off")
    return runs


class RunsField(StrLenField):
    """Run lengths of an ack: a list of integers, received first, then missing, and so on."""

    islist = 1

    def i2m(self, pkt, value):
        return runs_encode(value or [])

    def m2i(self, pkt, data):
        return runs_decode(data)

    def getfield(self, pkt, s):
        """scapy 2.6 does not decode what is empty."""
        rest, value = super().getfield(pkt, s)
        return rest, value or []

    def i2len(self, pkt, value):
        return len(self.i2m(pkt, value))

    def i2repr(self, pkt, value):
        return repr(value)

    def any2i(self, pkt, value):
        return value

    def h2i(self, pkt, value):
        return value


class HashListField(StrLenField):
    """Hashes back to back, kept as one byte string; `count` of them."""

    def i2len(self, pkt, value):
        return len(value) // HASH_BYTES


class SluiceLayer(Packet):
    """What is behind a layer's own fields is payload, never padding, so that it shows up in tests."""

    def mysummary(self):
        return self.sprintf("Sluice " + self.name)


class Sluice(Packet):
    name = "Sluice"
    fields_desc = [
        ByteField("version", 2),
        ByteEnumField("type", 1, LISTS["WIRE_TYPES"]),
        ByteField("key_id", 0),
        ByteField("flags", 0),
        XIntField("session", 0),
        IntField("packet_number", 0),
        IntField("stamp", 0),
        StrFixedLenField("tag", b"\0" * TAG_BYTES, length=TAG_BYTES),
    ]

    def mysummary(self):
        return self.sprintf("Sluice %Sluice.type% session %Sluice.session% number %Sluice.packet_number%")


class SluiceHello(SluiceLayer):
    name = "hello"
    fields_desc = [
        ShortField("interval_ms", 500),
        ByteField("key_opened", 0),
        ByteField("reserved", 0),
    ]


class SluiceGreeting(Packet):
    """What both datagrams of a handshake carry, in the clear."""
    name = "greeting"
    fields_desc = [
        XLongField("incarnation", 0),
        XLongField("edge", 0),
        XLongField("roster", 0),
        XIntField("session", 0),
        IntField("window", 1 << 20),
        XIntField("capabilities", 0),
        ShortField("mtu", 1500),
        ShortField("interval_ms", 500),
        NameField("node"),
        NameField("peer"),
    ]


class SluiceInitiation(SluiceLayer):
    name = "initiation"
    fields_desc = [
        StrFixedLenField("ephemeral", b"\0" * HASH_BYTES, length=HASH_BYTES),
        StrFixedLenField("static", b"\0" * (HASH_BYTES + TAG_BYTES), length=HASH_BYTES + TAG_BYTES),
        StrFixedLenField("greeting", b"\0" * SEALED_BYTES, length=SEALED_BYTES),
    ]


class SluiceResponse(SluiceLayer):
    name = "response"
    fields_desc = [
        StrFixedLenField("ephemeral", b"\0" * HASH_BYTES, length=HASH_BYTES),
        StrFixedLenField("greeting", b"\0" * SEALED_BYTES, length=SEALED_BYTES),
    ]


class SluiceData(SluiceLayer):
    name = "data"
    fields_desc = [
        IntField("floor_delta", 0),
        IntField("job", 0),
        BitField("symbol", 0, 40),
        BitField("count", 1, 8),
        BitField("stripe", 0, 8),
        BitField("epoch", 0, 8),
        StrLenField("tags", b"", length_from=lambda pkt: TAG_BYTES * pkt.count),
        StrField("body", b""),
    ]

    def post_build(self, built, payload):
        tags = self.getfieldval("tags")
        if not tags:
            built = built[:16] + bytes(TAG_BYTES * self.getfieldval("count")) + built[16:]
        return built + payload


class Place(Packet):
    name = "place"
    fields_desc = [IntField("job", 0), ByteField("full_stripes", 0), ByteField("room", 0)]

    def extract_padding(self, s):
        return b"", s


class SluiceAck(SluiceLayer):
    name = "ack"
    fields_desc = [
        IntField("base", 0),
        IntField("largest", 0),
        IntField("largest_delay", 0),
        LongField("delivered_bytes", 0),
        IntField("delivered_stamp", 0),
        IntField("owd_min", 0),
        IntField("jump", 0),
        IntField("late_us", 0),
        IntField("wait", 0),
        IntField("ce_count", 0),
        IntField("credit", 0),
        IntField("own_rate_kbps", 0),
        IntField("missed", 0),
        ByteField("limited_by", 0),
        FieldLenField("place_count", None, count_of="places", fmt="B"),
        FieldLenField("run_bytes", None, length_of="runs", fmt="!H"),
        RunsField("runs", [], length_from=lambda pkt: pkt.run_bytes),
        PacketListField("places", [], Place, count_from=lambda pkt: pkt.place_count),
    ]


class SluiceMessage(SluiceLayer):
    name = "message"
    fields_desc = [
        IntField("sequence", 0),
        IntField("ack", 0),
        ByteEnumField("kind", 0, KINDS),
        ByteField("reserved", 0),
        ShortField("length", None),
    ]

    def post_build(self, built, payload):
        if self.length is None:
            built = built[:10] + len(payload).to_bytes(2, "big") + built[12:]
        return built + payload


class SluiceProbe(SluiceLayer):
    """Both a probe and its reply; the zeros that pad it are built from `padding`."""

    name = "probe"
    fields_desc = [
        IntField("id", 0),
        FieldLenField("padding", None, length_of="zeros", fmt="!H"),
        ShortField("reserved", 0),
        LongField("t1_ns", 0),
        LongField("t2_ns", 0),
        LongField("t3_ns", 0),
        StrLenField("zeros", b"", length_from=lambda pkt: pkt.padding),
    ]


class SluiceTrain(SluiceLayer):
    """One packet of a train; the zeros that pad it are built from `padding`."""

    name = "train"
    fields_desc = [
        XIntField("train", 0),
        ShortField("index", 0),
        ShortField("count", 1),
        IntField("rest_us", 0),
        FieldLenField("padding", None, length_of="zeros", fmt="!H"),
        ShortField("flags", 0),
        StrLenField("zeros", b"", length_from=lambda pkt: pkt.padding),
    ]


class SluicePiece(SluiceLayer):
    """A piece of a data packet."""

    name = "piece"
    fields_desc = [IntField("whole", 0), ShortField("total", 0), ByteField("index", 0), ByteField("count", 2), StrField("bytes", b"")]


class SluiceClose(SluiceLayer):
    name = "close"
    fields_desc = [
        ByteEnumField("reason", 1, LISTS["WIRE_CLOSE_REASONS"]),
    ]


def fixed(name, list_name):
    """A body that is its fixed fields and nothing more."""
    makers = {"u8": ByteField, "u16": ShortField, "u32": IntField, "u64": LongField}
    fields = [NameField(field) if kind == "name" else StrFixedLenField(field, b"", HASH_BYTES) if kind == "hash"
              else makers[kind](field, 0) for kind, field in FIELDS[list_name]]
    return type(name, (SluiceLayer,), {"name": name, "fields_desc": fields})


class Gaps(SluiceLayer):
    """Body of an ack that tells of holes."""

    name = "gaps"
    fields_desc = [XIntField("echo", 0), XLongField("early_low", 0), XLongField("early_high", 0)]


class Measured(Packet):
    name = "measured"
    fields_desc = [
        NameField("peer"),
        IntField("rtt_min_us", 0),
        IntField("rtt_smoothed_us", 0),
        ShortField("answered", 0),
        ShortField("sent", 0),
        ShortField("mtu", 0),
    ]

    def extract_padding(self, s):
        return b"", s


class Measurement(SluiceLayer):
    name = "measurement"
    fields_desc = [
        IntField("job", 0),
        LongField("up_bps", 0),
        LongField("down_bps", 0),
        LongField("packets_ps", 0),
        LongField("window_bytes", 0),
        ByteField("leaf", 0),
        ShortField("total", 0),
        FieldLenField("count", None, count_of="peers", fmt="!H"),
        PacketListField("peers", [], Measured, count_from=lambda pkt: pkt.count),
    ]


class Child(Packet):
    name = "child"
    fields_desc = [NameField("node"), LongField("rate_bps", 0), ByteField("known", 0)]

    def extract_padding(self, s):
        return b"", s


class Part(SluiceLayer):
    name = "part"
    fields_desc = [
        IntField("job", 0),
        IntField("epoch", 0),
        NameField("source"),
        NameField("directory"),
        NameField("job_name"),
        LongField("size_bytes", 0),
        LongField("modified_ns", 0),
        ShortField("mode", 0),
        ShortField("symbol_bytes", 0),
        IntField("block_symbols", 0),
        ByteEnumField("hash", 1, LISTS["PART_HASHES"]),
        ByteEnumField("durable", 0, LISTS["PART_DURABLES"]),
        ByteEnumField("exists", 0, LISTS["PART_EXISTS"]),
        ByteEnumField("congestion", 0, LISTS["PART_CONGESTIONS"]),
        ByteField("keep", 1),
        ByteField("stripes", 1),
        ByteEnumField("object", 0, LISTS["PART_OBJECTS"]),
        ByteField("tree", 0),
        LongField("index_bytes", 0),
        StrFixedLenField("index_hash", b"", 32),
        LongField("start_bps", 0),
        ByteEnumField("stream_slow", 0, LISTS["PART_SLOWS"]),
        IntField("stream_blocks", 0),
        IntField("stream_window_ms", 0),
        StrFixedLenField("secret", b"", 32),
        FieldLenField("file_bytes", None, length_of="file", fmt="!H"),
        StrLenField("file", b"", length_from=lambda pkt: pkt.file_bytes),
    ]


class Tree(SluiceLayer):
    name = "tree"
    fields_desc = [
        IntField("job", 0),
        IntField("epoch", 0),
        ByteField("stripe", 0),
        ByteField("weight", 1),
        NameField("parent"),
        NameField("backup"),
        FieldLenField("child_count", None, count_of="children", fmt="B"),
        PacketListField("children", [], Child, count_from=lambda pkt: pkt.child_count),
    ]


def text_fields():
    return [
        FieldLenField("text_bytes", None, length_of="text", fmt="!H"),
        StrLenField("text", b"", length_from=lambda pkt: pkt.text_bytes),
    ]


class Confirm(SluiceLayer):
    name = "confirm"
    fields_desc = [IntField("job", 0), IntField("epoch", 0), ByteEnumField("answer", 0, LISTS["CONFIRM_ANSWERS"])] + text_fields()


class Edge(Packet):
    name = "edge"
    fields_desc = [ByteField("limited_by", 0), LongField("rate_bps", 0)]

    def extract_padding(self, s):
        return b"", s


class Status(SluiceLayer):
    name = "status"
    fields_desc = [
        IntField("job", 0),
        ByteEnumField("state", 0, LISTS["SITE_STATES"]),
        LongField("received_bytes", 0),
        LongField("verified_bytes", 0),
        LongField("elapsed_ns", 0),
        ByteField("laggard", 255),
        FieldLenField("child_count", None, count_of="edges", fmt="B"),
        PacketListField("edges", [], Edge, count_from=lambda pkt: pkt.child_count),
    ] + text_fields()


class Hashes(SluiceLayer):
    name = "hashes"
    fields_desc = [
        IntField("job", 0),
        LongField("first_block", 0),
        FieldLenField("count", None, length_of="hashes", fmt="!H"),
        HashListField("hashes", b"", length_from=lambda pkt: HASH_BYTES * pkt.count),
    ]


class CloseJob(SluiceLayer):
    name = "close_job"
    fields_desc = [IntField("job", 0), ByteEnumField("outcome", 0, LISTS["CLOSE_OUTCOMES"])] + text_fields()


class StreamEnd(SluiceLayer):
    name = "stream_end"
    fields_desc = [
        IntField("job", 0),
        LongField("symbols", 0),
        LongField("bytes", 0),
        StrFixedLenField("chain", b"", 32),
    ]


class LetGo(SluiceLayer):
    name = "let_go"
    fields_desc = [IntField("job", 0), ByteField("child", 0)] + text_fields()


class ArrivalsField(RunsField):
    """Arrivals behind the first one of a message: a list of (index in the train, ns since the one before)."""

    def i2m(self, pkt, value):
        runs, expected = [], pkt.getfieldval("index") + 1
        for index, passed in value or []:
            runs += [number * 2 if number >= 0 else -number * 2 - 1 for number in (index - expected, passed)]
            expected = index + 1
        return runs_encode(runs)

    def m2i(self, pkt, data):
        numbers = [run // 2 if run % 2 == 0 else -(run + 1) // 2 for run in runs_decode(data)]
        arrivals, expected = [], pkt.index + 1
        for step, passed in zip(numbers[::2], numbers[1::2]):
            arrivals.append((expected + step, passed))
            expected += step + 1
        return arrivals


class TrainReport(SluiceLayer):
    name = "train_report"
    fields_desc = [
        XIntField("train", 0),
        ByteEnumField("answer", 0, LISTS["TRAIN_ANSWERS"]),
        ByteField("stamp_kind", 0),
        ShortField("batch", 0),
        IntField("noise_ns", 0),
        IntField("granularity_ns", 0),
        IntField("gap_ns", 0),
        IntField("wait_ms", 0),
        ShortField("total", 0),
        ShortField("first", 0),
        ShortField("count", 0),
        ShortField("index", 0),
        LongField("came_ns", 0),
        FieldLenField("bytes", None, length_of="arrivals", fmt="!H"),
        ArrivalsField("arrivals", [], length_from=lambda pkt: pkt.bytes),
    ]


class AvailablePeer(Packet):
    name = "available_peer"
    fields_desc = [
        NameField("peer"),
        IntField("avail_kbps", 0),
        IntField("low_kbps", 0),
        IntField("high_kbps", 0),
        IntField("age_ms", 0),
        ByteField("line_in", 0),
    ]

    def extract_padding(self, s):
        return b"", s


class Available(SluiceLayer):
    name = "available"
    fields_desc = [
        FieldLenField("count", None, count_of="peers", fmt="B"),
        PacketListField("peers", [], AvailablePeer, count_from=lambda pkt: pkt.count),
    ]


class ProbeAnswer(SluiceLayer):
    name = "probe_answer"
    fields_desc = [
        XIntField("ask", 0),
        ByteEnumField("answer", 0, LISTS["PROBE_ANSWERS"]),
        ByteField("kind", 0),
        ByteField("reason", 0),
        ByteField("stamp_kind", 0),
        IntField("flags", 0),
        *[LongField(name, 0) for name in ("avail_bps", "low_bps", "high_bps", "capacity_bps", "depth_bytes", "loss_ppm",
                                          "age_ns", "window_ns", "busy_ns", "bytes")],
        IntField("trains", 0),
        IntField("discarded", 0),
        LongField("rtt_ns", 0),
    ] + text_fields()


LAYERS = {"hello": SluiceHello, "data": SluiceData, "ack": SluiceAck, "message": SluiceMessage, "probe": SluiceProbe,
          "probe_reply": SluiceProbe, "close": SluiceClose, "train": SluiceTrain,
          "piece": SluicePiece, "initiation": SluiceInitiation, "response": SluiceResponse}
Blocks = fixed("blocks", "CONTROL_BLOCKS_FIELDS")
BODIES = {"ack": Gaps, "measurement": Measurement, "part": Part, "tree": Tree, "confirm": Confirm, "status": Status, "hashes": Hashes,
          "have": Blocks, "resend": Blocks, "close_job": CloseJob, "stream_end": StreamEnd, "let_go": LetGo,
          "train_report": TrainReport, "available": Available, "probe_answer": ProbeAnswer}
for word in KINDS.values():
    if word not in BODIES:  # by its name in CamelCase: stream_room is StreamRoom
        BODIES[word] = fixed(word, f"CONTROL_{word.upper()}_FIELDS")
        globals()[word.title().replace("_", "")] = BODIES[word]

# Reversed, so that SluiceProbe and Blocks, used for two values each, build as the lower one by default.
for number, word in reversed(LISTS["WIRE_TYPES"].items()):
    bind_layers(Sluice, LAYERS[word], type=number)
for number, word in reversed(KINDS.items()):
    bind_layers(SluiceMessage, BODIES[word], kind=number)
bind_layers(UDP, Sluice, sport=UDP_PORT)
bind_layers(UDP, Sluice, dport=UDP_PORT)
bind_layers(UDP, Sluice, sport=UDP_PORT, dport=UDP_PORT)
