#!/usr/bin/env python3
"""Rules of the written pages.

A README has at most 800 words (the front page 900), counted as `wc -w` does: it says what is, and NOTES.md
beside it why. Lines of pages have at most 120 columns, rows of tables aside. Every link to a file leads to
one. Pages that are not within a limit yet stand in a list that can only become shorter: one that is within
it fails until it is taken off.
"""
import os
import re
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import tidy  # noqa: E402

FRONT_PAGE = "README.md"
FRONT_PAGE_WORDS, README_WORDS = 900, 800
COLUMNS = 120
LINK = re.compile(r"\]\(([^)#\s]+)[^)]*\)")

LONG_YET = []
WIDE_YET = []


def too_long(name, text):
    """What is said of a page with too many words; empty when it has few enough."""
    allowed = FRONT_PAGE_WORDS if name == FRONT_PAGE else README_WORDS
    words = len(text.split())
    if os.path.basename(name) != "README.md" or words <= allowed:
        return []
    return [f"{name}: {words} words, {allowed} are allowed: details belong beside what they describe, "
            "reasons into NOTES.md"]


def too_wide(name, text):
    return [f"{name}:{number}: {len(line)} columns, {COLUMNS} are allowed" for number, line in
            enumerate(text.split("\n"), 1) if len(line) > COLUMNS and not line.lstrip().startswith("|")]


def dead_links(root, name, text):
    return [f"{name}: the link to {target} leads nowhere" for target in LINK.findall(text)
            if "://" not in target and not os.path.exists(os.path.join(root, os.path.dirname(name), target))]


def unless_listed(name, found, listed, what):
    """What was found; of a listed page nothing, but that it need not be listed any more."""
    if name not in listed:
        return found
    return [] if found else [f"{name}: within the limit: take it off the list {what} of tests/style/pages.py"]


def check(root, long_yet=(), wide_yet=()):
    problems = []
    names = tidy.git_files(root)
    names = tidy.walked_files(root) if names is None else names
    pages = [name for name in sorted(names) if name.endswith(".md")]
    for name in pages:
        with open(os.path.join(root, name), encoding="utf-8") as file:
            text = file.read()
        problems += unless_listed(name, too_long(name, text), long_yet, "LONG_YET")
        problems += unless_listed(name, too_wide(name, text), wide_yet, "WIDE_YET")
        problems += dead_links(root, name, text)
    problems += [f"{name}: no such page: take it off the lists of tests/style/pages.py"
                 for name in sorted({*long_yet, *wide_yet} - set(pages))]
    return problems


if __name__ == "__main__":
    found_here = check(sys.argv[1], LONG_YET, WIDE_YET)
    print("\n".join(found_here) if found_here else "pages: clean")
    sys.exit(1 if found_here else 0)
