#!/usr/bin/env python3
"""Rules of form that a reader would otherwise have to ask for in review.

Files of at most 600 lines and functions of at most 60 in lib, app, planner and probe (800 and 70 elsewhere),
no tabs, no trailing blanks, no `#if 0`, no TODO, FIXME or XXX, no line of C beyond 120 columns in the folders
that are so far, clang-format (version 14, as Debian 12 has it) agrees, nothing built is committed, and only the
folders that the layout knows lie at the top.
"""
import os
import platform
import re
import shutil
import subprocess
import sys

PRODUCT = ("lib/", "app/", "planner/", "probe/")
FILE_LINES_MAX, FUNCTION_LINES_MAX = 600, 60
OTHER_FILE_LINES_MAX, OTHER_FUNCTION_LINES_MAX = 800, 70
# clang-format leaves comments as they are. A folder without a longer one joins these.
NARROW = ("lib/edge/", "lib/dpdk/", "lib/netem/", "lib/pack/", "lib/shm/", "lib/store/", "lib/wire/", "probe/")
COLUMNS = 120
TOP = {"meson.build", "meson_options.txt", "lib", "app", "probe", "planner", "conf", "tests", "scripts", "README.md",
       "LICENSE"}
TEXT = (".c", ".h", ".py", ".sh", ".md", ".yaml", ".json", ".build", ".txt", ".def", ".list", ".lua")
BUILT = (".o", ".a", ".so", ".pyc", ".gcda", ".gcno", ".profraw", ".log", ".orig", ".rej")
OPEN_ENDS = re.compile(r"\b(TODO|FIXME|XXX)\b")
DEAD_CODE = re.compile(r"^\s*#\s*if\s+0\b")


def git_files(root):
    listing = subprocess.run(["git", "-C", root, "ls-files", "--cached", "--others", "--exclude-standard", "-z"],
                             capture_output=True, check=False)
    if listing.returncode == 0:
        return [name for name in listing.stdout.decode().split("\0") if name and os.path.exists(f"{root}/{name}")]
    return None


def walked_files(root):
    """Without git (a tarball): everything but build directories."""
    names = []
    for folder, folders, files in os.walk(root):
        folders[:] = [name for name in folders if not name.startswith((".", "build")) and name != "__pycache__"]
        names += [os.path.relpath(os.path.join(folder, name), root) for name in files]
    return names


def check_lines(path, lines, problems):
    allowed = FILE_LINES_MAX if path.startswith(PRODUCT) else OTHER_FILE_LINES_MAX
    if len(lines) > allowed and not path.endswith((".json", ".csv")):
        problems.append(f"{path}: {len(lines)} lines, {allowed} are allowed")
    for number, line in enumerate(lines, 1):
        if "\t" in line:
            problems.append(f"{path}:{number}: tab")
        if line != line.rstrip():
            problems.append(f"{path}:{number}: trailing blank")
        if path.startswith(NARROW) and path.endswith((".c", ".h")) and len(line) > COLUMNS:
            problems.append(f"{path}:{number}: {len(line)} columns, {COLUMNS} are allowed")
        if path.startswith("tests/style/"):
            continue  # names what it looks for
        if OPEN_ENDS.search(line):
            problems.append(f"{path}:{number}: {OPEN_ENDS.search(line).group(1)}: do it or make it an issue")
        if path.endswith((".c", ".h")) and DEAD_CODE.match(line):
            problems.append(f"{path}:{number}: dead code")


def check_functions(path, lines, problems):
    """With braces as clang-format puts them, a function's are the only ones alone in column 0."""
    allowed = FUNCTION_LINES_MAX if path.startswith(PRODUCT) else OTHER_FUNCTION_LINES_MAX
    start = None
    for number, line in enumerate(lines, 1):
        if line == "{":
            start = number
        elif line == "}" and start is not None:
            length = number - start - 1
            if length > allowed:
                problems.append(f"{path}:{start}: a function of {length} lines, {allowed} are allowed")
            start = None


def is_debian_12():
    try:
        release = platform.freedesktop_os_release()
    except OSError:
        return False
    return release.get("ID") == "debian" and release.get("VERSION_ID") == "12"


def check_format(root, sources, problems):
    program = shutil.which("clang-format-14")
    if program is None and not is_debian_12():
        print("formatting is not checked: only Debian 12 has clang-format-14")
        return
    if program is None:
        problems.append("clang-format-14 is not installed: scripts/install-dependencies")
        return
    run = subprocess.run([program, "--dry-run", "-Werror", "--ferror-limit=1", *sources], cwd=root,
                         capture_output=True, check=False)
    for line in run.stderr.decode().split("\n"):
        if "error:" in line:
            problems.append(line + " (run clang-format-14 -i on the file)")


def check_names(names, problems):
    for name in names:
        top = name.split("/")[0]
        if top not in TOP and not top.startswith("."):
            problems.append(f"{name}: the top level holds only {', '.join(sorted(TOP))}")
        if name.endswith(BUILT) or "__pycache__" in name or top.startswith("build"):
            problems.append(f"{name}: build output")


def check(root):
    problems = []
    names = git_files(root)
    if names is None:
        names = walked_files(root)
    check_names(names, problems)
    for name in sorted(names):
        scripted = name.startswith("scripts/") and "." not in os.path.basename(name)
        if not name.endswith(TEXT) and not scripted:
            continue
        with open(os.path.join(root, name), encoding="utf-8", errors="replace") as file:
            lines = file.read().split("\n")
        if lines and lines[-1] == "":
            lines.pop()
        check_lines(name, lines, problems)
        if name.endswith((".c", ".h")):
            check_functions(name, lines, problems)
    check_format(root, [name for name in sorted(names) if name.endswith((".c", ".h"))], problems)
    return problems


if __name__ == "__main__":
    found = check(sys.argv[1])
    print("\n".join(found) if found else "tidy: clean")
    sys.exit(1 if found else 0)
