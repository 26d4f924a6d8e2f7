#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes Markdown tables from the records of `reprise bench --json`.

bench_table.py [--peers FILE] RECORD...   prints the table of these records
bench_table.py --fill [--check] PAGE...   renews the tables inside the pages; --check only compares

In a page a table stands between two comment lines:
    <!-- bench-table PEERS RECORD... -->      paths from the repository's root; PEERS may be -
    <!-- end of bench-table -->
"""
import argparse
import json
import math
import os
import re
import sys

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
BLOCK = re.compile(r"(<!-- bench-table (.+?) -->\n)(.*?)(<!-- end of bench-table -->)", re.DOTALL)
NAMES = {"eager": "eager", "graph": "recorded"}


class Fault(Exception):
    """Something in the input is not as it must be; the message says what."""


def load(path):
    try:
        with open(path, encoding="utf-8") as file:
            return json.load(file)
    except OSError as error:
        raise Fault(f"{path}: {error.strerror}") from error
    except ValueError as error:
        raise Fault(f"{path}: not JSON: {error}") from error


def plain(value, what):
    """Text from a record as one cell of a table or part of a line: no markup of Markdown or HTML."""
    if not isinstance(value, str) or not value.strip():
        raise Fault(f"{what} is {value!r}, not a text")
    escaped = re.sub(r"([\\`*\[\]|])", r"\\\1", " ".join(value.split()))
    return escaped.replace("&", "&amp;").replace("<", "&lt;")


def milliseconds(value, what):
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not (0 < value and math.isfinite(value)):
        raise Fault(f"{what} is {value!r}, not a time")
    return float(value)


def member(tree, name, kind, what):
    """tree[name], which must be a `kind`."""
    if not isinstance(tree, dict) or not isinstance(tree.get(name), kind):
        raise Fault(f"{what}: {name} is absent or of another type")
    return tree[name]


def short_name(model):
    """random:llama-2-7b -> llama-2-7b, models/demo -> demo"""
    return re.split(r"[:/]", model.rstrip("/"))[-1]


def cell(value):
    """Three significant digits, so that a column of milliseconds is honest about its precision."""
    if value is None:
        return ""  # not measured
    digits = 3 if value < 1 else 2 if value < 10 else 1
    return f"{value:.{digits}f}"


def batch_size(text, what):
    """Of at least 1, as a number; JSON's keys are texts."""
    if isinstance(text, bool) or not re.fullmatch(r"[1-9][0-9]{0,8}", str(text)):
        raise Fault(f"{what} is {text!r}, not a batch size")
    return int(text)


def record_series(record, path):
    """[((model, series), {batch: ms})] of one record."""
    series = {}
    kinds = set()
    for row in member(record, "results", list, path):
        model = short_name(member(row, "model", str, path))
        mode = member(row, "mode", str, path)
        if mode not in NAMES:
            raise Fault(f"{path}: mode is {mode!r}, not one of {', '.join(NAMES)}")
        batch = batch_size(row.get("batch"), f"{path}: batch")
        figures = series.setdefault((model, NAMES[mode]), {})
        # One line cannot hold two contexts: the last one would stand for all.
        if batch in figures:
            raise Fault(f"{path}: holds batch {batch} of {model}, {NAMES[mode]}, more than once")
        kinds.add(tuple(str(row.get(name)) for name in ("context", "lengths", "block_table", "variant")))
        if len(kinds) > 1:
            raise Fault(f"{path}: its results differ in context, lengths, block table or variant; a table has one of them")
        figures[batch] = milliseconds(row.get("ms_per_step_median"), f"{path}: ms_per_step_median")
    if not series:
        raise Fault(f"{path}: holds no results")
    # The recorded line first: it is what a reader came for.
    return sorted(series.items(), key=lambda item: (item[0][0], item[0][1] != "recorded"))


