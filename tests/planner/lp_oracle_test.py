#!/usr/bin/env python3
"""lp_oracle_test.py LP_NET HOSTS SEEDS: compares the packing's rate and bound with a linear program of another form, one
flow per receiver instead of trees, solved by glpsol (GLPK). Where hosts only relay, that program's value is what network
coding attains: trees stay at or below it."""
import json
import shutil
import subprocess
import sys
import tempfile

SKIPPED = 77
TOLERANCE = 1e-6
SCALE = 1e-6  # bit/s to Mbit/s, so that glpsol sees numbers around 1


def compact_lp(net):
    """max rate: x carries each receiver's flow; rows and children limit x."""
    lines = ["Maximize", " obj: rate", "Subject To"]
    edges = [tuple(edge) for edge in net["edges"]]
    into = {host: [] for host in range(net["count"])}
    out_of = {host: [] for host in range(net["count"])}
    for edge in edges:
        out_of[edge[0]].append(edge)
        into[edge[1]].append(edge)

    def add(terms, relation):
        text = " ".join(f"{'+' if factor >= 0 else '-'} {abs(factor):.17g} {name}" for factor, name in terms)
        lines.append(f" c{len(lines)}: {text or '+ 0 rate'} {relation}")

    for receiver in net["receivers"]:
        flow = {edge: f"f{receiver}_{edge[0]}_{edge[1]}" for edge in edges}
        for edge in edges:
            add([(1, flow[edge]), (-1, f"x_{edge[0]}_{edge[1]}")], "<= 0")
        for host in range(net["count"]):
            if host == net["source"]:
                continue
            terms = [(1, flow[edge]) for edge in into[host]] + [(-1, flow[edge]) for edge in out_of[host]]
            add(terms + ([(-1, "rate")] if host == receiver else []), "= 0")
    for row in net["rows"]:
        if row["use"]:
            terms = [(per_bit, f"x_{start}_{end}") for start, end, per_bit in merged(row["use"])]
            add(terms, f"<= {row['capacity'] * SCALE:.17g}")
    for host, most in enumerate(net["children_max"]):
        if out_of[host]:
            add([(1, f"x_{host}_{edge[1]}") for edge in out_of[host]] + [(-most, "rate")], "<= 0")
    return "\n".join(lines + ["End", ""])


def merged(use):
    total = {}
    for start, end, per_bit in use:
        total[start, end] = total.get((start, end), 0) + per_bit
    return [(start, end, per_bit) for (start, end), per_bit in total.items()]


def solve(net, folder):
    program, answer = folder + "/net.lp", folder + "/net.txt"
    with open(program, "w", encoding="ascii") as file:
        file.write(compact_lp(net))
    subprocess.run(["glpsol", "--lp", program, "--write", answer], check=True, stdout=subprocess.DEVNULL)
    with open(answer, encoding="ascii") as file:
        for line in file:
            if line.startswith("s bas"):
                assert line.split()[4:6] == ["f", "f"], line
                return float(line.split()[6]) / SCALE
    raise AssertionError("glpsol told no solution")


def check(net, expected, words):
    rate, bound = net["rate_bps"], net["bound_bps"]
    relays = len(net["receivers"]) < net["count"] - 1
    leeway = TOLERANCE * max(expected, 1)
    good = rate <= expected + leeway and bound >= rate - leeway
    if not relays:
        good = good and abs(rate - expected) <= leeway and abs(bound - expected) <= leeway
    if not good:
        print(f"lp_net {' '.join(words)}: rate {rate}, bound {bound}; glpsol says {expected}")
    return good


def main():
    lp_net, hosts, seeds = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
    if shutil.which("glpsol") is None:
        print("skipped: glpsol is missing (package glpk-utils)")
        return SKIPPED
    bad = checked = 0
    with tempfile.TemporaryDirectory() as folder:
        for seed in range(seeds):
            count = 2 + (seed * 7 + 3) % (hosts - 1)
            for kind in ["uplinks", "paths", "mixed", "sparse", "relays", "ties", "sites", "mixed children"]:
                words = kind.split()
                words = [words[0], str(count), str(seed)] + (["children", "2"] if len(words) > 1 else [])
                net = json.loads(subprocess.run([lp_net] + words, check=True, stdout=subprocess.PIPE).stdout)
                bad += not check(net, solve(net, folder), words)
                checked += 1
    print(f"{checked} nets, {bad} differ")
    return bad > 0


if __name__ == "__main__":
    sys.exit(main())
