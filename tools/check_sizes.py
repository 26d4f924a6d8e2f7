#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""check_sizes.py [ROOT]: no file above 500 lines, no function above 60, with one line per finding.

C++ functions are found by their braces: a brace at namespace or class level whose head holds a parameter list opens
one. A function's lines run from its head to its closing brace. Lambdas count with the function round them."""

import ast
import re
import sys

import cpp_text

FILE_LINES = 500
FUNCTION_LINES = 60
LABELS = re.compile(r"^\s*((public|protected|private)\s*:(?!:)\s*)*")
SCOPE = re.compile(r"\b(namespace|class|struct|union|enum|extern|concept)\b")
NOT_A_NAME = {"noexcept", "requires", "decltype", "__attribute__", "__launch_bounds__", "alignas", "explicit"}


def without_groups(head, opening, closing):
    """head with what stands between matching opening and closing removed (the pair itself stays)."""
    kept, depth = [], 0
    for char in head:
        if char == closing:
            depth = max(0, depth - 1)
        if depth == 0:
            kept.append(char)
        if char == opening:
            depth += 1
    return "".join(kept)


def flat(head):
    """The head without labels, and with the insides of parentheses and of a template's parameters gone."""
    head = without_groups(LABELS.sub("", head), "(", ")")
    return re.sub(r"\btemplate\s*<[^{]*?>(?=\s*[^\s>,])", "", head) if "template" in head else head


def kind(head):
    """What the brace after head opens: 'function', 'scope', 'part' of a head that goes on (b_{…} of a constructor,
    a default argument's {}) or 'other'."""
    if head.count("(") > head.count(")"):
        return "part"
    text = flat(head).strip()
    if SCOPE.search(text) and not re.search(r"\)\s*(const|noexcept|override|final)?\s*$", text):
        return "scope"
    if "(" not in text:
        return "other"
    if re.search(r"(?<![=!<>+\-*/%&|^])=(?!=)", re.sub(r"operator\s*\S+?(?=\()", "operator", text)):
        return "other"
    in_initialisers = re.search(r"\)[\w\s]*(?<!:):(?!:)", text)
    if in_initialisers and re.search(r"[\w>]\s*$", text):
        return "part"
    return "function"


def name_of(head):
    names = [n for n in re.findall(r"([~\w:]+(?:\s*operator\s*\S+?)?|operator\s*\S+?)\s*\(", flat(head).split(" : ")[0])]
    names = [n for n in names if n not in NOT_A_NAME]
    return names[-1] if names else "function"


def cpp_functions(text):
    """(name, first line, last line) of each function; last line None where braces don't balance."""
    code = re.sub(r"^[ \t]*#(?:\\\n|[^\n])*", lambda m: "\n" * m[0].count("\n"), cpp_text.code_only(text), flags=re.M)
    stack, start = [], 0  # stack: (kind, head, first line); start: where the current head begins
    for match in re.finditer(r"[{};]", code):
        char, at = match.group(0), match.start()
        inside = any(entry[0] != "scope" for entry in stack)
        if char == "{":
            head = code[start:at]
            what = "other" if inside else kind(head)
            first = cpp_text.line_of(code, start + LABELS.match(head).end())
            stack.append((what, head, first))
            if what != "part" and not inside:
                start = at + 1
        elif char == "}":
            if not stack:
                yield "a brace", cpp_text.line_of(code, at), None
                return
            what, head, first = stack.pop()
            if what == "function":
                yield name_of(head), first, cpp_text.line_of(code, at)
            if what != "part" and all(entry[0] == "scope" for entry in stack):
                start = at + 1
        elif not inside and code[start:at].count("(") == code[start:at].count(")"):
            start = at + 1
    if stack:
        yield "a brace", stack[0][2], None


def python_functions(text):
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
            yield node.name, node.lineno, node.end_lineno


def findings(root):
    for path in cpp_text.files(root, endings=cpp_text.CPP + (".py", ".sh")):
        text = cpp_text.read(root, path)
        lines = len(text.splitlines())
        if lines > FILE_LINES:
            yield path, 1, f"{lines} lines, at most {FILE_LINES}: split it by idea"
        if path.endswith(".sh"):
            continue
        functions = python_functions(text) if path.endswith(".py") else cpp_functions(text)
        for name, first, last in functions:
            if last is None:
                yield path, first, "braces don't balance, so its functions cannot be measured (a brace under #if?)"
            elif last - first + 1 > FUNCTION_LINES:
                yield path, first, f"{name} has {last - first + 1} lines, at most {FUNCTION_LINES}"


def main():
    root = sys.argv[1] if len(sys.argv) > 1 else "."
    found = list(findings(root))
    for path, line, message in found:
        print(f"{path}:{line}: {message}")
    print(f"sizes: {len(found)} findings" if found else "sizes: ok")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
