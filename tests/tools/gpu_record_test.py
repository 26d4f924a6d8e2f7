# SPDX-License-Identifier: Apache-2.0
import os
import stat
import subprocess
import sys
import tempfile
import unittest
import unittest.mock

from fixture import TreeTest

import gpu_record
import gpu_test

PASSED = '<testcase name="a" classname="S" status="run" result="completed"/>'
FAILED = '<testcase name="b" classname="S" status="run" result="completed"><failure message="no"/></testcase>'
SKIPPED = '<testcase name="c" classname="S" status="run" result="skipped"><skipped message="x.cpp:1&#x0A;no file"/></testcase>'
SANITIZED = "========= COMPUTE-SANITIZER\n========= ERROR SUMMARY: 0 errors\n"
COMPARED = "12 random-shape comparisons in 1.0 s over 2 threads (2 s of threads), 0 misses; besides, 3\n"


def account(*cases, failures=0):
    return f'<testsuites failures="{failures}" errors="0"><testsuite>{"".join(cases)}</testsuite></testsuites>'


class Sections(TreeTest):
    def run_of(self, cases=(PASSED,), status=0, output="text\n", failures=0, xml=None, **more):
        self.write("report.xml", account(*cases, failures=failures) if xml is None else xml)
        return gpu_record.Run("run", status, 1.0, output, os.path.join(self.root, "report.xml"), **more)

    def closing(self, *runs, may_skip=False):
        section = gpu_record.Section("name", list(runs), may_skip=may_skip)
        text = "\n".join(section.closing())
        self.assertEqual(section.passed, "FAILED" not in text)
        if not section.passed:
            self.assertNotIn("tests passed", section.text())
            self.assertNotIn("ERROR SUMMARY: 0 errors", text)
        return text

    def test_passed_tests_close_as_ctest_does(self):
        text = self.closing(self.run_of((PASSED, PASSED, PASSED.replace('"S"', '"A/B"'))))
        self.assertEqual(text, "passed: A/B 1, S 2\n100% tests passed, 0 tests failed out of 3")

    def test_passed_tests_are_named_by_program_and_suite_where_all_is_well(self):
        runs = [self.run_of((PASSED, PASSED.replace('"a"', '"c"')))]
        runs[0].name = "test_s_cuda, part 1 of 2"
        text = gpu_record.Section("name", runs).text()
        self.assertIn("\nnames: test_s_cuda S: a, c\npassed: S 2\n", text)
        self.assertNotIn("\nnames: ", gpu_record.Section("name", [self.run_of((PASSED, FAILED), status=1)]).text())
        sanitized = gpu_record.Section("name", [self.run_of(output=SANITIZED, sanitized=True)])
        self.assertTrue(sanitized.passed)
        self.assertNotIn("names: ", sanitized.text())

    def test_skipped_tests_are_listed_with_their_reason_and_not_counted(self):
        section = gpu_record.Section("name", [self.run_of((PASSED, SKIPPED))], may_skip=True)
        self.assertIn("skipped: S.c: no file\nnames: run S: a\npassed: S 1\n"
                      "100% tests passed, 0 tests failed out of 1; 1 skipped, named above\n", section.text())

    def test_where_all_must_run_a_skipped_test_is_a_failure(self):
        self.assertIn("S.c was skipped: no file", self.closing(self.run_of((PASSED, SKIPPED))))

    def test_no_name_or_reason_passes_for_a_line_of_the_record(self):
        forged = "x&#x0A;100% tests passed, 0 tests failed out of 9"
        for case in (SKIPPED.replace("no file", " &#x0A; "), SKIPPED.replace('message="x.cpp:1&#x0A;no file"', ""),
                     SKIPPED.replace('"c"', f'"{forged}"'), FAILED.replace('"b"', f'"{forged}"')):
            text = gpu_record.Section("name", [self.run_of((PASSED, case))]).text()
            self.assertNotIn("\n100% tests passed", text)
            self.assertIn("FAILED: ", text)

    def test_an_account_that_lacks_some_of_its_tests_is_a_failure(self):
        xml = account(PASSED).replace("<testsuites ", '<testsuites tests="2" ')
        self.assertIn("2 tests and lists 1", self.closing(self.run_of(xml=xml)))
        for wrong in ("x", "-1", ""):
            xml = account(PASSED).replace("<testsuites ", f'<testsuites tests="{wrong}" ')
            self.assertIn("left no account", self.closing(self.run_of(xml=xml)))

    def test_the_record_does_not_say_where_the_tests_were_built(self):
        output = "/home/me/it/tests/a/b_test.cpp:16: Skipped\n(src/x.cu:3) https://there/src/x.h:1 /usr/lib/src/x.py:2"
        text = gpu_record.Section("name", [self.run_of(output=output)]).text()
        self.assertIn("\n" + output.replace("/home/me/it/", "") + "\n", text)

    def test_one_failure_fails_the_section_whatever_the_status(self):
        self.assertIn("run: S.b failed", self.closing(self.run_of((PASSED, FAILED), failures=1)))
        self.assertIn("run: 1 outside any test failed", self.closing(self.run_of((PASSED,), failures=1)))

    def test_no_test_at_all_is_no_success(self):
        self.assertIn("no test ran", self.closing(self.run_of(())))
        self.assertIn("no test ran", self.closing(self.run_of((SKIPPED,)), may_skip=True))
        self.assertIn("nothing was run", self.closing())

    def test_a_crash_is_told(self):
        self.assertIn("ended by signal 11", self.closing(self.run_of(status=-11)))
        self.assertIn("exit status 3", self.closing(self.run_of(status=3)))

    def test_a_missing_or_broken_account_is_a_failure(self):
        whole = self.run_of()
        lost = gpu_record.Run("lost", 0, 1.0, "", os.path.join(self.root, "none.xml"))
        self.assertIn("lost: left no account", self.closing(whole, lost))
        self.assertIn("left no account", self.closing(self.run_of(xml="<testsuites><tests")))

    def test_a_run_stopped_at_its_limit_fails(self):
        self.assertIn("stopped after 1 s", self.closing(self.run_of(timed_out=True, status=-9)))

    def test_the_sanitizer_must_have_summed_up_without_errors(self):
        good = self.run_of(output=SANITIZED, sanitized=True)
        self.assertTrue(self.closing(good).endswith("1 runs, of each: ERROR SUMMARY: 0 errors"))
        self.assertIn("no summary", self.closing(good, self.run_of(sanitized=True)))
        bad = self.run_of(output=SANITIZED.replace("0 errors", "2 errors"), sanitized=True)
        self.assertIn("run: ERROR SUMMARY: 2 errors", self.closing(good, bad))

    def test_racecheck_has_words_of_its_own(self):
        clean = "========= RACECHECK SUMMARY: 0 hazards displayed (0 errors, 0 warnings)\n"
        good = gpu_record.Run("run", 0, 1.0, clean, sanitized=True)
        self.assertTrue(self.closing(good).endswith("RACECHECK SUMMARY: 0 hazards displayed (0 errors, 0 warnings)"))
        bad = gpu_record.Run("run", 0, 1.0, clean.replace("(0 errors, 0", "(0 errors, 1"), sanitized=True)
        self.assertIn("run: RACECHECK SUMMARY: 0 hazards displayed (0 errors, 1 warnings)", self.closing(good, bad))

    def test_random_cases_must_have_been_compared_without_a_miss(self):
        good = self.run_of(output=COMPARED, random_cases=True)
        text = self.closing(good, good)
        self.assertTrue(text.startswith("24 random-shape comparisons in 1.0 s over 2 processes, 0 misses ("), text)
        self.assertTrue(text.endswith("100% tests passed, 0 tests failed out of 2"), text)
        for output in ("", COMPARED.replace("12 r", "0 r"), COMPARED.replace(", 0 m", ", 1 m")):
            self.assertIn("comparisons", self.closing(self.run_of(output=output, random_cases=True)))

    def test_a_program_without_tests_must_print(self):
        self.assertIn("printed nothing", self.closing(gpu_record.Run("run", 0, 1.0, " \n")))

    def test_the_last_line_names_the_bad_sections(self):
        good = gpu_record.Section("good", [self.run_of()])
        bad = gpu_record.Section("bad", [], ["it is not in the package"])
        self.assertTrue(gpu_record.table([good, bad], 3).endswith("FAILED: bad\n"))
        self.assertIn("all 1 sections", gpu_record.table([good], 3))
        self.assertIn("the 1 sections asked for, and no others,", gpu_record.table([good], 3, whole=False))


