#!/usr/bin/env python3
"""Scenarios drawn at random: sites, memories, disks, jobs and streams, and what goes wrong meanwhile. Usage:
fault_scenarios_test.py SLUICE_SIM DIRECTORY FIRST COUNT [--keep]

All jobs end. A site fails only for something that is wrong on its way (the sites and links between it and the source, by the
job's plan, and both ends' own), and the cause told is of a class that this can have. A drawing that fails is printed and stays
in DIRECTORY as its number; `--keep` leaves all of them there. The same number is the same scenario always."""
import concurrent.futures
import json
import os
import random
import re
import subprocess
import sys

SIM, DIRECTORY = sys.argv[1:3]
FIRST, COUNT = int(sys.argv[3]), int(sys.argv[4])
LIMIT_S = 20000
STALL_S = 20

# The words of a cause, and which kinds of trouble it may have.
DARK = {"kill", "absent", "down", "loss", "narrow", "clock", "mtu", "planner"}
SLOW = {"slow", "disk", "memory", "weight"}
CAUSES = (
    (r"[Nn]o space left", {"full"}),
    (r"is cancelled|cancelled", {"cancel"}),
    (r"changed during|changed since", {"changed"}),
    (r"no packets of|too narrow", {"mtu", "down", "loss", "slow"}),
    (r"planner", {"planner"}),
    (r"retention window of", DARK | SLOW),
    (r"too slow: took", DARK | SLOW),
    (r"window lasts|shorter than|outlast", {"window"}),
    (r"its disk", {"disk", "kill"}),
    (r"source (was killed|is dead)", {"kill", "absent"}),
    (r"restarted|lost its state", {"kill"} | DARK),
    (r"did not confirm", DARK | SLOW),
    (r"does not answer|hears nothing|gets no answer|takes no messages|tells nothing|takes nothing", DARK | {"slow"}),
    (r"no progress", DARK | SLOW),
    (r"has not started the job", DARK | SLOW),
    (r"left out|cut off", DARK | SLOW | {"full"}),
)


