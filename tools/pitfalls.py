#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""pitfalls.py [--ran JUNIT] [--write] [--check]: every known pitfall of CUDA graphs is shown by tests that ran.

tests/pitfalls.json has a row for each: id (1 to 51 of the list of pitfalls, C1 to C13 of the groups of users' complaints
about serving systems), what goes wrong, what Reprise does, and the CTest names of the tests that show it (* stands for
any characters). A row without tests has the reason why none can exist. --check: each id is there once, and
docs/pitfalls.md is what --write makes of the rows. With --ran, the JUnit file of CTest's run (scripts/test.sh leaves it
at build/tests.xml), each pattern must fit at least one and at most ten tests, all of which passed: there, or, for test
programs that end in _cuda, in the committed records of GPU runs (lines "names:" of docs/gpu-test-*.txt)."""

import argparse
import glob
import json
import os
import re
import sys
import xml.etree.ElementTree

ROWS = "tests/pitfalls.json"
PAGE = "docs/pitfalls.md"
RECORDS = "docs/gpu-test-*.txt"
IDS = [str(n) for n in range(1, 52)] + [f"C{n}" for n in range(1, 14)]
MOST_TESTS = 10  # of one pattern
MOST_REASONS = 12
PARAMETER = re.compile(r"\s+# (?:GetParam|TypeParam)\(\).*", re.S)  # CTest keeps it in a test's name
NAMES = re.compile(r"^names: (?:test_)?(\S+) (\S+): (.*)$", re.M)


def row_findings(rows):
    """What is wrong with the rows themselves."""
    ids = [row.get("id") for row in rows]
    for wanted in IDS:
        if ids.count(wanted) != 1:
            yield f"{wanted}: there are {ids.count(wanted)} rows of it, one is wanted"
    for unknown in sorted({str(name) for name in ids} - set(IDS)):
        yield f"{unknown}: no pitfall is called so"
    for row in rows:
        missing = [key for key in ("wrong", "does") if not row.get(key, "").strip()]
        if missing:
            yield f"{row['id']}: '{missing[0]}' says nothing"
        if bool(row.get("tests")) == bool(row.get("reason")):
            yield f"{row['id']}: give tests, or the reason why none can exist"
        if extra := set(row) - {"id", "wrong", "does", "tests", "reason"}:
            yield f"{row['id']}: '{sorted(extra)[0]}' is no part of a row"
    reasons = sum(bool(row.get("reason")) for row in rows)
    if reasons > MOST_REASONS:
        yield f"{reasons} rows go by a reason, {MOST_REASONS} may"


def outcomes_of_run(path):
    """{test: how it ended} of CTest's JUnit file; only "run" is a pass."""
    found = {}
    for case in xml.etree.ElementTree.parse(path).getroot().iter("testcase"):
        bad = case.find("failure") is not None or case.find("error") is not None
        skipped = case.find("skipped") is not None
        found[PARAMETER.sub("", case.get("name"))] = "failed" if bad else "was skipped" if skipped else case.get("status", "run")
    return found


def passed_on_gpu(root):
    """Tests that the committed records name as passed."""
    found = set()
    for path in glob.glob(os.path.join(root, RECORDS)):
        with open(path, encoding="utf-8") as file:
            for program, suite, names in NAMES.findall(file.read()):
                found |= {f"{program}.{suite}.{name}" for name in names.split(", ")}
    return found


def fitting(pattern, names):
    wanted = re.compile(".*".join(re.escape(part) for part in pattern.split("*")))
    return sorted(name for name in names if wanted.fullmatch(name))


def on_gpu(pattern):
    return pattern.split(".")[0].endswith("_cuda")


def test_findings(rows, ran, recorded):
    """Patterns that fit nothing, too much, or what did not pass."""
    for row in rows:
        for pattern in row.get("tests", []):
            if on_gpu(pattern):
                fits, where = fitting(pattern, recorded), f"in the records of GPU runs ({RECORDS})"
            else:
                fits, where = fitting(pattern, ran), "in this run"
            if not fits:
                yield f"{row['id']}: no test {pattern} {where}"
            elif len(fits) > MOST_TESTS:
                yield f"{row['id']}: {pattern} fits {len(fits)} tests, {MOST_TESTS} may be"
            for name in fits:
                if not on_gpu(pattern) and ran[name] != "run":
                    yield f"{row['id']}: {name} {ran[name]}"


def page(rows):
    lines = [
        "# Pitfalls", "",
        "What goes wrong with CUDA graphs elsewhere, what Reprise does about it, and the tests that show it. The numbers are",
        "those of a survey of issues in public projects; C1 to C13 group what users of serving systems complain of. This page",
        f"is made from `{ROWS}` (`tools/pitfalls.py --write`); CI checks that each test named here ran and passed, or stands",
        "as passed in the record of a GPU run.", "", "| | what goes wrong | what Reprise does | tests |", "|---|---|---|---|"]
    for row in rows:
        shown = "<br>".join(f"`{name}`" for name in row.get("tests", [])) or f"none: {row['reason']}"
        lines.append(f"| {row['id']} | {cell(row['wrong'])} | {cell(row['does'])} | {cell(shown)} |")
    return "\n".join(lines) + "\n"


def cell(text):
    return text.replace("|", "\\|")


def read(root, path):
    try:
        with open(os.path.join(root, path), encoding="utf-8") as file:
            return file.read()
    except FileNotFoundError:
        return ""


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--ran", metavar="JUNIT")
    parser.add_argument("--write", action="store_true")
    parser.add_argument("--check", action="store_true")
    parser.add_argument("root", nargs="?", default=os.path.join(os.path.dirname(__file__), ".."))
    options = parser.parse_args()
    rows = json.loads(read(options.root, ROWS))
    found = list(row_findings(rows))
    if options.write and not found:
        with open(os.path.join(options.root, PAGE), "w", encoding="utf-8") as file:
            file.write(page(rows))
    if options.check and not found and read(options.root, PAGE) != page(rows):
        found.append(f"{PAGE} is not what {ROWS} says: tools/pitfalls.py --write")
    if options.ran:
        found += test_findings(rows, outcomes_of_run(options.ran), passed_on_gpu(options.root))
    print("\n".join(found) if found else f"pitfalls: ok ({len(rows)} rows)")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