class Processes(unittest.TestCase):
    def test_a_hanging_job_is_stopped_and_leaves_the_others(self):
        jobs = [
            gpu_test.Job("a", "hangs", ["bash", "-c", "echo before; sleep 60"], 0.3, gtest=False),
            gpu_test.Job("a", "ends", ["echo", "done"], 30, gtest=False),
        ]
        done = []
        with tempfile.TemporaryDirectory() as folder:
            gpu_test.run_phase(jobs, 2, folder, done)
        runs = {run.name: run for _, run in done}
        self.assertTrue(runs["hangs"].timed_out)
        self.assertEqual(runs["hangs"].output, "before\n")
        self.assertEqual((runs["ends"].timed_out, runs["ends"].output), (False, "done\n"))

    def test_an_interruption_stops_what_runs(self):
        started = []

        class Noted(gpu_test.Process):
            def __init__(self, *arguments):
                super().__init__(*arguments)
                started.append(self.process)

        class Full(list):
            def append(self, pair):
                raise KeyboardInterrupt

        jobs = [gpu_test.Job("a", "goes on", ["sleep", "60"], 90, gtest=False),
                gpu_test.Job("a", "ends", ["true"], 90, gtest=False)]
        with tempfile.TemporaryDirectory() as folder, unittest.mock.patch.object(gpu_test, "Process", Noted):
            with self.assertRaises(KeyboardInterrupt):
                gpu_test.run_phase(jobs, 2, folder, Full())
        self.assertEqual([process.returncode for process in started], [-9, 0])

    def test_every_gpu_has_a_record_of_its_own(self):
        for name, part in (("NVIDIA H200", "h200"), ("NVIDIA RTX 6000 Ada Generation", "rtx-6000-ada-generation"),
                           ("Maker/../G 1", "maker-g-1")):
            self.assertEqual(gpu_test.file_part(name), part)

    def test_what_would_choose_among_the_tests_is_not_handed_on(self):
        job = gpu_test.Job("a", "b", [], 1, env={"GTEST_SHARD_INDEX": "1"})
        with unittest.mock.patch.dict(os.environ, {"GTEST_FILTER": "None.*", "GTEST_TOTAL_SHARDS": "9", "OTHER": "x"}):
            handed = gpu_test.environment(job)
        self.assertEqual({name for name in handed if name.startswith("GTEST_")}, {"GTEST_SHARD_INDEX"})
        self.assertEqual(handed["OTHER"], "x")


