# SPDX-License-Identifier: Apache-2.0
"""Sums up what the GPU tests' programs did, for tools/gpu_test.py.

A section may close with "tests passed" only where every run of it ended well, left gtest's own account of its tests,
that account holds tests and no failure, and no test was skipped that must run; with "ERROR SUMMARY: 0 errors" only
where compute-sanitizer said so of every run.
"""

import collections
import dataclasses
import re
import xml.etree.ElementTree

MOST_LINES = 300  # of one run's output
SUMMARY = re.compile(r"^=+ ERROR SUMMARY: (.*)$", re.MULTILINE)
# Where the tests were built says nothing to a reader of the record.
BUILT_IN = re.compile(r"(?<![\w/.:])/[^\s:]*/(?=(?:tests|src|cli|include)/[^\s:]*\.(?:cpp|cu|cuh|h):[0-9])")
COMPARISONS = re.compile(r"^([0-9]+) random-shape comparisons in .* 0 misses\b.*$", re.MULTILINE)


@dataclasses.dataclass
class Run:
    """One process and what became of it."""

    name: str
    status: int  # exit status; negative: the signal that ended it
    seconds: float
    output: str
    report: str | None = None  # path of gtest's XML; None: the program is no test program
    timed_out: bool = False
    sanitized: bool = False  # under compute-sanitizer
    random_cases: bool = False  # prints how many it compared


@dataclasses.dataclass
class Tests:
    """gtest's account of one run."""

    passed: list = dataclasses.field(default_factory=list)  # of their suites, a name for each test
    failed: list = dataclasses.field(default_factory=list)
    skipped: list = dataclasses.field(default_factory=list)  # (name, reason)


def one_line(text):
    """A name or reason that cannot pass for a line of the record."""
    return " ".join(text.split())


def number(root, name):
    text = root.get(name, "0")
    if not (text.isascii() and text.isdigit()):
        raise ValueError(f"left no account of its tests ({name} is {one_line(text)!r})")
    return int(text)


def reason_of(skip):
    """gtest puts file and line before the words."""
    lines = ((skip.get("message") if skip is not None else None) or "").strip().splitlines()
    return one_line(lines[-1]) if lines else "no reason given"


def read_tests(path):
    """Raises ValueError where there is no whole account."""
    try:
        root = xml.etree.ElementTree.parse(path).getroot()
    except (OSError, xml.etree.ElementTree.ParseError) as fault:
        raise ValueError(f"left no account of its tests ({type(fault).__name__})") from fault
    tests = Tests()
    cases = list(root.iter("testcase"))
    if number(root, "tests") > len(cases):  # failures outside of any test are listed besides
        raise ValueError(f"left no whole account: it speaks of {number(root, 'tests')} tests and lists {len(cases)}")
    for case in cases:
        suite = one_line(case.get("classname", ""))
        name = f"{suite}.{one_line(case.get('name', ''))}"
        skip = case.find("skipped")
        if case.find("failure") is not None:
            tests.failed.append(name)
        elif skip is not None or case.get("result") == "skipped":
            tests.skipped.append((name, reason_of(skip)))
        elif case.get("status") == "run" and case.get("result") == "completed":
            tests.passed.append(suite)
        else:
            tests.skipped.append((name, "disabled"))
    outside = number(root, "failures") + number(root, "errors") - len(tests.failed)
    if outside > 0:
        tests.failed.append(f"{outside} outside any test")
    return tests


def faults_of_process(run):
    """What is wrong with the run, whatever its tests say."""
    if run.timed_out:
        return [f"{run.name}: stopped after {run.seconds:.0f} s"]
    faults = []
    if run.status != 0:
        how = f"ended by signal {-run.status}" if run.status < 0 else f"exit status {run.status}"
        faults.append(f"{run.name}: {how}")
    if run.report is None and not run.output.strip():
        faults.append(f"{run.name}: printed nothing")
    if run.sanitized:
        verdicts = SUMMARY.findall(run.output)
        if not verdicts:
            faults.append(f"{run.name}: compute-sanitizer printed no summary")
        faults += [f"{run.name}: ERROR SUMMARY: {text}" for text in verdicts if text.strip() != "0 errors"]
    if run.random_cases:
        counted = COMPARISONS.search(run.output)
        if counted is None or int(counted.group(1)) == 0:
            faults.append(f"{run.name}: no line of comparisons without a miss")
    return faults


