// SPDX-License-Identifier: Apache-2.0
// A checkpoint with its weights converted to F32: it is computed in F32 on every device (DESIGN
// §3).
#pragma once

#include <filesystem>
#include <fstream>
#include <memory>
#include <string>
#include <vector>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>
#include <unistd.h>

#include "kernels/host/elements.h"
#include "model/checkpoint.h"

namespace reprise::test {

/// Lives in a temporary folder, which goes with the object.
class F32Copy {
 public:
  explicit F32Copy(const std::filesystem::path& original)
      : home_(std::filesystem::path(::testing::TempDir()) / ("f32-" + std::to_string(::getpid()))),
        folder_(home_ / (original.filename().string() + "-f32")) {
    std::filesystem::create_directories(folder_);
    write_config(original);
    write_weights(original);
  }
  ~F32Copy() {
    std::error_code ignored;
    std::filesystem::remove_all(home_, ignored);
  }
  F32Copy(const F32Copy&) = delete;
  F32Copy& operator=(const F32Copy&) = delete;

  const std::filesystem::path& folder() const noexcept { return folder_; }

 private:
  void write_config(const std::filesystem::path& original) const {
    auto config = nlohmann::json::parse(std::ifstream(original / "config.json"));
    config[config.contains("torch_dtype") ? "torch_dtype" : "dtype"] = "float32";
    std::ofstream(folder_ / "config.json") << config.dump(2);
    std::filesystem::copy_file(original / "generation_config.json",
                               folder_ / "generation_config.json");
  }

  void write_weights(const std::filesystem::path& original) const {
    const Checkpoint checkpoint(original);
    std::vector<HostTensor> tensors;
    for (const std::string_view name : checkpoint.names()) {
      const auto [file, entry] = checkpoint.find(name);
      const HostTensor narrow = file->tensor(*entry);
      auto values =
          std::make_shared<std::vector<float>>(static_cast<std::size_t>(narrow.shape.elements()));
      for (std::size_t i = 0; i < values->size(); ++i) {
        (*values)[i] = load_element(narrow.dtype, narrow.data, static_cast<std::int64_t>(i));
      }
      tensors.push_back({std::string(name), DType::f32, narrow.shape, values->data(), values});
    }
    write_safetensors(folder_ / "model.safetensors", tensors);
  }

  std::filesystem::path home_;
  std::filesystem::path folder_;
};

}  // namespace reprise::test
