#!/usr/bin/env python3
"""Random nets of which nobody has told anything: a job that measures by default, against one that does not and one that knows the
truth. In FAMILY `all` a third have narrow lines out behind their ports, a third slow paths, of the others ports are the limit; in
`lines` all have narrow lines behind ports of 1 Gbit/s: in alone, in and out unlike, wider in than out, or alike; in `wide` ports are
10 Gbit/s, paths 1 Gbit/s each, and no line is a limit, so none may be found. Usage: nets_test.py SLUICE_SIM FOLDER FAMILY DRAWS SIZE
MEDIAN_OF_TRUTH WORST_OF_OFF MEAN_OF_TRUTH; the last is for the geometric mean of each kind."""
import concurrent.futures
import json
import os
import random
import statistics
import subprocess
import sys

SIM, FOLDER, FAMILY, DRAWS, SIZE = sys.argv[1], sys.argv[2], sys.argv[3], int(sys.argv[4]), sys.argv[5]
MEDIAN_OF_TRUTH, WORST_OF_OFF, MEAN_OF_TRUTH = (float(word) for word in sys.argv[6:9])
LINES, PATHS, PORTS = "lines out", "paths", "ports"
IN, UNLIKE, WIDER_IN, ALIKE = "lines in", "lines unlike", "lines wider in", "lines alike"
WIDE = "paths alike"
KINDS = {"all": (LINES, PATHS, PORTS), "lines": (IN, UNLIKE, WIDER_IN, ALIKE), "wide": (WIDE,)}[FAMILY]
TOLD = ("default", "off", "truth")


def links_of(draw, kind, names):
    """Sites on a square; RTT 5 ms and more."""
    place = [(draw.random(), draw.random()) for _ in names]
    scale_ms = draw.uniform(10, 100)
    for i, one in enumerate(names):
        for j, other in enumerate(names):
            if i == j:
                continue
            way = ((place[i][0] - place[j][0]) ** 2 + (place[i][1] - place[j][1]) ** 2) ** 0.5
            link = {"from": one, "to": other, "owd": f"{max(2.5, way * scale_ms):.1f}ms"}
            if kind == PATHS and draw.random() < 0.5:
                link["rate"] = f"{draw.choice([10, 20, 50, 100, 200, 500])}Mbps"
            yield link


def base_of(number, told, links):
    net = {"name": f"net-{number}-{told}", "seed": number + 1, "node_defaults": {"queue": "20ms"}, "limit": "3600s",
           "links": {"default": {"loss": "0.05%", "queue": "20ms"}, "list": links},
           "jobs": [{"name": "j", "source": "s0", "to": "all", "size": SIZE}]}
    if told != "default":
        net["jobs"][0]["plan"] = {"measure": "off"}
    if told == "truth":
        net["plan"] = {"avb": "truth"}
    return net


