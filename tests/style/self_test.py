#!/usr/bin/env python3
"""The checks find what they are for: each case plants one fault in an otherwise clean tree."""
import os
import shutil
import sys
import tempfile

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import cycles  # noqa: E402
import layers  # noqa: E402
import locks  # noqa: E402
import tables  # noqa: E402
import tidy  # noqa: E402
import pages  # noqa: E402

LISTS = {"base": [], "pack": ["base"], "wire": ["base"], "seal": ["base"], "netem": ["base"], "edge": ["base", "wire"], "store": ["base"], "fwd": [],
         "plan": ["base"], "probe": ["base"], "ctl": ["base", "plan"], "node": ["base", "edge", "ctl"]}

TWENTY = " ".join(["word"] * 20) + "\n"

# checker, path, content, part of the complaint
CASES = [
    (layers, "lib/wire/a.c", '#include "edge/x.h"\n', "wire may not include edge/x.h"),
    (layers, "lib/edge/a.c", "#include <time.h>\n", "<time.h> is not on its list"),
    (layers, "lib/edge/a.c", "void *f(void)\n{\n    return malloc(3);\n}\n", "malloc()"),
    (layers, "lib/edge/a.c", "int f(double x);\n", "counts in integers"),
    (layers, "lib/conf/a.c", "#include <rte_mbuf.h>\n", "DPDK belongs"),
    (layers, "lib/sim/a.c", "#include <yaml.h>\n", "YAML belongs"),
    (layers, "app/ctl/a.c", '#include "edge/x.h"\n', "app/ctl may not include"),
    (layers, "app/ctl/a.c", '#include "app/sim/x.h"\n', "another program's"),
    (layers, "lib/wire/a.c", '#include "a.h"\n', "folder/header.h"),
    (layers, "lib/node/job/a.c", '#include "node/flow/flow.h"\n', "room job stands below"),
    (layers, "lib/node/job/a.c", '#include "node/node.h"\n', "room job stands below"),
    (layers, "lib/plan/meson.build", "layer_plan = ['base', 'node']\n", "does not come before"),
    (layers, "probe/meson.build", "layer_probe = ['base', 'netem']\n", "must never see"),
    (layers, "lib/plan/meson.build", "\n", "states no layer_plan"),
    (tidy, "lib/wire/a.c", "int x;\n" * 601, "601 lines"),
    (tidy, "tests/wire/a.c", "int x;\n" * 801, "801 lines"),
    (tidy, "lib/wire/a.c", "void f(void)\n{\n" + "    g();\n" * 61 + "}\n", "61 lines"),
    (tidy, "tests/wire/a.c", "void f(void)\n{\n" + "    g();\n" * 71 + "}\n", "71 lines"),
    (tidy, "lib/wire/a.c", "#if 0\n#endif\n", "dead code"),
    (tidy, "lib/wire/a.c", "/* TODO */\n", "TODO"),
    (tidy, "lib/wire/a.c", "\tint x;\n", "tab"),
    (tidy, "lib/wire/a.c", "int  x;\n", "clang-format"),
    (tidy, "lib/wire/a.c", "/* " + "a" * 115 + " */\n", "121 columns"),
    (tidy, "lib/wire/a.o", "", "build output"),
    (tidy, "helpers/a.c", "int x;\n", "top level holds only"),
    (pages, "README.md", TWENTY * 45 + "word\n", "901 words, 900 are allowed"),
    (pages, "lib/README.md", TWENTY * 40 + "word\n", "801 words, 800 are allowed"),
    (pages, "lib/README.md", "some words\n" + "w" * 121 + "\n", "README.md:2: 121 columns"),
    (pages, "lib/NOTES.md", "w" * 121 + "\n", "121 columns"),
    (pages, "lib/README.md", "see [there](wire/README.md)\n", "leads nowhere"),
]

CLEAN = [
    ("lib/edge/a.c", '#include <stdint.h>\n\n#include "base/x.h"\n\nint f(struct s *s)\n{\n    return s->free(s);\n}\n'),
    ("lib/wire/a.c", "/* " + "a" * 114 + " */\n"),
    ("app/wanem/a.c", '#include <rte_mbuf.h>\n\n#include "netem/link.h"\n'),
    ("README.md", TWENTY * 45),
    ("lib/README.md", TWENTY * 39 + "w" * 120 + "\n| " + "w" * 130 + " |\n"),
    ("lib/NOTES.md", TWENTY * 60),
    ("lib/README.md", "[this](README.md#part), [that](https://example.org/none)\n"),
    ("lib/base/a.c", "/* malloc(3), a double and time() in a comment */\n"),
]

# files of one layer with what they define and need, the layers still to be mended, what must be found in this order
CIRCLES = [
    ({"a.c": ({"a"}, {"b"}), "b.c": ({"b"}, set())}, []),
    ({"a.c": ({"a"}, {"b"}), "b.c": ({"b"}, {"a", "puts"})},
     ["2 files in a circle: a.c, b.c", "a.c needs of b.c: b", "b.c needs of a.c: a"]),
    ({"a.c": ({"a"}, {"b"}), "b.c": ({"b"}, {"c"}), "sub/c.c": ({"c"}, {"a"})},
     ["3 files in a circle: a.c, b.c, c.c", "b.c needs of sub/c.c: c"]),
]

# a page, the pages that are too long or too wide yet, part of the complaint (empty: none)
LISTED = [
    (TWENTY * 40 + "word\n", ["lib/README.md"], [], ""),
    ("w" * 121 + "\n", [], ["lib/README.md"], ""),
    (TWENTY * 40 + "w" * 121 + "\n", [], ["lib/README.md"], "801 words"),
    (TWENTY * 40, ["lib/README.md"], [], "take it off the list LONG_YET"),
    ("w" * 120 + "\n", [], ["lib/README.md"], "take it off the list WIDE_YET"),
    ("word\n", ["lib/gone.md"], [], "lib/gone.md: no such page"),
]

