# SPDX-License-Identifier: Apache-2.0
import unittest

from fixture import TreeTest

import check_ranks


class Ranks(TreeTest):
    def setUp(self):
        super().setUp()
        self.write("include/reprise/error.h", "#include <string>\n")
        self.write("include/reprise/graph.h", "#include <reprise/error.h>\n")
        for name in ("core/log.h", "device/queue.h", "graph/key.h", "kernels/ops.h", "model/config.h", "diag/dot.h",
                     "engine/batch.h", "device/cuda/stream.h"):
            self.write(f"src/{name}")

    def findings(self):
        return [f"{path}:{line}: {message}" for path, line, message in check_ranks.findings(self.root)]

    def assert_one(self, *parts):
        found = self.findings()
        self.assertEqual(len(found), 1, found)
        for part in parts:
            self.assertIn(part, found[0])

    def test_lower_ranks_and_the_own_folder_are_fine(self):
        self.write("src/engine/batch.cpp", '#include "engine/batch.h"\n#include "model/config.h"\n'
                                           '#include "graph/key.h"\n#include <reprise/graph.h>\n#include <vector>\n')
        self.write("cli/main.cpp", '#include "args.h"\n#include "engine/batch.h"\nint main() { exit(getenv("X") != 0); }\n')
        self.write("cli/args.h")
        self.assertEqual(self.findings(), [])

    def test_a_higher_rank_is_refused_with_its_line(self):
        self.write("src/device/queue.cpp", '// first\n#include "graph/key.h"\n')
        self.assert_one("src/device/queue.cpp:2", "device (rank 1)", "graph has rank 3")

    def test_equal_ranks_do_not_see_each_other(self):
        self.write("src/kernels/run.cpp", '#include "graph/key.h"\n')
        self.assert_one("src/kernels/run.cpp:1", "graph has rank 3")

    def test_public_headers_include_what_is_installed_only(self):
        self.write("include/reprise/cuda.h", "#include <cuda_runtime_api.h>\n#include <reprise/error.h>\n")
        self.assertEqual(self.findings(), [])
        self.write("include/reprise/error.h", "#include <string>\n#include <fmt/format.h>\n")
        self.assert_one("include/reprise/error.h:2", "<fmt/format.h>, which is not installed")

    def test_the_exceptions_hold(self):
        self.write("src/model/a.cpp", '#include "graph/key.h"\n')
        self.assert_one("model never sees graph")

    def test_diag_does_not_see_kernels(self):
        self.write("src/diag/a.cpp", '#include "kernels/ops.h"\n')
        self.assert_one("diag never sees kernels")

    def test_public_headers_have_the_rank_of_their_folder(self):
        self.write("src/memory/a.cpp", "#include <reprise/graph.h>\n")
        self.assert_one("memory (rank 2)", "reprise/graph.h")

    def test_public_headers_include_no_private_ones(self):
        self.write("include/reprise/shape.h", '#include "core/log.h"\n')
        self.assert_one("include/reprise/shape.h:1", "its users do not have")

    def test_a_public_header_without_a_rank_is_named(self):
        self.write("include/reprise/novelty.h")
        self.assert_one("include/reprise/novelty.h:1", "add it to PUBLIC")

    def test_a_public_header_has_the_rank_of_its_source(self):
        self.write("include/reprise/novelty.h", "#include <reprise/graph.h>\n")
        self.write("src/memory/novelty.cpp")
        self.assert_one("include/reprise/novelty.h:1: memory (rank 2) may not include reprise/graph.h")

    def test_a_folder_without_a_rank_is_named(self):
        self.write("src/extras/a.cpp")
        self.assert_one("folder 'extras' has no rank")

    def test_includes_are_written_from_src(self):
        self.write("src/graph/a.cpp", '#include "key.h"\n')
        self.assert_one('"key.h" is no file under src/')

    def test_an_include_in_a_comment_is_none(self):
        self.write("src/core/a.cpp", '/* was:\n#include "graph/key.h"\n*/\n// #include "model/config.h"\n')
        self.assertEqual(self.findings(), [])

    def test_cuda_headers_stay_under_cuda(self):
        for name in ("cuda_runtime.h", "cublasLt.h", "cuda/std/span", "nccl.h"):
            with self.subTest(name):
                self.write("src/graph/a.cpp", f"#include <{name}>\n")
                self.assert_one("src/graph/a.cpp:1", f"<{name}> belongs under a cuda/ folder")
        self.write("src/graph/a.cpp")
        self.write("src/device/cuda/a.cpp", '#include <cuda_runtime.h>\n#include "device/cuda/stream.h"\n')
        self.write("include/reprise/cuda.h", "#include <cuda_runtime_api.h>\n")
        self.assertEqual(self.findings(), [])

    def test_a_cuda_folder_is_private_to_cuda(self):
        self.write("src/device/a.cpp", '#include "device/cuda/stream.h"\n')
        self.assert_one("is seen only by files under a cuda/ folder")

    def test_the_environment_and_exit_are_for_the_program(self):
        for call in ('std::getenv("A")', "exit(1)", "::setenv(a, b, 1)", "std::quick_exit(0)"):
            with self.subTest(call):
                self.write("src/core/a.cpp", f"void f() {{ {call}; }}\n")
                self.assert_one("src/core/a.cpp:1", "is for cli/ only")

    def test_other_words_with_exit_are_fine(self):
        self.write("src/core/a.cpp", '// exit(1)\nvoid f() { loop.exit(); p->exit(); at_exit(g); say("getenv(x)"); }\n')
        self.assertEqual(self.findings(), [])

    def test_json_is_kept_in_five_files_and_no_header(self):
        for n in range(5):
            self.write(f"src/model/j{n}.cpp", "#include <nlohmann/json.hpp>\n")
        self.assertEqual(self.findings(), [])
        self.write("cli/j.cpp", "#include <nlohmann/json.hpp>\n")
        self.assert_one("6 files", "at most 5")

    def test_json_in_a_header_is_refused(self):
        self.write("src/model/j.h", "#include <nlohmann/json_fwd.hpp>\n")
        self.assert_one("src/model/j.h:1", "by a header")

    def test_cli11_is_kept_in_one_file(self):
        self.write("cli/a.cpp", "#include <CLI/CLI.hpp>\n")
        self.assertEqual(self.findings(), [])
        self.write("cli/b.cpp", "#include <CLI/App.hpp>\n")
        self.assert_one("CLI11", "at most 1")


if __name__ == "__main__":
    unittest.main()
