#!/usr/bin/env python3
"""Rules of the written pages: the front page has less than 900 words, and every link to a file leads to one."""
import os
import re
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import tidy  # noqa: E402

FRONT_PAGE = "README.md"
FRONT_PAGE_WORDS = 900
LINK = re.compile(r"\]\(([^)#\s]+)[^)]*\)")


def check(root):
    problems = []
    names = tidy.git_files(root)
    for name in sorted(tidy.walked_files(root) if names is None else names):
        if not name.endswith(".md"):
            continue
        with open(os.path.join(root, name), encoding="utf-8") as file:
            text = file.read()
        words = len(text.split())
        if name == FRONT_PAGE and words >= FRONT_PAGE_WORDS:
            problems.append(f"{name}: {words} words, less than {FRONT_PAGE_WORDS} are allowed: details belong beside "
                            "what they describe")
        for target in LINK.findall(text):
            if "://" not in target and not os.path.exists(os.path.join(root, os.path.dirname(name), target)):
                problems.append(f"{name}: the link to {target} leads nowhere")
    return problems


if __name__ == "__main__":
    found = check(sys.argv[1])
    print("\n".join(found) if found else "pages: clean")
    sys.exit(1 if found else 0)
