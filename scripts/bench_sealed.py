"""scripts/bench sealed: what keys cost a relay, as a ratio to what the primitives take by themselves at that time.

Each pair is: the distance of the two CPUs (sluice-bench cores), the primitives alone (seal), relay in the clear, sealed, in
the clear, the primitives and the distance again; and the sealed relay with a worker of its own for its port. With n children a
relay checks a tag, opens the body once and makes n tags. What sealed packets take more than those in the
clear may be 1.25 times `open + (n + 1) tags`; `tags` alone stands beside it, and `beyond` is what is left of the time added:
the opening, and what keys cost around the primitives. `room` is what is left of 1230 ns, which a packet
may take of a 10 Gbit/s port's time. A pair counts when its two looks at the CPUs agree within a factor of 1.3 and so do those at
the primitives.
"""
import os
import statistics

from bench_pairs import kind_of

BUDGET_NS = 1230
SHARE_MAX = 1.25
STEADY_MAX = 1.3
TRIES = 4  # pairs run for each one asked for, at most
CHILDREN = (1, 2, 4)


def primitives(bench):
    found = bench("seal")
    return found[found["chosen"]]


def measure_pair(bench, children, size, common):
    """`bench`: runs sluice-bench with the arguments given, returns what it printed."""
    relay = ["relay", "--children", str(children), "--size", size, *common]
    looks, alone = [bench("cores")["one_way_ns"]], [primitives(bench)]
    plain = [bench(*relay)]
    sealed = bench(*relay, "--sealed")
    plain.append(bench(*relay))
    alone.append(primitives(bench))
    looks.append(bench("cores")["one_way_ns"])
    two = bench(*relay, "--sealed", "--workers", "2")
    open_ns, tag_ns = (statistics.mean(look[name] for look in alone) for name in ("open_1408_ns", "tag_64_ns"))
    steady = all(max(look[name] for look in alone) <= STEADY_MAX * min(look[name] for look in alone)
                 for name in ("open_1408_ns", "tag_64_ns"))
    plain_ns = statistics.mean(run["ns_per_packet"] for run in plain)
    added_ns = sealed["ns_per_packet"] - plain_ns
    tags_ns = (children + 1) * tag_ns
    return {"kind": kind_of(looks) if steady else "moved", "cores_ns": looks, "plain_ns": plain_ns,
            "sealed_ns": sealed["ns_per_packet"], "ratio": sealed["ns_per_packet"] / plain_ns, "added_ns": added_ns,
            "open_ns": open_ns, "tags_ns": tags_ns, "beyond_ns": added_ns - tags_ns,
            "share": added_ns / (open_ns + tags_ns), "room_ns": BUDGET_NS - sealed["ns_per_packet"],
            "two_node_ns": two["ns_per_packet"], "two_port_ns": two["port_ns_per_packet"],
            "load": round(os.getloadavg()[0], 2)}


def measure(bench, children, runs, size, common):
    pairs = []
    for _ in range(TRIES * runs):
        pairs.append(measure_pair(bench, children, size, common))
        if max(sum(pair["kind"] == kind for pair in pairs) for kind in ("near", "far")) >= runs:
            break
    return pairs


def judge(children, middle, pairs, runs):
    if pairs < runs:
        return [f"{children} children: too few pairs with the CPUs near and at rest: inconclusive"]
    if middle["share"] > SHARE_MAX:
        return [f"{children} children: {middle['share']:.2f} of open and tags, {SHARE_MAX} asked"]
    return []


def part(bench, table, options):
    """(results, summary, what was missed), as scripts/bench wants them of a part."""
    size = "256MiB" if options.quick else "1GiB"
    common = ["--hugepages"] if options.hugepages else []
    columns = ("plain_ns", "sealed_ns", "added_ns", "tags_ns", "beyond_ns", "open_ns", "room_ns", "two_node_ns", "two_port_ns")
    results, rows, missed, words = [], [], [], []
    for children in CHILDREN:
        pairs = measure(bench, children, options.runs, size, common)
        results.append({"children": children, "pairs": pairs})
        for kind in ("near", "far", "moved"):
            chosen = [pair for pair in pairs if pair["kind"] == kind]
            middle = {name: statistics.median(pair[name] for pair in chosen) for name in (*columns, "ratio", "share")} if chosen else {}
            if kind == "near":
                missed += judge(children, middle, len(chosen), options.runs)
            if chosen:
                rows.append([children, kind, len(chosen), *(f"{middle[name]:.0f}" for name in columns), f"{middle['ratio']:.2f}",
                             f"{middle['share']:.2f}"])
                words.append(f"{middle['share']:.2f} ({children}, {kind})")
    table(rows, ["children", "CPUs", "pairs", "clear ns", "sealed ns", "added", "tags", "beyond", "open", "room", "two: node ns",
                 "two: port ns", "ratio", "of open + tags"])
    return results, f"keys cost a relay, of open and tags ({SHARE_MAX} asked): " + ", ".join(words), missed
