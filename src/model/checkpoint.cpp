// SPDX-License-Identifier: Apache-2.0
#include "model/checkpoint.h"

#include <unordered_map>

#include <fmt/format.h>

#include <reprise/error.h>

#include "core/text.h"
#include "model/json.h"

namespace reprise {
namespace {

namespace fs = std::filesystem;

constexpr const char* kSingle = "model.safetensors";
constexpr const char* kIndex = "model.safetensors.index.json";

bool is_there(const fs::path& path) {
  std::error_code ignored;
  // A dangling link counts: opening it then says what is wrong.
  return fs::symlink_status(path, ignored).type() != fs::file_type::not_found;
}

/// Shards lie in the folder itself; any other name could lead out of it.
bool is_plain_name(const std::string& name) {
  return !name.empty() && name != "." && name != ".." && name.find('/') == std::string::npos &&
         name.find('\0') == std::string::npos;
}

}  // namespace

Checkpoint::Checkpoint(const fs::path& folder) {
  if (is_there(folder / kSingle)) {
    open_single(folder / kSingle);
  } else if (is_there(folder / kIndex)) {
    open_shards(folder / kIndex);
  } else if (is_there(folder / "pytorch_model.bin") ||
             is_there(folder / "pytorch_model.bin.index.json")) {
    throw ModelError(
        fmt::format("{}: only pytorch_model.bin weights are there; convert them to "
                    "safetensors (save_pretrained of transformers does)",
                    printable(folder.string())));
  } else {
    throw ModelError(
        fmt::format("{}: no weights: neither {} nor {} is there; download the model "
                    "with its weights",
                    printable(folder.string()), kSingle, kIndex));
  }
}

void Checkpoint::open_single(const fs::path& file) {
  catalogue_file_ = file;
  files_.push_back(std::make_shared<const SafetensorsFile>(file));
  for (const TensorEntry& entry : files_.back()->entries()) {
    tensors_.emplace(entry.name, Located{files_.back().get(), &entry});
  }
}

void Checkpoint::open_shards(const fs::path& index) {
  catalogue_file_ = index;
  std::unordered_map<std::string, const SafetensorsFile*> opened;
  for (const auto& [name, value] : JsonFile::read(index).root().at("weight_map").members()) {
    const std::string& shard = value.string();
    if (!is_plain_name(shard)) throw value.error("the name of a file in the same folder");
    const SafetensorsFile*& file = opened[shard];
    if (file == nullptr) {
      const fs::path path = index.parent_path() / shard;
      if (!is_there(path)) {
        throw ModelError(fmt::format("{}: the shard is missing, {} lists it; download it",
                                     printable(path.string()), kIndex));
      }
      files_.push_back(std::make_shared<const SafetensorsFile>(path));
      file = files_.back().get();
    }
    const TensorEntry* entry = file->find(name);
    if (entry == nullptr) {
      throw ModelError(
          fmt::format("{}: tensor {} is missing, {} says it is in this shard; download "
                      "the shard again",
                      printable(file->path().string()), in_quotes(name), kIndex));
    }
    tensors_.emplace(name, Located{file, entry});
  }
}

Checkpoint::Located Checkpoint::find(std::string_view name) const {
  const auto found = tensors_.find(name);
  return found == tensors_.end() ? Located{} : found->second;
}

std::vector<std::string_view> Checkpoint::names() const {
  std::vector<std::string_view> all;
  for (const auto& [name, where] : tensors_) all.push_back(name);
  return all;
}

void Checkpoint::prefetch() const noexcept {
  for (const auto& file : files_) file->prefetch();
}

}  // namespace reprise
