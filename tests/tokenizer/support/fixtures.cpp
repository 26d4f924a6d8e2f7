// SPDX-License-Identifier: Apache-2.0
#include "tokenizer/support/fixtures.h"

#include <cstdlib>
#include <fstream>
#include <stdexcept>

#include <reprise/error.h>

namespace reprise::test {

namespace fs = std::filesystem;

TemporaryFolder::TemporaryFolder() {
  std::string pattern = (fs::temp_directory_path() / "reprise-test-XXXXXX").string();
  if (mkdtemp(pattern.data()) == nullptr) throw std::runtime_error("no temporary folder");
  path_ = pattern;
}

TemporaryFolder::~TemporaryFolder() {
  std::error_code ignored;
  fs::remove_all(path_, ignored);
}

void TemporaryFolder::write(std::string_view name, std::string_view bytes) const {
  std::ofstream file(path_ / name, std::ios::binary);
  file.write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
}

fs::path golden_tokenizers() { return fs::path(REPRISE_SOURCE_DIR) / "tests/golden/tokenizers"; }

nlohmann::json read_json(const fs::path& path) {
  std::ifstream file(path);
  return nlohmann::json::parse(file);
}

nlohmann::json fixture(std::string_view name) {
  return read_json(golden_tokenizers() / name / "tokenizer.json");
}

Tokenizer load_bytes(std::string_view bytes) {
  const TemporaryFolder folder;
  folder.write("tokenizer.json", bytes);
  return Tokenizer::load(folder.path());
}

Tokenizer load_json(const nlohmann::json& json) { return load_bytes(json.dump()); }

std::string load_error(std::string_view bytes) {
  try {
    load_bytes(bytes);
  } catch (const ModelError& error) {
    return error.what();
  }
  return "";
}

}  // namespace reprise::test
