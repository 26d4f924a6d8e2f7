# SPDX-License-Identifier: Apache-2.0
import os
import subprocess
import sys
import tempfile
import unittest

from fixture import TreeTest

import mutants
import mutation


def changes(text, kind=None):
    """(line, before, after) of each mutant."""
    return [(m.line, m.before, m.after) for m in mutation.mutants_of("src/graph/a.cpp", text)
            if kind is None or m.kind == kind]


class Places(unittest.TestCase):
    def test_operators_between_spaces_are_swapped(self):
        self.assertEqual(changes("bool f() { return a < b && c != d; }\n"),
                         [(1, "<", "<="), (1, "&&", "||"), (1, "!=", "==")])
        self.assertEqual(changes("x = a + b;\ny -= c / d;\n"), [(1, "+", "-"), (2, "-=", "+="), (2, "/", "*")])

    def test_templates_pointers_references_and_operators_are_no_places(self):
        for text in ("std::vector<int> f(T* a, U&& b, const V& c);\n", "bool operator==(A a, A b);\n", "p->x = -y;\n",
                     "template <class T>\n", "auto operator<=>(const A&) const = default;\n"):
            self.assertEqual(changes(text), [], text)

    def test_comments_strings_and_includes_are_masked(self):
        text = '#include "a < b"\n// a < b\nx("a == 1");  /* 2 + 2 */\n#if A > 1\n#endif\n'
        self.assertEqual(changes(text), [])

    def test_conditions_are_negated_whole(self):
        self.assertEqual(changes("if (f(a)) g();\nwhile (!done()) h();\n", "negated condition"),
                         [(1, "f(a)", "!(f(a))"), (2, "!done()", "!(!done())")])

    def test_of_a_condition_with_a_declaration_only_the_condition(self):
        self.assertEqual(changes("if (auto it = f(); it) g();\n", "negated condition"), [(1, "it", "!(it)")])

    def test_what_cannot_compile_is_no_place(self):
        self.assertEqual(changes('s = "a" + b + "c" + d + e;\n'), [(1, "+", "-")])  # d + e may be numbers
        self.assertEqual(changes("if (const auto it = f()) g();\n", "negated condition"), [])

    def test_numbers_are_off_by_one(self):
        self.assertEqual(changes("f(0, 16u, size_t{1} << 20, 0x10, 1.5, a2);\n", "constant"),
                         [(1, "0", "1"), (1, "16", "17"), (1, "1", "2"), (1, "20", "21")])

    def test_early_exits_are_removed_and_last_ones_stay(self):
        text = ("int f(int a) {\n  if (a) return 1;\n  if (b) {\n    g();\n    throw E(h{1}, \"x\");\n  }\n"
                "  for (int i : c) {\n    return i;\n  }\n  return 2;\n}\n")
        self.assertEqual([(line, before) for line, before, _ in changes(text, "removed exit")],
                         [(2, "return 1;"), (5, 'throw E(h{1}, "x");'), (8, "return i;")])

    def test_applying_changes_one_place_only(self):
        text = "bool f() { return a < b || c < d; }\n"
        second = [m for m in mutation.mutants_of("src/graph/a.cpp", text) if m.before == "<"][1]
        self.assertEqual(second.apply(text), "bool f() { return a < b || c <= d; }\n")
        with self.assertRaises(ValueError):
            second.apply("other text\n")

    def test_keys_tell_equal_lines_apart_and_survive_lines_above(self):
        text = "f(a < b);\nf(a < b);\n"
        keys = [m.key for m in mutation.mutants_of("src/graph/a.cpp", text)]
        self.assertEqual(len(set(keys)), 2)
        self.assertEqual([m.key for m in mutation.mutants_of("src/graph/a.cpp", "// more\n" + text)], keys)


class Draw(TreeTest):
    def test_is_the_seeds_and_takes_one_of_a_line(self):
        for n in range(20):
            self.write(f"src/memory/f{n}.cpp", "if (a < b && c == 1) return;\nx = y + 1;\n")
        self.write("src/diag/other.cpp", "x = y + 1;\n")
        every = mutation.all_mutants(self.root)
        self.assertEqual({m.path.split("/")[1] for m in every}, {"memory"})
        one, two = ([m.key for m in mutation.drawn(every, seed)] for seed in (1, 2))
        self.assertEqual(one, [m.key for m in mutation.drawn(every, 1)])
        self.assertNotEqual(one, two)
        self.assertEqual(len(one), 40)

    def test_more_code_moves_no_other_mutant(self):
        self.write("src/memory/a.cpp", "x = y + 1;\nx = z - 2;\nx = u * 3;\n")
        before = [m.key for m in mutation.drawn(mutation.all_mutants(self.root), 1)]
        self.write("src/memory/b.cpp", "x = y + 1;\n")
        after = [m.key for m in mutation.drawn(mutation.all_mutants(self.root), 1)]
        self.assertEqual([key for key in after if "b.cpp" not in key], before)


