#!/usr/bin/env python3
"""A new user's first job, as the front page tells it: the node file and the commands that stand in README.md, section
"A first job", are run as they stand, by programs that `meson install` has put on the PATH, until the file is at the
other site. Nothing of them is changed: each site has a network namespace with an eth0 that has its address, a /run, /srv and
/var/lib of its own in which only root may write, and a user without any right, whose home is empty.

The only thing that this test does by itself is what the page says in words: it puts the lines that `sluicectl key show`
prints into the roster. Prints how many commands and lines of YAML that took. Usage: first_job_test.py MESON SOURCE_ROOT
BUILD_ROOT PROGRAMS, the last the folder where an installation puts programs."""

import hashlib
import json
import os
import re
import subprocess
import sys
import time

import yaml

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import lab  # noqa: E402

lab.enter_namespace()

COMMANDS_MAX, LINES_MAX = 6, 5
FILE_BYTES = 20_000_000
SITES = ("london", "tokyo")
OWN_FOLDERS = ("/run", "/srv", "/var/lib")
USER, GROUP = 65534, 65534
AS_USER = ["setpriv", f"--reuid={USER}", f"--regid={GROUP}", "--clear-groups", "--inh-caps=-all"]
if subprocess.run([*AS_USER, "true"], capture_output=True, check=False).returncode != 0:
    AS_USER = []  # this user has no other one to be


class Page:
    """What the section has: `node_file`, the text of its YAML block, and `commands`, pairs of site and command."""

    def __init__(self, root):
        with open(os.path.join(root, "README.md"), encoding="utf-8") as file:
            section = re.search(r"^## A first job\n(.*?)^## ", file.read(), re.MULTILINE | re.DOTALL)
        assert section, "README.md has no section \"A first job\""
        blocks = re.findall(r"(?:^ {7}.*\n)+", section[1], re.MULTILINE)
        blocks = [re.sub("^ {7}", "", block, flags=re.MULTILINE) for block in blocks]
        node_files = [block for block in blocks if block.startswith("roster:")]
        assert len(node_files) == 1, f"{len(node_files)} node files in the section"
        self.node_file = node_files[0]
        self.commands = re.findall(f"^({'|'.join(SITES)})\\$ (.+)$", "".join(blocks), re.MULTILINE)

    def commands_of(self, program):
        """The commands that begin with these words; at least one."""
        found = [(site, command) for site, command in self.commands if command.startswith(program + " ")]
        assert found, f"README.md, \"A first job\": no command {program}"
        return found


class Site:
    """A machine of its own, as far as programs see."""

    def __init__(self, name, home, programs, address):
        self.home = os.path.join(home, name)
        self.log = os.path.join(home, f"{name}.log")
        self.programs = programs
        os.makedirs(self.home)
        if AS_USER:
            os.chown(self.home, USER, GROUP)
        self.network = lab.veth("eth0", name)
        lab.run("ip", "link", "set", name, "master", "bridge0")
        mounts = " && ".join(f"mount -t tmpfs tmpfs {folder}" for folder in OWN_FOLDERS)
        with self.network.inside():
            lab.run("ip", "link", "set", "eth0", "arp", "on")
            lab.run("ip", "address", "add", address + "/24", "dev", "eth0")
            self.holder = lab.Process(
                ["unshare", "--mount", "sh", "-c", f"{mounts} && echo mounted && exec sleep infinity"],
                os.path.join(home, f"{name}.mounts"))
        lab.wait_until(f"{name}'s folders", lambda: self.holder.says("mounted") or self.holder.ended())
        assert not self.holder.ended(), self.holder.text()

    def words(self, command):
        return ["nsenter", "--target", str(self.holder.process.pid), "--mount", "--net", f"--wd={self.home}",
                *AS_USER, "env", "-i",
                f"HOME={self.home}", f"PATH={self.programs}:{os.environ['PATH']}", "bash", "-c", f"exec {command}"]

    def run(self, command):
        """Its standard output."""
        out = subprocess.run(self.words(command), capture_output=True, text=True, timeout=lab.WAIT_S, check=False,
                             stdin=subprocess.DEVNULL)
        assert out.returncode == 0, f"{command}: exit status {out.returncode}: {out.stdout}{out.stderr}"
        return out.stdout

    def start(self, command):
        """An appliance that is ready."""
        process = lab.Process(self.words(command), self.log)
        lab.wait_until(command, lambda: process.says(" ready\n") or process.ended())
        assert not process.ended(), f"{command}: ended:\n{process.text()}"
        return process

    def write(self, path, content):
        """Also where only this site sees it."""
        subprocess.run(self.words(f"tee {path}"), input=content, stdout=subprocess.DEVNULL, check=True)


