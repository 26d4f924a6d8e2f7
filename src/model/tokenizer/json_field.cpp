// SPDX-License-Identifier: Apache-2.0
#include "model/tokenizer/json_field.h"

#include <algorithm>
#include <cerrno>
#include <fstream>
#include <system_error>
#include <utility>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <reprise/error.h>

#include "core/utf8.h"

namespace reprise::tokenizer {
namespace {

using Json = nlohmann::json;

constexpr int kMaxDepth = 64;
constexpr std::uintmax_t kMaxBytes = 512U << 20;

const Json& json(const void* value) { return *static_cast<const Json*>(value); }

std::string read_file(const std::filesystem::path& path, const std::string& name) {
  std::error_code failure;
  if (!std::filesystem::is_regular_file(path, failure)) {
    throw ModelError(name + ": no such file; a tokenizer needs its tokenizer.json");
  }
  const std::uintmax_t size = std::filesystem::file_size(path, failure);
  if (failure) throw ModelError(name + ": cannot be read: " + failure.message());
  if (size == 0) throw ModelError(name + ": the file is empty; fetch it again");
  if (size > kMaxBytes) throw ModelError(name + ": larger than 512 MiB; this is no tokenizer");
  std::string bytes(static_cast<std::size_t>(size), '\0');
  std::ifstream file(path, std::ios::binary);
  file.read(bytes.data(), static_cast<std::streamsize>(bytes.size()));
  if (static_cast<std::uintmax_t>(file.gcount()) != size) {
    throw ModelError(name + ": cannot be read to its end");
  }
  return bytes;
}

/// Refuses deep nesting before anything is built: what comes after may recurse.
void check_depth(const std::string& bytes, const std::string& name) {
  int depth = 0;
  bool quoted = false;
  for (std::size_t at = 0; at < bytes.size(); ++at) {
    const char c = bytes[at];
    if (quoted) {
      if (c == '\\') {
        ++at;
      } else if (c == '"') {
        quoted = false;
      }
    } else if (c == '"') {
      quoted = true;
    } else if (c == '[' || c == '{') {
      if (++depth > kMaxDepth) {
        throw ModelError(fmt::format("{}: JSON nested deeper than {} levels", name, kMaxDepth));
      }
    } else if (c == ']' || c == '}') {
      --depth;
    }
  }
}

/// The library's message without its own prefix, on one line.
std::string short_message(std::string_view message) {
  const std::size_t end = message.find("] ");
  if (end != std::string_view::npos) message.remove_prefix(end + 2);
  std::string line(message);
  std::replace_if(
      line.begin(), line.end(), [](char c) { return c == '\n' || c == '\r'; }, ' ');
  return line;
}

}  // namespace

struct JsonFile::Tree {
  std::string name;
  Json json;
};

JsonFile::JsonFile(const std::filesystem::path& path) {
  auto tree = std::make_unique<Tree>();
  tree->name = path.string();
  const std::string bytes = read_file(path, tree->name);
  check_depth(bytes, tree->name);
  try {
    tree->json = Json::parse(bytes);
  } catch (const Json::exception& fault) {
    throw ModelError(tree->name +
                     ": not valid JSON, fetch it again: " + short_message(fault.what()));
  }
  tree_ = std::move(tree);
}

JsonFile::JsonFile(JsonFile&&) noexcept = default;
JsonFile::~JsonFile() = default;

JsonField JsonFile::root() const {
  return {&tree_->json, &tree_->name, std::make_shared<const std::string>(), ""};
}

std::string JsonField::path() const {
  if (parent_->empty() || step_.starts_with('[')) return *parent_ + step_;
  return *parent_ + "." + step_;
}

void JsonField::fail(std::string_view problem) const {
  throw ModelError(fmt::format("{} {}", place(), problem));
}

std::string JsonField::place() const {
  const std::string where = path();
  return fmt::format("{}: {}", *file_, where.empty() ? "the file" : where);
}

bool JsonField::is_null() const noexcept { return value_ == nullptr || json(value_).is_null(); }

bool JsonField::is_text() const noexcept { return value_ != nullptr && json(value_).is_string(); }

void JsonField::require_object() const {
  if (value_ == nullptr) fail("is missing");
  if (!json(value_).is_object()) fail("must be an object");
}

JsonField JsonField::operator[](std::string_view key) const {
  require_object();
  const auto found = json(value_).find(key);
  return {found == json(value_).end() ? nullptr : &*found, file_,
          std::make_shared<const std::string>(path()), std::string(key)};
}

std::string JsonField::text() const {
  if (value_ == nullptr) fail("is missing; it must be a string");
  if (!json(value_).is_string()) fail("must be a string");
  return json(value_).get<std::string>();
}

char32_t JsonField::character() const {
  const std::string value = text();
  std::size_t end = 0;
  const char32_t first = value.empty() ? 0 : next_character(value, end);
  if (value.empty() || end != value.size()) fail("must be exactly one character");
  return first;
}

bool JsonField::flag() const {
  if (value_ == nullptr) fail("is missing; it must be true or false");
  if (!json(value_).is_boolean()) fail("must be true or false");
  return json(value_).get<bool>();
}

std::uint64_t JsonField::count() const {
  if (value_ == nullptr) fail("is missing; it must be a whole number");
  if (!json(value_).is_number_unsigned()) fail("must be a whole number, not negative");
  return json(value_).get<std::uint64_t>();
}

double JsonField::number() const {
  if (value_ == nullptr) fail("is missing; it must be a number");
  if (!json(value_).is_number()) fail("must be a number");
  return json(value_).get<double>();
}

std::int32_t JsonField::id() const {
  if (value_ == nullptr || !json(value_).is_number_unsigned() ||
      json(value_).get<std::uint64_t>() > static_cast<std::uint64_t>(kMaxId)) {
    fail(fmt::format("must be a token id, a whole number from 0 to {}", kMaxId));
  }
  return json(value_).get<std::int32_t>();
}

void JsonField::each_element(const std::function<void(const JsonField&)>& visit) const {
  if (value_ == nullptr) fail("is missing; it must be a list");
  if (!json(value_).is_array()) fail("must be a list");
  const auto here = std::make_shared<const std::string>(path());
  std::size_t index = 0;
  for (const Json& element : json(value_)) {
    visit({&element, file_, here, fmt::format("[{}]", index++)});
  }
}

std::vector<JsonField> JsonField::elements() const {
  std::vector<JsonField> result;
  each_element([&](const JsonField& element) { result.push_back(element); });
  return result;
}

void JsonField::each_member(
    const std::function<void(const std::string&, const JsonField&)>& visit) const {
  require_object();
  const auto here = std::make_shared<const std::string>(path());
  for (const auto& [key, value] : json(value_).items()) {
    visit(key, {&value, file_, here, fmt::format("\"{}\"", key)});
  }
}

}  // namespace reprise::tokenizer
