// SPDX-License-Identifier: Apache-2.0
// tokenizer.json as a tree of fields that know their own path, so that every complaint names file
// and field. The only door to the JSON library in this folder.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace reprise::tokenizer {

class JsonField;

/// A parsed file. Fields refer into it and must not outlive it.
class JsonFile {
 public:
  /// Throws ModelError where the file is missing, empty, not JSON, not UTF-8, or nested too deeply.
  explicit JsonFile(const std::filesystem::path& path);
  JsonFile(JsonFile&&) noexcept;
  ~JsonFile();

  JsonField root() const;

 private:
  struct Tree;
  std::unique_ptr<const Tree> tree_;
};

/// One value of the file, or its absence. Every accessor throws ModelError naming file and field
/// where the value is not what it asks for.
class JsonField {
 public:
  /// True where the field is missing or null.
  bool is_null() const noexcept;

  /// Member of an object; a null field where it has no such member.
  JsonField operator[](std::string_view key) const;

  std::string text() const;
  /// The text has exactly one character.
  char32_t character() const;
  bool flag() const;
  bool flag_or(bool when_null) const { return is_null() ? when_null : flag(); }
  std::uint64_t count() const;
  double number() const;
  /// A token id: an integer from 0 to `kMaxId`.
  std::int32_t id() const;
  bool is_text() const noexcept;

  std::vector<JsonField> elements() const;
  void each_element(const std::function<void(const JsonField&)>& visit) const;
  void each_member(
      const std::function<void(const std::string& key, const JsonField&)>& visit) const;
  /// Throws where the field is no object.
  void require_object() const;

  /// Throws ModelError: "<file>: <field> <problem>".
  [[noreturn]] void fail(std::string_view problem) const;
  /// "<file>: <field>", for a fault that only shows when the value is used.
  std::string place() const;

  static constexpr std::int32_t kMaxId = (1 << 24) - 1;

 private:
  friend class JsonFile;
  using Path = std::shared_ptr<const std::string>;
  JsonField(const void* value, const std::string* file, Path parent, std::string step)
      : value_(value), file_(file), parent_(std::move(parent)), step_(std::move(step)) {}
  std::string path() const;

  const void* value_;        // null where absent
  const std::string* file_;  // owned by the JsonFile
  Path parent_;
  std::string step_;
};

}  // namespace reprise::tokenizer
