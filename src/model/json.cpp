// SPDX-License-Identifier: Apache-2.0
#include "model/json.h"

#include <algorithm>
#include <fstream>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "core/text.h"

namespace reprise {

struct JsonNode {
  JsonValue::Kind kind = JsonValue::Kind::null;
  bool boolean = false;
  std::int64_t integer = 0;
  double real = 0;
  std::string text{};             // a string's value; a real's spelling in the file
  std::vector<JsonNode> items{};  // of an array, or an object's values
  std::vector<std::string> keys{};
};

struct JsonDocument {
  std::string name;
  JsonNode root;
};

namespace {

using Kind = JsonValue::Kind;
constexpr std::uintmax_t kMaxFileBytes = std::uintmax_t{256} << 20;

/// Receives the library's parse events and builds the tree, so that depth and duplicate keys are
/// checked where they appear and the library's own containers and exceptions stay out.
class TreeBuilder : public nlohmann::json_sax<nlohmann::json> {
 public:
  explicit TreeBuilder(JsonDocument& document) : document_(document) {}

  bool null() override { return add({}); }
  bool boolean(bool value) override { return add({.kind = Kind::boolean, .boolean = value}); }
  bool number_integer(number_integer_t value) override {
    return add({.kind = Kind::integer, .integer = value});
  }
  bool number_unsigned(number_unsigned_t value) override {
    if (value <= static_cast<number_unsigned_t>(INT64_MAX)) {
      return add({.kind = Kind::integer, .integer = static_cast<std::int64_t>(value)});
    }
    return add(
        {.kind = Kind::real, .real = static_cast<double>(value), .text = std::to_string(value)});
  }
  bool number_float(number_float_t value, const string_t& spelling) override {
    return add({.kind = Kind::real, .real = value, .text = spelling});
  }
  bool string(string_t& value) override {
    return add({.kind = Kind::string, .text = std::move(value)});
  }
  bool binary(binary_t&) override { return false; }
  bool start_object(std::size_t) override { return open(Kind::object); }
  bool start_array(std::size_t) override { return open(Kind::array); }
  bool key(string_t& name) override {
    open_.back()->keys.push_back(std::move(name));
    return true;
  }
  bool end_object() override {
    refuse_duplicates(open_.back()->keys);
    open_.pop_back();
    return true;
  }
  bool end_array() override {
    open_.pop_back();
    return true;
  }
  bool parse_error(std::size_t position, const std::string&,
                   const nlohmann::detail::exception& fault) override {
    // Keep the library's reason, drop its "[json.exception…] parse error at …:" in front.
    std::string_view reason = fault.what();
    for (const std::string_view mark : {"] ", ": "}) {
      const std::size_t at = reason.find(mark);
      if (at != std::string_view::npos) reason.remove_prefix(at + mark.size());
    }
    throw ModelError(fmt::format("{}: not valid JSON at byte {}: {}; correct the file",
                                 document_.name, position, printable(reason)));
  }

 private:
  bool add(JsonNode node) {
    place(std::move(node));
    return true;
  }

  JsonNode& place(JsonNode node) {
    if (open_.empty()) return document_.root = std::move(node);
    return open_.back()->items.emplace_back(std::move(node));
  }

  bool open(Kind kind) {
    if (open_.size() == kMaxJsonDepth) {
      throw ModelError(fmt::format("{}: JSON is nested deeper than {} levels; correct the file",
                                   document_.name, kMaxJsonDepth));
    }
    // The pointer stays good: while a node is open only it and its descendants grow.
    open_.push_back(&place({.kind = kind}));
    return true;
  }

  void refuse_duplicates(const std::vector<std::string>& keys) const {
    std::vector<std::string_view> sorted(keys.begin(), keys.end());
    std::sort(sorted.begin(), sorted.end());
    const auto twice = std::adjacent_find(sorted.begin(), sorted.end());
    if (twice != sorted.end()) {
      throw ModelError(fmt::format("{}: key {} appears twice in one object; keep one of them",
                                   document_.name, in_quotes(*twice)));
    }
  }

