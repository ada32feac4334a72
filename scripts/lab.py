#!/usr/bin/python3
"""What scripts/demo needs besides shell: node files from a scenario, and the trees that its job asks for.

    lab.py nodes SCENARIO                    the sites' names, one a line
    lab.py configs SCENARIO DIRECTORY SLUICECTL
        DIRECTORY/SITE/node.yaml for every site, joined by the memif sockets of sluice-wanem --sockets DIRECTORY, with keys
        that SLUICECTL makes.
    lab.py job TEMPLATE FILE SCENARIO
        the job file TEMPLATE with `file: FILE` and the plan of the scenario's job, on standard output
    lab.py measured SCENARIO PROBES.json
        a table of what `show probes` tells of each path and line, beside what the scenario lets through
    lab.py edges SITE.json…
        a table of the edges that carried data, from what each site's `show edges` said
    lab.py tree SCENARIO SOURCE JOBS.json JOB
        compares the plan of a job (sluicectl --json show jobs) with what the scenario's job asks for. Metric rtt: the
        minimum spanning tree on the scenario's RTTs; prints the edges that differ. Any other: so many trees, of a small object no more.
        Exit status 1 when it is another one.
"""
import csv
import json
import os
import sys

import yaml

from site_keys import public_key

ERROR_MAX = 0.05        # of what the emulator lets through
SMALL_BYTES = 64 << 20  # so little that one tree may be as fast as several


def scenario_read(path):
    with open(path, encoding="utf-8") as file:
        scenario = yaml.safe_load(file)
    nodes = scenario["nodes"]
    defaults = scenario.get("node_defaults") or {}
    if isinstance(nodes, list):
        nodes = {name: {} for name in nodes}
    return scenario, {name: {**defaults, **(own or {})} for name, own in nodes.items()}


def rtt_matrix(path, scenario):
    """RTTs in ms by (from, to), from the scenario's matrix."""
    name = scenario["matrices"]["rtt_ms"]
    here = os.path.dirname(os.path.abspath(path))
    for folder in (here, os.path.join(here, "..", "data")):
        if os.path.exists(os.path.join(folder, name)):
            with open(os.path.join(folder, name), encoding="utf-8") as file:
                rows = list(csv.reader(file))
            return {(row[0], to): float(cell) for row in rows[1:] for to, cell in zip(rows[0][1:], row[1:])}
    raise SystemExit(f"lab.py: {name} is not beside {path}")


def address(number):
    return f"10.77.{number}.2"


def key_file(site, directory):
    return os.path.join(os.path.abspath(directory), site, "key")


def roster(names, directory, ctl):
    """The same at all sites, whose folders are there."""
    return [{"name": name, "address": address(number) + "/24", "gateway": f"10.77.{number}.1",
             "key": public_key(ctl, key_file(name, directory))} for number, name in enumerate(names, 1)]


def node_file(site, sites, own, directory):
    home = os.path.join(directory, site)
    return {
        "node": {"name": site, "key_file": key_file(site, directory)},
        "roster": sites,
        "ports": [{
            "device": f"net_memif0,role=client,socket={os.path.abspath(home)}.memif",
            "rate": own.get("uplink", "10Gbps"),
            "rate_down": own.get("downlink", "10Gbps"),
            "mtu": own.get("mtu", 1500),
        }],
        "directories": [{"name": "incoming", "path": os.path.join(home, "incoming"), "sources": "any"}],
        "manifests": home,
        "memory": {"hugepages": True},
        "idle": "sleep",
        "control": {"socket": os.path.join(home, "sluice.sock")},
    }


def configs(path, directory, ctl):
    _, nodes = scenario_read(path)
    for site in nodes:
        os.makedirs(os.path.join(directory, site, "incoming"), exist_ok=True)
    sites = roster(nodes, directory, ctl)
    for site, own in nodes.items():
        content = node_file(site, sites, own, directory)
        with open(os.path.join(directory, site, "node.yaml"), "w", encoding="utf-8") as file:
            yaml.safe_dump(content, file, sort_keys=False)


def plan_asked(path):
    return scenario_read(path)[0]["jobs"][0]["plan"]


def job(template, payload, scenario):
    with open(template, encoding="utf-8") as file:
        content = {**yaml.safe_load(file), "file": payload, "plan": plan_asked(scenario)}
        print(yaml.safe_dump(content, sort_keys=False), end="")


def spanning_tree(names, rtt, source):
    inside, edges = [source], set()
    while len(inside) < len(names):
        pairs = [(min(rtt[a, b], rtt[b, a]), a, b) for a in inside for b in names if b not in inside]
        _, parent, child = min(pairs)
        inside.append(child)
        edges.add((parent, child))
    return edges


def drawn_edges(text):
    """Edges of a tree as sluice draws it: depth by indentation of four, words behind the name."""
    edges, path = set(), []
    for line in text.splitlines():
        name = line.lstrip("│├└─ ")
        if not name:
            continue
        depth = (len(line) - len(name)) // 4
        name = name.split()[0]
        path[depth:] = [name]
        if depth > 0:
            edges.add((path[depth - 1], name))
    return edges