def lines_of(draw, kind, names):
    """Mbit/s in and out of each."""
    wide, known = [20, 50, 100, 200, 500], [50, 100, 250]
    way_in = {name: draw.choice(known if kind == WIDER_IN else wide) for name in names}
    if kind == IN:
        return way_in, {name: 1000 for name in names}
    if kind == WIDER_IN:
        return way_in, {name: way_in[name] // draw.choice([2, 5]) for name in names}
    return way_in, way_in if kind == ALIKE else {name: draw.choice(wide) for name in names}


def line_scenarios(number):
    """Lines are interfaces, of which the node files say 1 Gbit/s unless the truth is told."""
    draw, kind = random.Random(number // len(KINDS) * 7 + 3), KINDS[number % len(KINDS)]
    names = [f"s{i}" for i in range(draw.randint(4, 14))]
    links = list(links_of(draw, kind, names))
    way_in, out = lines_of(draw, kind, names)
    for told in TOLD:
        net = base_of(number, told, links)
        net["nodes"] = {name: {"uplink": f"{out[name]}Mbps", "downlink": f"{way_in[name]}Mbps"} for name in names}
        if told != "truth":
            net["node_defaults"]["port"] = "1000Mbps"
        yield told, net


def wide_scenarios(number):
    """Few sites, near and far, and a large object."""
    draw = random.Random(1000 + number)
    names = [f"s{i}" for i in range(draw.randint(4, 8))]
    links = []
    for i, one in enumerate(names):
        for other in names[i + 1:]:
            links.append({"from": one, "to": other, "symmetric": True, "owd": f"{draw.randint(3, 60)}ms", "rate": "1Gbps"})
    for told in TOLD:
        net = base_of(number, told, links)
        net["links"]["default"] = {"owd": "20ms", "rate": "1Gbps"}
        net["node_defaults"] = {"uplink": "10Gbps", "downlink": "10Gbps", "queue": "10ms"}
        net["jobs"][0]["sparse"] = True
        net["nodes"] = names
        yield told, net


def scenarios(number):
    """The net as it is measured, as nobody measures it, and with its lines as ports and its links told."""
    if FAMILY == "wide":
        yield from wide_scenarios(number)
        return
    if FAMILY == "lines":
        yield from line_scenarios(number)
        return
    draw, kind = random.Random(number), KINDS[number % len(KINDS)]
    names = [f"s{i}" for i in range(draw.randint(4, 16))]
    links = list(links_of(draw, kind, names))
    line = {name: draw.choice([20, 50, 100, 200, 500]) for name in names}
    port = {name: draw.choice([50, 100, 200, 500]) if kind == PORTS else 1000 for name in names}
    for told in TOLD:
        up = line if kind == LINES and told == "truth" else port
        net = base_of(number, told, links)
        net["nodes"] = {name: {"uplink": f"{up[name]}Mbps", "downlink": f"{port[name]}Mbps"} for name in names}
        if kind == LINES and told != "truth":
            net["shared"] = [{"name": f"up-{name}", "rate": f"{line[name]}Mbps", "queue": "20ms",
                              "members": [[name, other] for other in names if other != name]} for name in names]
        yield told, net


def found_lines(result):
    """Lines that trains have found to be a limit."""
    return [line for line in result["jobs"][0]["plan"]["lines"] if line["measured"] and not line["at_least"]]


def goodput(net):
    path = os.path.join(FOLDER, net["name"] + ".yaml")
    with open(path, "w", encoding="ascii") as file:
        json.dump(net, file)
    out = subprocess.run([SIM, "--json", "--security", "none", path], capture_output=True, text=True, timeout=600, check=False)
    result = json.loads(out.stdout)
    if FAMILY == "wide" and found_lines(result):
        sys.exit(f"{path}: lines that are not there: {found_lines(result)}")
    return result["goodput_bps"]


def run(number):
    return number, {told: goodput(net) for told, net in scenarios(number)}


def main():
    os.makedirs(FOLDER, exist_ok=True)
    of_truth, of_off, of_kind = [], [], {}
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        for number, found in pool.map(run, range(DRAWS)):
            of_truth.append(found["default"] / found["truth"])
            of_off.append(found["default"] / found["off"])
            of_kind.setdefault(KINDS[number % len(KINDS)], []).append(of_truth[-1])
            print(f"net {number}, narrow {KINDS[number % len(KINDS)]}: {found['default'] / 1e6:.1f} Mbit/s, {of_truth[-1]:.3f} of the "
                  f"truth's, {of_off[-1]:.3f} of what is measured off", flush=True)
    print(f"of the truth: median {statistics.median(of_truth):.3f}, worst {min(of_truth):.3f}; {MEDIAN_OF_TRUTH} expected of the median")
    print(f"of measure: off: median {statistics.median(of_off):.3f}, worst {min(of_off):.3f}; {WORST_OF_OFF} expected of the worst")
    means = {kind: statistics.geometric_mean(found) for kind, found in of_kind.items()}
    for kind, mean in means.items():
        print(f"of the truth, narrow {kind}: geometric mean {mean:.3f}; {MEAN_OF_TRUTH} expected")
    sys.exit(statistics.median(of_truth) < MEDIAN_OF_TRUTH or min(of_off) < WORST_OF_OFF or min(means.values()) < MEAN_OF_TRUTH)


if __name__ == "__main__":
    main()
