#!/usr/bin/env python3
"""Who may include whom, checked on the #include lines of the repository.

A layer is a folder. It may include itself, the layers that its meson.build lists as layer_<name>, and nothing
else of this project; a list may only name layers that come earlier in ORDER. Folders above the core that give
no list get the one of UPPER. Layers below disk are sans-IO: system headers from a short list, no allocation,
clock, printing or random numbers, no floating point outside probe. rte_* only in lib/dpdk, app/ and the tests
of those; yaml.h only in lib/conf; no layer includes the tests.
"""
import os
import re
import sys

CORE = ["base", "pack", "wire", "seal", "netem", "edge", "store", "plan", "probe", "ctl", "node"]
ORDER = CORE + ["crypt", "sizes", "disk", "sim", "shm", "conf", "planner", "dpdk", "udp"]
TOP = {"probe": "probe", "planner": "planner"}

# What a layer may not even list: an estimator that could look at the link model would be no measurement.
APART = {"probe": ["netem"], "node": ["netem"]}

# Rooms of a layer, from the ground up: a room includes its own and lower ones; what stands beside the folders of
# rooms may include all of them, and be included by them only where it is named here.
ROOMS = {"node": ["core", "peer", "train", "job", "flow", "kind", "role"]}
ROOMS_GROUND = {"node/node_config.h", "node/packet.h", "node/job_state.h"}

# What folders above the core may include when they state no list of their own.
UPPER = {
    "disk": ["base", "pack", "wire", "store"],
    "sim": CORE,
    "shm": ["base", "ctl"],
    "conf": ["base", "wire", "plan", "ctl", "node", "sim", "netem"],
    "planner": ["base", "plan", "ctl", "shm", "conf"],
    "dpdk": ["base", "wire", "node"],
    "udp": ["base", "wire", "node", "dpdk"],
}

# Programs see node and ctl, the IO layers, and nothing below; the exceptions say why.
APP = ["base", "node", "ctl", "conf", "dpdk", "udp", "disk", "shm", "sim"]
APP_MORE = {
    "app/ctl": {
        "probe": "explains the words of refused estimates",
        "seal": "keys as text, for people",
    },
    "app/sluice": {
        "store": "disk requests cross the seam as store/disk.h declares them",
        "probe": "draws trains for operators, which a node has no time for",
        "seal": "compares its key with the roster's",
        "crypt": "gives the node what it seals packets with",
    },
    "app/sim": {
        "plan": "the summary draws a job's plan",
        "planner": "the simulated planner solves with the planner's own code",
        "seal": "says what packets are sealed with",
        "crypt": "the same as in the appliance, where that is asked for",
        "sizes": "what packets are sealed with otherwise",
    },
    "app/wanem": {
        "netem": "the emulator is the link model run in real time",
        "wire": "routes by the addresses of frames, answers ARP and ND",
    },
    "app/probe": {
        "netem": "the path that is measured is the link model's",
        "plan": "all pairs are measured for a plan: what that is worth",
        "planner": "by the planner's own code",
        "probe": "drives its estimators",
    },
    "app/bench": {
        "netem": "the link between two nodes of a bench is the link model's",
        "probe": "looks at the trains of its estimators",
        "crypt": "what sealing costs, by library",
        "seal": "the table of primitives that it measures",
        "edge": "part (c) measures the pacer itself, through the timed lane",
        "planner": "a bench is its own planner: it solves with the planner's code",
        "store": "answers disk requests itself where no disk is to be measured",
        "wire": "its switch between rings reads addresses of frames",
    },
}

SANS_IO_HEADERS = {
    "assert.h", "immintrin.h", "inttypes.h", "limits.h", "nmmintrin.h", "stdarg.h", "stdbool.h", "stddef.h",
    "stdint.h", "string.h",
}
SANS_IO_MORE = {
    "base": {"ctype.h", "stdio.h", "stdlib.h"},  # CHECK prints and aborts; err and report format into buffers
    "wire": {"arpa/inet.h", "stdio.h"},  # addresses and text: inet_pton, snprintf
    "plan": {"stdio.h"},
    "ctl": {"stdio.h"},
    "node": {"stdio.h"},
    "probe": {"math.h", "stdio.h"},  # a picture's text
}
BANNED_CALLS = re.compile(
    r"\b(malloc|calloc|realloc|free|strdup|alloca|rand|random|srand|time|clock_gettime|gettimeofday|clock|usleep|"
    r"nanosleep|sleep|printf|puts|fopen|open|read|write|socket|pthread_\w+|getenv|exit)\s*\("
)
FLOATING = re.compile(r"\b(double|float)\b")
INCLUDE = re.compile(r'^\s*#\s*include\s*([<"])([^>"]+)[>"]')
LAYER_LIST = re.compile(r"^layer_(\w+)\s*=\s*\[([^\]]*)\]", re.M)
QUOTED = re.compile(r"'([^']*)'")


def strip(text):
    """Comments and string contents blanked, line numbers kept."""
    pattern = re.compile(r'/\*.*?\*/|//[^\n]*|"(?:\\.|[^"\\\n])*"', re.S)

    def blank(match):
        if match.group().startswith('"'):
            return '""'
        return "\n" * match.group().count("\n")

    return pattern.sub(blank, text)