def tree(path, source, jobs_path, job_name):
    scenario, nodes = scenario_read(path)
    with open(jobs_path, encoding="utf-8") as file:
        planned = next(job for job in json.load(file)["jobs"] if job["name"] == job_name)
    print(planned["tree"])
    plan = plan_asked(path)
    if plan["metric"] != "rtt":
        found, asked = planned["plan"]["trees"], plan["trees"]
        small = planned["size_bytes"] < SMALL_BYTES
        print(f"{found} trees, {'at most ' if small else ''}{asked} asked for")
        return 0 if found == asked or (small and found < asked) else 1
    expected = spanning_tree(list(nodes), rtt_matrix(path, scenario), source)
    found = drawn_edges(planned["tree"])
    for what, edges in (("missing", expected - found), ("not in the spanning tree", found - expected)):
        for parent, child in sorted(edges):
            print(f"{what}: {parent} -> {child}")
    return 0 if found == expected else 1


def causes(edge):
    """What it waited for, the longest first: "cap 81 %, congestion 12 %"."""
    shares = sorted(edge["limited_share"].items(), key=lambda pair: -pair[1])
    return ", ".join(f"{cause} {share:.0%}" for cause, share in shares if share >= 0.05) or edge["limited_by"]


def rate_bps(text):
    """Of 100Mbps, as scenarios write it."""
    number = text.removesuffix("bps")
    return float(number[:-1]) * {"k": 1e3, "M": 1e6, "G": 1e9}[number[-1]]


def paths_bps(scenario, nodes):
    """What the scenario lets through of each pair (from, to), and (from, "(line)"): all that leaves a site."""
    pairs = [(source, to) for source in nodes for to in nodes if to != source]
    link = {pair: scenario["links"]["default"]["rate"] for pair in pairs}
    for one in scenario["links"].get("list", []):
        link[one["from"], one["to"]] = one["rate"]
        if one.get("symmetric"):
            link[one["to"], one["from"]] = one["rate"]
    found = {(source, to): min(map(rate_bps, (nodes[source]["uplink"], link[source, to], nodes[to]["downlink"])))
             for source, to in pairs}
    found.update({(source, "(line)"): rate_bps(own["uplink"]) for source, own in nodes.items()})
    for line in scenario.get("shared", []):
        members = [tuple(member) for member in line["members"]]
        whole = [(source, "(line)") for source in nodes if {pair for pair in pairs if pair[0] == source} <= set(members)]
        for way in members + whole:
            found[way] = min(found[way], rate_bps(line["rate"]))
    return found


def table(rows):
    widths = [max(len(str(row[column])) for row in rows) for column in range(len(rows[0]))]
    for row in rows:
        print("  ".join(str(cell).ljust(width) for cell, width in zip(row, widths)).rstrip())


def measured(path, probes):
    """Lines that are no limit answer with at least so much, which is right as long as the line carries that."""
    scenario, nodes = scenario_read(path)
    truth = paths_bps(scenario, nodes)
    rows, good = [("from", "to", "measured", "interval", "emulator", "error")], 0
    with open(probes, encoding="utf-8") as file:
        pairs = json.load(file)["pairs"]
    for pair in pairs:
        told, avail = truth[pair["from"], pair["to"]], pair.get("avail_bps", 0)
        error = (avail - told) / told
        text = {"value": f"{avail / 1e6:.1f}", "at-least": f">= {avail / 1e6:.1f}"}.get(pair["kind"], pair["why"])
        interval = f"{pair['low_bps'] / 1e6:.1f} to {pair['high_bps'] / 1e6:.1f}" if pair["kind"] == "value" else ""
        rows.append((pair["from"], pair["to"], text, interval, f"{told / 1e6:.0f}", f"{error:+.1%}" if pair["kind"] == "value" else ""))
        good += pair["to"] != "(line)" and pair["kind"] == "value" and abs(error) <= ERROR_MAX
    table(rows)
    print(f"Mbit/s on the wire; {good} of {len(nodes) * (len(nodes) - 1)} paths within {ERROR_MAX:.0%} of what the emulator lets through")


def edges(*files):
    """Each file: SITE.json, what that site's `show edges` says."""
    rows = [("from", "to", "packets", "repairs", "RTT ms", "least RTT ms", "limited by")]
    for path in files:
        with open(path, encoding="utf-8") as file:
            for edge in json.load(file)["edges"]:
                if edge["sent_packets"] > 0:
                    rows.append((os.path.basename(path).removesuffix(".json"), edge["to"], edge["sent_packets"],
                                 edge["repairs"], edge["srtt_ms"], edge["rtt_min_ms"], causes(edge)))
    table(rows)


def main():
    command, *rest = sys.argv[1:]
    if command == "nodes":
        print("\n".join(scenario_read(rest[0])[1]))
        return 0
    if command == "configs":
        configs(*rest)
        return 0
    if command == "measured":
        measured(*rest)
        return 0
    if command == "edges":
        edges(*rest)
        return 0
    if command == "job":
        job(*rest)
        return 0
    if command == "tree":
        return tree(*rest)
    raise SystemExit(__doc__)


if __name__ == "__main__":
    sys.exit(main())
