// SPDX-License-Identifier: Apache-2.0
#include "model/safetensors.h"

#include <algorithm>
#include <array>
#include <cstring>

#include <fmt/format.h>

#include <reprise/error.h>

#include "core/text.h"
#include "model/json.h"

namespace reprise {
namespace {

constexpr std::uint64_t kLengthBytes = 8;
constexpr std::uint64_t kMaxHeaderBytes = 100'000'000;  // the format's own limit

struct FormatType {
  std::string_view name;
  std::uint64_t size;
  std::optional<DType> dtype;
};

constexpr std::array<FormatType, 17> kTypes{{
    {"F32", 4, DType::f32},
    {"F16", 2, DType::f16},
    {"BF16", 2, DType::bf16},
    {"I32", 4, DType::i32},
    {"I64", 8, DType::i64},
    {"U8", 1, DType::u8},
    {"BOOL", 1, std::nullopt},
    {"I8", 1, std::nullopt},
    {"F8_E5M2", 1, std::nullopt},
    {"F8_E4M3", 1, std::nullopt},
    {"F8_E8M0", 1, std::nullopt},
    {"I16", 2, std::nullopt},
    {"U16", 2, std::nullopt},
    {"U32", 4, std::nullopt},
    {"F64", 8, std::nullopt},
    {"U64", 8, std::nullopt},
    {"C64", 8, std::nullopt},
}};

/// Where a header is read from, for messages.
class HeaderReader {
 public:
  HeaderReader(std::string file, std::uint64_t data_bytes)
      : file_(std::move(file)), data_bytes_(data_bytes) {}

  std::vector<TensorEntry> read(std::string_view header) const {
    const JsonFile json = JsonFile::parse(header, file_ + " (header)");
    std::vector<TensorEntry> entries;
    for (const auto& [name, value] : json.root().members()) {
      if (name == "__metadata__") {
        for (const auto& [key, text] : value.members()) text.string();
      } else {
        entries.push_back(entry(name, value));
      }
    }
    check_coverage(entries);
    return entries;
  }

 private:
  ModelError fault(const TensorEntry& entry, const std::string& what) const {
    return ModelError(fmt::format("{}: tensor {} {}; download or convert the file again", file_,
                                  in_quotes(entry.name), what));
  }

  TensorEntry entry(const std::string& name, const JsonValue& value) const {
    TensorEntry out;
    out.name = name;
    out.dtype_name = value.at("dtype").string();
    const auto type = std::find_if(kTypes.begin(), kTypes.end(),
                                   [&](const FormatType& t) { return t.name == out.dtype_name; });
    if (type == kTypes.end()) {
      throw fault(out, "has the unknown dtype " + in_quotes(out.dtype_name));
    }
    out.dtype = type->dtype;
    const std::uint64_t needed = read_shape(value.at("shape"), type->size, out);

    const std::vector<JsonValue> offsets = value.at("data_offsets").items();
    if (offsets.size() != 2) throw value.at("data_offsets").error("two offsets");
    out.begin = static_cast<std::uint64_t>(offsets[0].integer(0, INT64_MAX));
    out.end = static_cast<std::uint64_t>(offsets[1].integer(0, INT64_MAX));
    if (out.begin > out.end) {
      throw fault(out, fmt::format("ends at byte {}, before its begin {}", out.end, out.begin));
    }
    if (out.end > data_bytes_) {
      throw fault(out, fmt::format("ends at byte {} but the file holds {} bytes of data: it is "
                                   "truncated",
                                   out.end, data_bytes_));
    }
    if (out.end - out.begin != needed) {
      throw fault(out,
                  fmt::format("of dtype {} and shape {} needs {} bytes but has {}", out.dtype_name,
                              to_string(out.shape), needed, out.end - out.begin));
    }
    return out;
  }

  /// Sets the shape; returns its bytes. Refuses a product beyond 2^63, also where a later extent is
  /// 0.
  std::uint64_t read_shape(const JsonValue& value, std::uint64_t size, TensorEntry& out) const {
    const std::vector<JsonValue> items = value.items();
    if (items.size() > Shape::kMaxRank) {
      throw fault(out, fmt::format("has {} extents, at most {} are supported", items.size(),
                                   Shape::kMaxRank));
    }
    std::vector<std::int64_t> extents;
    auto bytes = static_cast<std::int64_t>(size);
    for (const JsonValue& item : items) {
      extents.push_back(item.integer(0, INT64_MAX));
      if (__builtin_mul_overflow(bytes, extents.back(), &bytes)) {
        throw fault(out, "has a shape whose size overflows");
      }
    }
    out.shape = Shape(extents);
    return static_cast<std::uint64_t>(bytes);
  }