class World:
    def __init__(self, meson, source_root, build_root, programs):
        self.page = Page(source_root)
        home = lab.temporary_directory()
        installed = os.path.join(home, "installed")
        subprocess.run([meson, "install", "-C", build_root, "--no-rebuild", "--quiet", "--destdir", installed],
                       check=True, stdout=subprocess.DEVNULL)
        with open(os.path.join(source_root, "conf", "nodes", "two-sites", "node.yaml"), encoding="utf-8") as file:
            self.example = file.read()
        lab.Bridge()
        os.chmod(home, 0o755)  # the users' homes and the programs lie there
        self.node_file = self.page.node_file
        addresses = {site["name"]: site["address"] for site in yaml.safe_load(self.node_file)["roster"]}
        self.sites = {name: Site(name, home, installed + programs, addresses[name]) for name in SITES}
        self.appliances = []

    def give(self, node_file):
        self.node_file = node_file
        for site in self.sites.values():
            site.write("node.yaml", node_file.encode())


def the_way_is_short(world):
    lines = [line for line in world.node_file.splitlines() if line.strip() and not line.strip().startswith("#")]
    print(f"     {len(world.page.commands)} commands, {len(lines)} lines of YAML")
    assert len(world.page.commands) <= COMMANDS_MAX, world.page.commands
    assert len(lines) <= LINES_MAX, lines


def the_page_says_what_the_example_says(world):
    assert yaml.safe_load(world.page.node_file) == yaml.safe_load(world.example)


def each_site_prints_its_line(world):
    world.give(world.page.node_file)
    node_file = world.page.node_file
    for name, command in world.page.commands_of("sluicectl key show"):
        printed = world.sites[name].run(command)
        assert "key: slk1:" in printed, printed
        node_file, count = re.subn(rf"^ *- {{name: {name},.*}}\n", lambda _: printed, node_file, flags=re.MULTILINE)
        assert count == 1, f"{count} entries of {name} in the roster"
    assert all("key" in entry for entry in yaml.safe_load(node_file)["roster"]), node_file
    world.give(node_file)


def both_start(world):
    for name, command in world.page.commands_of("sluice"):
        world.appliances.append(world.sites[name].start(command))
    for appliance in world.appliances:
        assert "neither authenticated" not in appliance.text(), appliance.text()


def a_file_is_at_the_other_site(world):
    content = os.urandom(FILE_BYTES)
    [(source, send)] = world.page.commands_of("sluicectl send")
    [(target, check)] = world.page.commands_of("sha256sum")
    assert source != target
    world.sites[source].write(send.split()[-2], content)
    said = world.sites[source].run(send)
    assert "verified" in said, said
    [peer] = json.loads(world.sites[source].run("sluicectl --json show peers"))["peers"]
    assert peer["roster"] == "same", peer
    found = world.sites[target].run(check).split()[0]
    assert found == hashlib.sha256(content).hexdigest(), found


def all_end_cleanly(world):
    for appliance in world.appliances:
        assert appliance.stop() == 0, appliance.text()


CASES = [the_page_says_what_the_example_says, each_site_prints_its_line, both_start, a_file_is_at_the_other_site,
         the_way_is_short, all_end_cleanly]


if __name__ == "__main__":
    WORLD = World(*sys.argv[1:5])
    STARTED = time.monotonic()
    STATUS = lab.run_cases(CASES, WORLD)
    print(f"     {time.monotonic() - STARTED:.1f} s from the first command on")
    sys.exit(STATUS)