  JsonDocument& document_;
  std::vector<JsonNode*> open_;
};

std::string describe(const JsonNode& node) {
  switch (node.kind) {
    case Kind::null:
      return "null";
    case Kind::boolean:
      return node.boolean ? "true" : "false";
    case Kind::integer:
      return std::to_string(node.integer);
    case Kind::real:
      return printable(node.text, 40);
    case Kind::string:
      return fmt::format("\"{}\"", printable(node.text, 60));
    case Kind::array:
      return fmt::format("an array of {}", node.items.size());
    case Kind::object:
      return "an object";
  }
  return "?";
}

std::string read_text(const std::filesystem::path& path) {
  std::error_code fault;
  const std::string name = printable(path.string());
  const auto status = std::filesystem::status(path, fault);
  if (!std::filesystem::exists(status)) throw ModelError(name + ": no such file");
  if (!std::filesystem::is_regular_file(status)) throw ModelError(name + ": not a regular file");
  const std::uintmax_t bytes = std::filesystem::file_size(path, fault);
  if (fault) throw ModelError(fmt::format("{}: cannot be read: {}", name, fault.message()));
  if (bytes > kMaxFileBytes) {
    throw ModelError(fmt::format("{}: {} bytes is too large for a JSON file", name, bytes));
  }
  std::ifstream file(path, std::ios::binary);
  std::string text(bytes, '\0');
  if (!file || !file.read(text.data(), static_cast<std::streamsize>(bytes))) {
    throw ModelError(name + ": cannot be read; check its permissions");
  }
  return text;
}

}  // namespace

JsonValue::JsonValue(std::shared_ptr<const JsonDocument> document, const JsonNode* node,
                     std::string path)
    : document_(std::move(document)), node_(node), path_(std::move(path)) {}

JsonValue::Kind JsonValue::kind() const noexcept { return node_->kind; }

JsonValue JsonValue::child(const JsonNode& node, std::string_view key) const {
  return {document_, &node, path_.empty() ? std::string(key) : fmt::format("{}.{}", path_, key)};
}

const JsonNode* JsonValue::member(std::string_view key) const {
  if (!is(Kind::object)) throw error("an object");
  const auto found = std::find(node_->keys.begin(), node_->keys.end(), key);
  return found == node_->keys.end() ? nullptr : &node_->items[found - node_->keys.begin()];
}

bool JsonValue::contains(std::string_view key) const { return member(key) != nullptr; }

std::optional<JsonValue> JsonValue::find(std::string_view key) const {
  const JsonNode* node = member(key);
  if (node == nullptr || node->kind == Kind::null) return std::nullopt;
  return child(*node, key);
}

JsonValue JsonValue::at(std::string_view key) const {
  const JsonNode* node = member(key);
  if (node != nullptr && node->kind != Kind::null) return child(*node, key);
  const std::string path = path_.empty() ? std::string(key) : fmt::format("{}.{}", path_, key);
  throw ModelError(
      fmt::format("{}: field {} is {}", document_->name, in_quotes(path),
                  node == nullptr ? "missing; add it to the file" : "null; give it a value"));
}

std::vector<std::pair<std::string, JsonValue>> JsonValue::members() const {
  if (!is(Kind::object)) throw error("an object");
  std::vector<std::pair<std::string, JsonValue>> all;
  all.reserve(node_->keys.size());
  for (std::size_t i = 0; i < node_->keys.size(); ++i) {
    all.emplace_back(node_->keys[i], child(node_->items[i], node_->keys[i]));
  }
  return all;
}

std::vector<JsonValue> JsonValue::items() const {
  if (!is(Kind::array)) throw error("an array");
  std::vector<JsonValue> all;
  all.reserve(node_->items.size());
  for (std::size_t i = 0; i < node_->items.size(); ++i) {
    all.push_back(JsonValue(document_, &node_->items[i], fmt::format("{}[{}]", path_, i)));
  }
  return all;
}

std::int64_t JsonValue::integer(std::int64_t low, std::int64_t high) const {
  if (!is(Kind::integer) || node_->integer < low || node_->integer > high) {
    throw error(fmt::format("an integer from {} to {}", low, high));
  }
  return node_->integer;
}

double JsonValue::number() const {
  if (is(Kind::integer)) return static_cast<double>(node_->integer);
  if (!is(Kind::real)) throw error("a number");
  return node_->real;
}

bool JsonValue::boolean() const {
  if (!is(Kind::boolean)) throw error("true or false");
  return node_->boolean;
}

const std::string& JsonValue::string() const {
  if (!is(Kind::string)) throw error("a string");
  return node_->text;
}

ModelError JsonValue::error(std::string_view expected) const {
  const std::string field = path_.empty() ? "the document" : "field " + in_quotes(path_);
  return ModelError(fmt::format("{}: {} must be {}, found {}; correct the file", document_->name,
                                field, expected, describe(*node_)));
}

JsonFile JsonFile::read(const std::filesystem::path& path) {
  return parse(read_text(path), path.string());
}

JsonFile JsonFile::parse(std::string_view text, std::string name) {
  auto document = std::make_shared<JsonDocument>();
  document->name = printable(name);
  TreeBuilder builder(*document);
  if (!nlohmann::json::sax_parse(text, &builder)) {
    throw ModelError(document->name + ": not valid JSON; correct the file");
  }
  return JsonFile(std::move(document));
}

const std::string& JsonFile::name() const noexcept { return document_->name; }

JsonValue JsonFile::root() const { return JsonValue(document_, &document_->root, {}); }

}  // namespace reprise