class Drawing:
    """One scenario, and for each kind of trouble where it is: a site, a pair of sites, or a job."""

    def __init__(self, number):
        self.random = random.Random(number)
        self.number = number
        self.troubles = []  # (kind, site or None, pair or None, job or None)
        self.sites = [f"s{index}" for index in range(self.random.randint(2, 6))]
        self.rate_kbps = self.random.choice((2000, 10000, 50000, 100000, 500000))
        self.chance = self.random.random
        self.jobs, self.faults, self.links = [], [], []
        self.nodes = {site: self.draw_node(site) for site in self.sites}
        self.draw_links()
        for index in range(self.random.randint(1, 4)):
            self.draw_job(f"j{index}")
        for _ in range(self.random.randint(0, 3)):
            self.draw_fault()

    def trouble(self, kind, site=None, pair=None, job=None):
        self.troubles.append((kind, site, pair, job))

    def draw_node(self, site):
        node = {}
        if self.chance() < 0.2:
            node["uplink"] = f"{max(self.rate_kbps // self.random.choice((2, 10, 50)), 100)}kbps"
            self.trouble("slow", site)
        if self.chance() < 0.3:
            node["buffer"] = self.random.choice(("10MB", "20MB", "64MB"))
            self.trouble("memory", site)
        if self.chance() < 0.15:
            node["store"] = "none"
            self.trouble("memory", site)
        if self.chance() < 0.2:
            node["disk"] = {"rate": f"{max(self.rate_kbps // self.random.choice((2, 10)), 500)}kbps"}
            self.trouble("disk", site)
        if self.chance() < 0.05 and site != self.sites[0]:
            node["absent"] = True
            self.trouble("absent", site)
        return node

    def draw_links(self):
        self.default = {"owd": f"{self.random.choice((1, 5, 20, 60, 150))}ms", "loss": self.random.choice(("0%", "0.1%", "1%")),
                        "queue": f"{self.random.choice((10, 50, 200))}ms"}
        for _ in range(self.random.randint(0, 2)):
            pair = self.pair()
            link = {"from": pair[0], "to": pair[1]}
            kind = self.random.choice(("slow", "mtu", "loss"))
            if kind == "slow":
                link["rate"] = f"{max(self.rate_kbps // self.random.choice((4, 20, 100)), 64)}kbps"
                self.trouble("slow", pair=pair)
            elif kind == "mtu":
                link["mtu"] = self.random.choice((1300, 1400, 900))
                self.trouble("mtu", pair=pair)
            else:
                link["loss"] = f"{self.random.choice((3, 10, 40))}%"
                self.trouble("loss", pair=pair)
            self.links.append(link)

    def pair(self):
        return tuple(self.random.sample(self.sites, 2))

    def tree(self, source, receivers):
        reached, edges = [source], []
        for site in self.random.sample(receivers, len(receivers)):
            edges.append([self.random.choice(reached[-3:]), site])
            reached.append(site)
        return edges

    def draw_job(self, name):
        source = self.random.choice([site for site in self.sites if not self.nodes[site].get("absent")])
        others = [site for site in self.sites if site != source]
        receivers = others if self.chance() < 0.6 else self.random.sample(others, self.random.randint(1, len(others)))
        job = {"name": name, "source": source, "to": receivers, "at": f"{self.random.choice((0, 0, 2, 5))}s"}
        seconds = self.random.choice((0.01, 1, 4, 15))
        if self.chance() < 0.3:
            job["object"] = "stream"
            job["input"] = {"rate": f"{self.rate_kbps // self.random.choice((3, 10))}kbps", "duration": f"{max(seconds, 1)}s"}
            job["retention"] = self.random.choice(("2MB", "4MB")) if "buffer" in self.nodes[source] else "16MB"
            job["slow"] = self.random.choice(("wait", "drop"))
            if self.chance() < 0.2:
                job["window"] = "5s"
                self.trouble("window", job=name)
        else:
            job["size"] = f"{int(self.rate_kbps * 125 * seconds) + 1}B"
            if self.chance() < 0.2:
                job["files"] = self.random.choice((1, 10, 300))
        job["plan"] = self.random.choice(({}, {}, {"metric": "rtt"}, {"tree": self.tree(source, receivers)}))
        if not job["plan"]:
            del job["plan"]
        self.jobs.append(job)
        if len(self.jobs) > 1:
            for site in self.sites:
                self.trouble("weight", site)

    def draw_fault(self):
        at = f"{self.random.choice((0.5, 2, 4, 6, 10))}s"
        site, pair, job = self.random.choice(self.sites), self.pair(), self.random.choice(self.jobs)
        lasts = self.random.choice((0.3, 3, 15, 31, 90))
        kind = self.random.choice(("kill", "restart", "down", "slow", "loss", "mtu", "full", "planner", "clock", "changed", "cancel",
                                   "paused"))
        fault = {"at": at}
        if kind in ("kill", "restart"):
            fault["kill"] = site
            if kind == "restart":
                fault["restart_after"] = f"{lasts}s"
            self.trouble("kill", site)
        elif kind == "down":
            fault.update(link=list(pair), down=f"{lasts}s", symmetric=self.chance() < 0.5, mode=self.random.choice(("drop", "hold")))
            self.trouble("down", pair=pair)
        elif kind in ("slow", "loss", "mtu"):
            value = {"slow": {"rate": f"{max(self.rate_kbps // self.random.choice((5, 20, 100)), 64)}kbps"}, "loss": {"loss": f"{self.random.choice((5, 30, 100))}%"},
                     "mtu": {"mtu": self.random.choice((600, 1300, 1400))}}[kind]
            fault.update(link=list(pair), set=value, symmetric=self.chance() < 0.5)
            self.trouble(kind, pair=pair)
        elif kind == "full":
            fault["disk_full"] = site
            self.trouble("full", site)
        elif kind == "planner":
            fault.update(planner=job["source"], down=f"{lasts}s")
            self.trouble("planner", job["source"])
        elif kind == "clock":
            fault.update(clock=site, step=f"{self.random.choice((-3600, -1, 0.2, 30))}s")
            self.trouble("clock", site)
        elif kind == "changed":
            fault["source_changed"] = job["name"]
            self.trouble("changed", job=job["name"])
        elif kind == "cancel":
            fault["cancel"] = job["name"]
            self.trouble("cancel", job=job["name"])
        else:
            fault.update(job=job["name"], set={"paused": True})
            self.faults.append(fault)
            fault = {"at": f"{float(at[:-1]) + lasts}s", "job": job["name"], "set": {"paused": False}}
        self.faults.append(fault)

    def scenario(self):
        return {"name": f"faults-{self.number}", "seed": self.number, "nodes": self.nodes,
                "node_defaults": {"uplink": f"{self.rate_kbps}kbps", "downlink": f"{self.rate_kbps}kbps", "queue": "20ms"},
                "links": {"default": self.default, "list": self.links}, "jobs": self.jobs, "faults": self.faults,
                "limit": f"{LIMIT_S}s"}

    def on_the_way(self, job, site):
        """The kinds of trouble of the sites and links that the site depends on."""
        source = job["source"]
        way = {source, site}
        given = next(spec for spec in self.jobs if spec["name"] == job["name"]).get("plan", {}).get("tree", [])
        for edges in [given] + [tree["edges"] for tree in job.get("plan", {}).get("trees", [])]:
            parents = {child: parent for parent, child in edges}
            at = site
            while at in parents:
                at = parents[at]
                way.add(at)
        return {kind for kind, at, pair, name in self.troubles
                if at in way or name == job["name"] or (pair is not None and set(pair) <= way)}


