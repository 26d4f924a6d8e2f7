// SPDX-License-Identifier: Apache-2.0
#include "model/model_source.h"

#include <gtest/gtest.h>

#include <reprise/error.h>

#include "model/support/tiny_model.h"
#include "support/golden.h"

namespace reprise {
namespace {

namespace fs = std::filesystem;
using test::TinyModel;

std::string open_fault(const std::string& argument) {
  try {
    open_model(argument);
  } catch (const ModelError& error) {
    return error.what();
  }
  return "(no error)";
}

struct Golden {
  const char* name;
  DType dtype;
  std::int64_t layers, heads, kv_heads, head_dim, vocabulary;
};
// Without it the test's name would hold the struct's bytes, addresses and padding among them.
void PrintTo(const Golden& golden, std::ostream* out) { *out << golden.name; }

class GoldenModels : public testing::TestWithParam<Golden> {};

TEST_P(GoldenModels, Open) {
  const auto folder = test::golden_folder(GetParam().name);
  if (!folder) GTEST_SKIP() << GetParam().name << " is not present";
  const ModelSource source = open_model(folder->string());
  const ModelConfig& config = source.config;
  EXPECT_EQ(config.layers, GetParam().layers);
  EXPECT_EQ(config.heads, GetParam().heads);
  EXPECT_EQ(config.kv_heads, GetParam().kv_heads);
  EXPECT_EQ(config.head_dim, GetParam().head_dim);
  EXPECT_EQ(config.vocabulary, GetParam().vocabulary);
  EXPECT_EQ(config.dtype, GetParam().dtype);
  EXPECT_EQ(source.generation.bos, 1);
  EXPECT_EQ(source.generation.eos, std::vector<std::int32_t>{2});
  EXPECT_FALSE(source.generation.temperature);
  EXPECT_FALSE(source.random);
  EXPECT_EQ(source.folder, *folder);

  ASSERT_TRUE(source.tensors);
  EXPECT_EQ(source.tensors->dtype, GetParam().dtype);
  ASSERT_EQ(source.tensors->layers.size(), static_cast<std::size_t>(config.layers));
  std::int64_t count = source.tensors->embed.shape.elements();
  count += source.tensors->final_norm.shape.elements();
  if (!config.tie_embeddings) count += source.tensors->lm_head.shape.elements();
  for (const LayerTensors& layer : source.tensors->layers) {
    for (const HostTensor* tensor : {&layer.input_norm, &layer.q, &layer.k, &layer.v, &layer.o,
                                     &layer.post_norm, &layer.gate, &layer.up, &layer.down}) {
      ASSERT_TRUE(*tensor);
      count += tensor->shape.elements();
    }
    EXPECT_EQ(static_cast<bool>(layer.q_bias), config.qkv_bias);
    EXPECT_FALSE(layer.o_bias || layer.gate_bias);
    if (config.qkv_bias) count += config.query_size() + 2 * config.kv_size();
  }
  EXPECT_EQ(count, parameter_count(config));
}

INSTANTIATE_TEST_SUITE_P(
    All, GoldenModels,
    testing::Values(Golden{"llama-hd64-bf16", DType::bf16, 2, 4, 2, 64, 512},
                    Golden{"llama-hd128-bf16", DType::bf16, 1, 4, 1, 128, 512},
                    Golden{"llama-mha-bf16", DType::bf16, 3, 4, 4, 16, 320},
                    Golden{"llama3-gqa-tied-f16", DType::f16, 3, 8, 2, 8, 320},
                    Golden{"mistral-sliding-bf16", DType::bf16, 3, 4, 2, 16, 320},
                    Golden{"qwen2-bias-sharded-bf16", DType::bf16, 3, 4, 2, 16, 333}));

TEST(ModelSource, GoldenDetails) {
  const auto open = [](const char* name) {
    return open_model(test::golden_folder(name)->string());
  };
  const ModelSource tied = open("llama3-gqa-tied-f16");
  EXPECT_EQ(tied.tensors->lm_head.data, tied.tensors->embed.data);
  EXPECT_EQ(tied.config.rope.type, RopeConfig::Type::llama3);
  EXPECT_EQ(tied.config.rope.original_max_positions, 64);
  EXPECT_EQ(open("mistral-sliding-bf16").config.windows, (std::vector<std::int64_t>{12, 12, 12}));
  EXPECT_EQ(open("qwen2-bias-sharded-bf16").config.windows, (std::vector<std::int64_t>{0, 0, 0}));
}

TEST(ModelSource, TensorsOutliveTheSource) {
  HostTensor norm;
  {
    const TinyModel model;
    norm = open_model(model.folder().string()).tensors->final_norm;
  }
  EXPECT_EQ(static_cast<const float*>(norm.data)[7], 0.5f);
}

TEST(ModelSource, GenerationConfigWins) {
  const TinyModel model;
  EXPECT_EQ(open_model(model.folder().string()).generation.eos, (std::vector<std::int32_t>{2, 3}));
  fs::remove(model.file("generation_config.json"));
  EXPECT_EQ(open_model(model.folder().string()).generation.eos, std::vector<std::int32_t>{2});
}

TEST(ModelSource, ShardsGiveTheSameTensors) {
  TinyModel model;
  model.shard();
  const ModelSource source = open_model(model.folder().string());
  EXPECT_EQ(source.tensors->layers[1].up.shape, (Shape{12, 8}));
}

// Transformers ties where the head is missing or a copy, and takes a stored head that differs.
TEST(ModelSource, AnLmHeadThatDiffersIsUsedThoughTheConfigTies) {
  TinyModel model;  // its matrices hold the same numbers
  model.set("tie_word_embeddings", "true");
  const ModelSource copied = open_model(model.folder().string());
  EXPECT_TRUE(copied.config.tie_embeddings);
  EXPECT_EQ(copied.tensors->lm_head.data, copied.tensors->embed.data);

  const fs::path weights = model.file("model.safetensors");
  std::string bytes = test::read_bytes(weights);
  const SafetensorsFile file(weights);
  const std::size_t data = bytes.size() - file.entries().back().end;
  bytes[data + file.find("lm_head.weight")->begin] ^= 1;
  test::write_bytes(weights, bytes);
  const ModelSource own = open_model(model.folder().string());
  EXPECT_FALSE(own.config.tie_embeddings);
  EXPECT_NE(own.tensors->lm_head.data, own.tensors->embed.data);
}

TEST(ModelSource, TiedModelsMayLackAnLmHead) {
  TinyModel model;
  model.set("tie_word_embeddings", "true");
  model.edit_header("lm_head.weight", "model.layers.0.self_attn.rotary_emb.inv_freq");
  EXPECT_NO_THROW(open_model(model.folder().string())) << "rotary tables are left alone";
}

TEST(ModelSource, TensorsThatProveAnotherConfigAreRefused) {
  for (const std::string extra :
       {"model.layers.0.self_attn.q_proj.bias", "model.layers.0.self_attn.q_norm.weight",
        "model.layers.2.mlp.up_proj.weight", "lm_head.bias"}) {
    TinyModel model;
    model.set("tie_word_embeddings", "true");
    model.edit_header("lm_head.weight", extra);
    EXPECT_NE(open_fault(model.folder().string()).find("'" + extra + "'"), std::string::npos);
  }
}

TEST(ModelSource, NormsAndBiasesMayDifferInTypeAndMatricesMayNot) {
  TinyModel model;
  model.write_weights([](const ExpectedTensor& each) {
    return each.role == TensorRole::matrix ? DType::bf16 : DType::f32;
  });
  const ModelSource source = open_model(model.folder().string());
  EXPECT_EQ(source.dtype(), DType::bf16);
  EXPECT_EQ(source.tensors->layers[0].input_norm.dtype, DType::f32);

  const std::string odd = "model.layers.0.mlp.up_proj.weight";
  model.write_weights(
      [&](const ExpectedTensor& each) { return each.name == odd ? DType::f16 : DType::bf16; });
  const std::string fault = open_fault(model.folder().string());
  EXPECT_NE(fault.find("'" + odd + "' is f16"), std::string::npos) << fault;
}

TEST(ModelSource, RandomPresets) {
  for (const std::string name : {"llama-2-7b", "llama-2-13b", "tinyllama-1.1b", "llama-3-8b"}) {
    const ModelSource source = open_model("random:" + name, 5);
    EXPECT_TRUE(source.random);
    EXPECT_FALSE(source.tensors);
    EXPECT_EQ(source.seed, 5u);
    EXPECT_EQ(source.dtype(), DType::bf16);
    EXPECT_EQ(source.generation.eos, source.config.eos);
    EXPECT_EQ(source.config.windows.size(), static_cast<std::size_t>(source.config.layers));
  }
}

TEST(ModelSource, RandomFromAConfigFileOrItsFolder) {
  const TinyModel model;
  for (const std::string& what : {model.file("config.json").string(), model.folder().string()}) {
    const ModelSource source = open_model("random:" + what);
    EXPECT_TRUE(source.random);
    EXPECT_FALSE(source.tensors);
    EXPECT_EQ(source.config.hidden_size, 8);
    EXPECT_EQ(source.folder, model.folder());
  }
}

TEST(ModelSource, WrongArgumentsAreNamed) {
  const TinyModel model;
  EXPECT_NE(open_fault("random:llama-9").find("llama-2-7b, llama-2-13b"), std::string::npos);
  EXPECT_NE(open_fault("random:").find("tinyllama-1.1b"), std::string::npos);
  EXPECT_EQ(open_fault("nowhere/at/all").find("nowhere/at/all: no such model folder"), 0u);
  EXPECT_NE(open_fault(model.file("config.json").string()).find("not a folder"), std::string::npos);
  EXPECT_NE(open_fault("").find("empty"), std::string::npos);
  EXPECT_EQ(open_fault("a\nb").find('\n'), std::string::npos);
}

TEST(Weights, CatalogueNamesEachPlaceOnce) {
  const ModelConfig config = parse_config(test::to_json(test::tiny_config()), "c");
  const std::vector<ExpectedTensor> all = expected_tensors(config);
  EXPECT_EQ(all.size(), 3u + 2 * 9);
  std::int64_t count = 0;
  for (const ExpectedTensor& each : all) {
    count += each.shape.elements();
    EXPECT_EQ(each.layer >= 0, each.layer_slot != nullptr) << each.name;
    EXPECT_EQ(each.layer < 0, each.model_slot != nullptr) << each.name;
  }
  EXPECT_EQ(count, parameter_count(config));
  EXPECT_EQ(weight_bytes_per_step(config, DType::bf16), 2 * (count - 10 * 8));
}

}  // namespace
}  // namespace reprise
