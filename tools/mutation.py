# SPDX-License-Identifier: Apache-2.0
"""Finds the places where tools/mutants.py can break a C++ source, one small change each.

The text is read with comments, literals and preprocessor lines masked. clang-format puts spaces round binary operators
and none round template brackets, pointers and references, which is what tells them apart here.
"""

import bisect
import dataclasses
import hashlib
import re

import cpp_text

FOLDERS = ("src/graph", "src/memory", "src/device/host")

SWAPS = {
    "relational": {"<": "<=", "<=": "<", ">": ">=", ">=": ">", "==": "!=", "!=": "=="},
    "arithmetic": {"+": "-", "-": "+", "*": "/", "/": "*", "%": "*", "+=": "-=", "-=": "+="},
    "logical": {"&&": "||", "||": "&&"},
}
NUMBER = re.compile(r"(?<![\w.'])\d+(?=[uUlL]*(?![\w.']))")
CONDITION = re.compile(r"\b(?:if|while)\s*(?:constexpr\s*)?\(")
EXIT = re.compile(r"\b(?:return|throw)\b")


@dataclasses.dataclass(frozen=True)
class Mutant:
    path: str
    line: int
    kind: str
    offset: int
    before: str
    after: str
    key: str  # tells the place apart from all others, whatever lines come and go above it

    def apply(self, text):
        end = self.offset + len(self.before)
        if text[self.offset:end] != self.before:
            raise ValueError(f"{self.path} is not the text that the mutant was found in")
        return text[:self.offset] + self.after + text[end:]


def closing(code, opening):
    """The offset of the bracket that closes the one at `opening`; None where there is none."""
    depth = 0
    for at in range(opening, len(code)):
        if code[at] in "([{":
            depth += 1
        elif code[at] in ")]}":
            depth -= 1
            if depth == 0:
                return at
    return None


def joins_text(text, start, end):
    """True for the + of strings, which has no other operator to be."""
    return text[start:end] == "+" and '"' in (text[:start].rstrip()[-1:], text[end:].lstrip()[:1])


def swaps(code):
    for kind, table in SWAPS.items():
        operators = "|".join(re.escape(op) for op in sorted(table, key=len, reverse=True))
        for found in re.finditer(rf"(?<=[ \n])(?:{operators})(?=[ \n])", code):
            if not re.search(r"operator\s*$", code[:found.start()][-12:]):
                yield kind, found.start(), found.end(), table[found.group()]


def conditions(code):
    for found in CONDITION.finditer(code):
        start, end = found.end(), closing(code, found.end() - 1)
        if end is None:
            continue
        statement = code.rfind(";", start, end)  # if (const auto it = ...; condition)
        start = start if statement < 0 else statement + 1
        start += len(code[start:end]) - len(code[start:end].lstrip())
        if re.search(r"[\w*&>] = ", code[start:end]):
            continue  # a declaration has no negation
        yield "negated condition", start, end, None


def numbers(code):
    for found in NUMBER.finditer(code):
        yield "constant", found.start(), found.end(), str(int(found.group()) + 1)


def opened_by_condition(code, at):
    """True where the innermost brace open at `at` belongs to an if, else or loop."""
    depth = 0
    while at > 0:
        at -= 1
        if code[at] == "}":
            depth += 1
        elif code[at] == "{":
            if depth == 0:
                return bool(re.search(r"(?:\b(?:if|for|while)\b[^;{}]*(?:;[^{}]*)?\)|\belse|\bdo)\s*$", code[max(0, at - 300):at]))
            depth -= 1
    return False


def exits(code):
    """Returns and throws that leave a function early: guarded by a condition."""
    for found in EXIT.finditer(code):
        before = code[:found.start()].rstrip()
        if not (before.endswith((")", "else")) or opened_by_condition(code, found.start())):
            continue
        at = found.end()
        while at < len(code) and code[at] != ";":
            at = (closing(code, at) or len(code)) if code[at] in "([{" else at
            at += 1
        yield "removed exit", found.start(), at + 1, ";"


def mutants_of(path, text):
    """All of one file, in the order of their places."""
    code = cpp_text.masked(text)
    line_starts = [0] + [found.end() for found in re.finditer("\n", text)]
    seen, found = {}, []
    places = [place for finder in (swaps, conditions, numbers, exits) for place in finder(code)]
    for kind, start, end, after in sorted(places, key=lambda place: (place[1], place[0])):
        if joins_text(text, start, end):
            continue
        before = text[start:end]
        number = bisect.bisect_right(line_starts, start)
        line_end = line_starts[number] if number < len(line_starts) else len(text)
        line = text[line_starts[number - 1]:line_end]
        column = start - line_starts[number - 1] - (len(line) - len(line.lstrip()))
        place = f"{path} | {line.strip()} | {kind} at {column}"
        seen[place] = seen.get(place, 0) + 1
        key = place if seen[place] == 1 else f"{place} ({seen[place]})"
        found.append(Mutant(path, number, kind, start, before, f"!({before})" if after is None else after, key))
    return found


def all_mutants(root):
    found = []
    for path in cpp_text.files(root, FOLDERS, (".h", ".cpp")):
        found += mutants_of(path, cpp_text.read(root, path))
    return found


def drawn(mutants, seed):
    """The mutants in the order of the draw, no two of one line. Code that comes or goes moves no other mutant."""
    lines = set()
    for mutant in sorted(mutants, key=lambda mutant: hashlib.sha256(f"{seed} {mutant.key}".encode()).digest()):
        if (mutant.path, mutant.line) not in lines:
            lines.add((mutant.path, mutant.line))
            yield mutant


def one_line(text):
    return " ".join(text.split())


def shown(mutant):
    """The change as the record shows it."""
    if mutant.kind == "removed exit":
        return f"without `{one_line(mutant.before)}`"
    return f"`{one_line(mutant.before)}` is `{one_line(mutant.after)}`"
