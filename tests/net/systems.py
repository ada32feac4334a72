#!/usr/bin/env python3
"""Jobs between the programs of this machine and those of another system, whose root is a folder here: a file each way, and a
directory that goes there and back on one tree. scripts/test-debian starts it. Usage: systems.py BUILD ROOT BUILD_IN_ROOT"""

import filecmp
import os
import random
import stat
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import lab  # noqa: E402

lab.enter_namespace()

ADDRESSES = {"here": "10.9.0.1", "there": "10.9.0.2", "back": "10.9.0.3"}
SIZE = 20_000_000


class Programs:
    """Paths of programs: of this machine, or scripts that start those of the root."""

    def __init__(self, directory, build, root=None):
        for name, path in {"sluice": "app/sluice/sluice", "ctl": "app/ctl/sluicectl", "planner": "planner/sluice-planner"}.items():
            setattr(self, name, f"{build}/{path}" if root is None else self.script(directory, name, root, f"{build}/{path}"))

    @staticmethod
    def script(directory, name, root, path):
        script = os.path.join(directory, name + "-there")
        with open(script, "w", encoding="utf-8") as file:
            file.write(f'#!/bin/sh\nexec chroot {root} {path} "$@"\n')
        os.chmod(script, os.stat(script).st_mode | stat.S_IXUSR)
        return script


class Systems:
    def __init__(self, build, root, build_there):
        self.directory = lab.temporary_directory()
        here = Programs(self.directory, build)
        there = Programs(self.directory, build_there, root)
        programs = {"here": here, "there": there, "back": here}
        keys = {name: lab.make_key(programs[name].ctl, self.directory, name) for name in ADDRESSES}
        bridge = lab.Bridge()
        self.sites = {}
        for name, address in ADDRESSES.items():
            self.sites[name] = lab.Appliance(programs[name].sluice, self.directory, name, {
                "ports": [lab.port(name, address)],
                "peers": [{"name": other, "address": ADDRESSES[other], "key": keys[other]} for other in ADDRESSES if other != name],
            }, bridge.plug(name))
        self.planners = [lab.planner_of(programs[name].planner, self.sites[name]) for name in ("here", "there")]

    def run(self, name, source, **job):
        """A job that ends done."""
        text = "".join(f"{key}: {value}\n" for key, value in {"name": name, "source": source, "directory": "incoming", **job}.items())
        appliance = self.sites[source]
        appliance.ask(command="job run", path=os.path.join(self.directory, "job.yaml"), text=text)

        def state():
            return next(found for found in appliance.show("jobs")["jobs"] if found["name"] == name)["state"]
        lab.wait_until(f"job {name}", lambda: state() in ("done", "failed", "cancelled"))
        assert state() == "done", appliance.show("jobs")

    def end(self):
        for planner in self.planners:
            planner.stop()
        for name, appliance in self.sites.items():
            assert appliance.stop() == 0, f"{name}:\n{appliance.text()[-1500:]}"


def fill(path, seed, size=SIZE):
    with open(path, "wb") as file:
        file.write(random.Random(seed).randbytes(size))
    return path


def same(one, other):
    assert filecmp.cmp(one, other, shallow=False), f"{one} and {other} differ"


def a_file_there(systems):
    path = fill(os.path.join(systems.directory, "out"), 1)
    systems.run("there", "here", to="[there]", file=path)
    same(path, os.path.join(systems.sites["there"].incoming, "out"))


def a_file_here(systems):
    path = fill(os.path.join(systems.directory, "home"), 2)
    systems.run("here", "there", to="[here]", file=path)
    same(path, os.path.join(systems.sites["here"].incoming, "home"))


def a_directory_there_and_back(systems):
    tree = os.path.join(systems.directory, "tree")
    for folder in range(5):
        os.makedirs(os.path.join(tree, str(folder)))
        for file in range(20):
            fill(os.path.join(tree, str(folder), str(file)), folder * 20 + file, 1000 * file)
    systems.run("tree", "here", to="[there, back]", file=tree, plan="{tree: [[here, there], [there, back]]}")
    for name in ("there", "back"):
        for folder, _, files in os.walk(tree):
            for file in files:
                path = os.path.join(folder, file)
                same(path, os.path.join(systems.sites[name].incoming, os.path.relpath(path, systems.directory)))


def main():
    systems = Systems(*sys.argv[1:4])
    status = lab.run_cases([a_file_there, a_file_here, a_directory_there_and_back], systems)
    systems.end()
    return status


if __name__ == "__main__":
    sys.exit(main())
