// SPDX-License-Identifier: Apache-2.0
// Where tests find the program and the files they read. A test program of gpu-package/ finds the
// program beside itself and the checkout around it, wherever both were carried; one in a build
// folder uses the paths that CMake gave.
#pragma once

#include <filesystem>
#include <optional>

namespace reprise::test {

/// The folder of a package that this test program lies in; nothing in a build folder.
inline std::optional<std::filesystem::path> package_folder() {
  const std::filesystem::path here = std::filesystem::read_symlink("/proc/self/exe").parent_path();
  if (std::filesystem::is_regular_file(here / "reprise")) return here;
  return std::nullopt;
}

/// The program `reprise`.
inline std::filesystem::path program_path() {
  const auto package = package_folder();
  return package ? *package / "reprise" : std::filesystem::path(REPRISE_PROGRAM);
}

/// The checkout's root.
inline std::filesystem::path source_folder() {
  const auto package = package_folder();
  return package ? package->parent_path() : std::filesystem::path(REPRISE_SOURCE_DIR);
}

}  // namespace reprise::test