def judge(drawing, result):
    """What is wrong with the result; an empty list: nothing."""
    wrong = []
    if result["limit_reached"]:
        wrong.append("has no end: " + ", ".join(job["name"] for job in result["jobs"]
                                                if job["state"] not in ("done", "failed", "cancelled")))
    for job in result["jobs"]:
        for receiver in job["receivers"]:
            site, text = receiver["node"], receiver["text"]
            troubles = drawing.on_the_way(job, site)
            if receiver["verified"] or job["state"] == "cancelled" and "cancel" in troubles:
                continue
            text = text or job["text"]
            # A source that dies after its job has ended takes what it knew with it.
            if text == "" and job["state"] == "failed" and ("kill", job["source"], None, None) in drawing.troubles:
                continue
            classes = [kinds for words, kinds in CAUSES if re.search(words, text)]
            if not classes:
                wrong.append(f"{job['name']} at {site}: no known cause: '{text}' (job {job['state']}: {job['text']})")
            elif not classes[0] & troubles:
                wrong.append(f"{job['name']} at {site}: '{text}', but there is {sorted(troubles)}")
    return wrong


def run(number):
    drawing = Drawing(number)
    path = os.path.join(DIRECTORY, f"{number}.yaml")
    with open(path, "w", encoding="utf-8") as file:
        json.dump(drawing.scenario(), file, indent=1)
    try:
        out = subprocess.run([SIM, path, "--json"], capture_output=True, text=True, timeout=300, check=False)
        result = json.loads(out.stdout)
    except subprocess.TimeoutExpired:
        return number, ["takes more than 300 s of real time"]
    except json.JSONDecodeError:
        return number, [f"exit {out.returncode}: {(out.stderr or out.stdout)[-600:]}"]
    wrong = judge(drawing, result)
    if not wrong and "--keep" not in sys.argv:
        os.remove(path)
    return number, wrong


def main():
    os.makedirs(DIRECTORY, exist_ok=True)
    failed = 0
    with concurrent.futures.ThreadPoolExecutor(max_workers=2) as pool:
        for number, wrong in pool.map(run, range(FIRST, FIRST + COUNT)):
            failed += bool(wrong)
            for line in wrong:
                print(f"{number}: {line}", flush=True)
    print(f"{COUNT - failed} of {COUNT} drawn scenarios end, with causes of their kind")
    return failed > 0


if __name__ == "__main__":
    sys.exit(main())
