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


def short_name(model):
    """random:llama-2-7b -> llama-2-7b, models/demo -> demo"""
    return re.split(r"[:/]", model.rstrip("/"))[-1]


def cell(value):
    """Three significant digits, so that a column of milliseconds is honest about its precision."""
    if value is None:
        return ""
    digits = 3 if value < 1 else 2 if value < 10 else 1
    return f"{value:.{digits}f}"


def record_series(record, path):
    """[(model, series, {batch: ms})] of one record, and the batches."""
    series = {}
    for row in record.get("results", []):
        try:
            key = (short_name(row["model"]), NAMES[row["mode"]])
            series.setdefault(key, {})[int(row["batch"])] = float(row["ms_per_step_median"])
        except (KeyError, TypeError, ValueError) as error:
            raise Fault(f"{path}: a result lacks or misstates {error}") from error
    if not series:
        raise Fault(f"{path}: holds no results")
    # The recorded line first: it is what a reader came for.
    return sorted(series.items(), key=lambda item: (item[0][0], item[0][1] != "recorded"))


def one_value(records, name):
    values = {record[name] for record in records}
    if len(values) != 1:
        raise Fault(f"the records differ in {name}: {', '.join(sorted(map(str, values)))}")
    return values.pop()


def table(paths, peers_path=None):
    records = [load(path) for path in paths]
    peers = load(peers_path)["models"] if peers_path else {}
    rows, batches = [], set()
    for record, path in zip(records, paths):
        series = record_series(record, path)
        for (model, name), figures in series:
            rows.append((f"**{model}**, {name}", figures, name == "recorded"))
            batches |= figures.keys()
        for model in dict.fromkeys(model for (model, _), _ in series):
            for name, figures in peers.get(model, {}).items():
                rows.append((name, {int(batch): ms for batch, ms in figures.items()}, False))
    batches = sorted(batches)
    lines = ["| ms per step, batch: | " + " | ".join(map(str, batches)) + " |",
             "|---|" + "---:|" * len(batches)]
    for name, figures, bold in rows:
        cells = [cell(figures.get(batch)) for batch in batches]
        cells = [f"**{text}**" if bold and text else text for text in cells]
        lines.append(f"| {name} | " + " | ".join(cells) + " |")
    lines.append("")
    made = dict.fromkeys(f"{record['date'][:10]}, commit `{record['commit']}`" for record in records)
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