def layer_of(path):
    """The layer (or app/<program>) that a file belongs to; None for tests and the rest."""
    parts = path.split("/")
    if parts[0] == "lib" and len(parts) > 2:
        return parts[1]
    if parts[0] == "app" and len(parts) > 2:
        return "/".join(parts[:2])
    return TOP.get(parts[0])


def declared_layers(root, problems):
    lists = {}
    for folder in ["lib/" + name for name in ORDER if name not in TOP] + list(TOP):
        path = os.path.join(root, folder, "meson.build")
        if not os.path.exists(path):
            continue
        with open(path, encoding="utf-8") as file:
            for name, body in LAYER_LIST.findall(file.read()):
                lists[name] = QUOTED.findall(body)
    for name, wanted in lists.items():
        if name not in ORDER:
            problems.append(f"layer_{name}: no such layer")
            continue
        for other in wanted:
            if other in APART.get(name, []):
                problems.append(f"layer_{name} names {other}, which it must never see")
            if other not in ORDER[: ORDER.index(name)]:
                problems.append(f"layer_{name} names {other}, which does not come before it")
    for name in CORE:
        if name not in lists:
            problems.append(f"{name}: its meson.build states no layer_{name}")
    return lists


def allowed(layer, lists):
    if layer.startswith("app/"):
        own = lists.get(layer)
        return set(APP if own is None else own) | set(APP_MORE.get(layer, {}))
    return set(lists.get(layer, UPPER.get(layer, [])))


def check_project_include(path, number, target, lists, problems):
    layer = layer_of(path)
    other = target.split("/")[0]
    if layer is None:
        return  # tests see everything, and each other beside them
    if "/" not in target:
        if not layer.startswith("app/"):  # a program's own headers may stand without the folder
            problems.append(f'{path}:{number}: "{target}": include as "folder/header.h"')
    elif target.startswith("app/"):
        # What lies directly in app/ is shared by the programs.
        if target.count("/") > 1 and "/".join(target.split("/")[:2]) != layer:
            problems.append(f"{path}:{number}: {layer} includes another program's {target}")
    elif other not in ORDER:
        problems.append(f"{path}:{number}: {target}: no layer of this project")
    elif other != layer and other not in allowed(layer, lists):
        problems.append(f"{path}:{number}: {layer} may not include {target}")


def check_room_include(path, number, target, problems):
    parts = path.split("/")
    rooms = ROOMS.get(layer_of(path))
    if rooms is None or len(parts) < 4 or target.split("/")[0] != layer_of(path) or target in ROOMS_GROUND:
        return
    other = target.split("/")[1]
    if target.endswith(".def"):
        return
    if other not in rooms[: rooms.index(parts[2]) + 1]:
        problems.append(f"{path}:{number}: room {parts[2]} stands below {target}")


def check_system_include(path, number, target, problems):
    layer = layer_of(path)
    folder = "/".join(path.split("/")[:2])
    if target.startswith("rte_") or target.startswith("cmdline"):
        if not (path.startswith("app/") or folder in ("lib/dpdk", "tests/dpdk", "tests/wanem", "tests/app")):
            problems.append(f"{path}:{number}: {target}: DPDK belongs in lib/dpdk and app/")
    if target == "yaml.h" and layer != "conf":
        problems.append(f"{path}:{number}: YAML belongs in lib/conf")
    if layer in CORE and target not in SANS_IO_HEADERS | SANS_IO_MORE.get(layer, set()):
        problems.append(f"{path}:{number}: {layer} is sans-IO: <{target}> is not on its list")


def check_sans_io(path, text, problems):
    layer = layer_of(path)
    for number, line in enumerate(text.split("\n"), 1):
        for match in BANNED_CALLS.finditer(line):
            before = line[: match.start()].rstrip()
            if before.endswith("->") or before.endswith("."):
                continue  # a hook of a struct, not the C library's function
            problems.append(f"{path}:{number}: {layer} is sans-IO: {match.group(1)}()")
        if layer != "probe" and FLOATING.search(line):
            problems.append(f"{path}:{number}: {layer} counts in integers")


def check_file(root, path, lists, problems):
    with open(os.path.join(root, path), encoding="utf-8") as file:
        source = file.read()
    text = strip(source)
    for number, line in enumerate(source.split("\n"), 1):
        match = INCLUDE.match(line)
        if match is None:
            continue
        if match.group(1) == "<":
            check_system_include(path, number, match.group(2), problems)
        else:
            check_project_include(path, number, match.group(2), lists, problems)
            check_room_include(path, number, match.group(2), problems)
    if layer_of(path) in CORE and path != "lib/base/check.h":
        check_sans_io(path, text, problems)


def check(root):
    problems = []
    lists = declared_layers(root, problems)
    for top in ["lib", "app", "probe", "planner", "tests"]:
        for folder, _, names in sorted(os.walk(os.path.join(root, top))):
            for name in sorted(names):
                if name.endswith((".c", ".h")):
                    check_file(root, os.path.relpath(os.path.join(folder, name), root), lists, problems)
    return problems


if __name__ == "__main__":
    found = check(sys.argv[1])
    print("\n".join(found) if found else "layers: clean")
    sys.exit(1 if found else 0)
