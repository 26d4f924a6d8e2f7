# SPDX-License-Identifier: Apache-2.0
import json
import os
import subprocess
import sys
import unittest

from fixture import TreeTest

import bench_table

TOOL = bench_table.__file__


def record(model="random:llama-x", rows=((1, "eager", 5.678), (1, "graph", 1.2345), (64, "graph", 12.345)), **changes):
    results = [{"model": model, "mode": mode, "batch": batch, "ms_per_step_median": ms} for batch, mode, ms in rows]
    return {"device": "GPU", "driver": "1", "date": "2026-12-01T10:00:00Z", "commit": "abc", "command": "reprise bench",
            "results": results, **changes}


class BenchTable(TreeTest):
    def setUp(self):
        super().setUp()
        self.write("r.json", json.dumps(record()))
        self.write("peers.json", json.dumps({"models": {"llama-x": {"other": {"1": 0.4567, "2": 7}}}}))

    def path(self, name):
        return os.path.join(self.root, name)

    def run_tool(self, *arguments):
        done = subprocess.run([sys.executable, TOOL, *arguments], capture_output=True, text=True, check=False)
        return done.returncode, done.stdout, done.stderr

    def test_rows_of_ours_and_of_peers_in_one_table(self):
        code, out, _ = self.run_tool("--peers", self.path("peers.json"), self.path("r.json"))
        self.assertEqual(code, 0)
        self.assertIn("| ms per step, batch: | 1 | 64 |", out)
        self.assertIn("| **llama-x**, recorded | **1.23** | **12.3** |\n| **llama-x**, eager | 5.68 |  |\n", out)
        self.assertIn("| other | 0.457 |  |", out)
        self.assertIn("2026-12-01, commit `abc`", out)

    def test_records_of_two_machines_do_not_mix(self):
        self.write("s.json", json.dumps(record(device="other GPU")))
        code, _, err = self.run_tool(self.path("r.json"), self.path("s.json"))
        self.assertEqual(code, 1)
        self.assertIn("differ in device", err)

    def test_bad_records_are_said(self):
        for content, words in (("{", "not JSON"), ("{}", "results is absent"), ("[]", "results is absent"),
                               ('{"results": {}}', "of another type"), ('{"results": []}', "holds no results"),
                               ('{"results": [{}]}', "model is absent"), ('{"results": ["x"]}', "model is absent")):
            self.write("bad.json", content)
            code, _, err = self.run_tool(self.path("bad.json"))
            self.assertEqual(code, 1)
            self.assertIn(words, err)
        self.assertIn("error: ", self.run_tool(self.path("absent.json"))[2])

    def refusal(self, content, peers=None):
        self.write("bad.json", json.dumps(content))
        with self.assertRaises(bench_table.Fault) as caught:
            bench_table.table([self.path("bad.json")], peers)
        self.assertNotIn("\n", str(caught.exception))
        return str(caught.exception)

    def test_what_is_no_figure_is_refused(self):
        for ms in (float("nan"), float("inf"), -1, 0, None, "5", True, [1]):
            self.assertIn("ms_per_step_median", self.refusal(record(rows=[(1, "graph", ms)])))
        for batch in (0, -1, 1.5, "x", None, True, 10**12):
            self.assertIn("batch", self.refusal(record(rows=[(batch, "graph", 1)])))
        self.assertIn("mode is 'fake'", self.refusal(record(rows=[(1, "fake", 1)])))
        for name in ("device", "driver", "date", "commit"):
            self.assertIn(name, self.refusal(record(**{name: None})))

    def test_one_line_does_not_mix_what_was_measured_differently(self):
        self.assertIn("batch 1 of llama-x, recorded, more than once",
                      self.refusal(record(rows=[(1, "graph", 1), (1, "graph", 2)])))
        mixed = record()
        mixed["results"][0]["context"] = 128
        mixed["results"][1]["context"] = 1024
        self.assertIn("differ in context", self.refusal(mixed))

    def test_bad_figures_of_peers_are_refused(self):
        for peers in ([], {}, {"models": {"llama-x": []}}, {"models": {"llama-x": {"other": {"x": 1}}}},
                      {"models": {"llama-x": {"other": {"1": "fast"}}}}, {"models": {"llama-x": {"other": 1}}}):
            self.write("peers.json", json.dumps(peers))
            self.refusal(record(), self.path("peers.json"))

    def test_names_are_text_and_no_markup(self):
        hostile = "x| <!-- end of bench-table -->\n| **y** | `z` [a](b)"
        self.write("r.json", json.dumps(record(model=hostile, device=hostile, commit="a`b")))
        out = bench_table.table([self.path("r.json")])
        self.assertNotIn("<", out)
        self.assertEqual(len(out.splitlines()), 6, out)
        for line in out.splitlines()[:4]:
            self.assertEqual(line.replace("\\|", "").count("|"), 4, line)

    def test_pages_are_filled_and_a_stale_one_is_found(self):
        self.write("page.md", f"text\n<!-- bench-table - {self.path('r.json')} -->\n<!-- end of bench-table -->\nmore\n")
        self.assertEqual(self.run_tool("--fill", "--check", self.path("page.md"))[0], 1)
        self.assertEqual(self.run_tool("--fill", self.path("page.md"))[0], 0)
        self.assertEqual(self.run_tool("--fill", "--check", self.path("page.md"))[0], 0)
        with open(self.path("page.md"), encoding="utf-8") as file:
            text = file.read()
        self.assertTrue(text.startswith("text\n") and text.endswith("more\n") and "**1.23**" in text, text)
        self.write("page.md", text.replace("1.23", "1.13"))
        code, _, err = self.run_tool("--fill", "--check", self.path("page.md"))
        self.assertEqual(code, 1)
        self.assertIn("page.md", err)

    def test_an_open_block_is_said(self):
        self.write("page.md", "<!-- bench-table - r.json -->\n")
        self.assertIn("has no end", self.run_tool("--fill", self.path("page.md"))[2])


if __name__ == "__main__":
    unittest.main()