class Verdicts(unittest.TestCase):
    def test_names_the_test_that_failed_crashed_or_hung(self):
        self.assertIsNone(mutants.verdict("test_a", 0, ""))
        failed = "[ RUN      ] A.B\nx\n[  FAILED  ] A.B (0 ms)\n"
        self.assertEqual(mutants.verdict("test_a", 1, failed), "test_a A.B")
        running = "[ RUN      ] A.B\n[       OK ] A.B\n[ RUN      ] A.C\n"
        self.assertEqual(mutants.verdict("test_a", -11, running), "test_a A.C, by signal 11")
        self.assertEqual(mutants.verdict("test_a", None, running), "test_a A.C, by time")
        self.assertEqual(mutants.verdict("test_a", 3, ""), "test_a, by exit status 3")


class Hanging(unittest.TestCase):
    def watched(self, code, **limits):
        with tempfile.NamedTemporaryFile() as log:
            process = subprocess.Popen([sys.executable, "-c", code], stdout=log, stderr=log)
            try:
                return mutants.watch(process, log.name, mutants.Seen(**limits))
            finally:
                process.kill()
                process.wait()

    def test_is_too_much_processor_time_or_silence_but_not_slowness(self):
        self.assertEqual(self.watched("raise SystemExit(3)", cpu=60, silence=60)[0], 3)
        status, seen = self.watched("while True: pass", cpu=0.3, silence=60)
        self.assertIsNone(status)
        self.assertGreater(seen.cpu, 0.3)
        self.assertIsNone(self.watched("import time; time.sleep(60)", cpu=60, silence=0.3)[0])


class Record(unittest.TestCase):
    @staticmethod
    def results(killed, survived, refused=1):
        def entry(n, by):
            return {"key": f"k{n}", "path": "src/graph/a.cpp", "line": n, "shown": "`a | b`", "killed": by}

        return {"seed": 1, "commit": "abc", "date": "2030-01-01", "places": 999,
                "mutants": [entry(n, "t A.B") for n in range(killed)] + [entry(1000 + n, None) for n in range(survived)]
                + [entry(2000 + n, "no compile") for n in range(refused)]}

    def findings(self, *counts, reasons=None):
        reasons = {f"k{1000 + n}": "equal" for n in range(99)} if reasons is None else reasons
        return list(mutants.record_findings(mutants.record(self.results(*counts), reasons)))

    def test_counts_what_compiled(self):
        text = mutants.record(self.results(60, 2), {"k1000": "same | value"})
        self.assertIn("62 mutants, 60 killed (96.8 %)", text)
        self.assertIn("1 more\ndid not compile", text)
        self.assertIn(r"| src/graph/a.cpp:1000 | `a \| b` | same \| value |", text)

    def test_enough_and_explained_is_fine(self):
        self.assertEqual(self.findings(60, 4), [])

    def test_too_few_mutants_or_kills_are_findings(self):
        self.assertIn("at least 60", self.findings(50, 1)[0])
        self.assertIn("at least 85%", self.findings(60, 20)[0])

    def test_a_survivor_without_a_reason_is_a_finding(self):
        self.assertIn("no reason", self.findings(60, 1, reasons={})[0])

    def test_no_record_is_a_finding(self):
        self.assertTrue(list(mutants.record_findings("")))


class TheCopy(TreeTest):
    def test_every_folder_has_its_programs(self):
        self.assertEqual(set(mutation.FOLDERS), set(mutants.PROGRAMS))
        self.assertEqual(mutants.folder_of("src/device/host/queue.cpp"), "src/device/host")

    def test_sync_copies_what_differs_and_drops_what_is_gone(self):
        os.system(f"git -C {self.root} init -q")
        self.write("src/graph/a.cpp", "one\n")
        self.write("models/big.bin", "weights\n")
        self.write(".gitignore", "/build-*/\n")
        copy = mutants.Copy(self.root, 1)
        copy.sync()
        target = os.path.join(copy.tree, "src/graph/a.cpp")
        stamp = os.stat(target).st_mtime_ns
        self.assertFalse(os.path.exists(os.path.join(copy.tree, "models")))
        self.write("src/graph/b.cpp", "two\n")
        copy.sync()
        self.assertEqual(os.stat(target).st_mtime_ns, stamp)
        os.remove(os.path.join(self.root, "src/graph/b.cpp"))
        copy.write("src/graph/a.cpp", "a mutant that was left\n")
        copy.sync()
        with open(target, encoding="utf-8") as file:
            self.assertEqual(file.read(), "one\n")
        self.assertFalse(os.path.exists(os.path.join(copy.tree, "src/graph/b.cpp")))


if __name__ == "__main__":
    unittest.main()
