# SPDX-License-Identifier: Apache-2.0
"""Installs libreprise of a build folder, moves the copy, and builds and runs this folder's project against it, with
find_package and with pkg-config. Run by CTest, which says in the environment: REPRISE_BUILD (folder), REPRISE_CUDA
(ON or OFF), REPRISE_CONFIG (Release, Debug), REPRISE_SANITIZE, CXX, CMAKE."""

import os
import re
import shutil
import subprocess
import tempfile
import unittest

HERE = os.path.dirname(os.path.abspath(__file__))
SOURCES = os.path.dirname(os.path.dirname(HERE))
BUILD = os.environ["REPRISE_BUILD"]
CMAKE = os.environ.get("CMAKE", "cmake")
PROGRAMS = ("replay_step", "graph_pool")
STAGE, PREFIX = "stage", "/opt/reprise-before-the-move"


def compile_flags():
    # -O0: what is tested is that it links and runs. A sanitized archive needs a sanitized program.
    sanitize = os.environ.get("REPRISE_SANITIZE", "")
    return "-O0 -Wall -Wextra -Wpedantic -Werror" + (f" -fsanitize={sanitize}" if sanitize else "")


def run(*command, **environment):
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False, cwd=HERE,
                          env={**os.environ, **environment})
    return done.returncode, done.stdout


class Installed(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.mkdtemp(prefix="reprise-install-")
        cls.addClassCleanup(shutil.rmtree, cls.folder)
        stage = os.path.join(cls.folder, STAGE)
        code, out = run(CMAKE, "--install", BUILD, "--component", "library", "--prefix", PREFIX, DESTDIR=stage)
        if code:
            raise AssertionError(f"cmake --install exits {code}:\n{out}")
        cls.prefix = os.path.join(cls.folder, "moved")
        os.rename(stage + PREFIX, cls.prefix)
        shutil.rmtree(stage)
        cls.paths = {os.path.relpath(os.path.join(here, name), cls.prefix)
                     for here, _, names in os.walk(cls.prefix) for name in names}

    def only(self, pattern):
        found = [path for path in self.paths if re.search(pattern, path)]
        self.assertEqual(len(found), 1, f"{pattern}: {found} among {sorted(self.paths)}")
        return os.path.join(self.prefix, found[0])

    def succeeds(self, *command, **environment):
        code, out = run(*command, **environment)
        self.assertEqual(code, 0, f"{' '.join(command)}\n{out}")
        return out

    def configure(self, *options, source=HERE):
        binary = tempfile.mkdtemp(dir=self.folder)
        code, out = run(CMAKE, "-S", source, "-B", binary, f"-DCMAKE_PREFIX_PATH={self.prefix}",
                        f"-DCMAKE_CXX_FLAGS={compile_flags()}", *options, DESTDIR="")
        return binary, code, out

    def runs(self, folder):
        for program in PROGRAMS:
            self.assertIn("as the plain loop", self.succeeds(os.path.join(folder, program)))

    def test_what_is_installed(self):
        self.only(r"^lib.*/libreprise\.a$")
        self.only(r"/LICENSE$")
        headers = {os.path.basename(path) for path in self.paths if path.startswith("include/reprise/")}
        expected = set(os.listdir(os.path.join(SOURCES, "include", "reprise")))
        if os.environ["REPRISE_CUDA"] != "ON":
            expected -= {"cuda.h", "cuda_launch.h"}  # their functions are not in this archive
        self.assertEqual(headers, expected)

    def test_nothing_names_the_places_it_came_from(self):
        for path in sorted(self.paths):
            with open(os.path.join(self.prefix, path), "rb") as file:
                content = file.read()
            for place in (SOURCES, BUILD, PREFIX):
                if path.endswith(".a") and os.environ["REPRISE_CONFIG"] == "Debug":
                    continue  # debug information names the sources, and should
                self.assertNotIn(os.fsencode(place), content, path)

    def test_only_what_linking_needs_is_asked_of_the_user(self):
        with open(self.only(r"reprise-targets\.cmake$"), encoding="utf-8") as file:
            targets = file.read()
        for leak in ("nlohmann", "reprise_flags", "-W", "CLI11", "PCRE2"):
            self.assertNotIn(leak, targets)

    def test_a_project_with_find_package(self):
        binary, code, out = self.configure()
        self.assertEqual(code, 0, out)
        self.succeeds(CMAKE, "--build", binary, "--parallel", "2")
        self.runs(binary)

    def test_a_project_with_pkg_config(self):
        out = tempfile.mkdtemp(dir=self.folder)
        where = os.path.dirname(self.only(r"pkgconfig/reprise\.pc$"))
        self.succeeds("make", "-j2", f"OUT={out}", PKG_CONFIG_PATH=where, CXXFLAGS=compile_flags())
        self.runs(out)

    def test_another_version_and_a_missing_component_are_refused(self):
        requests = ("9.9", "0.0", "COMPONENTS teleport")
        tries = "\n".join(f"find_package(reprise {request} CONFIG QUIET)\nmessage(\"{request}: ${{reprise_FOUND}}\")"
                          for request in requests)
        source = tempfile.mkdtemp(dir=self.folder)
        with open(os.path.join(source, "CMakeLists.txt"), "w", encoding="utf-8") as file:
            file.write(f"cmake_minimum_required(VERSION 3.25)\nproject(refused LANGUAGES CXX)\n{tries}\n"
                       "find_package(reprise CONFIG REQUIRED)\n")
        _, code, out = self.configure(source=source)
        self.assertEqual(code, 0, out)
        for request in requests:
            self.assertRegex(out, rf"(?m)^{re.escape(request)}: (0|FALSE)$")


if __name__ == "__main__":
    unittest.main()
