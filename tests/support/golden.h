// SPDX-License-Identifier: Apache-2.0
// Where the golden checkpoints lie. llama-hd128-bf16 is too large for the repository; it is read
// from the folder beside it where that is present.
#pragma once

#include <filesystem>
#include <optional>
#include <string>

namespace reprise::test {

/// Folder of a checkpoint such as "llama-mha-bf16", or nothing where it is not present.
inline std::optional<std::filesystem::path> golden_folder(const std::string& name) {
  const std::filesystem::path source = REPRISE_SOURCE_DIR;
  for (const auto& place : {source / "tests/golden", source.parent_path() / "shared/golden"}) {
    if (std::filesystem::exists(place / name / "config.json")) return place / name;
  }
  return std::nullopt;
}

}  // namespace reprise::test
