# SPDX-License-Identifier: Apache-2.0
import os
import unittest

from fixture import TreeTest

import check_sass

NAME = "_ZN7reprise12cuda_kernels12_GLOBAL__N_111norm_kernelIfEEvPKfPT_i"
DECLARED = {"norm_kernel": (True, True)}


def dump(lines, name=NAME, architecture="90a"):
    """As cuobjdump --dump-sass prints a function."""
    text = f"\n\tcode for sm_{architecture}\n\t\tFunction : {name}\n\t.headerflags\t@\"EF_CUDA_SM90\"\n"
    for i, line in enumerate(lines):
        text += f"        /*{16 * i:04x}*/                   {line} ;    /* 0x000fe20000000f00 */\n"
        text += "                                                          /* 0x003fde0000000000 */\n"
    return text + "\t\t..........\n"


def findings(lines, declared=None, **more):
    found, _ = check_sass.check(dump(lines, **more), DECLARED if declared is None else declared)
    return [line.split(") ", 1)[-1] for line in found]


GOOD = ["LDC R1, c[0x0][0x28]", "PREEXIT", "CCTL.E.PF2 [R2]", "ACQBULK", "LDG.E R4, desc[UR4][R2.64]",
        "STG.E desc[UR4][R2.64], R4", "EXIT"]


class Code(unittest.TestCase):
    def test_a_kernel_that_triggers_waits_and_then_works(self):
        self.assertEqual(check_sass.check(dump(GOOD), DECLARED), ([], 1))

    def test_neither_wait_nor_trigger(self):
        lines = [line for line in GOOD if line not in ("PREEXIT", "ACQBULK")]
        self.assertEqual(findings(lines), ["declares a trigger, but holds no PREEXIT",
                                           "declares that it waits, but holds no ACQBULK"])

    def test_memory_before_the_wait(self):
        self.assertEqual(findings(["PREEXIT", "LDG.E.128 R4, [R2.64]", "ACQBULK", "EXIT"]),
                         ["may read before it waits: LDG.E.128 at 0x0010"])
        self.assertEqual(findings(["PREEXIT", "STG.E [R2.64], R4", "ACQBULK", "EXIT"]),
                         ["may write before it waits: STG.E at 0x0010"])
        self.assertEqual(findings(["PREEXIT", "RED.E.ADD.STRONG.GPU [R2.64], R4", "ACQBULK", "EXIT"]),
                         ["may write before it waits: RED.E.ADD.STRONG.GPU at 0x0010"])

    def test_shared_and_constant_memory_may_be_used_before(self):
        self.assertEqual(findings(["PREEXIT", "LDC R1, c[0x0][0x28]", "STS [R1], R2", "LDS R3, [R1]", "ACQBULK", "EXIT"]), [])

    def test_an_early_end_counts_on_any_path(self):
        self.assertEqual(findings(["PREEXIT", "@P0 EXIT", "ACQBULK", "EXIT"]), ["may end before it waits: EXIT at 0x0010"])
        self.assertEqual(findings(["PREEXIT", "ACQBULK", "@!P0 EXIT", "EXIT"]), [])

    def test_a_wait_under_a_condition_is_none(self):
        self.assertEqual(findings(["PREEXIT", "@P1 ACQBULK", "LDG.E R4, [R2.64]", "EXIT"]),
                         ["may read before it waits: LDG.E at 0x0020", "may end before it waits: EXIT at 0x0030"])

    def test_branches_round_the_wait_are_followed(self):
        lines = ["PREEXIT", "@P0 BRA 0x40", "ACQBULK", "BRA 0x40", "LDG.E R4, [R2.64]", "EXIT"]
        self.assertEqual(findings(lines), ["may read before it waits: LDG.E at 0x0040",
                                           "may end before it waits: EXIT at 0x0050"])
        lines = ["PREEXIT", "BRA 0x40", "LDG.E R4, [R2.64]", "EXIT", "ACQBULK", "BRA 0x20"]
        self.assertEqual(findings(lines), [])  # the layout is not the order

    def test_loops_and_convergence_before_the_wait(self):
        lines = ["PREEXIT", "BSSY B0, 0x60", "@P0 BRA 0x60", "NANOSLEEP R2", "@!P1 BRA 0x30", "BSYNC B0", "ACQBULK",
                 "STG.E [R2.64], R4", "EXIT"]
        self.assertEqual(findings(lines), [])

    def test_what_is_declared_must_be_there(self):
        self.assertEqual(findings(GOOD, {"other_kernel": (True, True)}),
                         ["other_kernel is declared, but the code holds no such kernel"])
        # A longer name that ends alike is another kernel.
        other = NAME.replace("11norm_kernel", "15rms_norm_kernel")
        self.assertEqual(findings(["EXIT"], name=other), ["norm_kernel is declared, but the code holds no such kernel"])

    def test_older_code_is_not_asked(self):
        self.assertEqual(check_sass.check(dump(["EXIT"], architecture="80"), DECLARED), ([], 0))
        both = dump(["EXIT"], architecture="80") + dump(GOOD)
        self.assertEqual(check_sass.check(both, DECLARED), ([], 1))

    def test_a_kernel_may_wait_without_a_trigger(self):
        self.assertEqual(findings(["ACQBULK", "EXIT"], {"norm_kernel": (True, False)}), [])


class Declarations(TreeTest):
    def declared(self):
        return check_sass.declarations(os.path.join(self.root, "cuda"))

    def test_are_read_from_the_sources(self):
        self.write("cuda/norm.cu", "constexpr ProgrammaticKernel kDeclared{\n    .kernel = \"norm_kernel\", .waits = true, "
                                   ".triggers_early = false};\nvoid norm_kernel() { wait_for_producer(); }\n")
        self.assertEqual(self.declared(), ({"norm_kernel": (True, False)}, []))

    def test_a_wait_that_nobody_declares(self):
        self.write("cuda/a.cu", "void f() {\n  wait_for_producer();\n}\n")
        self.write("cuda/b.cu", "// wait_for_producer();\n")
        self.assertEqual(self.declared(), ({}, ["a.cu: a kernel waits, but no ProgrammaticKernel declares it"]))

    def test_a_declared_kernel_that_is_not_there(self):
        self.write("cuda/a.cu", "ProgrammaticKernel k{.kernel = \"gone\", .waits = true, .triggers_early = true};\n")
        self.assertEqual(self.declared()[1], ["a.cu: 'gone' is declared, but no such kernel stands here"])

    def test_the_project_declares_its_decode_kernels(self):
        declared, found = check_sass.declarations(check_sass.ROOT / "src" / "kernels" / "cuda")
        self.assertEqual(found, [])
        for kernel in ("embed", "rms_norm", "matmul_mma", "matmul_f32", "rotate_append", "attend", "silu_mul", "select"):
            self.assertEqual(declared.get(f"{kernel}_kernel"), (True, True), kernel)


if __name__ == "__main__":
    unittest.main()
