#!/usr/bin/env python3
"""sluice-planner --offline: the keys of its JSON, the five sites' tree, its exit codes.

usage: offline_test.py PLANNER RTT_CSV
"""
import csv
import json
import os
import subprocess
import sys
import tempfile
import xml.etree.ElementTree as ElementTree

KEYS = {"rate_bps", "common_rate_bps", "slow", "bound_bps", "gap", "delay_ms", "solve_ms", "tight", "trees", "candidates", "raise"}


def run(planner, *arguments):
    return subprocess.run([planner, *arguments], capture_output=True, text=True, timeout=60)


def plan(planner, net, *arguments):
    with tempfile.NamedTemporaryFile("w", suffix=".yaml") as file:
        json.dump(net, file)
        file.flush()
        return run(planner, "--offline", file.name, *arguments)


def check_pictures(planner, net):
    """Titled by the file, whose name may be anything, and told with sizes, times and what holds the plan."""
    with tempfile.TemporaryDirectory() as directory:
        path = os.path.join(directory, 'a<b>&"c".yaml')
        with open(path, "w") as file:
            json.dump(net, file)
        svg, dot = (run(planner, "--offline", path, form) for form in ("--svg", "--dot"))
    assert svg.returncode == 0 and dot.returncode == 0, svg.stderr + dot.stderr
    texts = [text.text for text in ElementTree.fromstring(svg.stdout).iter("{http://www.w3.org/2000/svg}text")]
    assert texts[0] == 'a<b>&"c".yaml', texts
    assert texts[1] == "67.1 MB to 4 sites, expected in 1.35 s at 450 Mbit/s of payload", texts
    assert any(text.startswith("held by uplink of london; raise it, on the wire, to ") for text in texts), texts
    assert "rates of paths: 4 assumed" in texts and texts.count("assumed") == 4, texts
    assert 'label="a<b>&\\"c\\".yaml\\l' in dot.stdout, dot.stdout


def five_sites(path):
    with open(path, newline="") as file:
        rows = list(csv.reader(file))
    names = rows[0][1:]
    return {
        "nodes": [{"name": name, "up_bps": 10**9, "down_bps": 10**9} for name in names],
        "rtt_ms": [[float(cell) for cell in row[1:]] for row in rows[1:]],
        "source": "london",
        "receivers": [name for name in names if name != "london"],
        "size_bytes": 64 << 20,
        "metric": "rtt",
    }


def check_five_sites(planner, net):
    done = plan(planner, net, "--json")
    assert done.returncode == 0, done.stderr
    answer = json.loads(done.stdout)
    assert set(answer) >= KEYS, answer
    assert len(answer["trees"]) == 1 and answer["trees"][0]["weight"] == 1, answer
    edges = sorted(map(tuple, answer["trees"][0]["edges"]))
    assert edges == [("canada", "oregon"), ("london", "canada"), ("london", "frankfurt"),
                     ("oregon", "singapore")], edges
    assert answer["trees"][0]["known"] == [{"basis": "assumed", "age_s": 0}] * 4, answer
    assert answer["delay_ms"] == (87 + 65 + 162) / 2, answer
    assert answer["rate_bps"] == 4925 * 10**5 * 1408 // 1538, answer
    assert answer["bound_bps"] == 10**9 * 1408 // 1538, answer
    assert abs(answer["gap"] - 0.5075) < 1e-9, answer
    assert answer["tight"] == ["uplink of london"], answer
    assert [c["name"] for c in answer["candidates"]] == ["rtt", "star", "avb", "avb-directed", "dcmst", "lexicographic",
                                                        "widest", "chain"], answer
    assert answer["candidates"][0]["rate_bps"] == answer["rate_bps"], answer
    assert abs(answer["candidates"][0]["time_s"] - (0.157 + (64 << 20) * 8 / answer["rate_bps"])) < 1e-5, answer
    assert [r["row"] for r in answer["raise"]] == ["uplink of london"] and abs(answer["raise"][0]["gain"] - 1) < 1e-3, answer


def large(planner, hosts, rtt, avb):
    """Exit status and message of three hosts from CSV files."""
    with tempfile.TemporaryDirectory() as folder:
        for name, text in (("hosts", hosts), ("rtt", rtt), ("avb", avb)):
            with open(f"{folder}/{name}", "w") as file:
                file.write(text)
        done = run(planner, "--offline", f"{folder}/hosts", "--rtt", f"{folder}/rtt", "--avb", f"{folder}/avb", "--json")
        return done.returncode, done.stderr


