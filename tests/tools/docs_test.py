# SPDX-License-Identifier: Apache-2.0
import os
import subprocess
import sys
import unittest

from fixture import TreeTest

import check_docs
import check_form

TOOL = check_docs.__file__


class Docs(TreeTest):
    def check(self, *options):
        done = subprocess.run([sys.executable, TOOL, *options, self.root], capture_output=True, text=True, check=False)
        return done.returncode, done.stdout

    def test_only_marked_blocks_run_and_from_the_root(self):
        self.write("README.md", "```bash run\ntouch marked\n```\n```bash\ntouch plain\n```\n```\ntouch bare\n```\n")
        self.assertEqual(self.check("--run")[0], 0)
        self.assertTrue(os.path.exists(os.path.join(self.root, "marked")))
        self.assertFalse(os.path.exists(os.path.join(self.root, "plain")))
        self.assertFalse(os.path.exists(os.path.join(self.root, "bare")))

    def test_nothing_runs_without_being_asked(self):
        self.write("README.md", "```bash run\ntouch marked\n```\n")
        self.assertEqual(self.check()[0], 0)
        self.assertFalse(os.path.exists(os.path.join(self.root, "marked")))

    def test_any_failing_line_of_a_block_fails_it(self):
        self.write("docs/use.md", "text\n\n```bash run\nfalse | cat\ntrue\n```\n")
        code, out = self.check("--run")
        self.assertEqual(code, 1)
        self.assertIn("docs/use.md:3: the block marked as runnable exits 1", out)

    def test_links_lead_somewhere(self):
        self.write("docs/a.md", "[b](b.md) [r](../README.md#top) [w](https://example.org) `[x](y)`\n```\n[c](d)\n```\n")
        self.write("docs/b.md")
        self.write("README.md", "[lost](docs/c.md)\n")
        code, out = self.check()
        self.assertEqual((code, out.count("leads nowhere")), (1, 1), out)
        self.assertIn("README.md:1: the link to docs/c.md", out)

    def test_a_snippet_is_what_its_file_says(self):
        self.write("examples/a.cpp", "int main() {\n  // [two]\n  f();\n    g();\n  // [/two]\n}\n")
        self.write("docs/a.md", "```cpp examples/a.cpp#two\nf();\n```\nend\n")
        code, out = self.check()
        self.assertEqual(code, 1)
        self.assertIn("docs/a.md:1: differs from examples/a.cpp", out)
        self.assertEqual(self.check("--fill")[0], 0)
        with open(os.path.join(self.root, "docs/a.md"), encoding="utf-8") as file:
            self.assertEqual(file.read(), "```cpp examples/a.cpp#two\nf();\n  g();\n```\nend\n")
        self.assertEqual(self.check()[0], 0)
        self.write("docs/a.md", "```cpp examples/a.cpp#two\n```\nend\n")
        self.assertEqual(self.check("--fill")[0], 0)

    def test_a_snippet_without_its_region_is_said(self):
        self.write("docs/a.md", "```cpp examples/a.cpp#two\nf();\n```\n")
        self.assertIn("docs/a.md:1: there is no region [two] in examples/a.cpp", self.check("--fill")[1])

    def test_the_guide_holds_compiled_snippets_only(self):
        self.write("docs/guide/a.md", "```cpp\nf();\n```\n")
        self.write("docs/b.md", "```cpp\nf();\n```\n")
        code, out = self.check()
        self.assertEqual((code, out.count("compiled nowhere")), (1, 1), out)

    def test_an_unclosed_fence_is_said(self):
        self.write("README.md", "```bash run\ntrue\n")
        self.assertIn("README.md:1: this fence is never closed", self.check()[1])


class Form(TreeTest):
    def findings(self):
        return [f"{path}:{line}" for path, line, _ in check_form.findings(self.root)]

    def test_licence_line_and_pragma(self):
        self.write("src/a.h", f"// {check_form.SPDX}\n#pragma once\n")
        self.write("tools/a.py", f"#!/usr/bin/env python3\n# {check_form.SPDX}\n")
        self.assertEqual(self.findings(), [])

    def test_what_lacks_is_said(self):
        self.write("src/a.h", f"// {check_form.SPDX}\nint x;\n")
        self.write("src/b.cpp", "int x;\n")
        self.write("src/c.h", f"// {check_form.SPDX}\n#pragma once\nusing namespace std;\n")
        self.assertEqual(self.findings(), ["src/a.h:1", "src/b.cpp:1", "src/c.h:3"])


if __name__ == "__main__":
    unittest.main()
