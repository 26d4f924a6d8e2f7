#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""mutants.py [--seed N] [--count N] [--jobs N] [--again] [--write] [--check]: are the tests of graph, memory and the host device
able to fail? Breaks those sources in one small place at a time (tools/mutation.py: drawn by seed), in a copy under
build-mutants/, and runs the test programs until one fails. A mutant that does not compile is replaced by the next of
the draw. What was found stays in build-mutants/results.json; an interrupted run goes on from there, as long as sources
and tests are the same. What hangs is told by its own processor time and output, so that a busy machine fails nobody.

--again tries only the survivors of the last run, against the sources and tests as they are now. --write makes
docs/mutants.md of the results and of the reasons in tests/mutant_reasons.json (the survivor's key: why it may live).
--check runs nothing: docs/mutants.md must hold enough mutants, enough of them killed, and a reason for each survivor."""

import argparse
import dataclasses
import datetime
import json
import os
import re
import resource
import shutil
import signal
import subprocess
import sys
import time

import mutation

LEAST = 60
LEAST_KILLED = 0.85
RECORD = "docs/mutants.md"
REASONS = "tests/mutant_reasons.json"
NOT_COPIED = ("models/", "tests/golden/")
# Which programs may see a folder, the nearest first; among equals the quickest.
PROGRAMS = {
    "src/graph": ("test_graph", "contract_host", "test_memory", "test_device", "test_diag"),
    "src/memory": ("test_memory", "contract_host", "test_graph", "test_device", "test_diag"),
    "src/device/host": ("test_device", "contract_host", "test_graph", "test_memory", "test_diag"),
}
MOST_MEMORY = 8 << 30
IDLE_SECONDS = 60  # without any processor time: a deadlock, on the busiest of machines
JUDGED = ("src", "include", "tests", ":!tests/tools", ":!" + REASONS)


class Copy:
    """The sources and the build that the mutants are put into."""

    def __init__(self, root, jobs, options=()):
        self.root = root
        self.tree = os.path.join(root, "build-mutants", "tree")
        self.build = os.path.join(self.tree, "build")
        self.jobs = jobs
        self.options = list(options)

    def sync(self):
        """Copies what differs, so that only that is compiled again."""
        listed = subprocess.run(["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"], cwd=self.root,
                                check=True, capture_output=True, text=True).stdout.split("\0")
        wanted = {path for path in listed if path and not path.startswith(NOT_COPIED)
                  and os.path.isfile(os.path.join(self.root, path))}
        for here, folders, names in os.walk(self.tree):
            if here == self.tree:
                folders[:] = [name for name in folders if name != "build"]
            for name in names:
                if os.path.relpath(os.path.join(here, name), self.tree) not in wanted:
                    os.remove(os.path.join(here, name))
        for path in wanted:
            source, target = os.path.join(self.root, path), os.path.join(self.tree, path)
            if read_bytes(target) != read_bytes(source):
                os.makedirs(os.path.dirname(target), exist_ok=True)
                shutil.copyfile(source, target)
                shutil.copymode(source, target)

    def configure(self):
        """Each mutant makes the library and the programs again: it had better cost little."""
        quick = ["-DCMAKE_CXX_FLAGS_DEBUG=-O0", "-DCMAKE_CXX_ARCHIVE_CREATE=<CMAKE_AR> qcT <TARGET> <LINK_FLAGS> <OBJECTS>"]
        if shutil.which("ld.lld"):
            quick.append("-DCMAKE_EXE_LINKER_FLAGS=-fuse-ld=lld")
        run(["cmake", "-S", self.tree, "-B", self.build, "-G", "Ninja", "-DCMAKE_BUILD_TYPE=Debug", *quick,
             "-DREPRISE_CUDA=OFF", *self.options])

    def compile(self, target):
        """None, or what the compiler said."""
        done = subprocess.run(["ninja", "-C", self.build, "-j", str(self.jobs), target], capture_output=True, text=True,
                              check=False)
        if done.returncode == 0:
            return None
        if "error:" not in done.stdout:
            raise RuntimeError(f"ninja {target} failed, but not in the compiler: {done.stdout[-2000:]}")
        return done.stdout

    def write(self, path, text):
        with open(os.path.join(self.tree, path), "w", encoding="utf-8") as file:
            file.write(text)

    def test(self, program, limits):
        """(killed by, Seen): killed by is None where every test passed."""
        log = os.path.join(self.root, "build-mutants", "output.txt")
        with open(log, "wb") as output:
            process = subprocess.Popen(
                [os.path.join(self.build, "tests", program), "--gtest_fail_fast", "--gtest_color=no"], cwd=self.tree,
                stdout=output, stderr=subprocess.STDOUT, stdin=subprocess.DEVNULL, start_new_session=True,
                env={**os.environ, "RC_PARAMS": "seed=1"},
                preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_DATA, (MOST_MEMORY, MOST_MEMORY)))
            try:
                status, seen = watch(process, log, limits)
            finally:
                if process.poll() is None:
                    os.killpg(process.pid, signal.SIGKILL)
                    process.wait()
        with open(log, encoding="utf-8", errors="replace") as file:
            return verdict(program, status, file.read()), seen


@dataclasses.dataclass
class Seen:
    """Of a test program that ran, or the most that one may take."""
    cpu: float = 0  # seconds
    silence: float = 0  # longest time without output, seconds


def cpu_seconds(pid):
    try:
        with open(f"/proc/{pid}/stat", encoding="utf-8") as file:
            fields = file.read().rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")
    except OSError:
        return 0


def watch(process, log, limits):
    """(status, Seen); status None: it hangs."""
    seen, size, spoke, moved = Seen(), 0, time.monotonic(), time.monotonic()
    while True:
        try:
            return process.wait(0.1), seen
        except subprocess.TimeoutExpired:
            now = time.monotonic()
        cpu, before = cpu_seconds(process.pid), seen.cpu
        seen.cpu = max(seen.cpu, cpu)
        moved = now if cpu > before else moved
        if os.path.getsize(log) != size:
            size, spoke = os.path.getsize(log), now
        seen.silence = max(seen.silence, now - spoke)
        if now - moved > IDLE_SECONDS or seen.cpu > limits.cpu or seen.silence > limits.silence:
            return None, seen


def read_bytes(path):
    try:
        with open(path, "rb") as file:
            return file.read()
    except OSError:
        return None


def run(command):
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise RuntimeError(f"{' '.join(command)}: {done.stdout[-3000:]}{done.stderr[-3000:]}")
    return done.stdout


def verdict(program, status, output):
    """What killed the mutant; `status` None: it ran out of time."""
    if status == 0:
        return None
    failed = re.search(r"^\[  FAILED  \] ([\w./]+)", output, re.M)
    if failed:
        return f"{program} {failed.group(1)}"
    begun = re.findall(r"^\[ RUN      \] ([\w./]+)", output, re.M)
    where = f"{program} {begun[-1]}" if begun else program
    if status is None:
        return f"{where}, by time"
    return f"{where}, by signal {-status}" if status < 0 else f"{where}, by exit status {status}"


def folder_of(path):
    return next(folder for folder in PROGRAMS if path.startswith(folder + "/"))


class Trial:
    """Tries mutants in the copy."""

    def __init__(self, copy):
        self.copy = copy
        self.limits = {}

    def baseline(self):
        """Without a mutant everything must pass; tells how long each program may take."""
        for program in dict.fromkeys(name for names in PROGRAMS.values() for name in names):
            fault = self.copy.compile(program)
            if fault:
                raise RuntimeError(f"{program} does not compile: {fault[-3000:]}")
            start = time.monotonic()
            killed, seen = self.copy.test(program, Seen(cpu=300, silence=900))
            if killed:
                raise RuntimeError(f"a test fails without any mutant: {killed}")
            self.limits[program] = Seen(cpu=10 + 8 * seen.cpu, silence=30 + 8 * seen.silence)
            print(f"   {program}: {time.monotonic() - start:.1f} s, {seen.cpu:.1f} s of a processor", flush=True)

    def kill(self, mutant):
        """'no compile', None for a survivor, or what killed it."""
        with open(os.path.join(self.copy.tree, mutant.path), encoding="utf-8") as file:
            original = file.read()
        try:
            self.copy.write(mutant.path, mutant.apply(original))
            for program in PROGRAMS[folder_of(mutant.path)]:
                if self.copy.compile(program):
                    return "no compile"
                killed, _ = self.copy.test(program, self.limits[program])
                if killed:
                    return killed
            return None
        finally:
            self.copy.write(mutant.path, original)


def entry_of(mutant, killed):
    return {"key": mutant.key, "path": mutant.path, "line": mutant.line, "shown": mutation.shown(mutant), "killed": killed}


def counted(results):
    return [entry for entry in results["mutants"] if entry["killed"] != "no compile"]


def save(path, results):
    with open(path + ".new", "w", encoding="utf-8") as file:
        json.dump(results, file, indent=1)
    os.replace(path + ".new", path)


def load(path, absent):
    try:
        with open(path, encoding="utf-8") as file:
            return json.load(file)
    except FileNotFoundError:
        return absent


def commit_of(root):
    commit = run(["git", "-C", root, "rev-parse", "HEAD"]).strip()
    dirty = run(["git", "-C", root, "status", "--porcelain", "--", *JUDGED]).strip()
    return commit + (" with changes" if dirty else "")


def as_then(root, commit):
    """True where sources and tests are what they were in that commit."""
    now = commit_of(root)
    return now == commit or (" " not in now + commit and subprocess.run(
        ["git", "-C", root, "diff", "--quiet", commit, "--", *JUDGED], capture_output=True, check=False).returncode == 0)


def today():
    return datetime.datetime.now(datetime.timezone.utc).strftime("%Y-%m-%d")


def draw(root, trial, path, seed, count):
    results = load(path, None)
    if results is None or results["seed"] != seed or "again" in results or not as_then(root, results["commit"]):
        results = {"seed": seed, "commit": commit_of(root), "date": today(), "mutants": []}
    every = mutation.all_mutants(root)
    results["places"] = len(every)
    known = {entry["key"] for entry in results["mutants"]}
    for mutant in mutation.drawn(every, seed):
        if len(counted(results)) >= count:
            break
        if mutant.key in known:
            continue
        start = time.monotonic()
        entry = entry_of(mutant, trial.kill(mutant))
        results["mutants"].append(entry)
        save(path, results)
        report(entry, time.monotonic() - start, len(counted(results)), count)


def again(root, trial, path):
    results = load(path, None)
    if results is None:
        raise RuntimeError("there is no run whose survivors could be tried again")
    places = {mutant.key: mutant for mutant in mutation.all_mutants(root)}
    survivors = [entry for entry in results["mutants"] if entry["killed"] is None]
    for number, entry in enumerate(survivors, 1):
        mutant = places.get(entry["key"])
        if mutant is None:
            print(f"   gone from the sources: {entry['key']}")
            continue
        start = time.monotonic()
        entry.update(entry_of(mutant, trial.kill(mutant)))
        report(entry, time.monotonic() - start, number, len(survivors))
    results["again"] = {"commit": commit_of(root), "date": today()}
    save(path, results)


def report(entry, seconds, number, count):
    print(f"{number:4}/{count} {seconds:5.1f} s  {entry['path']}:{entry['line']} {entry['shown']}: "
          f"{entry['killed'] or 'SURVIVED'}", flush=True)


def cell(text):
    return text.replace("|", "\\|")


def record(results, reasons):
    entries = sorted(counted(results), key=lambda entry: (entry["path"], entry["line"]))
    killed = [entry for entry in entries if entry["killed"]]
    refused = len(results["mutants"]) - len(entries)
    lines = [
        "# Mutants: can the tests fail?", "",
        "`make mutants` breaks `src/graph`, `src/memory` and `src/device/host` in one small place at a time and runs the",
        "tests that may see it, the nearest program first, until one fails. This page is its record",
        "(`tools/mutants.py --write`).", "",
        f"{len(entries)} mutants, {len(killed)} killed ({100 * len(killed) / max(1, len(entries)):.1f} %), drawn with seed "
        f"{results['seed']} from {results['places']} places; {refused} more", "did not compile and do not count.",
        f"Date {results['date']}, commit {results['commit']}."]
    if "again" in results:
        lines.append(f"What survived then was tried again on {results['again']['date']}, commit {results['again']['commit']}.")
    lines += ["", "| place | mutation | killed by |", "|---|---|---|"]
    for entry in entries:
        lines.append(f"| {entry['path']}:{entry['line']} | {cell(entry['shown'])} | {entry['killed'] or '**survived**'} |")
    lines += ["", "## Survivors", ""]
    survivors = [entry for entry in entries if not entry["killed"]]
    if survivors:
        lines += ["| place | mutation | why it may live |", "|---|---|---|"]
    for entry in survivors:
        reason = reasons.get(entry["key"], "")
        lines.append(f"| {entry['path']}:{entry['line']} | {cell(entry['shown'])} | {cell(reason)} |")
    return "\n".join(lines + ([] if survivors else ["None."])) + "\n"


def record_findings(text):
    """What the record lacks."""
    first, _, second = text.partition("\n## Survivors\n")
    rows = [re.split(r"(?<!\\)\|", line) for line in first.splitlines() if line.startswith("| src/")]
    lived = sum("**survived**" in row[3] for row in rows)
    explained = [re.split(r"(?<!\\)\|", line) for line in second.splitlines() if line.startswith("| src/")]
    if len(rows) < LEAST:
        yield f"{len(rows)} mutants, at least {LEAST} are wanted: make mutants"
    elif (len(rows) - lived) / len(rows) < LEAST_KILLED:
        yield f"{len(rows) - lived} of {len(rows)} mutants are killed, at least {LEAST_KILLED:.0%} must be: add tests"
    if len(explained) != lived:
        yield f"{lived} mutants survived, {len(explained)} are listed as survivors: tools/mutants.py --write"
    for row in explained:
        if not row[3].strip():
            yield f"no reason why the mutant at {row[1].strip()} may live: write one into {REASONS}"


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--count", type=int, default=64)
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--configure", action="append", default=[], metavar="OPTION", help="one more for CMake")
    parser.add_argument("--again", action="store_true")
    parser.add_argument("--write", action="store_true")
    parser.add_argument("--check", action="store_true")
    options = parser.parse_args()
    root = os.path.abspath(os.path.join(os.path.dirname(__file__), ".."))
    path = os.path.join(root, "build-mutants", "results.json")
    if not options.write and not options.check or options.again:
        copy = Copy(root, options.jobs, options.configure)
        copy.sync()
        copy.configure()
        trial = Trial(copy)
        trial.baseline()
        if options.again:
            again(root, trial, path)
        else:
            draw(root, trial, path, options.seed, options.count)
    if options.write:
        with open(os.path.join(root, RECORD), "w", encoding="utf-8") as file:
            file.write(record(load(path, None), load(os.path.join(root, REASONS), {})))
    found = []
    if options.check:
        text = (read_bytes(os.path.join(root, RECORD)) or b"").decode()
        found = [f"{RECORD}: {finding}" for finding in record_findings(text)]
        print("\n".join(found) if found else "mutants: ok")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
