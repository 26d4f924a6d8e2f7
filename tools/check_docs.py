#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""check_docs.py [--run | --fill] [ROOT]: links of the Markdown pages lead to files that exist; with --run, every block
fenced as ```bash run is run from ROOT, in the order of the page, and must exit 0.

A block fenced as ```cpp FILE#REGION holds what stands in FILE between the lines // [REGION] and // [/REGION], so that
it is compiled and run with FILE; --fill writes it. The guide and the porting page hold no other C++."""

import argparse
import glob
import os
import re
import subprocess
import sys
import textwrap
import time

FENCE = re.compile(r"^(\s*)(```+|~~~+)\s*(.*?)\s*$")
LINK = re.compile(r"\[[^\]]*\]\(([^)\s]+)\)")
SNIPPET = re.compile(r"cpp (\S+?)#(.+)")
COMPILED_ONLY = ("docs/guide/", "docs/porting-from-pytorch.md")
MINUTES = 15


def pages(root):
    found = [path for pattern in ("*.md", "models/*.md", "docs/**/*.md")
             for path in glob.glob(os.path.join(root, pattern), recursive=True)]
    return sorted(os.path.relpath(path, root) for path in found)


def parse(text):
    """(blocks, prose, unclosed): blocks are (line, info, text); prose is (line, text) outside of them."""
    blocks, prose, opened = [], [], None
    for number, line in enumerate(text.splitlines(), 1):
        fence = FENCE.match(line)
        if opened is None and fence:
            opened = (number, fence.group(2), fence.group(3), [])
        elif opened is None:
            prose.append((number, line))
        elif fence and fence.group(2).startswith(opened[1]) and not fence.group(3):
            blocks.append((opened[0], opened[2], "".join(f"{text}\n" for text in opened[3])))
            opened = None
        else:
            opened[3].append(line)
    return blocks, prose, opened[0] if opened else None


def link_findings(root, page, prose):
    for line, text in prose:
        for target in LINK.findall(re.sub(r"`[^`]*`", "", text)):
            path = target.split("#")[0]
            if not path or re.match(r"[a-z]+:", target):
                continue
            if not os.path.exists(os.path.join(root, os.path.dirname(page), path)):
                yield f"{page}:{line}: the link to {target} leads nowhere"


def region(root, path, name):
    """The lines of FILE#REGION, without their common indent; None where there are none."""
    try:
        with open(os.path.join(root, path), encoding="utf-8") as file:
            text = file.read()
    except OSError:
        return None
    marks = re.search(rf"^ *// \[{re.escape(name)}\]\n(.*?)^ *// \[/{re.escape(name)}\]$", text, re.M | re.S)
    return textwrap.dedent(marks.group(1)) if marks else None


def snippet_findings(root, page, blocks):
    for line, info, text in blocks:
        snippet = SNIPPET.fullmatch(info)
        if snippet:
            wanted = region(root, *snippet.groups())
            if wanted is None:
                yield f"{page}:{line}: there is no region [{snippet.group(2)}] in {snippet.group(1)}"
            elif wanted != text:
                yield f"{page}:{line}: differs from {snippet.group(1)}: tools/check_docs.py --fill"
        elif info.split()[:1] == ["cpp"] and page.startswith(COMPILED_ONLY):
            yield f"{page}:{line}: this C++ is compiled nowhere: fence it as cpp FILE#REGION"


def filled(root, text):
    """The page's text with every snippet as its file has it."""
    lines = text.splitlines(keepends=True)
    for line, info, old in reversed(parse(text)[0]):
        snippet = SNIPPET.fullmatch(info)
        new = region(root, *snippet.groups()) if snippet else None
        if new is not None:
            lines[line:line + old.count("\n")] = [new]
    return "".join(lines)


def fill(root):
    for page in pages(root):
        path = os.path.join(root, page)
        with open(path, encoding="utf-8") as file:
            old = file.read()
        new = filled(root, old)
        if new != old:
            with open(path, "w", encoding="utf-8") as file:
                file.write(new)


def run(root, page, line, script):
    print(f"-- {page}:{line}\n{script}", flush=True)
    start = time.monotonic()
    try:
        code = subprocess.run(["bash", "-euo", "pipefail", "-c", script], cwd=root, stdin=subprocess.DEVNULL,
                              timeout=MINUTES * 60, check=False).returncode
    except subprocess.TimeoutExpired:
        return f"{page}:{line}: the block did not end within {MINUTES} minutes"
    print(f"-- exit {code} after {time.monotonic() - start:.1f} s", flush=True)
    return f"{page}:{line}: the block marked as runnable exits {code}" if code else None


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--run", action="store_true")
    parser.add_argument("--fill", action="store_true")
    parser.add_argument("root", nargs="?", default=".")
    options = parser.parse_args()
    found, ran = [], 0
    if options.fill:
        fill(options.root)
    for page in pages(options.root):
        with open(os.path.join(options.root, page), encoding="utf-8") as file:
            blocks, prose, unclosed = parse(file.read())
        if unclosed:
            found.append(f"{page}:{unclosed}: this fence is never closed")
        found += link_findings(options.root, page, prose)
        found += snippet_findings(options.root, page, blocks)
        for line, info, script in blocks:
            if info.split() == ["bash", "run"] and options.run:
                ran += 1
                complaint = run(options.root, page, line, script)
                found += [complaint] if complaint else []
    for finding in found:
        print(finding)
    print(f"docs: {len(found)} findings" if found else f"docs: ok ({ran} blocks run)")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
