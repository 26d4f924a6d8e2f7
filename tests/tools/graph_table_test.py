# SPDX-License-Identifier: Apache-2.0
import copy
import json
import os
import subprocess
import sys
import unittest

from fixture import TreeTest

import graph_table

RECORD = {
    "device": "GPU", "driver": "1", "date": "2026-12-01T10:00:00Z", "commit": "abc", "command": "bench_graph --json r.json",
    "launches": [{"nodes": 300, "hand_us": 1.5, "runner_us": 1.75, "pool_us": 1.625, "runner_above_hand_us": 0.25}],
    "inputs": {"nodes": 300, "rows": 8, "inputs": 5, "bytes": 640, "hand_one_copy_us": 3, "hand_one_copy_us_p90": 3.5,
               "changed_us": 4, "changed_us_p90": 4.5, "unchanged_us": 2, "unchanged_us_p90": 2.5},
    "ladders": [{"model": "random:llama", "sizes": 35, "largest": 256, "nodes": 9000, "record_s": 0.125, "warm_up_s": 0.5,
                 "self_test_s": 0.75, "pool_mib": 100, "executables_mib": 50, "beyond_eager_mib": 60}],
    "sharing": [{"pool": "shared", "order": "descending", "graphs": 35, "reserved_mib": 22}],
    "fragmentation": {"after_ladder": 0.01, "after_steps": 0.02, "steps": 10000, "reserved_mib": 24, "segments": 2},
    "sleep": [{"class": "discard", "gib": 16, "given_back_mib": 16384, "sleep_s": 0.25, "wake_s": 0.375, "first_replay_s": 0.01},
              {"class": "save", "gib": 1, "given_back_mib": 1024, "sleep_s": 1, "wake_s": 2, "first_replay_s": 0.01}],
    "loops": [{"nodes": 10, "iterations": 200, "loop_us_per_iteration": 9, "launches_us_per_iteration": 12,
               "loop_host_us_per_iteration": 0.01, "launches_host_us_per_iteration": 11}]}
# Each figure that has a limit: where it stands, one beyond the limit, and what the page then says.
LIMITED = [(("launches", 0, "runner_above_hand_us"), 0.75, "0.75 (**missed**, must be ≤ 0.5)"),
           (("ladders", 0, "record_s"), 0.25, "0.25 (**missed**, must be ≤ 0.2)"),
           (("ladders", 0, "self_test_s"), 1.25, "1.75 (**missed**, must be ≤ 1.5)"),
           (("ladders", 0, "beyond_eager_mib"), 65, "65 (**missed**, must be ≤ 64)"),
           (("fragmentation", "after_ladder"), 0.06, "0.06 (**missed**, must be ≤ 0.05)"),
           (("fragmentation", "after_steps"), 0.07, "0.07 (**missed**, must be ≤ 0.05)"),
           (("sleep", 0, "wake_s"), 0.625, "0.625 (**missed**, must be ≤ 0.5)")]
NEEDS = {"inputs": "inputs", "fragmentation": "fragmentation|after_ladder"}


def paths(tree, above=()):
    """Where each number of the record stands."""
    for key, value in tree.items() if isinstance(tree, dict) else enumerate(tree):
        if isinstance(value, (dict, list)):
            yield from paths(value, above + (key,))
        elif isinstance(value, (int, float)):
            yield above + (key,)


def changed(path, value):
    """The record with another value at `path`; without it where the value is None."""
    record = copy.deepcopy(RECORD)
    part = record
    for key in path[:-1]:
        part = part[key]
    part[path[-1]] = value
    if value is None:
        del part[path[-1]]
    return record


class GraphTable(TreeTest):
    def run_tool(self, record, *options):
        self.write("r.json", json.dumps(record))
        done = subprocess.run([sys.executable, graph_table.__file__, *options, os.path.join(self.root, "r.json"),
                               os.path.join(self.root, "r.md")], capture_output=True, text=True, check=False)
        return done.returncode, done.stderr

    def test_each_section_has_its_figures(self):
        page = graph_table.page(RECORD, "r.json")
        for line in ("Made by `bench_graph --json r.json` (bench/graph) on GPU, driver 1, 2026-12-01, commit `abc`",
                     "| 300 | 1.5 | 1.75 | 1.62 | 0.25 (must be ≤ 0.5) |", "| runner, positions changed | 4 | 4.5 |",
                     "| random:llama | 35 to 256 | 9000 | 0.125 (must be ≤ 0.2) | 1.25 (must be ≤ 1.5) | 100 | 50 | 60 (must be ≤ 64) |",
                     "| shared | descending | 35 | 22 |", "0.01 (must be ≤ 0.05) after the ladder",
                     "| discard | 16 | 16384 | 0.25 | 0.375 (must be ≤ 0.5) | 0.01 |", "| save | 1 | 1024 | 1 | 2 | 0.01 |",
                     "| 10 | 9 | 12 | 0.01 | 11 |"):
            self.assertIn(line, page)
        self.assertNotIn("missed", page)

    def test_a_missed_limit_is_shown(self):
        for path, value, words in LIMITED:
            page = graph_table.page(changed(path, value), "r.json")
            self.assertIn(words, page)
            self.assertEqual(page.count("missed"), 1, path)
        self.assertIn("0.125 (must be ≤ 0.3)", graph_table.page(changed(("ladders", 0, "sizes"), 51), "r.json"))

    def refusal(self, record):
        with self.assertRaises(graph_table.Fault) as caught:
            graph_table.page(record, "r.json")
        self.assertNotIn("\n", str(caught.exception))
        return str(caught.exception)

    def test_a_figure_that_is_missing_or_none_is_refused_by_name(self):
        for path in paths(RECORD):
            for value in (None, "3", True, float("nan"), float("inf")):
                with self.subTest(path=path, value=value):
                    self.assertIn(path[-1], self.refusal(changed(path, value)))

    def test_a_section_or_name_that_is_missing_or_empty_is_refused_by_name(self):
        for name in RECORD:
            for value in (None, type(RECORD[name])(), 3):
                self.assertRegex(self.refusal(changed((name,), value)), NEEDS.get(name, name))

    def test_without_launches_by_hand_their_cells_are_empty(self):
        record = copy.deepcopy(RECORD)
        del record["launches"][0]["hand_us"], record["launches"][0]["runner_above_hand_us"]
        del record["inputs"]["hand_one_copy_us"], record["inputs"]["hand_one_copy_us_p90"]
        page = graph_table.page(record, "r.json")
        self.assertIn("| 300 |  | 1.75 | 1.62 |  |", page)
        self.assertNotIn("one pinned copy", page)

    def test_a_stale_page_is_found_and_left(self):
        self.assertEqual(self.run_tool(RECORD, "--check")[0], 1)  # there is none
        self.assertEqual(self.run_tool(RECORD), (0, ""))
        self.assertEqual(self.run_tool(RECORD, "--check"), (0, ""))
        code, err = self.run_tool(changed(("loops", 0, "loop_us_per_iteration"), 8), "--check")
        self.assertEqual(code, 1)
        self.assertIn("r.md is not what", err)
        self.assertEqual(self.run_tool(RECORD, "--check"), (0, ""))


if __name__ == "__main__":
    unittest.main()
