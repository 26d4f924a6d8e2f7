// SPDX-License-Identifier: Apache-2.0
#include "model/model_source.h"

#include <fmt/format.h>

#include <reprise/error.h>

#include "core/text.h"
#include "model/presets.h"

namespace reprise {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kRandom = "random:";

ModelSource open_folder(const fs::path& folder) {
  std::error_code ignored;
  const std::string name = printable(folder.string());
  const fs::file_status status = fs::status(folder, ignored);
  if (!fs::exists(status)) {
    throw ModelError(name + ": no such model folder (random weights are asked for as random:NAME)");
  }
  if (!fs::is_directory(status)) {
    throw ModelError(name + ": not a folder; give the folder that holds config.json");
  }
  if (!fs::exists(folder / "config.json", ignored)) {
    throw ModelError(name + ": no config.json in this folder; give a Hugging Face model folder");
  }
  ModelSource out;
  out.folder = folder;
  out.config = read_config(folder / "config.json");
  out.generation = read_generation(folder / "generation_config.json", out.config);
  out.checkpoint.emplace(folder);
  // As transformers does it (5.x): a head that is stored and differs is used, whatever is stated.
  if (out.config.tie_embeddings && stores_own_lm_head(*out.checkpoint)) {
    out.config.tie_embeddings = false;
  }
  out.tensors = gather_tensors(*out.checkpoint, out.config);
  return out;
}

ModelSource open_random(std::string_view what) {
  ModelSource out;
  out.random = true;
  if (std::optional<ModelConfig> preset = find_preset(what)) {
    out.config = std::move(*preset);
  } else {
    std::error_code ignored;
    fs::path file(what);
    if (fs::is_directory(file, ignored)) file /= "config.json";
    if (what.empty() || !fs::exists(file, ignored)) {
      throw ModelError(fmt::format("random:{}: neither a known shape ({}) nor a config.json",
                                   printable(what), preset_names()));
    }
    out.config = read_config(file);
    out.folder = file.has_parent_path() ? file.parent_path() : fs::path(".");
  }
  out.generation = {std::nullopt, out.config.bos, out.config.eos, out.config.pad};
  return out;
}

}  // namespace

ModelSource open_model(std::string_view argument, std::uint64_t seed) {
  if (argument.empty() || argument.find('\0') != std::string_view::npos) {
    throw ModelError("the model argument is empty; give a model folder or random:NAME");
  }
  const bool random = argument.starts_with(kRandom);
  ModelSource out =
      random ? open_random(argument.substr(kRandom.size())) : open_folder(fs::path(argument));
  out.seed = seed;
  out.argument = argument;
  return out;
}

}  // namespace reprise
