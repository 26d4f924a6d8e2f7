// SPDX-License-Identifier: Apache-2.0
// A whole, valid, tiny model folder in a temporary place, and ways to break it.
#pragma once

#include <filesystem>
#include <functional>
#include <map>
#include <string>
#include <string_view>

#include "model/weights.h"

namespace reprise::test {

/// A folder that is removed with everything in it when the object goes.
class TempFolder {
 public:
  TempFolder();
  ~TempFolder();
  TempFolder(const TempFolder&) = delete;
  TempFolder& operator=(const TempFolder&) = delete;
  const std::filesystem::path& path() const { return path_; }

 private:
  std::filesystem::path path_;
};

std::string read_bytes(const std::filesystem::path& path);
void write_bytes(const std::filesystem::path& path, std::string_view bytes);

/// Length, header and data as a safetensors file.
std::string safetensors_bytes(std::string_view header, std::string_view data);

/// Fields of a config.json as JSON literals.
using Fields = std::map<std::string, std::string>;
std::string to_json(const Fields& fields);

/// Llama with 2 layers, hidden 8, 2 heads, 1 KV head, intermediate 12, vocabulary 10.
Fields tiny_config();

class TinyModel {
 public:
  /// Writes config.json, generation_config.json and model.safetensors (F32).
  TinyModel();
  const std::filesystem::path& folder() const { return folder_.path(); }
  std::filesystem::path file(const std::string& name) const { return folder() / name; }

  void set(const std::string& field, const std::string& literal);  ///< in config.json
  void remove_field(const std::string& field);
  /// Replaces the first `from` in the header of model.safetensors; throws if it is not there.
  void edit_header(const std::string& from, const std::string& to);
  /// Writes model.safetensors anew, each tensor in the type that `dtype_of` gives; all zero.
  void write_weights(const std::function<DType(const ExpectedTensor&)>& dtype_of);
  /// Splits the weights into two shards with an index; the first holds model.embed_tokens.weight.
  void shard();

 private:
  TempFolder folder_;
  Fields config_;
};

}  // namespace reprise::test
