"""scripts/bench relay: what a relay spends on a packet, as a ratio to the floor under it.

Each pair is: the distance of the two CPUs (sluice-bench cores), bare-relay, relay, bare-relay, the distance again. The
floor receives full bursts, copies each body once and sends it to every child, with no protocol (app/bench/README.md); the
ratio is the relay's time per data packet to the mean of its two floors. A pair counts when the two looks at the CPUs agree
within a factor of 1.3 and so do the two floors within 1.5; pairs with the CPUs near (median look below 80 ns) and far are
told apart. What is not in the first four rows is a variation of one of them: stripes, peers and jobs must cost next to
nothing. Of these the row with a limit is judged, by the row that its limit names.

Turns longer than 0.3 ms were interrupted by the machine; they are counted, and left out of both.
"""
import os
import statistics

from bench_pairs import kind_of

FLOORS_MAX = 1.5
TRIES = 4  # pairs run for each one asked for, at most
ROWS = [  # name, options of both, options of the relay alone, ratio asked for: to the floor; or to another row, by its name
    ("1 child", ["--children", "1"], [], 2.1),
    ("2 children", ["--children", "2"], [], 2.3),
    ("4 children", ["--children", "4"], [], 2.7),
    ("8 children", ["--children", "8"], [], None),
    ("4 children, 4 stripes", ["--children", "4"], ["--stripes", "4"], None),
    ("4 children, 8 jobs", ["--children", "4"], ["--jobs", "8"], None),
    ("4 children, 60 peers", ["--children", "4"], ["--peers", "60"], None),
    ("4 children, 60 peers, 8 jobs", ["--children", "4"], ["--peers", "60", "--jobs", "8"], ("4 children", 1.1)),
    ("4 children, 60 busy peers", ["--children", "4"], ["--peers", "60", "--interval", "1ms"], None),
    ("4 children, 9000 bytes", ["--children", "4", "--mtu", "9000"], [], None),
]


def measure_pair(bench, row, size, common):
    """`bench`: runs sluice-bench with the arguments given, returns what it printed."""
    _, both, relay_only, _ = row
    looks = [bench("cores")["one_way_ns"]]
    floors = [bench("bare-relay", *both, "--size", size, *common)]
    relay = bench("relay", *both, *relay_only, "--size", size, "--stages", *common)
    floors.append(bench("bare-relay", *both, "--size", size, *common))
    looks.append(bench("cores")["one_way_ns"])
    floor_ns = [floor["ns_per_packet"] for floor in floors]
    steady = max(floor_ns) <= FLOORS_MAX * min(floor_ns)
    return {"kind": kind_of(looks) if steady else "moved", "cores_ns": looks, "floor_ns": floor_ns, "ns": relay["ns_per_packet"],
            "ratio": relay["ns_per_packet"] / statistics.mean(floor_ns), "turns_long": relay["turns_long"],
            "frames_per_turn": relay["frames_per_turn"], "stages_ns": relay["stages_ns"],
            "gbps": relay["goodput_bps"] / 1e9, "load": round(os.getloadavg()[0], 2)}


def measure(bench, row, options, size, common):
    pairs = []
    for _ in range(TRIES * options.runs):
        pairs.append(measure_pair(bench, row, size, common))
        if max(sum(pair["kind"] == kind for pair in pairs) for kind in ("near", "far")) >= options.runs:
            break
    return pairs


def figures(pairs, kind):
    """Medians over the pairs of a kind; None: there are none."""
    chosen = [pair for pair in pairs if pair["kind"] == kind]
    if not chosen:
        return None
    quarter = sorted(pair["ns"] for pair in chosen)[:max(len(chosen) // 4, 1)]
    return {"pairs": len(chosen), "ratio": statistics.median(pair["ratio"] for pair in chosen),
            "ns": statistics.median(pair["ns"] for pair in chosen), "best_quarter_ns": statistics.median(quarter),
            "floor_ns": statistics.median(statistics.mean(pair["floor_ns"]) for pair in chosen),
            "frames_per_turn": statistics.median(pair["frames_per_turn"] for pair in chosen),
            "turns_long": sum(pair["turns_long"] for pair in chosen),
            "stages_ns": {name: statistics.median(pair["stages_ns"][name] for pair in chosen)
                          for name in chosen[0]["stages_ns"]}}


def asked_for(row):
    if isinstance(row[3], tuple):
        return f"{row[3][1]} x {row[3][0]}"
    return row[3] or ""


def part(bench, table, options):
    """(results, summary, what was missed), as scripts/bench wants them of a part."""
    size = "256MiB" if options.quick else "1GiB"
    common = ["--hugepages"] if options.hugepages else []
    results, rows, stages, missed, words, medians = [], [], [], [], [], {}
    for row in ROWS:
        pairs = measure(bench, row, options, size, common)
        found = {kind: figures(pairs, kind) for kind in ("near", "far")}
        results.append({"row": row[0], "pairs": pairs, **found})
        for kind, of_kind in found.items():
            if of_kind is None:
                continue
            rows.append([row[0], kind, of_kind["pairs"], f"{of_kind['ratio']:.2f}", asked_for(row), f"{of_kind['ns']:.0f}",
                         f"{of_kind['best_quarter_ns']:.0f}", f"{of_kind['floor_ns']:.0f}", of_kind["frames_per_turn"],
                         of_kind["turns_long"]])
            stages.append([row[0], kind, *(f"{value:.0f}" for value in of_kind["stages_ns"].values())])
        near = found["near"]
        medians[row[0]] = near["ratio"] if near else None
        if isinstance(row[3], tuple):
            base, most = row[3]
            if None in (medians[row[0]], medians[base]):
                missed.append(f"{row[0]}: too few pairs with the CPUs near and at rest: inconclusive")
            elif medians[row[0]] > most * medians[base]:
                missed.append(f"{row[0]}: {medians[row[0]] / medians[base]:.2f} of {base}, {most} asked")
        elif row[3] is not None:
            words.append(f"{near['ratio']:.2f}" if near else "-")
            if near is None or near["pairs"] < options.runs:
                missed.append(f"{row[0]}: too few pairs with the CPUs near and at rest: inconclusive")
            elif near["ratio"] > row[3]:
                missed.append(f"{row[0]}: {near['ratio']:.2f} of the floor, {row[3]} asked")
    table(rows, ["row", "CPUs", "pairs", "ratio", "asked", "ns", "best quarter", "floor ns", "frames a turn", "long turns"])
    print("ns by stage, of the same turns:")
    table(stages, ["row", "CPUs", *results[0]["pairs"][0]["stages_ns"]])
    return results, f"relay: {', '.join(words)} of the floor to 1, 2, 4 children", missed