  void check_coverage(std::vector<TensorEntry>& entries) const {
    std::sort(entries.begin(), entries.end(), [](const TensorEntry& a, const TensorEntry& b) {
      return std::pair(a.begin, a.end) < std::pair(b.begin, b.end);
    });
    std::uint64_t covered = 0;
    for (const TensorEntry& entry : entries) {
      if (entry.begin < covered) {
        throw fault(entry,
                    fmt::format("begins at byte {}, inside the tensor before it, which ends at "
                                "{}: they overlap",
                                entry.begin, covered));
      }
      if (entry.begin > covered) {
        throw fault(entry, fmt::format("begins at byte {} and leaves a hole after byte {}",
                                       entry.begin, covered));
      }
      covered = entry.end;
    }
    if (covered != data_bytes_) {
      throw ModelError(
          fmt::format("{}: {} bytes of data follow the last tensor's end; download or "
                      "convert the file again",
                      file_, data_bytes_ - covered));
    }
  }

  std::string file_;
  std::uint64_t data_bytes_;
};

std::uint64_t header_length(std::span<const std::byte> bytes, const std::string& file) {
  if (bytes.size() < kLengthBytes) {
    throw ModelError(fmt::format(
        "{}: {} bytes is too short for a safetensors file; download it again", file, bytes.size()));
  }
  std::uint64_t length = 0;
  for (std::size_t i = 0; i < kLengthBytes; ++i) {
    length |= std::to_integer<std::uint64_t>(bytes[i]) << (8 * i);
  }
  if (length > kMaxHeaderBytes) {
    throw ModelError(
        fmt::format("{}: a header of {} bytes is beyond the format's limit of {}; this is "
                    "no safetensors file",
                    file, length, kMaxHeaderBytes));
  }
  if (length > bytes.size() - kLengthBytes) {
    throw ModelError(
        fmt::format("{}: the header needs {} bytes and the file has {}: it is truncated; "
                    "download it again",
                    file, length + kLengthBytes, bytes.size()));
  }
  return length;
}

}  // namespace

SafetensorsFile::SafetensorsFile(const std::filesystem::path& path)
    : path_(path), map_(std::make_shared<const MappedFile>(path)) {
  const std::string file = printable(path.string());
  const std::span<const std::byte> bytes = map_->bytes();
  const std::uint64_t length = header_length(bytes, file);
  const std::string_view header(reinterpret_cast<const char*>(bytes.data()) + kLengthBytes, length);
  if (header.empty() || header.front() != '{') {
    throw ModelError(file + ": the header does not begin with '{'; this is no safetensors file");
  }
  data_start_ = kLengthBytes + length;
  entries_ = HeaderReader(file, bytes.size() - data_start_).read(header);
  for (std::size_t i = 0; i < entries_.size(); ++i) by_name_.emplace(entries_[i].name, i);
}

const TensorEntry* SafetensorsFile::find(std::string_view name) const {
  const auto found = by_name_.find(name);
  return found == by_name_.end() ? nullptr : &entries_[found->second];
}

std::span<const std::byte> SafetensorsFile::bytes(const TensorEntry& entry) const noexcept {
  return map_->bytes().subspan(data_start_ + entry.begin, entry.end - entry.begin);
}

HostTensor SafetensorsFile::tensor(const TensorEntry& entry) const {
  if (!entry.dtype) {
    throw ModelError(
        fmt::format("{}: tensor {} has dtype {}, which is not supported; convert it to "
                    "F32, F16 or BF16",
                    printable(path_.string()), in_quotes(entry.name), entry.dtype_name));
  }
  HostTensor out{entry.name, *entry.dtype, entry.shape, nullptr, map_};
  const std::byte* data = bytes(entry).data();
  if (reinterpret_cast<std::uintptr_t>(data) % size_of(out.dtype) != 0) {
    auto copy = std::make_shared<std::vector<std::int64_t>>(out.bytes() / 8 + 1);
    std::memcpy(copy->data(), data, out.bytes());
    out.data = copy->data();
    out.owner = std::move(copy);
  } else {
    out.data = data;
  }
  return out;
}

}  // namespace reprise
