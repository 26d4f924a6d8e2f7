#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""check_sass.py [--sources FOLDER] FILE...: holds compiled kernels against what they declare, one line per finding.

FILE is a program, library or object with CUDA code. Each `ProgrammaticKernel` constant in FOLDER (src/kernels/cuda)
names a kernel; in the code for compute capability 9.0 and newer, every path through it must wait (ACQBULK) before it
reads or writes global memory or ends, where it declares that it waits, and must hold the trigger (PREEXIT) where it
declares one. cuobjdump, which comes with NVIDIA's CUDA toolkit, reads the code."""

import argparse
import os
import pathlib
import re
import shutil
import subprocess
import sys

import cpp_text

ROOT = pathlib.Path(__file__).resolve().parent.parent
FIRST_ARCHITECTURE = 90

DECLARATION = re.compile(
    r'\bProgrammaticKernel\s+\w+\s*\{\s*\.kernel\s*=\s*"(\w+)"\s*,\s*\.waits\s*=\s*(true|false)\s*,'
    r"\s*\.triggers_early\s*=\s*(true|false)\s*,?\s*\}")
WAITS_IN_SOURCE = re.compile(r"\bwait_for_producer\s*\(\s*\)\s*;")

ARCHITECTURE = re.compile(r"^\s*code for sm_(\d+)", re.M)
FUNCTION = re.compile(r"^\s*Function : (\S+)")
INSTRUCTION = re.compile(r"^\s*/\*([0-9a-f]{4,})\*/\s+(?:@!?(U?P\w+)\s+)?([A-Z][A-Z0-9_.]*)\s*([^;]*);")
TARGET = re.compile(r"(?:^|[\s,(])(0x[0-9a-f]+)\s*\)?\s*$")

WAIT = "ACQBULK"
TRIGGER = "PREEXIT"
READS = {"LD", "LDG", "LDGSTS", "UBLKCP", "UTMALDG", "ATOM", "ATOMG"}
WRITES = {"ST", "STG", "RED", "REDG", "ATOM", "ATOMG", "UBLKRED", "UTMASTG", "UTMAREDG"}
ENDS = {"EXIT", "RET", "KILL"}


def declarations(folder):
    """{kernel: (waits, triggers)} and findings about the declarations themselves."""
    declared, findings = {}, []
    for path in sorted(pathlib.Path(folder).glob("*.cu")):
        text = path.read_text(encoding="utf-8")
        here = {name: (waits == "true", triggers == "true") for name, waits, triggers in DECLARATION.findall(text)}
        declared.update(here)
        code = cpp_text.code_only(text)
        if WAITS_IN_SOURCE.search(code) and not here:
            findings.append(f"{path.name}: a kernel waits, but no ProgrammaticKernel declares it")
        for name in here:
            if not re.search(rf"\b{name}\s*\(", code):
                findings.append(f"{path.name}: '{name}' is declared, but no such kernel stands here")
    return declared, findings


class Instruction:  # pylint: disable=too-few-public-methods
    """One line of code: where it stands, what it does, and under which condition."""

    def __init__(self, match):
        address, predicate, name, operands = match.groups()
        self.address = int(address, 16)
        self.conditional = predicate not in (None, "PT", "UPT")
        self.name = name
        self.base = name.split(".")[0]
        self.operands = operands.strip()
        target = TARGET.search(self.operands)
        self.target = int(target[1], 16) if target else None


def functions(text):
    """(architecture, mangled name, [Instruction]) of each function that cuobjdump --dump-sass printed."""
    architecture, name, code = 0, None, []
    for line in text.splitlines():
        found = ARCHITECTURE.match(line) or FUNCTION.match(line)
        if found:
            if name is not None:
                yield architecture, name, code
            name, code = None, []
            if found.re is ARCHITECTURE:
                architecture = int(found[1])
            else:
                name = found[1]
            continue
        instruction = INSTRUCTION.match(line)
        if name is not None and instruction:
            code.append(Instruction(instruction))
    if name is not None:
        yield architecture, name, code


def barrier_of(instruction):
    """"B0" of `BSSY B0, 0x360` and of `BSYNC B0`: compilers use the same one again and again."""
    return instruction.operands.split(",")[0].strip()


