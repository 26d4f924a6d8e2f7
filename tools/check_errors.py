#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""check_errors.py --program PATH [--reprise PATH] [--write]: docs/errors.md holds exactly what its examples print.

PATH is example_errors, which makes every mistake of examples/errors/ and prints a line each: name, type, message. The
page shows each under a fence ```text error NAME, beside its source (```cpp examples/errors/FILE.cpp#NAME). A fence
```bash reprise NAME TYPE is a command of the program `reprise` (--reprise; without it those are not run), whose message
stands under the same kind of fence. What only CUDA says stands under ```text error NAME on CUDA TYPE; it must hold the
words of its row in src/device/cuda/status.cpp. Every type and every CaptureFault of <reprise/error.h> must be there.
Numbers that differ from run to run are made equal. --write renews messages and contents."""

import argparse
import os
import re
import shlex
import subprocess
import sys

import check_docs
import cpp_text

PAGE = "docs/errors.md"
HEADER = "include/reprise/error.h"
CUDA_ROWS = "src/device/cuda/status.cpp"
SOURCES = "examples/errors"
MESSAGE = re.compile(r"text error (\S+)")
ON_CUDA = re.compile(r"text error (\S+) on CUDA (\S+)")
COMMAND = re.compile(r"bash reprise (\S+) (\w+)")
CONTENTS = re.compile(r"(<!-- contents -->\n).*?(<!-- /contents -->\n)", re.S)


def steady(message):
    """The message with what differs from run to run made equal."""
    message = re.sub(r"\b0x[0-9a-f]{4,}\b", "0x7f00", message)
    # Whether a pool has to cut off 512 bytes for alignment is chance, too: that of an address.
    message = re.sub(r"\blargest free block (?:0|512) B", "largest free block 512 B", message)
    for word in ("recording", "thread", "generation"):
        numbers = {}
        message = re.sub(rf"\b{word} (\d+)\b",
                         lambda found, seen=numbers, word=word: f"{word} {seen.setdefault(found[1], len(seen) + 1)}",
                         message)
    return message


def examples(output):
    """{name: (type, message)} of what example_errors printed."""
    rows = [line.split("\t") for line in output.splitlines()]
    if any(len(row) != 3 for row in rows):
        raise ValueError(f"not a line of name, type and message: {next(row for row in rows if len(row) != 3)}")
    names = [row[0] for row in rows]
    if len(set(names)) < len(names):
        raise ValueError(f"two examples of one name: {sorted(name for name in names if names.count(name) > 1)[0]}")
    return {name: (kind, steady(message)) for name, kind, message in rows}


def commands(root, blocks, program):
    """The same of the page's commands; a command must fail with one line."""
    found = {}
    for _, info, text in blocks:
        command = COMMAND.fullmatch(info)
        if command and program:
            words = shlex.split(text)
            done = subprocess.run([program, *words[1:]], cwd=root, capture_output=True, text=True, check=False)
            message = done.stderr.strip() if done.returncode != 0 else "it succeeded"
            found[command[1]] = (command[2], steady(message))
    return found


def wanted_types(header):
    """The exception types and faults of <reprise/error.h>."""
    code = cpp_text.masked(header)
    types = re.findall(r"\bclass (\w+) : public", code)
    faults = re.search(r"\benum class CaptureFault\b[^{]*\{([^}]*)\}", code)[1]
    return [name for name in types if name != "CaptureError"] + [f"CaptureFault::{n}" for n in re.findall(r"\w+", faults)]


def cuda_words(source, fault):
    """What the CUDA backend says of a fault, piece by piece."""
    row = re.search(rf'{re.escape(fault)},((?:\s*"(?:\\.|[^"\\])*",?)+)', source)
    return ["".join(re.findall(r'"((?:\\.|[^"\\])*)"', part)) for part in re.split(r'",', row[1])] if row else []


def shown(kind, message):
    return f"{kind}: {message}\n"


