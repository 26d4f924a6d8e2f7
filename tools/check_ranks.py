#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""check_ranks.py [ROOT]: the rules on who may include and call what, with one line per finding.

A file includes its own folder and lower ranks, minus the exceptions below; public headers have the rank of the
folder that implements them. CUDA's headers stay under */cuda/, the environment and exit() in cli/, nlohmann/json in
a few .cpp files and CLI11 in one."""

import os
import re
import sys

import cpp_text

RANKS = {"core": 0, "device": 1, "memory": 2, "graph": 3, "kernels": 3, "model": 4, "diag": 4, "engine": 5,
         "server": 6, "cli": 7}
# Beyond the ranks: the first never includes the second.
NEVER = {("model", "graph"), ("diag", "kernels")}
# Which folder stands behind a public header; unlisted, it is the one that has the header's .cpp (src/graph/graph.cpp).
PUBLIC = {
    "core": ("dtype", "error", "shape"),
    "device": ("address_range", "cuda", "cuda_launch", "device", "host", "launch_declaration", "launch_geometry",
               "memory", "recording_watch"),
    "memory": ("memory_pool",),
    "graph": ("graph", "graph_pool", "graph_runner", "pool_report", "run_state", "step"),
}
CUDA_PUBLIC = ("include/reprise/cuda.h", "include/reprise/cuda_launch.h")
PUBLIC_FOLDER = {f"reprise/{name}.h": folder for folder, names in PUBLIC.items() for name in names}

CUDA_HEADER = re.compile(r"^(cuda[_.A-Za-z]*(\.h|\.hpp)$|cuda/|cub/|thrust/|cublas|cupti|nccl|nvrtc|nvtx3/|nvToolsExt|nvml"
                         r"|cooperative_groups|mma\.h$|vector_types\.h$|device_launch_parameters)")
ENVIRONMENT = re.compile(r"(?<![\w.>])((?:std::|::)?(?:getenv|secure_getenv|setenv|unsetenv|putenv|exit|_exit|_Exit"
                         r"|quick_exit))\s*\(")
JSON_FILES = 5


def public_folder(root, name):
    """The folder behind reprise/….h, or None where neither the table nor exactly one .cpp tells."""
    if name in PUBLIC_FOLDER:
        return PUBLIC_FOLDER[name]
    source = os.path.basename(name)[: -len(".h")] + ".cpp"
    folders = {path.split("/")[1] for path in cpp_text.files(root, ("src",)) if os.path.basename(path) == source}
    return folders.pop() if len(folders) == 1 else None


def folder_of(root, path):
    parts = path.split("/")
    if parts[0] == "src":
        return parts[1] if len(parts) > 2 else None
    if parts[0] == "include":
        return public_folder(root, "/".join(parts[1:]))
    return parts[0]


def is_cuda(path):
    return "cuda" in path.split("/")[:-1] or path in CUDA_PUBLIC


def installed(path, name):
    """Whether who has our installed headers has <name> too: the standard library's, ours, and CUDA's for cuda.h."""
    return not re.search(r"[./]", name) or name.startswith("reprise/") or (is_cuda(path) and CUDA_HEADER.match(name))


def target_folder(root, path, opening, name):
    """(folder of an included file, or None where it is not ours; a complaint about its spelling, or None)"""
    if name.startswith("reprise/"):
        if not os.path.exists(os.path.join(root, "include", name)):
            return None, f"<{name}> does not exist under include/"
        if opening == '"':
            return None, f'write <{name}>: public headers stand in angle brackets'
        return public_folder(root, name), None  # one without a rank is said at its own place
    if opening == "<":
        return None, None
    if path.startswith("include/"):
        return None, f'a public header includes "{name}", which its users do not have'
    if os.path.exists(os.path.join(root, "src", name)) and "/" in name:
        return name.split("/")[0], None
    if path.startswith("cli/") and os.path.exists(os.path.join(root, "cli", name)):
        return "cli", None
    return None, f'"{name}" is no file under src/: includes are written from there ("model/config.h")'


def include_findings(root, path, text):
    own = folder_of(root, path)
    if own is None and path.startswith("include/"):
        yield 1, "this public header has no rank yet: add it to PUBLIC in tools/check_ranks.py"
        return
    if own not in RANKS:
        yield 1, f"folder '{own}' has no rank: {', '.join(RANKS)} have"
        return
    for line, opening, name in cpp_text.includes(text):
        if CUDA_HEADER.match(name) and opening == "<" and not is_cuda(path):
            yield line, f"<{name}> belongs under a cuda/ folder"
        if opening == '"' and is_cuda(name) and not is_cuda(path):
            yield line, f'"{name}" is seen only by files under a cuda/ folder'
        if path.startswith("include/") and opening == "<" and not installed(path, name):
            yield line, f"a public header includes <{name}>, which is not installed with it"
        folder, complaint = target_folder(root, path, opening, name)
        if complaint:
            yield line, complaint
        if folder is None or folder == own:
            continue
        if folder not in RANKS:
            yield line, f"{name}: folder '{folder}' has no rank"
        elif RANKS[folder] >= RANKS[own]:
            yield line, f"{own} (rank {RANKS[own]}) may not include {name}: {folder} has rank {RANKS[folder]}"
        elif (own, folder) in NEVER:
            yield line, f"{own} never sees {folder}, so it may not include {name}"


def call_findings(path, text):
    if path.startswith("cli/"):
        return
    code = cpp_text.code_only(text)
    for match in ENVIRONMENT.finditer(code):
        yield cpp_text.line_of(code, match.start()), f"{match.group(1)}() is for cli/ only"


def library_findings(users, library, most, advice):
    """users: the files that include the library."""
    for path in users:
        if not path.endswith(".cpp"):
            yield path, 1, f"{library} is included by a header: {advice}"
    if len(users) > most:
        yield users[-1], 1, f"{library} is included by {len(users)} files, at most {most} may: {', '.join(users)}"


def findings(root):
    json_users, cli_users = [], []
    for path in cpp_text.files(root, ("include", "src", "cli")):
        text = cpp_text.read(root, path)
        names = [name for _, _, name in cpp_text.includes(text)]
        if any(name.startswith("nlohmann/") for name in names):
            json_users.append(path)
        if any(name.startswith("CLI/") for name in names):
            cli_users.append(path)
        for line, message in include_findings(root, path, text):
            yield path, line, message
        for line, message in call_findings(path, text):
            yield path, line, message
    yield from library_findings(json_users, "nlohmann/json", JSON_FILES, "keep it in the folder's JSON helper")
    yield from library_findings(cli_users, "CLI11", 1, "keep it in the one .cpp that reads the command line")


def main():
    root = sys.argv[1] if len(sys.argv) > 1 else "."
    found = list(findings(root))
    for path, line, message in found:
        print(f"{path}:{line}: {message}")
    print(f"ranks: {len(found)} findings" if found else "ranks: ok")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
