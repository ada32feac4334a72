#!/usr/bin/env python3
"""The tables of READMEs say what the code declares.

The messages of lib/wire/FORMAT.md: every row of WIRE_TYPES and CONTROL_KINDS is there under its number, with the bytes of
its fixed fields, and every offset that the table gives is where a field begins. Pages that list the words of a table list
them all: strategies, metrics, causes of a limit, and of the causes no others. Each strategy has its file. Every file of
conf/scenarios is run by tests/scenarios.
"""
import glob
import os
import re
import sys

BYTES = {"u8": 1, "u16": 2, "u32": 4, "u64": 8, "tag": 16, "hash": 32, "name": 32, "sealed": 120}
HEADER_BYTES = 32

# Message → its list of fields, where that is not <PREFIX>_<MESSAGE>_FIELDS.
FIELDS = {"probe_reply": "WIRE_PROBE_FIELDS", "have": "CONTROL_BLOCKS_FIELDS", "resend": "CONTROL_BLOCKS_FIELDS"}


def macros(text, parameter):
    found = re.findall(r"^#define (\w+)\(%s\)((?:[^\n]*\\\n)*[^\n]*)" % parameter, text, re.M)
    return dict(found)


def declared(texts):
    text = "".join(texts)
    rows = {name: re.findall(r'ROW\(\w+, (\d+), "([^"]+)"', body) for name, body in macros(text, "ROW").items()}
    fields = {name: re.findall(r"FIELD\((\w+), \w+\)", body) for name, body in macros(text, "FIELD").items()}
    return rows, fields


def offsets(types, start):
    """Where each field begins, and the end."""
    places = [start]
    for kind in types:
        places.append(places[-1] + BYTES[kind])
    return places


def table_rows(readme, heading):
    """{number: cells} of the table under a heading whose first cells are numbers; "8, 9" gives both."""
    section = readme.split(heading, 1)[1].split("\n## ", 1)[0]
    found = {}
    for line in section.split("\n"):
        cells = [cell.strip() for cell in line.strip("|").split("|")]
        if not re.fullmatch(r"\d+(, \d+)*", cells[0]) or len(cells) < 5:
            continue
        numbers = [int(number) for number in cells[0].split(", ")]
        names = cells[1].split(", ")
        for place, number in enumerate(numbers):
            found[number] = [names[min(place, len(names) - 1)], *cells[2:]]
    return found


def check_messages(what, rows, fields, prefix, start, table, problems):
    numbers = {int(number): word for number, word in rows}
    for number in sorted(set(numbers) | set(table) - {0}):
        word = numbers.get(number)
        if word is None or number not in table:
            problems.append(f"lib/wire/FORMAT.md: {what} {number} ({word or table[number][0]}) is not in " +
                            ("the headers" if word is None else "the table"))
            continue
        name, size, *_, text = table[number]
        list_name = FIELDS.get(word, f"{prefix}_{word.upper()}_FIELDS")
        places = offsets(fields[list_name], start)
        stated = re.match(r"\d+", size)
        if name.replace(" ", "_") not in (word, word.split("_")[-1]):
            problems.append(f"lib/wire/FORMAT.md: {what} {number} is called {name}, the headers say {word}")
        if stated is None or int(stated.group()) != places[-1]:
            problems.append(f"lib/wire/FORMAT.md: {what} {word}: {size} bytes, its fields take {places[-1]}")
        for item in text.split(";")[0].split(", "):
            begin = re.match(r"(\d+) [A-Za-z]", item.strip())
            if begin is not None and int(begin.group(1)) not in places:
                problems.append(f"lib/wire/FORMAT.md: {what} {word}: no field begins at {item.strip()}")


def read(root, path):
    with open(os.path.join(root, path), encoding="utf-8") as file:
        return file.read()


def check_wire(root, problems):
    rows, fields = declared([read(root, path) for path in sorted(glob.glob(f"{root}/lib/wire/*.h"))])
    readme = read(root, "lib/wire/FORMAT.md")
    check_messages("type", rows["WIRE_TYPES"], fields, "WIRE", HEADER_BYTES,
                   table_rows(readme, "## Datagrams"), problems)
    check_messages("kind", rows["CONTROL_KINDS"], fields, "CONTROL", 0, table_rows(readme, "## Bodies"), problems)


def item(page, begin):
    """The item of a list that begins so; empty when there is none."""
    found = re.search(r"^- %s.*(?:\n(?!- |\n).*)*" % re.escape(begin), page, re.M)
    return found.group() if found else ""


def check_words(root, problems):
    """Each strategy has its file; the pages that list strategies, metrics or causes list every one."""
    rows, _ = declared([read(root, "lib/wire/control.h"), read(root, "lib/plan/plan.h")])
    strategies = [word for _, word in rows["PART_CONGESTIONS"]]
    causes = re.findall(r"LIMIT\((\w+)\)", macros(read(root, "lib/edge/limit.h"), "LIMIT")["EDGE_LIMITS"])
    limited = item(read(root, "app/ctl/PROTOCOL.md"), "`limited_from`, `limited_to`, `limited_by`")
    for page, text, words in (
            ("planner/tree/README.md", read(root, "planner/tree/README.md"), [word for _, word in rows["PLAN_METRICS"]]),
            ("conf/jobs/README.md", item(read(root, "conf/jobs/README.md"), "**Congestion.**"), strategies),
            ("lib/edge/README.md", read(root, "lib/edge/README.md"), strategies),
            ("app/ctl/PROTOCOL.md", limited, causes)):
        for word in words:
            if not re.search(r"`(\w+: )?%s`" % word, text):
                problems.append(f"{page}: does not name `{word}`")
    named = re.findall(r"`(\w+)`", limited.split("`held_by`")[0])
    for word in named:
        if word not in causes and not word.startswith("limited_"):
            problems.append(f"app/ctl/PROTOCOL.md: `{word}` is no cause of lib/edge/limit.h")
    for word in strategies:
        if not glob.glob(f"{root}/lib/edge/**/congestion_{word}.c", recursive=True) and \
                not os.path.isdir(f"{root}/lib/edge/{word}"):
            problems.append(f"lib/edge: there is no congestion_{word}.c and no folder {word}")


def check_scenarios(root, problems):
    """A scenario that nothing runs proves nothing."""
    tests = re.sub(r"#.*", "", read(root, "tests/scenarios/meson.build"))
    run = {name.removeprefix("../../conf/scenarios/").removesuffix(".yaml") for name in re.findall(r"'([^']+)'", tests)}
    for path in sorted(glob.glob(f"{root}/conf/scenarios/**/*.yaml", recursive=True)):
        name = os.path.relpath(path, f"{root}/conf/scenarios")[:-len(".yaml")]
        if name not in run:
            problems.append(f"conf/scenarios/{name}.yaml: tests/scenarios/meson.build does not run it")


def check(root):
    problems = []
    check_wire(root, problems)
    check_words(root, problems)
    check_scenarios(root, problems)
    return problems


if __name__ == "__main__":
    found = check(sys.argv[1])
    print("\n".join(found) if found else "tables: as declared")
    sys.exit(1 if found else 0)
