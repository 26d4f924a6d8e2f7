// SPDX-License-Identifier: Apache-2.0
// Tokenizers made from edited fixtures, in folders that vanish with the test.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>

#include <nlohmann/json.hpp>

#include "model/tokenizer/tokenizer.h"

namespace reprise::test {

/// A fresh folder under the system's temporary one, removed at the end.
class TemporaryFolder {
 public:
  TemporaryFolder();
  ~TemporaryFolder();
  TemporaryFolder(const TemporaryFolder&) = delete;
  TemporaryFolder& operator=(const TemporaryFolder&) = delete;
  const std::filesystem::path& path() const { return path_; }
  void write(std::string_view name, std::string_view bytes) const;

 private:
  std::filesystem::path path_;
};

std::filesystem::path golden_tokenizers();
nlohmann::json read_json(const std::filesystem::path& file);
/// tokenizer.json of a fixture such as "gpt2-style".
nlohmann::json fixture(std::string_view name);

/// Loads a tokenizer.json with exactly these bytes.
Tokenizer load_bytes(std::string_view bytes);
Tokenizer load_json(const nlohmann::json& json);

/// The message of the ModelError that loading these bytes throws; "" where it throws none.
std::string load_error(std::string_view bytes);

}  // namespace reprise::test
