// SPDX-License-Identifier: Apache-2.0
// The safetensors file format: 8 bytes of header length (little endian), a JSON header that gives
// each tensor's dtype, shape and byte range, then the bytes. Reading maps the file and checks the
// whole header before anything is used; every fault is a ModelError naming file and tensor.
//
// The ranges must cover the data exactly, without overlap, hole or rest, as the format demands: a
// hole or a rest means that header and data do not belong together (a file cut, grown or patched),
// and guessing would give a model that speaks nonsense.
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include <reprise/dtype.h>
#include <reprise/shape.h>

#include "core/host_tensor.h"
#include "model/mapped_file.h"

namespace reprise {

/// One line of the header. `begin` and `end` are byte offsets into the data part.
struct TensorEntry {
  std::string name;
  std::string dtype_name;  ///< as in the file: "BF16"
  std::optional<DType>
      dtype;  ///< nothing for a type the format knows and this project does not use
  Shape shape;
  std::uint64_t begin = 0;
  std::uint64_t end = 0;
};

/// An opened file; immutable, so any thread may read it.
class SafetensorsFile {
 public:
  explicit SafetensorsFile(const std::filesystem::path& path);
  SafetensorsFile(SafetensorsFile&&) = default;
  SafetensorsFile& operator=(SafetensorsFile&&) = default;

  const std::filesystem::path& path() const noexcept { return path_; }
  /// In the order of the data.
  std::span<const TensorEntry> entries() const noexcept { return entries_; }
  /// Null if there is none of that name.
  const TensorEntry* find(std::string_view name) const;
  /// The tensor's data, in place where its address suits its dtype, else (old writers did not
  /// align) an aligned copy. The tensor keeps the map alive. `entry` must be one of entries().
  /// Throws ModelError for a dtype this project does not use.
  HostTensor tensor(const TensorEntry& entry) const;
  /// The tensor's bytes where they are mapped, whatever its dtype; as long as this object lives.
  std::span<const std::byte> bytes(const TensorEntry& entry) const noexcept;
  /// Hint that the data will be read soon.
  void prefetch() const noexcept { map_->prefetch(); }

 private:
  std::filesystem::path path_;
  std::shared_ptr<const MappedFile> map_;
  std::size_t data_start_ = 0;
  std::vector<TensorEntry> entries_;
  std::unordered_map<std::string_view, std::size_t> by_name_;  // keys lie in entries_
};

/// Writes `tensors` to `path` through a temporary file beside it, so that `path` never holds half a
/// file (what is no regular file, such as /dev/stdout, is written to directly). Names must be
/// distinct, valid UTF-8. Throws UsageError for tensors that cannot be written so, and Error naming
/// the path if the file system refuses.
void write_safetensors(const std::filesystem::path& path, std::span<const HostTensor> tensors);

}  // namespace reprise
