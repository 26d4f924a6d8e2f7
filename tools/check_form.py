#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""check_form.py [ROOT]: every source says its licence in its first lines; every header has #pragma once and no macro
guard; headers open no namespace wholesale. One line per finding."""

import re
import sys

import cpp_text

SPDX = "SPDX-License-Identifier: Apache-2.0"
SCRIPTS = (".py", ".sh", ".cmake", "CMakeLists.txt")


def header_findings(text):
    code = cpp_text.code_only(text)
    if not re.search(r"^#pragma once$", code, re.M):
        yield 1, "has no #pragma once"
    for match in re.finditer(r"^[ \t]*using\s+namespace\b", code, re.M):
        yield cpp_text.line_of(code, match.start()), "a header opens a namespace for all who include it"


def findings(root):
    folders = cpp_text.FOLDERS + ("scripts", "cmake", ".ci")
    for path in cpp_text.files(root, folders, cpp_text.CPP + SCRIPTS):
        text = cpp_text.read(root, path)
        first = [line for line in text.splitlines() if not line.startswith("#!")][:1]
        mark = "//" if path.endswith(cpp_text.CPP) else "#"
        if first != [f"{mark} {SPDX}"]:
            yield path, 1, f"the first line is not '{mark} {SPDX}'"
        if path.endswith((".h", ".hpp", ".cuh")):
            for line, message in header_findings(text):
                yield path, line, message


def main():
    root = sys.argv[1] if len(sys.argv) > 1 else "."
    found = list(findings(root))
    for path, line, message in found:
        print(f"{path}:{line}: {message}")
    print(f"form: {len(found)} findings" if found else "form: ok")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