class Section:
    """The runs of one kind: their text, and whether all is well. Without `may_skip` a skipped test is a fault."""

    def __init__(self, name, runs, missing=(), may_skip=False):
        self.name = name
        self.runs = runs
        self.faults = list(missing)
        self.tests = Tests()
        for run in runs:
            self.faults += faults_of_process(run)
            if run.report is not None:
                self._add_tests(run)
        if not runs and not self.faults:
            self.faults.append("nothing was run")
        if any(run.report is not None for run in runs) and not self.tests.passed:
            self.faults.append("no test ran")
        if not may_skip:
            self.faults += [f"{name} was skipped: {reason} (--allow-skips lets that pass)" for name, reason in self.tests.skipped]

    def _add_tests(self, run):
        try:
            tests = read_tests(run.report)
        except ValueError as fault:
            self.faults.append(f"{run.name}: {fault}")
            return
        self.tests.passed += tests.passed
        self.tests.failed += tests.failed
        self.tests.skipped += tests.skipped
        self.faults += [f"{run.name}: {name} failed" for name in tests.failed]

    @property
    def passed(self):
        return not self.faults

    @property
    def seconds(self):
        return max((run.seconds for run in self.runs), default=0.0)

    def closing(self):
        if self.faults:
            return [f"FAILED: {fault}" for fault in self.faults]
        lines = []
        if any(run.report is not None for run in self.runs):
            lines.append(suites_text(self.tests.passed))
            skipped = f"; {len(self.tests.skipped)} skipped, named above" if self.tests.skipped else ""
            lines.append(f"100% tests passed, 0 tests failed out of {len(self.tests.passed)}{skipped}")
        counts = [int(COMPARISONS.search(run.output).group(1)) for run in self.runs if run.random_cases]
        if counts:
            text = f"{sum(counts)} random-shape comparisons in {self.seconds:.1f} s over {len(counts)} processes, 0 misses"
            lines.insert(0, text + " (one: an operation at one random shape, its whole output beside the host's)")
        if any(run.sanitized for run in self.runs):
            lines.append(f"{len(self.runs)} runs, of each: ERROR SUMMARY: 0 errors")
        return lines

    def text(self):
        lines = [f"== {self.name}"]
        for run in self.runs:
            lines += [f"-- {run.name} ({run.seconds:.1f} s)"] + shortened(run.output)
        lines += [f"skipped: {name}: {reason}" for name, reason in self.tests.skipped]
        return "\n".join(lines + self.closing()) + "\n"


def suites_text(suites):
    """Which tests there were; their programs name only those that failed."""
    counts = collections.Counter(suites)
    return "passed: " + ", ".join(f"{suite} {count}" for suite, count in sorted(counts.items()))


def shortened(output):
    lines = BUILT_IN.sub("", output).rstrip().splitlines()
    if len(lines) <= MOST_LINES:
        return lines
    half = MOST_LINES // 2
    return lines[:half] + [f"... {len(lines) - MOST_LINES} lines left out ..."] + lines[-half:]


def table(sections, seconds, whole=True):
    """`whole`: no section was left out."""
    lines = ["== summary"]
    for section in sections:
        verdict = "ok" if section.passed else "FAILED"
        counts = f"{len(section.tests.passed)} passed, {len(section.tests.failed)} failed, {len(section.tests.skipped)} skipped"
        lines.append(f"   {verdict:8}{section.name:10}{section.seconds:6.1f} s  {counts}")
    bad = [section.name for section in sections if not section.passed]
    which = f"all {len(sections)} sections" if whole else f"the {len(sections)} sections asked for, and no others,"
    lines.append(f"FAILED: {', '.join(bad)}" if bad else f"{which} are as they must be ({seconds:.0f} s)")
    return "\n".join(lines) + "\n"
