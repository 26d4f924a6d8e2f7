# SPDX-License-Identifier: Apache-2.0
"""Reads C++ sources for the checkers: which files there are, and their text without what isn't code."""

import os
import re

FOLDERS = ("include", "src", "cli", "tests", "examples", "bench", "tools")
CPP = (".h", ".hpp", ".cpp", ".cu", ".cuh")

# In this order: a comment's quote is no literal, a literal's slashes are no comment.
NOT_CODE = re.compile(
    r'//(?:\\\n|[^\n])*|/\*.*?\*/'
    r'|(?:u8|[uUL])?R"(?P<tag>[^\s()\\]{0,16})\(.*?\)(?P=tag)"'
    r'|"(?:\\.|[^"\\\n])*"'
    r"|(?<![0-9A-Za-z_])'(?:\\.|[^'\\\n])*'",
    re.S,
)


def files(root, folders=FOLDERS, endings=CPP):
    """Paths relative to root, sorted."""
    found = []
    for folder in folders:
        for here, subfolders, names in os.walk(os.path.join(root, folder)):
            subfolders[:] = [name for name in subfolders if name != "__pycache__"]
            found += [os.path.relpath(os.path.join(here, n), root) for n in names if n.endswith(endings)]
    return sorted(found)


def read(root, path):
    with open(os.path.join(root, path), encoding="utf-8") as file:
        return file.read()


def code_only(text):
    """The text with comments gone and literals emptied; every line keeps its number."""

    def blank(match):
        found = match.group(0)
        newlines = "\n" * found.count("\n")
        if found.startswith("/"):
            return newlines or " "
        quote = '"' if found.endswith('"') else "'"
        return quote + newlines + quote

    return NOT_CODE.sub(blank, text)


def masked(text):
    """The text with comments, literals and preprocessor lines turned into spaces; every offset keeps its place."""

    def blank(match):
        return re.sub(r"[^\n]", " ", match.group(0))

    return re.sub(r"^[ \t]*#(?:\\\n|[^\n])*", blank, NOT_CODE.sub(blank, text), flags=re.M)


def line_of(text, offset):
    return text.count("\n", 0, offset) + 1


def includes(text):
    """(line number, opening character, path) of each #include, comments left out."""
    # Literals must survive here, so only comments go.
    kept = NOT_CODE.sub(lambda m: "\n" * m[0].count("\n") if m[0].startswith("/") else m[0], text)
    for match in re.finditer(r'^[ \t]*#[ \t]*include[ \t]*([<"])([^>"\n]+)[>"]', kept, re.M):
        yield line_of(kept, match.start(1)), match.group(1), match.group(2)
