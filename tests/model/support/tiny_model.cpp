// SPDX-License-Identifier: Apache-2.0
#include "model/support/tiny_model.h"

#include <cstdlib>
#include <fstream>
#include <iterator>
#include <stdexcept>
#include <vector>

#include "core/text.h"
#include "model/safetensors.h"

namespace reprise::test {
namespace {

std::vector<HostTensor> tiny_tensors(const Fields& config) {
  std::vector<HostTensor> tensors;
  for (const ExpectedTensor& each : expected_tensors(parse_config(to_json(config), "tiny"))) {
    const auto count = static_cast<std::size_t>(each.shape.elements());
    auto values = std::make_shared<std::vector<float>>(count, 0.5f);
    tensors.push_back({each.name, DType::f32, each.shape, values->data(), values});
  }
  return tensors;
}

}  // namespace

TempFolder::TempFolder() {
  std::string name = (std::filesystem::temp_directory_path() / "reprise-XXXXXX").string();
  if (::mkdtemp(name.data()) == nullptr) throw std::runtime_error("no temporary folder");
  path_ = name;
}

TempFolder::~TempFolder() {
  std::error_code ignored;
  std::filesystem::remove_all(path_, ignored);
}

std::string read_bytes(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  if (!file) throw std::runtime_error("cannot read " + path.string());
  return {std::istreambuf_iterator<char>(file), {}};
}

void write_bytes(const std::filesystem::path& path, std::string_view bytes) {
  // A new file: some file systems write a truncated one to the disk before close() returns.
  std::filesystem::remove(path);
  std::ofstream file(path, std::ios::binary);
  file.write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
  if (!file) throw std::runtime_error("cannot write " + path.string());
}

std::string safetensors_bytes(std::string_view header, std::string_view data) {
  std::string out;
  for (int i = 0; i < 8; ++i) out += static_cast<char>(header.size() >> (8 * i));
  return out.append(header).append(data);
}

std::string to_json(const Fields& fields) {
  std::string text = "{";
  for (const auto& [key, literal] : fields) {
    if (text.size() > 1) text += ",\n";
    text += json_quoted(key) + ": " + literal;
  }
  return text + "}";
}

Fields tiny_config() {
  return {{"architectures", "[\"LlamaForCausalLM\"]"},
          {"model_type", "\"llama\""},
          {"hidden_size", "8"},
          {"intermediate_size", "12"},
          {"num_hidden_layers", "2"},
          {"num_attention_heads", "2"},
          {"num_key_value_heads", "1"},
          {"vocab_size", "10"},
          {"max_position_embeddings", "32"},
          {"rms_norm_eps", "1e-5"},
          {"rope_theta", "10000.0"},
          {"hidden_act", "\"silu\""},
          {"tie_word_embeddings", "false"},
          {"torch_dtype", "\"float32\""},
          {"bos_token_id", "1"},
          {"eos_token_id", "2"}};
}

TinyModel::TinyModel() : config_(tiny_config()) {
  write_bytes(file("config.json"), to_json(config_));
  write_bytes(file("generation_config.json"), R"({"bos_token_id": 1, "eos_token_id": [2, 3]})");
  write_safetensors(file("model.safetensors"), tiny_tensors(config_));
}

void TinyModel::set(const std::string& field, const std::string& literal) {
  config_[field] = literal;
  write_bytes(file("config.json"), to_json(config_));
}

void TinyModel::remove_field(const std::string& field) {
  if (config_.erase(field) == 0) throw std::runtime_error("no field " + field);
  write_bytes(file("config.json"), to_json(config_));
}

void TinyModel::edit_header(const std::string& from, const std::string& to) {
  const std::string bytes = read_bytes(file("model.safetensors"));
  std::size_t length = 0;
  for (std::size_t i = 0; i < 8; ++i) {
    length |= static_cast<std::size_t>(static_cast<unsigned char>(bytes[i])) << (8 * i);
  }
  std::string header = bytes.substr(8, length);
  const std::size_t at = header.find(from);
  if (at == std::string::npos) throw std::runtime_error("header has no " + from);
  header.replace(at, from.size(), to);
  write_bytes(file("model.safetensors"), safetensors_bytes(header, bytes.substr(8 + length)));
}

void TinyModel::write_weights(const std::function<DType(const ExpectedTensor&)>& dtype_of) {
  std::vector<HostTensor> tensors;
  for (const ExpectedTensor& each : expected_tensors(parse_config(to_json(config_), "tiny"))) {
    HostTensor tensor{each.name, dtype_of(each), each.shape, nullptr, nullptr};
    auto zeros = std::make_shared<std::vector<std::int64_t>>(tensor.bytes() / 8 + 1);
    tensor.data = zeros->data();
    tensor.owner = std::move(zeros);
    tensors.push_back(std::move(tensor));
  }
  write_safetensors(file("model.safetensors"), tensors);
}

void TinyModel::shard() {
  std::filesystem::remove(file("model.safetensors"));
  const std::vector<HostTensor> all = tiny_tensors(config_);
  const std::size_t half = all.size() / 2;
  const std::string names[2] = {"model-00001-of-00002.safetensors",
                                "model-00002-of-00002.safetensors"};
  write_safetensors(file(names[0]), std::span(all).first(half));
  write_safetensors(file(names[1]), std::span(all).subspan(half));
  Fields map;
  for (std::size_t i = 0; i < all.size(); ++i) map[all[i].name] = json_quoted(names[i >= half]);
  write_bytes(file("model.safetensors.index.json"), to_json({{"weight_map", to_json(map)}}));
}

}  // namespace reprise::test
