# SPDX-License-Identifier: Apache-2.0
import unittest

from fixture import TreeTest

import pitfalls

JUNIT = """<testsuite>
<testcase name="a.S.Good" status="run"/>
<testcase name="a.M/S.Of/one  # GetParam() = &quot;one&quot;" status="run"/>
<testcase name="a.S.Skipped" status="notrun"><skipped message="x"/></testcase>
<testcase name="a.S.Bad" status="fail"><failure message="no"/></testcase>
<testcase name="a.S.Disabled" status="disabled"/>
</testsuite>
"""
RECORD = "== device\nnames: test_device_cuda CudaNative: A, B\nskipped: CudaNative.C: no GPU\npassed: CudaNative 2\n"


def all_rows(**changes):
    """A whole list whose row 12 has `changes`."""
    rows = [{"id": name, "wrong": "w", "does": "d", "tests": ["a.S.Good"]} for name in pitfalls.IDS]
    rows[11] |= changes
    return [{key: value for key, value in row.items() if value is not None} for row in rows]


class Rows(unittest.TestCase):
    def findings(self, rows):
        return list(pitfalls.row_findings(rows))

    def test_a_whole_list_is_fine(self):
        self.assertEqual(self.findings(all_rows()), [])

    def test_each_id_is_wanted_once(self):
        self.assertIn("12: there are 0", self.findings(all_rows()[:11] + all_rows()[12:])[0])
        self.assertIn("12: there are 2", self.findings(all_rows() + [all_rows()[11]])[0])
        self.assertIn("99: no pitfall", self.findings(all_rows(id="99"))[1])

    def test_a_row_has_tests_or_a_reason(self):
        self.assertIn("12: give tests", self.findings(all_rows(tests=None))[0])
        self.assertIn("12: give tests", self.findings(all_rows(reason="because"))[0])
        self.assertIn("12: 'does' says nothing", self.findings(all_rows(does=" "))[0])
        self.assertEqual(self.findings(all_rows(tests=None, reason="because")), [])

    def test_twelve_reasons_at_most(self):
        rows = [{"id": row["id"], "wrong": "w", "does": "d", "reason": "r"} if n < 13 else row
                for n, row in enumerate(all_rows())]
        self.assertIn("13 rows go by a reason", self.findings(rows)[0])

    def test_the_page_has_a_line_for_each(self):
        page = pitfalls.page(all_rows(wrong="a | b"))
        self.assertEqual(page.count("\n| "), len(pitfalls.IDS) + 1)
        self.assertIn(r"| 12 | a \| b | d | `a.S.Good` |", page)
        self.assertIn("| none: because |", pitfalls.page(all_rows(tests=None, reason="because")))


class Tests(TreeTest):
    def findings(self, *patterns):
        self.write("tests.xml", JUNIT)
        self.write("docs/gpu-test-h200.txt", RECORD)
        return list(pitfalls.test_findings([{"id": "1", "tests": list(patterns)}],
                                           pitfalls.outcomes_of_run(f"{self.root}/tests.xml"),
                                           pitfalls.passed_on_gpu(self.root)))

    def test_what_passed_is_fine(self):
        self.assertEqual(self.findings("a.S.Good", "a.S.Go*", "a.M/S.Of/*"), [])

    def test_what_is_not_there_was_skipped_or_failed_is_a_finding(self):
        self.assertEqual(self.findings("a.S.Goo"), ["1: no test a.S.Goo in this run"])
        self.assertEqual(self.findings("a.S.Skipped"), ["1: a.S.Skipped was skipped"])
        self.assertEqual(self.findings("a.S.Bad", "a.S.Disabled"), ["1: a.S.Bad failed", "1: a.S.Disabled disabled"])

    def test_what_only_a_gpu_shows_stands_in_the_record(self):
        self.assertEqual(self.findings("device_cuda.CudaNative.A", "device_cuda.CudaNative.*"), [])
        self.assertIn("no test device_cuda.CudaNative.C in the records", self.findings("device_cuda.CudaNative.C")[0])

    def test_a_pattern_covers_ten_at_most(self):
        ran = {f"a.S.T{n}": "run" for n in range(11)}
        rows = [{"id": "1", "tests": ["a.S.*"]}]
        self.assertEqual(list(pitfalls.test_findings(rows, ran, set())), ["1: a.S.* fits 11 tests, 10 may be"])


if __name__ == "__main__":
    unittest.main()
