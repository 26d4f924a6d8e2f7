// SPDX-License-Identifier: Apache-2.0
// Where the checkpoints lie that tests compare with. llama-hd128-bf16 and stories260K are not in
// the repository: they are read from the folder beside it or from a GPU package, where present.
#pragma once

#include <filesystem>
#include <initializer_list>
#include <optional>
#include <string>

#include "support/places.h"

namespace reprise::test {

/// The first of these folders that holds a model.
inline std::optional<std::filesystem::path> model_among(
    std::initializer_list<std::filesystem::path> folders) {
  for (const auto& folder : folders) {
    if (std::filesystem::exists(folder / "config.json")) return folder;
  }
  return std::nullopt;
}

/// Folder of a checkpoint such as "llama-mha-bf16", or nothing where it is not present.
inline std::optional<std::filesystem::path> golden_folder(const std::string& name) {
  const std::filesystem::path source = source_folder();
  return model_among({source / "tests/golden" / name, source / "gpu-package/golden" / name,
                      source.parent_path() / "shared/golden" / name});
}

/// Folder of the public checkpoint stories260K, or nothing where it is not present.
inline std::optional<std::filesystem::path> stories_folder() {
  const std::filesystem::path source = source_folder();
  return model_among({source / "gpu-package/models/stories260K",
                      source.parent_path() / "shared/models/stories260K"});
}

}  // namespace reprise::test