def one_value(records, name):
    values = {member(record, name, str, "a record") for record in records}
    if len(values) != 1:
        raise Fault(f"the records differ in {name}: {', '.join(sorted(values))}")
    return plain(values.pop(), name)


def peers_of(tree, model, path):
    """[(system, {batch: ms})]; none where the file holds none of the model."""
    models = member(tree, "models", dict, path)
    if model not in models:
        return []
    systems = member(models, model, dict, path)
    return [(plain(name, f"{path}: a system's name"),
             {batch_size(batch, f"{path}: batch"): milliseconds(ms, f"{path}: {name}")
              for batch, ms in member(systems, name, dict, path).items()}) for name in systems]


def table_rows(records, paths, peers, peers_path):
    """[(name, {batch: ms}, bold)] and the batches that were measured here."""
    rows, batches = [], set()
    for record, path in zip(records, paths):
        series = record_series(record, path)
        for (model, name), figures in series:
            rows.append((f"**{plain(model, path)}**, {name}", figures, name == "recorded"))
            batches |= figures.keys()
        for model in dict.fromkeys(model for (model, _), _ in series):
            if peers_path:
                rows += [(name, figures, False) for name, figures in peers_of(peers, model, peers_path)]
    return rows, sorted(batches)


def table(paths, peers_path=None):
    records = [load(path) for path in paths]
    rows, batches = table_rows(records, paths, load(peers_path) if peers_path else None, peers_path)
    lines = ["| ms per step, batch: | " + " | ".join(map(str, batches)) + " |",
             "|---|" + "---:|" * len(batches)]
    for name, figures, bold in rows:
        cells = [cell(figures.get(batch)) for batch in batches]
        cells = [f"**{text}**" if bold and text else text for text in cells]
        lines.append(f"| {name} | " + " | ".join(cells) + " |")
    lines.append("")
    made = dict.fromkeys(f"{plain(member(record, 'date', str, path)[:10], path)}, commit "
                         f"`{plain(member(record, 'commit', str, path), path)}`"
                         for record, path in zip(records, paths))
    files = ", ".join(f"`{os.path.basename(path)}`" for path in paths)
    lines.append(f"{one_value(records, 'device')}, driver {one_value(records, 'driver')}, {'; '.join(made)}. "
                 f"Each record holds the command that made it: {files}.")
    return "\n".join(lines) + "\n"


def filled(page):
    with open(page, encoding="utf-8") as file:
        text = file.read()

    def renew(match):
        peers, *paths = match.group(2).split()
        paths = [os.path.join(ROOT, path) for path in paths]
        return match.group(1) + "\n" + table(paths, None if peers == "-" else os.path.join(ROOT, peers)) + "\n" + \
            match.group(4)

    if text.count("<!-- bench-table ") != len(BLOCK.findall(text)):
        raise Fault(f"{page}: a bench-table has no end")
    return text, BLOCK.sub(renew, text)


def fill(pages, check):
    stale = []
    for page in pages:
        old, new = filled(page)
        if old == new:
            continue
        stale.append(page)
        if not check:
            with open(page, "w", encoding="utf-8") as file:
                file.write(new)
    if check and stale:
        raise Fault(f"not what the records say: {', '.join(stale)}. Try: tools/bench_table.py --fill {' '.join(stale)}")
    print(f"bench tables: ok ({len(pages)} pages)")


def main():
    parser = argparse.ArgumentParser(description="Markdown tables from the records of reprise bench")
    parser.add_argument("--peers", metavar="FILE", help="figures of other systems to stand beside")
    parser.add_argument("--fill", action="store_true", help="renew the tables inside the pages given")
    parser.add_argument("--check", action="store_true", help="with --fill: write nothing, fail where a table is stale")
    parser.add_argument("files", nargs="+")
    options = parser.parse_args()
    try:
        if options.fill:
            fill(options.files, options.check)
        else:
            sys.stdout.write(table(options.files, options.peers))
    except Fault as fault:
        sys.exit(f"error: {fault}")


if __name__ == "__main__":
    main()
