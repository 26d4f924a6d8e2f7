// SPDX-License-Identifier: Apache-2.0
// Reading JSON of model folders: the one place of model/ that knows the JSON library. Every fault
// is a ModelError that names the file and the field and says what was expected. Duplicate keys,
// nesting deeper than kMaxJsonDepth, invalid UTF-8 and numbers beyond a double are refused while
// parsing. Parsing uses no recursion. Values are immutable: any thread may read them.
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <reprise/error.h>

namespace reprise {

inline constexpr std::size_t kMaxJsonDepth = 64;

struct JsonDocument;
struct JsonNode;

/// A value inside a parsed file; knows its place for messages and keeps the document alive. Cheap
/// to copy. The typed getters throw a ModelError if the value is of another type.
class JsonValue {
 public:
  enum class Kind : std::uint8_t { null, boolean, integer, real, string, array, object };

  Kind kind() const noexcept;
  bool is(Kind kind) const noexcept { return this->kind() == kind; }
  /// "rope_parameters.factor", "eos_token_id[1]"; empty for the whole document.
  const std::string& path() const noexcept { return path_; }

  // Objects. find() gives nothing both for an absent key and for null; at() refuses both.
  bool contains(std::string_view key) const;
  std::optional<JsonValue> find(std::string_view key) const;
  JsonValue at(std::string_view key) const;
  /// In the file's order.
  std::vector<std::pair<std::string, JsonValue>> members() const;

  // Arrays.
  std::vector<JsonValue> items() const;

  // Scalars. A real such as 64.0 is no integer; an integer is a number; a boolean is neither.
  std::int64_t integer(std::int64_t low, std::int64_t high) const;
  double number() const;
  bool boolean() const;
  const std::string& string() const;

  /// "FILE: field 'PATH' must be EXPECTED, found VALUE; correct the file", for the caller to throw.
  ModelError error(std::string_view expected) const;

 private:
  friend class JsonFile;
  JsonValue(std::shared_ptr<const JsonDocument> document, const JsonNode* node, std::string path);
  JsonValue child(const JsonNode& node, std::string_view key) const;
  const JsonNode* member(std::string_view key) const;

  std::shared_ptr<const JsonDocument> document_;
  const JsonNode* node_;
  std::string path_;
};

class JsonFile {
 public:
  /// Reads and parses a regular file of at most 256 MiB.
  static JsonFile read(const std::filesystem::path& path);
  /// Parses `text`; `name` stands for it in messages.
  static JsonFile parse(std::string_view text, std::string name);

  const std::string& name() const noexcept;
  JsonValue root() const;

 private:
  explicit JsonFile(std::shared_ptr<const JsonDocument> document)
      : document_(std::move(document)) {}
  std::shared_ptr<const JsonDocument> document_;
};

}  // namespace reprise