def check_matrix_labels(planner):
    """Labels that fit no host are passed over, but not all of them: a matrix cut at other signs would count as none."""
    hosts = "name,up,down,role\na,100,100,source\nb,100,100,receiver\nc,100,100,receiver\n"
    matrix = ",a,b,c\na,,50,50\nb,1,,50\nc,50,50,\n"
    assert large(planner, hosts, matrix, matrix)[0] == 0
    assert large(planner, hosts, matrix, ",a,b,d\na,,50,1\nd,1,1,\n")[0] == 0
    for avb, text in ((matrix.replace(",", ";"), "names none of the hosts"),
                      (matrix + "b,9,9,9\n", '"b": is there twice'),
                      (matrix.replace(",b,", ",a,", 1), '"a": is there twice')):
        status, message = large(planner, hosts, matrix, avb)
        assert status == 2 and text in message, (status, message)


def check_text(planner, net):
    done = plan(planner, net)
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("london\n├── frankfurt  assumed\n└── canada  assumed\n    └── oregon  assumed\n") \
        and "\npaths   4 assumed\n" in done.stdout, done.stdout
    assert "uplink of london" in done.stdout, done.stdout


def check_auto(planner, net):
    auto = dict(net, metric="auto")
    done = plan(planner, auto, "--json")
    answer = json.loads(done.stdout)
    assert answer["rate_bps"] >= 0.97 * answer["bound_bps"], answer
    limited = dict(auto, shared=[{"name": "wan", "rate_bps": 10**8, "members": [["london", name] for name in auto["receivers"]]}])
    answer = json.loads(plan(planner, limited, "--json").stdout)
    assert answer["tight"] == ["shared link wan"] and len(answer["trees"]) == 1, answer
    done = plan(planner, limited)
    assert "raise   shared link wan to 200.0 Mbit/s: +100.0 %" in done.stdout, done.stdout
    assert "one tree by" in done.stdout and "\nstar " in done.stdout, done.stdout
    forbidden = dict(auto, forbid=[["london", name] for name in auto["receivers"]])
    done = plan(planner, forbidden)
    assert done.returncode == 1 and "can't be reached from london" in done.stderr, done


def check_slow(planner, net):
    """One slow receiver: what it gets is told beside what the others get, and the gap is that of the others."""
    slow = dict(net, metric="auto", nodes=[dict(node, down_bps=10**8 if node["name"] == "singapore" else 10**9)
                                           for node in net["nodes"]])
    answer = json.loads(plan(planner, slow, "--json").stdout)
    assert [site["name"] for site in answer["slow"]] == ["singapore"], answer
    assert answer["slow"][0]["rate_bps"] == answer["rate_bps"] < 0.12 * answer["common_rate_bps"], answer
    assert abs(answer["gap"] - (1 - answer["common_rate_bps"] / answer["bound_bps"])) < 1e-3 and answer["gap"] < 0.05, answer
    text = plan(planner, slow).stdout
    assert "\nslow    singapore gets 90.1" in text and "(gap 0.0 %)" in text, text
    even = json.loads(plan(planner, dict(net, metric="auto"), "--json").stdout)
    assert even["slow"] == [] and even["common_rate_bps"] == even["rate_bps"], even


def check_why_of_an_edge(planner, net):
    done = plan(planner, net, "--why", "london,canada")
    assert done.returncode == 0 and done.stdout == (
        "used: in 1 of 1 trees, with 492 Mbit/s on the wire; what its path leaves: assumed\n"), done
    done = plan(planner, net, "--why", "london,oregon")
    assert done.stdout == "with it: rate -33.33 %, delay -5.500 ms, held by uplink of london\n", done
    for words in "london,paris", "london", "london,london", ",london", "canad,london":
        done = plan(planner, net, "--why", words)
        assert done.returncode == 2 and "two nodes of the net" in done.stderr and not done.stdout, (words, done)
    assert plan(planner, net, "--json", "--why", "london,canada").returncode == 2


