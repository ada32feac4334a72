#!/usr/bin/env python3
"""Files of a folder call each other in one direction, proved on what the compiler made of them.

    cycles.py BUILD [FOLDER…]

From the objects of a build directory (`nm`: who defines a symbol, who needs it) comes a graph of files for each layer of
lib/, for probe/, planner/ and each program of app/, sub-folders included. No file may need itself by way of others. What is
printed for a layer that fails is a shortest such circle for each knot of files, with the symbols that make it.
"""
import collections
import json
import os
import subprocess
import sys

DEFINED = set("ABCDGRSTVWi")


def layer_of(path):
    """The folder whose files, with those below it, are one room; None for tests and what lies elsewhere."""
    parts = path.split("/")
    if parts[0] in ("lib", "app") and len(parts) > 2:
        return "/".join(parts[:2])
    return parts[0] if parts[0] in ("probe", "planner") else None


def objects(build):
    """Source (seen from the top) → object, for every source that was compiled; a source of two targets once."""
    with open(os.path.join(build, "compile_commands.json"), encoding="utf-8") as file:
        commands = json.load(file)
    top = source_root(build)
    found = {}
    for command in commands:
        path = os.path.relpath(os.path.normpath(os.path.join(command["directory"], command["file"])), top)
        own = not command["output"].startswith("tests/")  # where a test builds a source its own way
        if path.endswith(".c") and layer_of(path) is not None and own:
            found[path] = os.path.join(command["directory"], command["output"])
    return found


def source_root(build):
    with open(os.path.join(build, "meson-info", "meson-info.json"), encoding="utf-8") as file:
        return json.load(file)["directories"]["source"]


def symbols(paths):
    """Object → what it defines for others, and what it needs of them."""
    found = {path: (set(), set()) for path in paths}
    run = subprocess.run(["nm", "-A", "-g", "--format=posix", *paths], capture_output=True, check=True)
    for line in run.stdout.decode().split("\n"):
        path, _, rest = line.partition(": ")
        words = rest.split(" ")
        if len(words) > 1:
            defines, needs = found[path]
            (defines if words[1] in DEFINED else needs).add(words[0])
    return found


def graph_of(table):
    """{file: (defines, needs)} → {file: {other file: symbols}}"""
    owner = {symbol: file for file, (defines, _) in table.items() for symbol in defines}
    graph = {}
    for file, (_, needs) in table.items():
        graph[file] = collections.defaultdict(set)
        for symbol in needs:
            if symbol in owner and owner[symbol] != file:
                graph[file][owner[symbol]].add(symbol)
    return graph


def shortest_circle(graph, start):
    """Files from `start` back to `start`, or None."""
    before = {}
    queue = collections.deque([start])
    while queue:
        file = queue.popleft()
        for other in sorted(graph[file]):
            if other == start:
                circle = [file]
                while circle[-1] != start:
                    circle.append(before[circle[-1]])
                return circle[::-1]
            if other not in before:
                before[other] = file
                queue.append(other)
    return None


def reachable(graph, start):
    seen, stack = set(), [start]
    while stack:
        for other in graph[stack.pop()]:
            if other not in seen:
                seen.add(other)
                stack.append(other)
    return seen


def knots(graph):
    """Sets of files that all need each other, largest first."""
    reach = {file: reachable(graph, file) for file in graph}
    found = []
    for file in sorted(graph):
        if file in reach[file] and not any(file in knot for knot in found):
            found.append({other for other in reach[file] if file in reach[other]})
    return sorted(found, key=len, reverse=True)


def describe(graph, knot):
    circle = min((shortest_circle(graph, file) for file in sorted(knot)), key=len)
    lines = [f"  {len(knot)} files in a circle: {', '.join(sorted(os.path.basename(file) for file in knot))}"]
    for file, other in zip(circle, circle[1:] + circle[:1]):
        lines.append(f"    {file} needs of {other}: {', '.join(sorted(graph[file][other]))}")
    return lines


def check(tables):
    """{layer: {file: (defines, needs)}} → what is wrong, as lines."""
    problems = []
    for layer, table in sorted(tables.items()):
        graph = graph_of(table)
        found = knots(graph)
        if found:
            problems.append(f"{layer}:")
            for knot in found:
                problems += describe(graph, knot)
    return problems


def main(build, wanted):
    outputs = {path: output for path, output in objects(build).items() if not wanted or layer_of(path) in wanted}
    absent = [path for path, output in sorted(outputs.items()) if not os.path.exists(output)]
    if absent or not outputs:
        print("\n".join(f"{path}: not built" for path in absent) or "cycles: no such layer")
        return 1
    found = symbols(outputs.values())
    tables = collections.defaultdict(dict)
    for path, output in sorted(outputs.items()):
        tables[layer_of(path)][path] = found[output]
    found = check(tables)
    files = sum(len(table) for table in tables.values())
    clean = f"cycles: none among {files} files of {len(tables)} layers"
    print("\n".join(found) if found else clean)
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1], sys.argv[2:]))