def contents(types_by_name):
    rows = {}
    for name, kind in types_by_name:
        rows.setdefault(kind, []).append(f"[{name}](#{name})")
    lines = ["| type | mistakes |", "|---|---|"]
    return "\n".join(lines + [f"| `{kind}` | {', '.join(links)} |" for kind, links in rows.items()]) + "\n"


def types_of(blocks):
    """(name, type) of each message, in the order of the page."""
    return [(MESSAGE.match(info)[1], text.split(": ")[0]) for _, info, text in blocks if MESSAGE.match(info)]


def findings(text, printed, header, cuda_source, unknown=()):
    """`printed`: {name: (type, message)}; `unknown`: names whose message could not be had now."""
    blocks = check_docs.parse(text)[0]
    shown_names = set()
    for line, info, block in blocks:
        on_cuda, message = ON_CUDA.fullmatch(info), MESSAGE.match(info)
        if on_cuda:
            words = cuda_words(cuda_source, on_cuda[2])
            if not words or not all(part in block for part in words):
                yield f"{PAGE}:{line}: {CUDA_ROWS} does not say this of {on_cuda[2]}"
        elif message and message[1] in printed:
            if block != shown(*printed[message[1]]):
                yield f"{PAGE}:{line}: '{message[1]}' says something else now: tools/check_errors.py --write"
        elif message and message[1] not in unknown:
            yield f"{PAGE}:{line}: no example is called '{message[1]}'"
        if message:
            shown_names.add(message[1])
    headings = set(re.findall(r"^#+ (\S+)$", text, re.M))
    for name in printed:
        if name not in shown_names:
            yield f"{PAGE}: the example '{name}' is missing; give it an entry with a fence ```text error {name}"
        elif name not in headings:
            yield f"{PAGE}: '{name}' has no heading of its own"
    snippets = {info.split("#")[1] for _, info, _ in blocks if info.startswith(f"cpp {SOURCES}/") and "#" in info}
    told = {COMMAND.fullmatch(info)[1] for _, info, _ in blocks if COMMAND.fullmatch(info)}
    for name in sorted(set(printed) - snippets - told):
        yield f"{PAGE}: '{name}' does not show its source; add a fence ```cpp {SOURCES}/FILE.cpp#{name}"
    present = {kind for _, kind in types_of(blocks)}
    for kind in wanted_types(header):
        if kind not in present:
            yield f"{PAGE}: {HEADER} has {kind}, the page has no message of it"
    table = CONTENTS.search(text)
    if not table or table[0] != f"{table[1]}{contents(types_of(blocks))}{table[2]}":
        yield f"{PAGE}: its table of contents is not up to date: tools/check_errors.py --write"


def written(text, printed):
    lines = text.splitlines(keepends=True)
    for line, info, old in reversed(check_docs.parse(text)[0]):
        message = MESSAGE.fullmatch(info)
        if message and message[1] in printed:
            lines[line:line + old.count("\n")] = [shown(*printed[message[1]])]
    text = "".join(lines)
    table = contents(types_of(check_docs.parse(text)[0]))
    return CONTENTS.sub(lambda found: found[1] + table + found[2], text)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--program", required=True)
    parser.add_argument("--reprise")
    parser.add_argument("--write", action="store_true")
    options = parser.parse_args()
    root = os.path.abspath(os.path.join(os.path.dirname(__file__), ".."))
    done = subprocess.run([options.program], capture_output=True, text=True, check=False)
    if done.returncode != 0:
        print(f"{options.program} exits {done.returncode}:\n{done.stdout}{done.stderr}")
        return 1
    text = cpp_text.read(root, PAGE)
    blocks = check_docs.parse(text)[0]
    printed = examples(done.stdout) | commands(root, blocks, options.reprise)
    unknown = [COMMAND.fullmatch(info)[1] for _, info, _ in blocks if COMMAND.fullmatch(info)]
    if options.write:
        text = written(text, printed)
        with open(os.path.join(root, PAGE), "w", encoding="utf-8") as file:
            file.write(text)
    found = list(findings(text, printed, cpp_text.read(root, HEADER), cpp_text.read(root, CUDA_ROWS), unknown))
    print("\n".join(found) if found else f"errors: ok ({len(printed)} messages)")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