# a file, what objdump says of a function in it, what must be found
LOCKED = [
    ("lib/dpdk/lane.c", "lane_push", "lock xadd %eax,(%rdi)", "lane_push: lock xadd"),
    ("lib/dpdk/lane.c", "lane_push.part.0", "lock cmpxchg %rsi,0x8(%rdi)", "lane_push: lock"),
    ("lib/dpdk/lane.c", "lane_push", "xchg   %rax,0x10(%rdi)", "xchg"),
    ("lib/dpdk/lane.c", "lane_push", "xchg   %ax,%ax", ""),
    ("lib/dpdk/lane.c", "lane_push", "mov    %rax,(%rdi)", ""),
    ("lib/dpdk/lane.c", "rte_pktmbuf_free", "lock xadd %ax,0x12(%rdi)", ""),
    ("lib/dpdk/chain.c", "chain_on_free", "lock xadd %rsi,0x8(%rdi)", ""),
    ("lib/dpdk/chain.c", "chain_on_free", "mov    %rax,(%rdi)", "has none"),
]

# a file of the repository, what is spoilt in it and how, part of the complaint
SPOILT = [
    ("lib/wire/FORMAT.md", "| 92 + runs", "| 80 + runs", "its fields take 92"),
    ("lib/wire/FORMAT.md", "60 jump", "61 jump", "ack: no field begins at 61 jump"),
    ("lib/wire/FORMAT.md", "| stream room |", "| live room |", "kind 12 is called live room"),
    ("lib/wire/control.h", "ROW(CONTROL_START, 5,", "ROW(CONTROL_START, 55,", "kind 5 (start) is not in the headers"),
    ("planner/tree/README.md", "`star`", "star", "planner/tree/README.md: does not name `star`"),
    ("lib/wire/control.h", '"scavenger"', '"lurker"', "no congestion_lurker.c"),
    ("conf/jobs/README.md", "`scavenger`", "scavenger", "conf/jobs/README.md: does not name `scavenger`"),
    ("app/ctl/PROTOCOL.md", "`window`", "`widow`", "app/ctl/PROTOCOL.md: does not name `window`"),
    ("app/ctl/PROTOCOL.md", "`window`", "`widow`", "`widow` is no cause"),
    ("tests/scenarios/meson.build", "'transport/policer',", "", "conf/scenarios/transport/policer.yaml: tests/scenarios"),
]


def write(root, path, content):
    os.makedirs(os.path.dirname(os.path.join(root, path)), exist_ok=True)
    with open(os.path.join(root, path), "w", encoding="utf-8") as file:
        file.write(content)


def tree(root):
    with open(os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../.clang-format"), encoding="utf-8") as file:
        write(root, ".clang-format", file.read())
    for name, wanted in LISTS.items():
        folder = name if name in layers.TOP else "lib/" + name
        write(root, folder + "/meson.build", f"layer_{name} = {wanted}\n")


def main():
    failures = 0
    for checker, path, content, complaint in CASES:
        with tempfile.TemporaryDirectory() as root:
            tree(root)
            write(root, path, content)
            found = checker.check(root)
            if not any(complaint in line for line in found):
                print(f"FAIL {path}: expected '{complaint}', found {found}")
                failures += 1
    for path, content in CLEAN:
        with tempfile.TemporaryDirectory() as root:
            tree(root)
            write(root, path, content)
            found = layers.check(root) + tidy.check(root) + pages.check(root)
            if found:
                print(f"FAIL {path}: expected nothing, found {found}")
                failures += 1
    for content, long_yet, wide_yet, expected in LISTED:
        with tempfile.TemporaryDirectory() as root:
            write(root, "lib/README.md", content)
            found = pages.check(root, long_yet, wide_yet)
            if bool(found) != bool(expected) or not all(expected in line for line in found):
                print(f"FAIL {content[:5]}…, {long_yet}, {wide_yet}: expected '{expected}', found {found}")
                failures += 1
    for path, text, other, complaint in SPOILT:
        with tempfile.TemporaryDirectory() as root:
            top = os.path.join(os.path.dirname(os.path.abspath(__file__)), "../..")
            for folder in ("lib/wire", "lib/plan", "lib/edge", "planner", "app/ctl", "conf/jobs", "conf/scenarios",
                           "tests/scenarios"):
                shutil.copytree(os.path.join(top, folder), os.path.join(root, folder))
            with open(os.path.join(root, path), encoding="utf-8") as file:
                content = file.read()
            write(root, path, content.replace(text, other))
            found = tables.check(root)
            if text not in content or not any(complaint in line for line in found):
                print(f"FAIL {path} with '{other}': expected '{complaint}', found {found}")
                failures += 1
    for table, expected in CIRCLES:
        found = cycles.check({"lib/x": table})
        if bool(found) != bool(expected) or not all(any(part in line for line in found) for part in expected):
            print(f"FAIL {table}: expected {expected}, found {found}")
            failures += 1
    for path, function, instruction, expected in LOCKED:
        found = locks.check({path: f"0000000000000010 <{function}>:\n  10:\t{instruction}\n"})
        if bool(found) != bool(expected) or not all(expected in line for line in found):
            print(f"FAIL {path}, {function} with {instruction}: expected '{expected}', found {found}")
            failures += 1
    count = len(CASES) + len(CLEAN) + len(LISTED) + len(SPOILT) + len(CIRCLES) + len(LOCKED)
    print(f"{count - failures} of {count} cases")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