def successors(instruction, following, joins):
    """Addresses that may run after an instruction. `joins`: where each open convergence barrier leads."""
    base = instruction.base
    if base in ENDS:
        return [following] if instruction.conditional else []
    if base in ("BRA", "JMP"):
        only_target = re.fullmatch(r"`?\(?0x[0-9a-f]+\)?", instruction.operands) is not None
        sure = not instruction.conditional and only_target and instruction.name in ("BRA", "JMP")
        return [instruction.target] if sure else [instruction.target, following]
    if base == "CALL":
        return [instruction.target, following]
    if base == "BSYNC":
        return [joins.get(barrier_of(instruction), following)]
    return [following]


def before_the_wait(code):
    """The instructions that may run before the kernel has waited."""
    index = {instruction.address: i for i, instruction in enumerate(code)}
    seen, open_ends = set(), [(0, ())] if code else []
    while open_ends:
        state = open_ends.pop()
        if state in seen:
            continue
        i, joins = state
        instruction = code[i]
        if instruction.base == WAIT and not instruction.conditional:
            continue
        seen.add(state)
        known = dict(joins)
        following = code[i + 1].address if i + 1 < len(code) else None
        after = successors(instruction, following, known)
        if instruction.base == "BSSY":
            known[barrier_of(instruction)] = instruction.target
        joins = tuple(sorted(known.items()))
        open_ends += [(index[a], joins) for a in after if a in index]
    reached = {i for i, _ in seen}
    return [code[i] for i in sorted(reached)]


def function_findings(code, waits, triggers):
    names = {instruction.base for instruction in code}
    if triggers and TRIGGER not in names:
        yield f"declares a trigger, but holds no {TRIGGER}"
    if not waits:
        return
    if WAIT not in names:
        yield f"declares that it waits, but holds no {WAIT}"
        return
    for instruction in before_the_wait(code):
        at = f"{instruction.name} at {instruction.address:#06x}"
        if instruction.base in WRITES:
            yield f"may write before it waits: {at}"
        elif instruction.base in READS:
            yield f"may read before it waits: {at}"
        elif instruction.base in ENDS:
            yield f"may end before it waits: {at}"


def check(text, declared):
    """(findings, functions checked) for what cuobjdump printed."""
    findings, checked, missing, new_enough = [], 0, set(declared), False
    for architecture, name, code in functions(text):
        if architecture < FIRST_ARCHITECTURE:
            continue
        new_enough = True
        for kernel, (waits, triggers) in declared.items():
            if f"{len(kernel)}{kernel}" not in name:  # as C++ mangles it
                continue
            missing.discard(kernel)
            checked += 1
            findings += [f"{kernel} for sm_{architecture} ({name}) {fault}"
                         for fault in function_findings(code, waits, triggers)]
    if new_enough:
        findings += [f"{kernel} is declared, but the code holds no such kernel" for kernel in sorted(missing)]
    return findings, checked


def find_cuobjdump():
    places = [os.path.join(os.environ.get("CUDA_HOME", "/usr/local/cuda"), "bin"), "/usr/local/cuda/bin"]
    return shutil.which("cuobjdump", path=os.pathsep.join([os.environ.get("PATH", ""), *places]))


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--sources", default=ROOT / "src" / "kernels" / "cuda", help="where the declarations stand")
    parser.add_argument("files", nargs="+", metavar="FILE", help="programs, libraries or objects")
    options = parser.parse_args()
    cuobjdump = find_cuobjdump()
    if cuobjdump is None:
        sys.exit("sass: cuobjdump was not found; it comes with NVIDIA's CUDA toolkit")
    declared, findings = declarations(options.sources)
    if not declared:
        findings.append(f"no ProgrammaticKernel is declared in {options.sources}")
    text = ""
    for file in options.files:
        done = subprocess.run([cuobjdump, "--dump-sass", file], capture_output=True, text=True, check=False)
        if done.returncode != 0:
            sys.exit(f"sass: cuobjdump --dump-sass {file}: {done.stderr.strip() or done.returncode}")
        text += done.stdout + "\n"
    more, checked = check(text, declared)
    findings += more
    for finding in findings:
        print(f"sass: {finding}")
    if findings:
        sys.exit(1)
    if checked == 0:
        sys.exit("sass: no code for compute capability 9.0 or newer in " + ", ".join(options.files))
    print(f"sass: ok ({checked} functions of {len(declared)} kernels)")


if __name__ == "__main__":
    main()
