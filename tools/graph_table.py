#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes the page of a record of bench_graph, docs/benchmarks/h200-graph.json -> h200-graph.md.

graph_table.py RECORD PAGE           writes the page
graph_table.py --check RECORD PAGE   writes nothing, fails where the page says something else

Beside each figure that has one stands the limit it must keep, and whether it does.
"""
import argparse
import math
import sys

from bench_table import Fault, load, member, plain

HAND_US = 0.5  # a replay without inputs may cost the host so much more than a launch by hand
LADDERS = {35: (0.2, 1.5, 64), 51: (0.3, None, None)}  # sizes: record s, the rest s, MiB beyond eager
FRAGMENTATION = 0.05
WAKE_S = 0.5  # of 16 GiB of cache
WAKE_GIB = 16


def figure(tree, name):
    value = tree.get(name) if isinstance(tree, dict) else None
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not math.isfinite(value):
        raise Fault(f"{name} is {value!r}, not a number")
    return value


def count(tree, name):
    value = figure(tree, name)
    if not isinstance(value, int) or value < 0:
        raise Fault(f"{name} is {value!r}, not a count")
    return str(value)


def word(tree, name):
    return plain(member(tree, name, str, "record"), name)


def rows_of(record, name):
    rows = member(record, name, list, "record")
    if not rows:
        raise Fault(f"record: {name} is empty")
    return rows


def text(value, digits=3):
    return f"{value:.{digits}g}" if abs(value) < 1000 else f"{value:.0f}"


def held(value, limit):
    """The figure beside what it must not exceed."""
    return f"{text(value)} ({'' if value <= limit else '**missed**, '}must be ≤ {text(limit)})"


def table(head, rows):
    lines = ["| " + " | ".join(head) + " |", "|---|" + "---:|" * (len(head) - 1)]
    return lines + ["| " + " | ".join(row) + " |" for row in rows]


def launches(record):
    rows = []
    for row in rows_of(record, "launches"):
        by_hand = "hand_us" in row or "runner_above_hand_us" in row  # only a GPU has launches by hand
        rows.append([count(row, "nodes"), text(figure(row, "hand_us")) if by_hand else "",
                     text(figure(row, "runner_us")), text(figure(row, "pool_us")),
                     held(figure(row, "runner_above_hand_us"), HAND_US) if by_hand else ""])
    lines = ["## Host time of a replay, µs", "", "No input is copied. By hand: `cudaGraphLaunch` in a loop.", ""]
    lines += table(["nodes", "by hand", "runner", "pool", "runner above by hand"], rows)
    inputs = member(record, "inputs", dict, "record")
    lines += ["", f"With the {count(inputs, 'inputs')} inputs of a decode step of {count(inputs, 'rows')} rows "
              f"({count(inputs, 'bytes')} bytes, {count(inputs, 'nodes')} nodes):", ""]
    ways = [("runner, positions changed", "changed_us"), ("runner, nothing changed", "unchanged_us")]
    if "hand_one_copy_us" in inputs or "hand_one_copy_us_p90" in inputs:
        ways.insert(0, ("by hand: one pinned copy and a launch", "hand_one_copy_us"))
    lines += table(["inputs", "µs", "p90"],
                   [[name, text(figure(inputs, key)), text(figure(inputs, key + "_p90"))] for name, key in ways])
    return lines


def ladders(record):
    rows = []
    for row in rows_of(record, "ladders"):
        record_s, rest_s, beyond = LADDERS.get(figure(row, "sizes"), (None, None, None))
        rest = figure(row, "warm_up_s") + figure(row, "self_test_s")

        def cell(value, limit):
            return text(value) if limit is None else held(value, limit)

        rows.append([word(row, "model"), f"{count(row, 'sizes')} to {count(row, 'largest')}", count(row, "nodes"),
                     cell(figure(row, "record_s"), record_s), cell(rest, rest_s), text(figure(row, "pool_mib")),
                     text(figure(row, "executables_mib")), cell(figure(row, "beyond_eager_mib"), beyond)])
    lines = ["## Ladders", "", "Record: record, instantiate and upload. The rest: warm-up, planning and self-test.",
             "Beyond eager: by how much recording let the device's free memory fall after an eager step of the largest size.", ""]
    return lines + table(["model", "sizes", "nodes", "record, s", "the rest, s", "pool, MiB", "executables, MiB",
                          "beyond eager, MiB"], rows)


def memory(record):
    lines = ["## Memory", "", "What a ladder's graphs reserve for scratch memory:", ""]
    lines += table(["pool", "order", "graphs", "MiB"],
                   [[word(row, "pool"), word(row, "order"), count(row, "graphs"), text(figure(row, "reserved_mib"))]
                    for row in rows_of(record, "sharing")])
    part = member(record, "fragmentation", dict, "record")
    lines += ["", f"Fragmentation (1 − peak live ÷ mapped): {held(figure(part, 'after_ladder'), FRAGMENTATION)} after the ladder, "
              f"{held(figure(part, 'after_steps'), FRAGMENTATION)} after {count(part, 'steps')} eager, recorded and prefill steps of random "
              f"sizes; {text(figure(part, 'reserved_mib'))} MiB in {count(part, 'segments')} segments."]
    return lines


def sleep(record):
    rows = []
    for row in rows_of(record, "sleep"):
        wake = figure(row, "wake_s")
        gib = figure(row, "gib")
        limited = word(row, "class") == "discard" and gib == WAKE_GIB
        rows.append([word(row, "class"), text(gib), text(figure(row, "given_back_mib")), text(figure(row, "sleep_s")),
                     held(wake, WAKE_S) if limited else text(wake), text(figure(row, "first_replay_s"))])
    return ["## Sleep and wake", ""] + table(["class", "GiB", "given back, MiB", "sleep, s", "wake, s", "first replay, s"], rows)


def loops(record):
    names = ("loop_us", "launches_us", "loop_host_us", "launches_host_us")
    rows = [[count(row, "nodes")] + [text(figure(row, f"{name}_per_iteration")) for name in names]
            for row in rows_of(record, "loops")]
    iterations = count(record["loops"][0], "iterations")
    return ["## A loop on the device against a launch per iteration", "",
            f"{iterations} iterations of so many tiny kernels, µs per iteration.", ""] + \
        table(["nodes", "loop", "launches", "host, loop", "host, launches"], rows)


def page(record, name):
    head = ["# What recording and replaying cost", "",
            f"Made by `{word(record, 'command')}` (bench/graph) on {word(record, 'device')}, driver "
            f"{word(record, 'driver')}, {word(record, 'date')[:10]}, commit `{word(record, 'commit')}`. Medians. Record: `{name}`. "
            "Written by `tools/graph_table.py`.", ""]
    parts = [launches(record), ladders(record), memory(record), sleep(record), loops(record)]
    return "\n".join(head) + "\n" + "\n\n".join("\n".join(part) for part in parts) + "\n"


def main():
    parser = argparse.ArgumentParser(description="the page of a record of bench_graph")
    parser.add_argument("--check", action="store_true", help="write nothing, fail where the page says something else")
    parser.add_argument("record")
    parser.add_argument("page")
    options = parser.parse_args()
    try:
        new = page(load(options.record), options.record.rsplit("/", maxsplit=1)[-1])
        if options.check:
            with open(options.page, encoding="utf-8") as file:
                if file.read() != new:
                    raise Fault(f"{options.page} is not what {options.record} says. Try: tools/graph_table.py "
                                f"{options.record} {options.page}")
        else:
            with open(options.page, "w", encoding="utf-8") as file:
                file.write(new)
    except (Fault, OSError) as fault:
        sys.exit(f"error: {fault}")
    print("graph table: ok")


if __name__ == "__main__":
    main()
