"""scripts/bench workers: what a second worker, for the relay's port, leaves of the first one's time for a packet.

Each pair is: the distance of the two CPUs (sluice-bench cores), relay with one worker, relay with two, the distance again. With
two the node runs alone on one lcore; the other one drives the relay's port, beside source, children and switch, which are not
counted. Both are told in ns per data packet; the slower of them is what the relay could do, and `scaling` is the time of one
worker to it. The lines that the port's worker shares with source and children are warm here, which a device's would not be.
"""
import os
import statistics

from bench_pairs import kind_of

TRIES = 3  # pairs run for each one asked for, at most
CHILDREN = (1, 2, 4)


def measure_pair(bench, children, size, common):
    """`bench`: runs sluice-bench with the arguments given, returns what it printed."""
    looks = [bench("cores")["one_way_ns"]]
    relay = ["relay", "--children", str(children), "--size", size, *common]
    one, two = bench(*relay), bench(*relay, "--workers", "2")
    looks.append(bench("cores")["one_way_ns"])
    slower_ns = max(two["ns_per_packet"], two["port_ns_per_packet"])
    return {"kind": kind_of(looks), "cores_ns": looks, "one_ns": one["ns_per_packet"], "node_ns": two["ns_per_packet"],
            "port_ns": two["port_ns_per_packet"], "scaling": one["ns_per_packet"] / slower_ns,
            "load": round(os.getloadavg()[0], 2)}


def measure(bench, children, runs, size, common):
    pairs = []
    for _ in range(TRIES * runs):
        pairs.append(measure_pair(bench, children, size, common))
        if max(sum(pair["kind"] == kind for pair in pairs) for kind in ("near", "far")) >= runs:
            break
    return pairs


def part(bench, table, options):
    """(results, summary, what was missed), as scripts/bench wants them of a part."""
    size = "256MiB" if options.quick else "1GiB"
    common = ["--hugepages"] if options.hugepages else []
    results, rows, words = [], [], []
    for children in CHILDREN:
        pairs = measure(bench, children, options.runs, size, common)
        results.append({"children": children, "pairs": pairs})
        for kind in ("near", "far"):
            chosen = [pair for pair in pairs if pair["kind"] == kind]
            if not chosen:
                continue
            middle = {key: statistics.median(pair[key] for pair in chosen) for key in ("one_ns", "node_ns", "port_ns")}
            scaling = sorted(pair["scaling"] for pair in chosen)
            rows.append([children, kind, len(chosen), *(f"{value:.0f}" for value in middle.values()),
                         f"{statistics.median(scaling):.2f}", f"{scaling[0]:.2f}-{scaling[-1]:.2f}"])
            words.append(f"{statistics.median(scaling):.2f} ({children}, {kind})")
    table(rows, ["children", "CPUs", "pairs", "one worker ns", "two: node ns", "two: port ns", "scaling", "from-to"])
    return results, "scaling by a port's own worker " + ", ".join(words), []
