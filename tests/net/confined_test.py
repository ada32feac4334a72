#!/usr/bin/env python3
"""A job between two sites of this machine that may next to nothing: a user without a capability, a root that is read-only, no
hugepages, 64 KiB of locked memory, and a filter that refuses every option of a socket, io_uring, and times. All of it is done
without, and the log says so once. Usage: confined_test.py SLUICE SLUICECTL"""

import ctypes
import hashlib
import os
import platform
import struct
import subprocess
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import lab  # noqa: E402

FILTERED = "--filtered"
PR_SET_NO_NEW_PRIVS, PR_SET_SECCOMP, SECCOMP_MODE_FILTER = 38, 22, 2
RET_ALLOW, RET_ERRNO_EPERM = 0x7fff0000, 0x00050001
SETSOCKOPT, IO_URING_SETUP = 54, 425
NODE = """roster:
{roster}directories:
  - {{name: incoming, path: ~/incoming, create: yes, sources: any}}
"""
SITES = {"london": "127.0.0.1", "tokyo": "127.0.0.2"}
FILE_BYTES = 5_000_000


def filtered(command):
    """Becomes the command, to which the kernel refuses these system calls."""
    load, equal, ret = 0x20, 0x15, 0x06
    rows = [(load, 0, 0, 0), (equal, 1, 0, SETSOCKOPT), (equal, 0, 1, IO_URING_SETUP), (ret, 0, 0, RET_ERRNO_EPERM),
            (ret, 0, 0, RET_ALLOW)]
    code = ctypes.create_string_buffer(b"".join(struct.pack("=HBBI", *row) for row in rows))
    program = ctypes.create_string_buffer(struct.pack("@HP", len(rows), ctypes.addressof(code)))
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0 or libc.prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, program) != 0:
        sys.exit(lab.SKIPPED)
    os.execvp(command[0], command)


if sys.argv[1] == FILTERED:
    filtered(sys.argv[2:])
if platform.machine() != "x86_64":
    print("skipped: the filter is written for x86_64")
    sys.exit(lab.SKIPPED)
lab.enter_namespace()


class World:
    def __init__(self, program, ctl):
        self.program, self.ctl = os.path.abspath(program), os.path.abspath(ctl)
        self.planner = os.path.join(os.path.dirname(os.path.dirname(os.path.dirname(self.program))), "planner")
        self.home = lab.temporary_directory()
        os.chmod(self.home, 0o777)
        self.sites = {}

    def words(self, *command):
        """A mount namespace for each: /dev/hugepages is empty, only the home can be written to."""
        mounts = (f"mount --bind {self.home} {self.home} && mount -o remount,bind,ro / && "
                  f"(! test -d /dev/hugepages || mount -t tmpfs -o ro none /dev/hugepages) && cd {self.home} && exec \"$@\"")
        return ["unshare", "--mount", "sh", "-c", mounts, "sh", "prlimit", "--memlock=65536", "setpriv", "--reuid=65534",
                "--regid=65534", "--clear-groups", "--inh-caps=-all", "--bounding-set=-all", "env", "-i", f"HOME={self.home}",
                f"PATH={self.planner}:/usr/bin:/bin", sys.executable, os.path.abspath(__file__), FILTERED, *command]

    def run(self, *command):
        out = subprocess.run(self.words(*command), capture_output=True, text=True, timeout=lab.WAIT_S, check=False)
        if out.returncode == lab.SKIPPED:
            sys.exit(lab.SKIPPED)
        assert out.returncode == 0, f"{command}: {out.returncode}: {out.stdout}{out.stderr}"
        return out.stdout


def both_start(world):
    path = os.path.join(world.home, "node.yaml")
    lines = [f"  - {{name: {name}, address: {address}}}\n" for name, address in SITES.items()]
    for name in SITES:
        with open(path, "w", encoding="utf-8") as file:
            file.write(NODE.format(roster="".join(lines)))
        printed = world.run(world.ctl, "key", "show", "-c", path, "-n", name)
        lines = [printed if f"name: {name}," in line else line for line in lines]
    with open(path, "w", encoding="utf-8") as file:
        file.write(NODE.format(roster="".join(lines)))
    for name in SITES:
        site = lab.Process(world.words(world.program, "-c", path, "-n", name), os.path.join(world.home, f"{name}.log"))
        lab.wait_until(f"{name} ready", lambda at=site: at.says(" ready\n") or at.ended())
        assert not site.ended(), site.text()
        world.sites[name] = site


def a_job_passes(world):
    content = os.urandom(FILE_BYTES)
    path = os.path.join(world.home, "file")
    with open(path, "wb") as file:
        file.write(content)
    os.chmod(path, 0o644)
    said = world.run(world.ctl, "-n", "london", "send", path, "tokyo")
    assert "verified" in said, said
    with open(os.path.join(world.home, "incoming", "file"), "rb") as file:
        assert hashlib.sha256(file.read()).digest() == hashlib.sha256(content).digest()


def what_is_missing_is_said_once(world):
    for name, site in world.sites.items():
        assert site.text().count("a filter of system calls") == 1, f"{name}: {site.text()}"


def all_end_cleanly(world):
    for site in world.sites.values():
        assert site.stop() == 0, site.text()


CASES = [both_start, a_job_passes, what_is_missing_is_said_once, all_end_cleanly]


if __name__ == "__main__":
    sys.exit(lab.run_cases(CASES, World(*sys.argv[1:3])))
