#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""check_docs.py [--run] [ROOT]: links of the Markdown pages lead to files that exist; with --run, every block fenced
as ```bash run is run from ROOT, in the order of the page, and must exit 0."""

import argparse
import glob
import os
import re
import subprocess
import sys
import time

FENCE = re.compile(r"^(\s*)(```+|~~~+)\s*(.*?)\s*$")
LINK = re.compile(r"\[[^\]]*\]\(([^)\s]+)\)")
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
            blocks.append((opened[0], opened[2], "\n".join(opened[3]) + "\n"))
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
    parser.add_argument("root", nargs="?", default=".")
    options = parser.parse_args()
    found, ran = [], 0
    for page in pages(options.root):
        with open(os.path.join(options.root, page), encoding="utf-8") as file:
            blocks, prose, unclosed = parse(file.read())
        if unclosed:
            found.append(f"{page}:{unclosed}: this fence is never closed")
        found += link_findings(options.root, page, prose)
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
