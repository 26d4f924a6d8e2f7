// SPDX-License-Identifier: Apache-2.0
// The tensors of a model folder by name, over one model.safetensors or over the shards that
// model.safetensors.index.json lists. Immutable, so any thread may read it; copies share the files.
#pragma once

#include <filesystem>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "core/host_tensor.h"
#include "model/safetensors.h"

namespace reprise {

class Checkpoint {
 public:
  /// Opens the folder's weights: model.safetensors if it is there, else the shards. Throws
  /// ModelError if there are none, or if a shard is missing, malformed or lacks a tensor the index
  /// puts there.
  explicit Checkpoint(const std::filesystem::path& folder);

  struct Located {
    const SafetensorsFile* file = nullptr;
    const TensorEntry* entry = nullptr;
    explicit operator bool() const noexcept { return entry != nullptr; }
  };

  /// Empty if there is no such tensor. The pointers live as long as this object or a copy of it.
  Located find(std::string_view name) const;
  /// Sorted.
  std::vector<std::string_view> names() const;
  /// The single file, or the index: what to name when a tensor is in no file.
  const std::filesystem::path& catalogue_file() const noexcept { return catalogue_file_; }
  /// Hint that all weights will be read soon.
  void prefetch() const noexcept;

 private:
  void open_single(const std::filesystem::path& file);
  void open_shards(const std::filesystem::path& index);

  std::filesystem::path catalogue_file_;
  std::vector<std::shared_ptr<const SafetensorsFile>> files_;
  std::map<std::string, Located, std::less<>> tensors_;
};

}  // namespace reprise
