// SPDX-License-Identifier: Apache-2.0
#include "model/config.h"

#include <gtest/gtest.h>

#include "model/presets.h"
#include "model/support/tiny_model.h"
#include "model/weights.h"

namespace reprise {
namespace {

using test::Fields;

ModelConfig parse(const Fields& changes, const std::vector<std::string>& removed = {}) {
  Fields fields = test::tiny_config();
  for (const auto& [key, literal] : changes) fields[key] = literal;
  for (const std::string& key : removed) fields.erase(key);
  return parse_config(test::to_json(fields), "config.json");
}

Fields family(const std::string& architecture, const std::string& type, Fields more = {}) {
  more["architectures"] = "[\"" + architecture + "\"]";
  more["model_type"] = "\"" + type + "\"";
  return more;
}

Fields mistral(Fields more = {}) {
  return family("MistralForCausalLM", "mistral", std::move(more));
}
Fields qwen2(Fields more = {}) { return family("Qwen2ForCausalLM", "qwen2", std::move(more)); }

using Windows = std::vector<std::int64_t>;

TEST(Config, ReadsTheOldSpelling) {
  const ModelConfig config =
      parse({{"rope_theta", "500000"}, {"rope_scaling", R"({"type": "linear", "factor": 4})"}});
  EXPECT_EQ(config.architecture, "LlamaForCausalLM");
  EXPECT_EQ(config.hidden_size, 8);
  EXPECT_EQ(config.intermediate_size, 12);
  EXPECT_EQ(config.layers, 2);
  EXPECT_EQ(config.heads, 2);
  EXPECT_EQ(config.kv_heads, 1);
  EXPECT_EQ(config.head_dim, 4);
  EXPECT_EQ(config.vocabulary, 10);
  EXPECT_EQ(config.max_positions, 32);
  EXPECT_EQ(config.rms_norm_eps, 1e-5);
  EXPECT_EQ(config.rope.type, RopeConfig::Type::linear);
  EXPECT_EQ(config.rope.theta, 500000);
  EXPECT_EQ(config.rope.factor, 4);
  EXPECT_EQ(config.dtype, DType::f32);
  EXPECT_EQ(config.bos, 1);
  EXPECT_EQ(config.eos, std::vector<std::int32_t>{2});
  EXPECT_EQ(config.windows, (Windows{0, 0}));
  EXPECT_FALSE(config.qkv_bias || config.o_bias || config.mlp_bias || config.tie_embeddings);
}

TEST(Config, ReadsTheNewSpelling) {
  const ModelConfig config =
      parse({{"rope_parameters", R"({"rope_type": "llama3", "rope_theta": 5e5, "factor": 8.0,
               "low_freq_factor": 1.0, "high_freq_factor": 4.0,
               "original_max_position_embeddings": 16})"},
             {"dtype", "\"bfloat16\""}},
            {"rope_theta", "torch_dtype"});
  EXPECT_EQ(config.rope.type, RopeConfig::Type::llama3);
  EXPECT_EQ(config.rope.theta, 5e5);
  EXPECT_EQ(config.rope.factor, 8);
  EXPECT_EQ(config.rope.low_freq_factor, 1);
  EXPECT_EQ(config.rope.high_freq_factor, 4);
  EXPECT_EQ(config.rope.original_max_positions, 16);
  EXPECT_EQ(config.dtype, DType::bf16);
}

TEST(Config, ThetaInsideTheRopeObjectWins) {
  EXPECT_EQ(parse({{"rope_parameters", R"({"rope_theta": 7})"}}).rope.theta, 7);
  EXPECT_EQ(parse({{"rope_parameters", R"({"rope_type": "default"})"}}).rope.theta, 10000);
  EXPECT_EQ(parse({{"rope_scaling", "null"}, {"rope_theta", "null"}}).rope.theta, 10000);
  EXPECT_EQ(parse({{"rope_scaling", R"({"rope_type": "linear", "type": "yarn", "factor": 2})"}})
                .rope.type,
            RopeConfig::Type::linear);
}

TEST(Config, KeyValueHeadsDefaultByArchitecture) {
  EXPECT_EQ(parse({}, {"num_key_value_heads"}).kv_heads, 2);
  const Fields heads{{"num_attention_heads", "32"}, {"head_dim", "4"}};
  EXPECT_EQ(parse(mistral(heads), {"num_key_value_heads"}).kv_heads, 8);
  EXPECT_EQ(parse(qwen2(heads), {"num_key_value_heads"}).kv_heads, 32);
  EXPECT_EQ(parse(mistral({{"num_key_value_heads", "null"}})).kv_heads, 2);
}

TEST(Config, ExplicitHeadDimNeedNotDivideHidden) {
  const ModelConfig config = parse({{"head_dim", "6"}, {"hidden_size", "7"}});
  EXPECT_EQ(config.head_dim, 6);
  EXPECT_EQ(config.query_size(), 12);
  EXPECT_EQ(config.kv_size(), 6);
  EXPECT_EQ(parse(mistral({{"head_dim", "null"}})).head_dim, 4);
}

TEST(Config, Biases) {
  const ModelConfig llama = parse({{"attention_bias", "true"}, {"mlp_bias", "true"}});
  EXPECT_TRUE(llama.qkv_bias && llama.o_bias && llama.mlp_bias);
  const ModelConfig qwen = parse(qwen2());
  EXPECT_TRUE(qwen.qkv_bias);
  EXPECT_FALSE(qwen.o_bias || qwen.mlp_bias);
}

TEST(Config, MistralWindow) {
  EXPECT_EQ(parse(mistral({{"sliding_window", "12"}})).windows, (Windows{12, 12}));
  EXPECT_EQ(parse(mistral({{"sliding_window", "null"}})).windows, (Windows{0, 0}));
  EXPECT_EQ(parse(mistral()).windows, (Windows{4096, 4096}));
}

TEST(Config, QwenWindow) {
  const std::string types = R"(["sliding_attention", "full_attention"])";
  EXPECT_EQ(parse(qwen2({{"sliding_window", "8"}})).windows, (Windows{0, 0}));
  EXPECT_EQ(parse(qwen2({{"sliding_window", "8"}, {"use_sliding_window", "true"}})).windows,
            (Windows{0, 0}))
      << "max_window_layers is 28 unless given";
  EXPECT_EQ(parse(qwen2({{"sliding_window", "8"},
                         {"use_sliding_window", "true"},
                         {"max_window_layers", "1"}}))
                .windows,
            (Windows{0, 8}));
  EXPECT_EQ(parse(qwen2({{"sliding_window", "8"},
                         {"use_sliding_window", "true"},
                         {"max_window_layers", "1"},
                         {"layer_types", types}}))
                .windows,
            (Windows{8, 0}))
      << "the list wins";
}

TEST(Config, ArchitectureFromModelTypeWhereNoneIsStated) {
  EXPECT_EQ(parse({{"architectures", "null"}}).architecture, "LlamaForCausalLM");
  EXPECT_EQ(parse({{"model_type", "\"qwen2\""}}, {"architectures"}).architecture,
            "Qwen2ForCausalLM");
}

TEST(Config, Tokens) {
  EXPECT_EQ(parse({{"eos_token_id", "[3, 2, 3]"}}).eos, (std::vector<std::int32_t>{3, 2}));
  EXPECT_TRUE(parse({{"eos_token_id", "null"}}).eos.empty());
  EXPECT_EQ(parse({}, {"bos_token_id", "eos_token_id"}).bos, 1) << "Llama's defaults";
  EXPECT_FALSE(parse(qwen2(), {"bos_token_id", "eos_token_id"}).bos);
  EXPECT_FALSE(parse({{"pad_token_id", "-1"}}).pad);
  EXPECT_EQ(parse({{"pad_token_id", "9"}}).pad, 9);
}

TEST(Generation, WinsOverTheConfiguration) {
  const ModelConfig config = parse({});
  const auto read = [&](const char* text) { return parse_generation(text, "g.json", config); };
  EXPECT_EQ(read("{}").eos, std::vector<std::int32_t>{2});
  EXPECT_EQ(read(R"({"eos_token_id": null})").eos, std::vector<std::int32_t>{2});
  const GenerationDefaults all =
      read(R"({"eos_token_id": [4, 5], "bos_token_id": 6, "temperature": 0.6, "do_sample": true})");
  EXPECT_EQ(all.eos, (std::vector<std::int32_t>{4, 5}));
  EXPECT_EQ(all.bos, 6);
  EXPECT_EQ(all.temperature, 0.6);
  EXPECT_EQ(read(R"({"temperature": 0.6})").temperature, 0.6);
  EXPECT_FALSE(read(R"({"temperature": 0.6, "do_sample": false})").temperature);
  EXPECT_FALSE(read(R"({"do_sample": true})").temperature);
}

// The known bytes of bf16 matrices a step reads, to which the norms add less than 1 MB.
TEST(Presets, HaveTheShapesOfTheModelsTheyAreNamedAfter) {
  const auto gigabytes = [](std::string_view name) {
    return static_cast<double>(weight_bytes_per_step(*find_preset(name), DType::bf16)) / 1e9;
  };
  EXPECT_NEAR(gigabytes("llama-2-7b"), 13.214, 0.0015);
  EXPECT_NEAR(gigabytes("llama-2-13b"), 25.703, 0.0015);
  EXPECT_NEAR(gigabytes("tinyllama-1.1b"), 2.069, 0.0015);
  EXPECT_EQ(parameter_count(*find_preset("llama-2-7b")), 6738415616);
  EXPECT_EQ(parameter_count(*find_preset("llama-2-13b")), 13015864320);
  EXPECT_EQ(parameter_count(*find_preset("tinyllama-1.1b")), 1100048384);
  EXPECT_EQ(parameter_count(*find_preset("llama-3-8b")), 8030261248);
  EXPECT_FALSE(find_preset("llama-2-70b"));
}

}  // namespace
}  // namespace reprise
