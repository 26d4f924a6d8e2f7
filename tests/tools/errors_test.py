# SPDX-License-Identifier: Apache-2.0
import unittest

from fixture import TreeTest  # its import finds tools/

import check_errors

HEADER = """class Error : public std::runtime_error {};
class UsageError : public Error {};
enum class CaptureFault {
  refused,  ///< in words, with others
  lost,
};
class CaptureError : public UsageError {};
"""
CUDA = '{cudaErrorA, CaptureFault::lost,\n  "something outside "\n "ended it",\n "keep it out"},'
PAGE = """# Errors
<!-- contents -->
<!-- /contents -->
### a
```cpp examples/errors/x.cpp#a
f();
```
```text error a
?
```
### b
```cpp examples/errors/x.cpp#b
```
```text error b
?
```
### c
```cpp examples/errors/x.cpp#c
```
```text error c
?
```
### lost
```text error lost on CUDA CaptureFault::lost
CaptureFault::lost: something outside ended it; keep it out
```
"""
PRINTED = {"a": ("CaptureFault::refused", "no"), "b": ("UsageError", "b is 2"), "c": ("Error", "c")}


class Page(TreeTest):
    def setUp(self):
        super().setUp()
        self.page = check_errors.written(PAGE, PRINTED)

    def findings(self, page=None, printed=None, header=HEADER, cuda=CUDA):
        return list(check_errors.findings(self.page if page is None else page, printed or PRINTED, header, cuda))

    def assert_one(self, words, **more):
        found = self.findings(**more)
        self.assertEqual(len(found), 1, found)
        self.assertIn(words, found[0])

    def test_what_was_written_is_fine(self):
        self.assertEqual(self.findings(), [])
        self.assertIn("UsageError: b is 2\n", self.page)
        self.assertIn("| `UsageError` | [b](#b) |\n", self.page)
        self.assertEqual(check_errors.written(self.page, PRINTED), self.page)

    def test_another_message_is_a_finding(self):
        self.assert_one("'b' says something else", printed=PRINTED | {"b": ("UsageError", "b is 3")})

    def test_an_example_without_an_entry_is_a_finding(self):
        found = self.findings(printed=PRINTED | {"d": ("Error", "d")})
        self.assertIn("the example 'd' is missing", found[0])

    def test_an_entry_without_an_example_is_a_finding(self):
        found = self.findings(printed={name: PRINTED[name] for name in "ab"})
        self.assertIn("no example is called 'c'", found[0])

    def test_an_entry_shows_its_source_under_its_heading(self):
        self.assert_one("'b' does not show its source", page=self.page.replace("x.cpp#b", "x.cpp#other"))
        self.assert_one("'b' has no heading", page=self.page.replace("### b", "### B"))

    def test_each_fault_and_type_needs_an_entry(self):
        self.assert_one("CaptureFault::stale", header=HEADER.replace("  lost,", "  lost,\n  stale,"))
        self.assert_one("has NewError", header=HEADER + "class NewError : public Error {};\n")

    def test_what_cuda_says_must_be_its_words(self):
        self.assert_one("does not say this of CaptureFault::lost", cuda=CUDA.replace("keep", "leave"))
        self.assert_one("does not say this", cuda="")

    def test_the_contents_are_generated(self):
        self.assert_one("table of contents", page=self.page.replace("| `Error` |", "| `Fault` |"))


class Messages(unittest.TestCase):
    def test_numbers_that_change_are_made_equal(self):
        self.assertEqual(check_errors.steady("thread 77 and thread 5 of recording 9 of 77 at 0x55aa01, thread 77"),
                         "thread 1 and thread 2 of recording 1 of 77 at 0x7f00, thread 1")

    def test_names_are_unique_and_lines_whole(self):
        self.assertEqual(check_errors.examples("a\tError\tx\n"), {"a": ("Error", "x")})
        for text in ("a\tError\tx\na\tError\ty\n", "a\tError\tx\nsecond line\n"):
            with self.assertRaises(ValueError):
                check_errors.examples(text)

    def test_commands_must_fail(self):
        blocks = [(1, "bash reprise quick ModelError", "reprise --version\n")]
        self.assertEqual(check_errors.commands(".", blocks, "true"), {"quick": ("ModelError", "it succeeded")})
        self.assertEqual(check_errors.commands(".", blocks, None), {})


if __name__ == "__main__":
    unittest.main()
