# SPDX-License-Identifier: Apache-2.0
import unittest

from fixture import TreeTest

import check_sizes


def found(text):
    return [(name, last - first + 1) for name, first, last in check_sizes.cpp_functions(text)]


class Functions(unittest.TestCase):
    def test_free_member_and_templated_functions(self):
        self.assertEqual(found("namespace a {\nint f(int x) {\n  return x;\n}\n}\n"), [("f", 3)])
        self.assertEqual(found("int A::g() const noexcept {\n}\n"), [("A::g", 2)])
        self.assertEqual(found("struct A {\n public:\n  int g() const { return 1; }\n  int x_ = 0;\n};\n"), [("g", 1)])
        self.assertEqual(found("template <typename T, int N>\nrequires(N > 1)\nT h(T t)\n{\n}\n"), [("h", 5)])
        self.assertEqual(found("auto f(int a) -> std::vector<int> {\n}\n"), [("f", 2)])

    def test_constructors_with_initialisers(self):
        text = "A::A(int a)\n    : a_(a),\n      b_{a},\n      c_(std::vector<int>{1, 2}) {\n  f();\n}\nint g() {}\n"
        self.assertEqual(found(text), [("A::A", 6), ("g", 1)])
        self.assertEqual(found("A::A() : b_{1} {\n}\n"), [("A::A", 2)])

    def test_operators(self):
        self.assertEqual([n for _, n in found("A& A::operator=(A&& o) noexcept {\n}\n")], [2])
        self.assertEqual([n for _, n in found("bool operator==(A a, A b) {\n\n}\n")], [3])

    def test_inner_braces_and_lambdas_belong_to_their_function(self):
        self.assertEqual(found("void f() {\n  if (a) {\n  }\n  auto l = [&](int x) {\n  };\n}\n"), [("f", 6)])

    def test_data_is_no_function(self):
        self.assertEqual(found("const std::array<int, 2> kA = {f(1), 2};\nint b{3};\nenum class E { kA, kB };\n"), [])
        self.assertEqual(found("struct A {\n  std::function<void(int)> f = [](int) {\n  };\n  int x{2};\n};\n"), [])

    def test_braces_in_comments_strings_and_directives_do_not_count(self):
        self.assertEqual(found("#define X {\nvoid f() {\n  g(\"{\", '{', R\"({)\");  // {\n  /* { */\n}\n"), [("f", 4)])
        self.assertEqual(found("int f() { return 1'000'000; }\nint g() {\n}\n"), [("f", 1), ("g", 2)])

    def test_test_macros_and_kernels_are_functions(self):
        self.assertEqual(found("TEST(A, B) {\n}\n"), [("TEST", 2)])
        self.assertEqual([n for _, n in found("__global__ void __launch_bounds__(256) k(int n) {\n}\n")], [2])
        self.assertEqual([n for _, n in found('__attribute__((target("avx2,fma"))) float d(int n) {\n}\n')], [2])

    def test_default_arguments_and_for_loops(self):
        self.assertEqual(found("void f(int a = 3, B b = {}) {\n  for (int i = 0; i < 3; ++i) {\n  }\n}\n"), [("f", 4)])

    def test_unbalanced_braces_are_said(self):
        self.assertIsNone(list(check_sizes.cpp_functions("void f() {\n"))[-1][2])


class Sizes(TreeTest):
    def findings(self):
        return [f"{path}:{line}: {message}" for path, line, message in check_sizes.findings(self.root)]

    def test_sixty_lines_pass_and_sixty_one_do_not(self):
        self.write("src/a.cpp", "void f() {\n" + "  g();\n" * 58 + "}\n")
        self.assertEqual(self.findings(), [])
        self.write("src/a.cpp", "\nvoid f() {\n" + "  g();\n" * 59 + "}\n")
        self.assertEqual(self.findings(), ["src/a.cpp:2: f has 61 lines, at most 60"])

    def test_five_hundred_lines_pass_and_five_hundred_and_one_do_not(self):
        self.write("include/a.h", "int x;\n" * 500)
        self.assertEqual(self.findings(), [])
        self.write("include/a.h", "int x;\n" * 501)
        self.assertEqual(len(self.findings()), 1)

    def test_python_functions_are_measured_too(self):
        self.write("tools/a.py", "def f():\n" + "    g()\n" * 60)
        self.assertEqual(self.findings(), ["tools/a.py:1: f has 61 lines, at most 60"])


if __name__ == "__main__":
    unittest.main()
