"""scripts/bench relay: what a relay spends on a packet, as a ratio to the floor under it.

Each pair is: the distance of the two CPUs (sluice-bench cores), bare-relay, relay, bare-relay, the distance again. The
floor receives full bursts, copies each body once and sends it to every child, with no protocol (app/bench/README.md); the
ratio is the relay's time per data packet to the mean of its two floors. A pair counts when the two looks at the CPUs agree
within a factor of 1.3 and so do the two floors within 1.5; pairs with the CPUs near (median look below 80 ns) and far are
told apart. What is not in the first four rows is a variation of one of them: stripes, peers and jobs must cost next to
nothing. Where such a row has a limit, the row that it varies runs before and after it in each pair, and the median of these
ratios is judged: medians of rows taken minutes apart differ by a fifth on a shared machine.

Turns longer than 0.3 ms were interrupted by the machine; they are counted, and left out of both.
"""
import os
import statistics

from bench_pairs import kind_of

FLOORS_MAX = 1.5
STAGE_RUNS = 3
TRIES = 4  # pairs run for each one asked for, at most
ROWS = [  # name, options of both, options of the relay alone, ratio asked for: to the floor; or to what it is without them
    ("1 child", ["--children", "1"], [], 2.1),
    ("2 children", ["--children", "2"], [], 2.3),
    ("4 children", ["--children", "4"], [], 2.7),
    ("8 children", ["--children", "8"], [], None),
    ("4 children, 4 stripes", ["--children", "4"], ["--stripes", "4"], ("4 children", 1.05)),
    ("4 children, 8 jobs", ["--children", "4"], ["--jobs", "8"], None),
    ("4 children, 60 peers", ["--children", "4"], ["--peers", "60"], None),
    ("4 children, 60 peers, 8 jobs", ["--children", "4"], ["--peers", "60", "--jobs", "8"], ("4 children", 1.1)),
    ("4 children, 60 busy peers", ["--children", "4"], ["--peers", "60", "--interval", "1ms"], None),
    ("4 children, 9000 bytes", ["--children", "4", "--mtu", "9000"], [], None),
]


def measure_pair(bench, row, size, common):
    """`bench`: runs sluice-bench with the arguments given, returns what it printed."""
    _, both, relay_only, asked = row
    looks = [bench("cores")["one_way_ns"]]
    floors = [bench("bare-relay", *both, "--size", size, *common)]
    plain = [["relay", *both]] if isinstance(asked, tuple) else []
    runs = [bench(*arguments, "--size", size, *common) for arguments in (*plain, ["relay", *both, *relay_only], *plain)]
    relay = runs[len(plain)]
    plain_ns = [run["ns_per_packet"] for run in runs if run is not relay]
    floors.append(bench("bare-relay", *both, "--size", size, *common))
    looks.append(bench("cores")["one_way_ns"])
    floor_ns = [floor["ns_per_packet"] for floor in floors]
    steady = max(floor_ns) <= FLOORS_MAX * min(floor_ns)
    return {"kind": kind_of(looks) if steady else "moved", "cores_ns": looks, "floor_ns": floor_ns, "ns": relay["ns_per_packet"],
            "ratio": relay["ns_per_packet"] / statistics.mean(floor_ns), "plain_ns": plain_ns,
            "to_plain": relay["ns_per_packet"] / statistics.mean(plain_ns) if plain_ns else None, "turns_long": relay["turns_long"],
            "frames_per_turn": relay["frames_per_turn"], "gbps": relay["goodput_bps"] / 1e9,
            "load": round(os.getloadavg()[0], 2)}


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
            "to_plain": statistics.median(pair["to_plain"] for pair in chosen) if chosen[0]["plain_ns"] else None,
            "frames_per_turn": statistics.median(pair["frames_per_turn"] for pair in chosen),
            "turns_long": sum(pair["turns_long"] for pair in chosen)}


def stages_of(bench, row, size, common):
    """Medians by stage, of runs of their own: to look at the clock between them costs up to a tenth of a packet."""
    _, both, relay_only, _ = row
    runs = [bench("relay", *both, *relay_only, "--size", size, "--stages", *common)["stages_ns"] for _ in range(STAGE_RUNS)]
    return {name: statistics.median(run[name] for run in runs) for name in runs[0]}


def asked_for(row):
    if isinstance(row[3], tuple):
        return f"{row[3][1]} x {row[3][0]}"
    return row[3] or ""


def judge(row, near, runs):
    """What its pairs with the CPUs near miss of what is asked of the row, as texts."""
    if row[3] is None:
        return []
    if near is None or near["pairs"] < runs:
        return [f"{row[0]}: too few pairs with the CPUs near and at rest: inconclusive"]
    figure, most, of = (near["to_plain"], row[3][1], row[3][0]) if isinstance(row[3], tuple) else (near["ratio"], row[3], "the floor")
    return [f"{row[0]}: {figure:.2f} of {of}, {most} asked"] if figure > most else []


def part(bench, table, options):
    """(results, summary, what was missed), as scripts/bench wants them of a part."""
    size = "256MiB" if options.quick else "1GiB"
    common = ["--hugepages"] if options.hugepages else []
    results, rows, stages, missed, words = [], [], [], [], []
    for row in ROWS:
        pairs = measure(bench, row, options, size, common)
        found = {kind: figures(pairs, kind) for kind in ("near", "far")}
        by_stage = stages_of(bench, row, size, common)
        results.append({"row": row[0], "pairs": pairs, "stages_ns": by_stage, **found})
        stages.append([row[0], *(f"{value:.0f}" for value in by_stage.values())])
        for kind, of_kind in found.items():
            if of_kind is None:
                continue
            rows.append([row[0], kind, of_kind["pairs"], f"{of_kind['ratio']:.2f}",
                         f"{of_kind['to_plain']:.2f}" if of_kind["to_plain"] else "", asked_for(row), f"{of_kind['ns']:.0f}",
                         f"{of_kind['best_quarter_ns']:.0f}", f"{of_kind['floor_ns']:.0f}", of_kind["frames_per_turn"],
                         of_kind["turns_long"]])
        near = found["near"]
        missed += judge(row, near, options.runs)
        if isinstance(row[3], float):
            words.append(f"{near['ratio']:.2f}" if near else "-")
    table(rows, ["row", "CPUs", "pairs", "ratio", "to plain", "asked", "ns", "best quarter", "floor ns", "frames a turn", "long turns"])
    print(f"ns by stage, medians of {STAGE_RUNS} runs with --stages:")
    table(stages, ["row", *results[0]["stages_ns"]])
    return results, f"relay: {', '.join(words)} of the floor to 1, 2, 4 children", missed