def large_net(folder, hosts, broken=""):
    """A line of hosts 10 ms apart, the first one the source; returns the arguments."""
    names = [f"h{number:03}" for number in range(hosts)]
    with open(f"{folder}/hosts.csv", "w") as file:
        print("name,up_mbps,down_mbps,role", file=file)
        for number, name in enumerate(names):
            print(f"{name}, {100 + number % 3 * 50}, 1000.5, {'receiver' if number > 0 else 'source'}", file=file)
        print(broken, file=file)
    with open(f"{folder}/rtt.csv", "w") as file:
        print("from\\to," + ",".join(names), file=file)
        for row in range(hosts):
            print(names[row] + "," + ",".join(str(10 * abs(row - column)) for column in range(hosts)), file=file)
    return ["--offline", f"{folder}/hosts.csv", "--rtt", f"{folder}/rtt.csv"]


def check_large(planner):
    with tempfile.TemporaryDirectory() as folder:
        for hosts in 70, 210:
            done = run(planner, *large_net(folder, hosts), "--size", "1GB", "--trees", "2", "--json")
            answer = json.loads(done.stdout)
            assert answer["rate_bps"] >= 0.85 * answer["bound_bps"], answer
            assert 1 <= len(answer["trees"]) <= 2, answer
            for tree in answer["trees"]:
                fed = [edge[1] for edge in tree["edges"]]
                assert len(fed) == len(set(fed)) == hosts - 1, tree
        arguments = large_net(folder, 5)
        assert "one tree by" in run(planner, *arguments).stdout
        with open(f"{folder}/avb.csv", "w") as file:
            print("from\\to,h001,nobody\nh000,7,x\nh002,7,\nh003,7,\nh004,7,", file=file)
        slow = json.loads(run(planner, *arguments, "--avb", f"{folder}/avb.csv", "--trees", "1", "--json").stdout)
        assert ["h001"] not in [edge[:1] for edge in slow["trees"][0]["edges"]], slow
        for broken, text in ("h001,1,1,receiver", "twice"), ("x,0,1,relay", "uplink"), ("x,1,1,boss", "source, receiver"), \
                ("y z,1,1,relay", "not a name"), ("s,1,1,source", "one source"):
            done = run(planner, *large_net(folder, 3, broken))
            assert done.returncode == 2 and text in done.stderr, (broken, done)
        for arguments in ["--offline", "/nowhere.csv", "--rtt", "/nowhere.csv"], ["--rtt", "x"], \
                ["--offline", "x", "--trees", "2"], [*large_net(folder, 3), "--trees", "9"]:
            done = run(planner, *arguments)
            assert done.returncode == 2 and done.stderr, done


def check_refusals(planner, net):
    unmeasured = dict(net, rtt_ms=[[None] * 5] * 5)
    done = plan(planner, unmeasured, "--json")
    assert done.returncode == 1 and "no RTT was measured between london and" in done.stderr, done
    assert done.stdout == "", done.stdout
    done = plan(planner, dict(net, source="paris"), "--json")
    assert done.returncode == 2 and "paris" in done.stderr, done
    for arguments, text in ((["--offline", "/nowhere/net.yaml"], "/nowhere/net.yaml: No such file"), ([], "either --ring or"),
                            (["--json"], "either --ring or"), (["--wrong"], "--wrong"), (["--ring", "a", "b"], "words"),
                            (["--ring", "a", "--offline", "b"], "either --ring or"), (["--ring", "a", "--svg"], "--svg"),
                            (["--offline", "a", "--trees", "2"], "with --rtt"),
                            (["--offline", "a", "--rtt", "b", "--dot"], "net files"),
                            (["--offline", "a", "--rtt", "b", "--trees", "9"], '--trees: "9", expected 1 to 8'),
                            (["--offline", "a", "--rtt", "b", "--size", "big"], '--size: "big", expected a size')):
        done = run(planner, *arguments)
        assert done.returncode == 2 and text in done.stderr and not done.stdout, (arguments, done)


def check_help(planner):
    assert "Exit status" in run(planner, "--help").stdout
    assert "\nrtt_ms: " in run(planner, "--help-net").stdout
    assert run(planner, "--version").stdout.startswith("sluice-planner ")


def main():
    planner, rtt_csv = sys.argv[1:]
    net = five_sites(rtt_csv)
    check_five_sites(planner, net)
    check_pictures(planner, net)
    check_text(planner, net)
    check_matrix_labels(planner)
    check_auto(planner, net)
    check_slow(planner, net)
    check_why_of_an_edge(planner, net)
    check_large(planner)
    check_refusals(planner, net)
    check_help(planner)


if __name__ == "__main__":
    main()