FAKE_TESTS = f"""#!/usr/bin/env python3
import sys
report = next(a for a in sys.argv if a.startswith("--gtest_output=xml:"))[19:]
if "MODE" == "crash": sys.exit(134)
open(report, "w").write('''{account(PASSED)}''')
print("{COMPARED.strip()}")
"""


class WholeRun(TreeTest):
    PROGRAMS = ("contract", "test_device", "test_cli", "test_engine", "test_kernels", "test_other")

    def program(self, path, text):
        self.write(path, text)
        full = os.path.join(self.root, path)
        os.chmod(full, os.stat(full).st_mode | stat.S_IXUSR)

    def setUp(self):
        super().setUp()
        self.program("bin/nvidia-smi", "#!/bin/sh\necho 'Maker G1, 1.2'\n")
        self.program("bin/compute-sanitizer", f"#!/bin/bash\necho '{SANITIZED}'\n" 'while [[ $1 == -* ]]; do\n'
                     '  case $1 in --tool | --error-exitcode | --report-api-errors | --print-limit | --kernel-regex-exclude) shift ;; esac\n  shift\ndone\nexec "$@"\n')
        self.program("package/reprise", "#!/bin/sh\necho '[1, 2]'\n")
        self.program("package/example_axpy_cuda", "#!/bin/sh\necho as the plain loop\n")
        self.write("package/commit", "abc (modified)\n")
        for name in self.PROGRAMS:
            self.program(f"package/{name}_cuda", FAKE_TESTS)

    def run_all(self, *more):
        record = os.path.join(self.root, "record.txt")
        command = [sys.executable, gpu_test.__file__, "--package", os.path.join(self.root, "package"), "--record", record]
        env = {**os.environ, "PATH": os.path.join(self.root, "bin") + os.pathsep + os.environ["PATH"]}
        done = subprocess.run(command + list(more), env=env, capture_output=True, text=True, check=False)
        with open(record, encoding="utf-8") as file:
            text = file.read()
        self.assertEqual(done.stdout.replace("\n", ""), text.replace("\n", ""), done.stderr)
        return done.returncode, text

    def test_the_record_has_every_section_with_its_closing_line(self):
        code, text = self.run_all("--jobs", "2")
        self.assertEqual(code, 0, text)
        self.assertRegex(text, r"\Adevice Maker G1\ndriver 1\.2\ndate \d{4}-.*Z\ncommit abc \(modified\)\n")
        for name in ("contract", "device", "golden", "stories", "engine", "other", "oracle"):
            self.assertRegex(text, rf"(?s)== {name}\n((?!\n== ).)*\n100% tests passed, 0 tests failed out of \d+\n\n")
        self.assertRegex(text, r"(?s)== memcheck\n((?!\n== ).)*ERROR SUMMARY: 0 errors\n\n")
        self.assertRegex(text.splitlines()[-1], "^all 11 sections are as they must be")

    def test_a_crash_and_a_missing_program_fail_and_leave_the_rest(self):
        self.program("package/test_device_cuda", FAKE_TESTS.replace("MODE", "crash"))
        os.remove(os.path.join(self.root, "package/test_engine_cuda"))
        code, text = self.run_all("--jobs", "2")
        self.assertEqual(code, 1)
        self.assertIn("FAILED: test_device_cuda: exit status 134\n", text)
        self.assertIn("FAILED: test_engine_cuda is not in the package\n", text)
        self.assertEqual(text.splitlines()[-1], "FAILED: device, engine")
        self.assertIn("== golden", text)

    def test_a_package_without_examples_or_with_a_wrong_one_fails(self):
        self.program("package/example_axpy_cuda", "#!/bin/sh\necho not as the plain loop\nexit 1\n")
        code, text = self.run_all("--sections", "examples")
        self.assertEqual(code, 1)
        self.assertIn("FAILED: example_axpy_cuda: exit status 1\n", text)
        os.remove(os.path.join(self.root, "package/example_axpy_cuda"))
        code, text = self.run_all("--sections", "examples")
        self.assertEqual(code, 1)
        self.assertIn("the package holds none", text)

    def test_some_sections_alone(self):
        code, text = self.run_all("--sections", "oracle,device")
        self.assertEqual((code, text.count("\n== ")), (0, 3), text)
        self.assertIn("the 2 sections asked for, and no others,", text.splitlines()[-1])

    def test_a_section_that_there_is_not_is_an_error(self):
        command = [sys.executable, gpu_test.__file__, "--package", os.path.join(self.root, "package"), "--sections", "MORE"]
        env = {**os.environ, "PATH": os.path.join(self.root, "bin") + os.pathsep + os.environ["PATH"]}
        for more in ("golden,goldn", ""):
            done = subprocess.run([*command[:-1], more], env=env, capture_output=True, text=True, check=False)
            self.assertNotEqual(done.returncode, 0)
            self.assertIn(f"there is no section {more[7:]!r}; there are contract", done.stderr)

    def test_a_checkpoint_that_is_not_there_is_no_success(self):
        self.program("package/test_cli_cuda", FAKE_TESTS.replace(PASSED, PASSED + SKIPPED))
        code, text = self.run_all("--jobs", "1", "--sections", "golden,stories")
        self.assertEqual(code, 1)
        self.assertEqual(text.splitlines()[-1], "FAILED: golden, stories")
        code, text = self.run_all("--jobs", "1", "--sections", "golden,stories", "--allow-skips")
        self.assertEqual(code, 0)
        self.assertEqual(text.count("; 1 skipped, named above\n"), 2, text)


if __name__ == "__main__":
    unittest.main()
