"""scripts/bench modes: objects of several sizes by every metric, in virtual time.

AvB-ALM's fifteen hosts with interfaces of 100 Mbit/s, nothing else on the net, paths measured already: from the order to the
last byte at the last receiver. A small object is there sooner over a tree of little delay, a large one over a fast tree;
`auto` may take 1.05 times as long as the best of all at most. `distance` is left out: no paper gives distances of these hosts.
Exit status 1: `auto` takes longer.
"""
import argparse
import concurrent.futures
import json
import os

import bench_papers

TIME_MAX = 1.05
SIZES = ["100KB", "1MB", "2GB"]
METRICS = ["rtt", "avb", "avb-directed", "dcmst", "lexicographic", "widest", "chain", "star", "auto"]


def run(metric, size):
    net = bench_papers.CELLS["pure"][0]
    # Zeros: a third of the work, and the same packets.
    result = bench_papers.simulate(f"name: modes\nseed: 1\nplan: {{avb: truth}}\n{net}\nlimit: 4000s\njobs:\n  - {{name: j, "
                                   f"source: london1, to: all, size: {size}, sparse: true, at: 5s, plan: {{metric: {metric}}}}}\n",
                                   f"{metric}, {size}")
    job = result["jobs"][0]
    return job["time_s"], job["plan"]["rate_bps"] / 1e6, children_of(job["plan"]["trees"])


def children_of(trees):
    """The largest number that a node has in one tree."""
    return max(sum(edge[0] == node for edge in tree["edges"]) for tree in trees for node, _ in tree["edges"])


def main(arguments, table):
    """`table` prints rows below a header."""
    parser = argparse.ArgumentParser(prog="scripts/bench modes", description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sizes", default=",".join(SIZES), metavar="SIZE,...")
    parser.add_argument("--json", metavar="FILE")
    options = parser.parse_args(arguments)
    sizes = options.sizes.split(",")
    wanted = [(metric, size) for size in sizes for metric in METRICS]
    with concurrent.futures.ThreadPoolExecutor(len(os.sched_getaffinity(0))) as pool:
        results = dict(zip(wanted, pool.map(lambda one: run(*one), wanted)))
    header = ["metric"] + [word for size in sizes for word in (size, "children", "planned Mbit/s")]
    table([[metric] + [cell for size in sizes for cell in (f"{results[metric, size][0]:.3f} s", results[metric, size][2],
                                                           f"{results[metric, size][1]:.2f}")] for metric in METRICS], header)
    if options.json:
        with open(options.json, "w", encoding="utf-8") as file:
            json.dump([{"metric": metric, "size": size, "time_s": result[0], "rate_mbps": result[1]}
                       for (metric, size), result in results.items()], file, indent=1)
    missed = []
    for size in sizes:
        best = min(results[metric, size][0] for metric in METRICS)
        if results["auto", size][0] > TIME_MAX * best:
            missed.append(f"{size}: {results['auto', size][0] / best:.3f} times the best")
    print("bench: " + ("missed: " + "; ".join(missed) if missed else "auto is within 5 % of the best at each size"))
    return 1 if missed else 0
