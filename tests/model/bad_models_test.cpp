// SPDX-License-Identifier: Apache-2.0
// One way each to break a valid model folder. Each must give a ModelError of one line that names
// the culprit.
#include <functional>
#include <ostream>

#include <gtest/gtest.h>

#include <reprise/error.h>

#include "model/model_source.h"
#include "model/support/tiny_model.h"

namespace reprise {
namespace {

namespace fs = std::filesystem;
using test::read_bytes;
using test::safetensors_bytes;
using test::TinyModel;
using test::write_bytes;

struct BadModel {
  std::string name;
  std::function<void(TinyModel&)> damage;
  std::vector<std::string> culprits;  // each must stand in the message
};

void PrintTo(const BadModel& bad, std::ostream* out) { *out << bad.name; }

constexpr const char* kWeights = "model.safetensors";
constexpr const char* kIndex = "model.safetensors.index.json";
constexpr const char* kShard = "model-00002-of-00002.safetensors";

/// A case that sets a field of config.json, and the message names it.
BadModel field(const std::string& name, const std::string& key, const std::string& literal,
               const std::string& also = "config.json") {
  return {name, [=](TinyModel& m) { m.set(key, literal); }, {"'" + key, also}};
}

BadModel missing_field(const std::string& key) {
  return {
      "no_" + key, [=](TinyModel& m) { m.remove_field(key); }, {"'" + key + "'", "config.json"}};
}

/// A case whose model.safetensors has a header of its own and `bytes` of data.
BadModel header(const std::string& name, const std::string& text, std::size_t bytes,
                const std::string& culprit) {
  return {name,
          [=](TinyModel& m) {
            write_bytes(m.file(kWeights), safetensors_bytes(text, std::string(bytes, '\0')));
          },
          {kWeights, culprit}};
}

/// A case whose header has one tensor 't' with the given fields.
BadModel tensor(const std::string& name, const std::string& dtype, const std::string& shape,
                const std::string& offsets, std::size_t bytes, const std::string& culprit) {
  return header(
      name,
      R"({"t":{"dtype":)" + dtype + R"(,"shape":)" + shape + R"(,"data_offsets":)" + offsets + "}}",
      bytes, culprit);
}

std::vector<BadModel> bad_files() {
  const auto remove = [](const char* file) {
    return [=](TinyModel& m) { fs::remove(m.file(file)); };
  };
  const auto replace = [](const char* file, const std::string& bytes) {
    return [=](TinyModel& m) { write_bytes(m.file(file), bytes); };
  };
  return {
      {"no_config", remove("config.json"), {"config.json"}},
      {"no_weights", remove(kWeights), {"no weights", kWeights}},
      {"only_pytorch_weights",
       [=](TinyModel& m) { fs::rename(m.file(kWeights), m.file("pytorch_model.bin")); },
       {"pytorch_model.bin", "safetensors"}},
      {"config_is_a_folder",
       [=](TinyModel& m) {
         fs::remove(m.file("config.json"));
         fs::create_directory(m.file("config.json"));
       },
       {"config.json", "not a regular file"}},
      {"weights_are_a_folder",
       [=](TinyModel& m) {
         fs::remove(m.file(kWeights));
         fs::create_directory(m.file(kWeights));
       },
       {kWeights, "not a regular file"}},
      {"weights_are_a_dangling_link",
       [=](TinyModel& m) {
         fs::remove(m.file(kWeights));
         fs::create_symlink("nowhere", m.file(kWeights));
       },
       {kWeights}},
      {"empty_config", replace("config.json", ""), {"config.json", "not valid JSON"}},
      {"config_is_an_array", replace("config.json", "[]"), {"config.json", "an object"}},
      {"config_is_text", replace("config.json", "hello\nworld"), {"config.json", "byte"}},
      {"deep_config", replace("config.json", std::string(100'000, '[')), {"config.json", "deeper"}},
      {"bad_generation", replace("generation_config.json", "{"), {"generation_config.json"}},
      {"generation_eos_out_of_range",
       replace("generation_config.json", R"({"eos_token_id":[1,10]})"),
       {"generation_config.json", "'eos_token_id[1]'", "10"}},
      {"generation_temperature_negative",
       replace("generation_config.json", R"({"temperature":-1})"),
       {"generation_config.json", "'temperature'"}},
      {"empty_weights", replace(kWeights, ""), {kWeights, "0 bytes"}},
      {"seven_bytes", replace(kWeights, "1234567"), {kWeights, "7 bytes"}},
      {"header_of_2_63_bytes",
       replace(kWeights, std::string("\0\0\0\0\0\0\0\x80{}", 10)),
       {kWeights, "9223372036854775808"}},
      {"header_of_2_64_bytes", replace(kWeights, std::string(8, '\xff')), {kWeights, "header"}},
      {"header_longer_than_file",
       replace(kWeights, std::string("\x40\0\0\0\0\0\0\0{}", 10)),
       {kWeights, "truncated"}},
      {"truncated_weights",
       [](TinyModel& m) {
         const std::string bytes = read_bytes(m.file(kWeights));
         write_bytes(m.file(kWeights), bytes.substr(0, bytes.size() - 10));
       },
       {kWeights, "truncated", "tensor '"}},
      {"trailing_bytes",
       [](TinyModel& m) { write_bytes(m.file(kWeights), read_bytes(m.file(kWeights)) + "rest"); },
       {kWeights, "4 bytes"}},
  };
}

std::vector<BadModel> bad_headers() {
  const std::string a = R"("a":{"dtype":"U8","shape":[4],"data_offsets":[0,4]})";
  return {
      header("header_is_no_json", "{no}", 0, "not valid JSON"),
      header("header_is_an_array", "[]", 0, "'{'"),
      header("header_is_empty", "", 0, "'{'"),
      header("deep_header", "{\"a\":" + std::string(100'000, '['), 0, "deeper"),
      header("tensor_twice", "{" + a + "," + a + "}", 4, "'a'"),
      header("tensor_is_a_number", R"({"t":1})", 0, "'t'"),
      header("metadata_is_no_text", R"({"__metadata__":{"k":1}})", 0, "'__metadata__.k'"),
      header("no_dtype", R"({"t":{"shape":[1],"data_offsets":[0,4]}})", 4, "'t.dtype'"),
      header("no_shape", R"({"t":{"dtype":"F32","data_offsets":[0,4]}})", 4, "'t.shape'"),
      header("no_offsets", R"({"t":{"dtype":"F32","shape":[1]}})", 4, "'t.data_offsets'"),
      header("name_with_line_break", R"({"t\nu":{"dtype":"?","shape":[],"data_offsets":[0,4]}})", 4,
             "'t\\x0au'"),
      tensor("unknown_dtype", R"("F31")", "[1]", "[0,4]", 4, "'F31'"),
      tensor("dtype_is_a_number", "32", "[1]", "[0,4]", 4, "'t.dtype'"),
      tensor("negative_extent", R"("F32")", "[-1]", "[0,4]", 4, "'t.shape[0]'"),
      tensor("fractional_extent", R"("F32")", "[1.0]", "[0,4]", 4, "'t.shape[0]'"),
      tensor("shape_too_large_for_its_bytes", R"("F32")", "[2]", "[0,4]", 4, "'t'"),
      tensor("shape_too_small_for_its_bytes", R"("F32")", "[1]", "[0,8]", 8, "'t'"),
      tensor("shape_overflows", R"("F32")", "[4294967296,4294967296]", "[0,4]", 4, "overflows"),
      tensor("shape_overflows_to_its_bytes", R"("U8")", "[4294967297,4294967297,4294967297]",
             "[0,1]", 1, "overflows"),
      tensor("shape_overflows_before_zero", R"("F32")", "[9223372036854775807,9,0]", "[0,0]", 0,
             "overflows"),
      tensor("extent_beyond_64_bits", R"("F32")", "[99999999999999999999]", "[0,4]", 4, "'t.shape"),
      tensor("seven_extents", R"("F32")", "[1,1,1,1,1,1,1]", "[0,4]", 4, "'t'"),
      tensor("shape_is_a_string", R"("F32")", "\"1\"", "[0,4]", 4, "'t.shape'"),
      tensor("offsets_out_of_range", R"("F32")", "[2]", "[0,8]", 4, "'t'"),
      tensor("offset_negative", R"("F32")", "[1]", "[-4,0]", 4, "'t.data_offsets[0]'"),
      tensor("offsets_reversed", R"("F32")", "[1]", "[4,0]", 4, "'t'"),
      tensor("offsets_at_2_63", R"("F32")", "[1]", "[9223372036854775804,9223372036854775808]", 4,
             "'t.data_offsets[1]'"),
      tensor("one_offset", R"("F32")", "[1]", "[0]", 4, "'t.data_offsets'"),
      tensor("three_offsets", R"("F32")", "[1]", "[0,4,4]", 4, "'t.data_offsets'"),
      tensor("hole_at_the_start", R"("F32")", "[1]", "[4,8]", 8, "'t'"),
      header("overlapping", "{" + a + R"(,"b":{"dtype":"U8","shape":[4],"data_offsets":[2,6]}})", 6,
             "'b'"),
      header("same_range_twice",
             "{" + a + R"(,"b":{"dtype":"U8","shape":[4],"data_offsets":[0,4]}})", 4, "overlap"),
      header("hole", "{" + a + R"(,"b":{"dtype":"U8","shape":[4],"data_offsets":[5,9]}})", 9,
             "'b'"),
  };
}

std::vector<BadModel> bad_tensors() {
  const std::string up = "model.layers.1.mlp.up_proj.weight";
  const auto edit = [](const std::string& from, const std::string& to) {
    return [=](TinyModel& m) { m.edit_header(from, to); };
  };
  const auto sharded = [](const std::function<void(TinyModel&)>& then) {
    return [=](TinyModel& m) {
      m.shard();
      then(m);
    };
  };
  const auto shard_named = [](const std::string& literal) {
    return [=](TinyModel& m) {
      m.shard();
      write_bytes(m.file(kIndex), R"({"weight_map":{"lm_head.weight":)" + literal + "}}");
    };
  };
  return {
      {"missing_tensor", edit(up, "model.layers.1.mlp.no_proj.weight"), {kWeights, "'" + up + "'"}},
      {"missing_norm", edit("model.norm.weight", "model.morn.weight"), {"'model.norm.weight'"}},
      {"transposed_tensor", edit("[12,8]", "[8,12]"), {kWeights, "[8, 12]", "[12, 8]"}},
      {"flat_tensor", edit("[12,8]", "[96]"), {kWeights, "[96]", "[12, 8]"}},
      {"integer_weights", edit(R"("F32")", R"("I32")"), {kWeights, "I32"}},
      {"untied_without_lm_head", edit("lm_head.weight", "another.weight"), {"'lm_head.weight'"}},
      {"layers_beyond_the_config",
       [](TinyModel& m) { m.set("num_hidden_layers", "1"); },
       {kWeights, "'model.layers.1.", "1 layers"}},
      {"layers_missing",
       [](TinyModel& m) { m.set("num_hidden_layers", "3"); },
       {kWeights, "'model.layers.2."}},
      {"config_of_another_width",
       [](TinyModel& m) { m.set("hidden_size", "16"); },
       {kWeights, "'model.embed_tokens.weight'", "[10, 8]", "[10, 16]"}},
      {"bias_missing",
       [](TinyModel& m) { m.set("attention_bias", "true"); },
       {kWeights, "q_proj.bias'"}},
      {"missing_shard", sharded([](TinyModel& m) { fs::remove(m.file(kShard)); }), {kShard}},
      {"truncated_shard",
       sharded([](TinyModel& m) { fs::resize_file(m.file(kShard), 100); }),
       {kShard, "truncated"}},
      {"shard_lacks_tensor",
       sharded([](TinyModel& m) {
         fs::copy_file(m.file("model-00001-of-00002.safetensors"), m.file(kShard),
                       fs::copy_options::overwrite_existing);
       }),
       {kShard, "tensor '"}},
      {"index_lacks_tensor",
       shard_named("\"" + std::string(kShard) + "\""),
       {kIndex, "embed_tokens"}},
      {"shard_name_climbs", shard_named(R"("../x.safetensors")"), {kIndex, "lm_head.weight"}},
      {"shard_name_absolute", shard_named(R"("/etc/passwd")"), {kIndex, "lm_head.weight"}},
      {"shard_name_is_parent", shard_named(R"("..")"), {kIndex, "lm_head.weight"}},
      {"shard_name_has_nul", shard_named(R"("a\u0000b")"), {kIndex, "lm_head.weight"}},
      {"shard_name_is_empty", shard_named(R"("")"), {kIndex, "lm_head.weight"}},
      {"shard_name_is_a_number", shard_named("3"), {kIndex, "lm_head.weight"}},
      {"index_without_map",
       sharded([](TinyModel& m) { write_bytes(m.file(kIndex), "{}"); }),
       {kIndex, "'weight_map'"}},
      {"index_is_no_json",
       sharded([](TinyModel& m) { write_bytes(m.file(kIndex), "{\"weight_map\":"); }),
       {kIndex}},
  };
}

std::vector<BadModel> bad_sizes() {
  const std::string huge = "999999999999999999";
  return {
      missing_field("hidden_size"),
      missing_field("intermediate_size"),
      missing_field("num_hidden_layers"),
      missing_field("num_attention_heads"),
      missing_field("vocab_size"),
      field("hidden_zero", "hidden_size", "0"),
      field("hidden_negative", "hidden_size", "-8"),
      field("hidden_huge", "hidden_size", huge),
      field("hidden_beyond_64_bits", "hidden_size", "99999999999999999999999"),
      field("hidden_text", "hidden_size", "\"8\"", "\"8\""),
      field("hidden_fraction", "hidden_size", "8.0"),
      field("hidden_true", "hidden_size", "true"),
      field("hidden_list", "hidden_size", "[8]"),
      field("hidden_null", "hidden_size", "null"),
      field("intermediate_zero", "intermediate_size", "0"),
      field("intermediate_huge", "intermediate_size", huge),
      field("layers_zero", "num_hidden_layers", "0"),
      field("layers_huge", "num_hidden_layers", huge),
      field("heads_zero", "num_attention_heads", "0"),
      field("heads_do_not_divide_hidden", "num_attention_heads", "3"),
      field("heads_huge_with_head_dim", "num_attention_heads", "1048576"),
      {"heads_times_head_dim_huge",
       [](TinyModel& m) {
         m.set("head_dim", "1048576");
         m.set("num_attention_heads", "1048576");
       },
       {"'num_attention_heads'"}},
      {"kv_heads_do_not_divide",
       [](TinyModel& m) {
         m.set("num_attention_heads", "4");
         m.set("num_key_value_heads", "3");
       },
       {"num_key_value_heads 3"}},
      field("kv_heads_zero", "num_key_value_heads", "0"),
      {"kv_heads_above_heads",
       [](TinyModel& m) { m.set("num_key_value_heads", "4"); },
       {"num_key_value_heads 4"}},
      field("head_dim_odd", "head_dim", "3"),
      field("head_dim_zero", "head_dim", "0"),
      {"derived_head_dim_odd",
       [](TinyModel& m) { m.set("hidden_size", "6"); },
       {"'num_attention_heads'", "even"}},
      field("vocabulary_zero", "vocab_size", "0"),
      field("vocabulary_huge", "vocab_size", huge),
      field("positions_zero", "max_position_embeddings", "0"),
      field("positions_huge", "max_position_embeddings", huge),
  };
}

std::vector<BadModel> bad_fields() {
  const auto rope = [](const std::string& name, const std::string& object,
                       const std::string& culprit) {
    return field(name, "rope_scaling", object, culprit);
  };
  const std::string llama3 = R"({"rope_type":"llama3","factor":8,"low_freq_factor":1,)";
  return {
      field("architecture_unknown", "architectures", "[\"GPT2LMHeadModel\"]", "GPT2LMHeadModel"),
      field("architecture_lists_supported", "architectures", "[\"X\"]", "Qwen2ForCausalLM"),
      field("architectures_text", "architectures", "\"LlamaForCausalLM\""),
      field("architecture_number", "architectures", "[3]"),
      field("model_type_contradicts", "model_type", "\"gpt2\"", "gpt2"),
      {"no_architecture",
       [](TinyModel& m) {
         m.remove_field("architectures");
         m.remove_field("model_type");
       },
       {"'architectures'"}},
      field("activation", "hidden_act", "\"gelu\"", "gelu"),
      field("quantised", "quantization_config", "{\"bits\":4}"),
      field("eps_zero", "rms_norm_eps", "0"),
      field("eps_negative", "rms_norm_eps", "-1e-5"),
      field("eps_below_float", "rms_norm_eps", "1e-300"),
      field("eps_text", "rms_norm_eps", "\"1e-5\""),
      {"eps_nan", [](TinyModel& m) { m.set("rms_norm_eps", "NaN"); }, {"config.json", "byte"}},
      {"eps_overflow",
       [](TinyModel& m) { m.set("rms_norm_eps", "1e999"); },
       {"config.json", "1e999"}},
      field("theta_zero", "rope_theta", "0"),
      field("theta_negative", "rope_theta", "-1"),
      field("theta_huge", "rope_theta", "1e300"),
      rope("rope_dynamic", R"({"type":"dynamic","factor":2})", "dynamic"),
      rope("rope_yarn", R"({"rope_type":"yarn","factor":2})", "yarn"),
      rope("rope_longrope", R"({"rope_type":"longrope"})", "longrope"),
      rope("rope_su", R"({"type":"su"})", "\"su\""),
      rope("rope_type_number", R"({"type":1})", "'rope_scaling.type'"),
      rope("rope_is_text", "\"linear\"", "an object"),
      rope("rope_without_factor", R"({"type":"linear"})", "'rope_scaling.factor'"),
      rope("rope_factor_below_1", R"({"type":"linear","factor":0.5})", "0.5"),
      rope("rope_factor_text", R"({"type":"linear","factor":"2"})", "\"2\""),
      rope("rope_partial", R"({"type":"default","partial_rotary_factor":0.5})", "partial"),
      rope("rope_per_layer_kind", R"({"full_attention":{"rope_type":"default"}})", "all layers"),
      rope("llama3_without_high", llama3 + R"("original_max_position_embeddings":8})",
           "high_freq_factor"),
      rope("llama3_without_original", llama3 + R"("high_freq_factor":4})", "original_max_position"),
      rope("llama3_high_not_above_low",
           llama3 + R"("high_freq_factor":1,"original_max_position_embeddings":8})",
           "'rope_scaling.high_freq_factor'"),
      field("tied_text", "tie_word_embeddings", "\"yes\""),
      field("bias_number", "attention_bias", "1"),
      field("dtype_unknown", "torch_dtype", "\"int8\"", "int8"),
      field("bos_out_of_range", "bos_token_id", "10"),
      field("bos_text", "bos_token_id", "\"<s>\""),
      field("eos_negative", "eos_token_id", "-1"),
      field("eos_list_with_text", "eos_token_id", "[2,\"x\"]", "'eos_token_id[1]'"),
      field("eos_object", "eos_token_id", "{}"),
      field("pad_out_of_range", "pad_token_id", "10"),
  };
}

BadModel for_family(const std::string& name, const std::string& architecture,
                    const std::string& type, const std::string& key, const std::string& literal,
                    bool windowed = false) {
  return {name,
          [=](TinyModel& m) {
            m.set("architectures", "[\"" + architecture + "\"]");
            m.set("model_type", "\"" + type + "\"");
            if (windowed) m.set("use_sliding_window", "true");
            m.set(key, literal);
          },
          {"'" + key, "config.json"}};
}

std::vector<BadModel> bad_windows() {
  const std::string mistral = "MistralForCausalLM", qwen2 = "Qwen2ForCausalLM";
  const std::string sliding = R"(["sliding_attention","full_attention"])";
  return {
      for_family("window_zero", mistral, "mistral", "sliding_window", "0"),
      for_family("window_negative", mistral, "mistral", "sliding_window", "-4"),
      for_family("window_text", mistral, "mistral", "sliding_window", "\"12\""),
      for_family("qwen_window_zero", qwen2, "qwen2", "sliding_window", "0", true),
      for_family("qwen_max_window_layers", qwen2, "qwen2", "max_window_layers", "-1", true),
      for_family("qwen_layer_types_short", qwen2, "qwen2", "layer_types", "[]", true),
      for_family("qwen_layer_type_unknown", qwen2, "qwen2", "layer_types",
                 R"(["linear_attention","full_attention"])", true),
      for_family("qwen_layer_type_without_window", qwen2, "qwen2", "layer_types", sliding),
  };
}

class BadModels : public testing::TestWithParam<BadModel> {};

TEST_P(BadModels, GiveOneLineThatNamesTheCulprit) {
  TinyModel model;
  ASSERT_NO_THROW(open_model(model.folder().string())) << "the model is good before";
  GetParam().damage(model);
  std::string message;
  try {
    open_model(model.folder().string());
    FAIL() << "a bad model was accepted";
  } catch (const ModelError& error) {
    message = error.what();
  }
  EXPECT_EQ(message.find('\n'), std::string::npos) << message;
  EXPECT_LT(message.size(), 600u) << message;
  EXPECT_NE(message.find(model.folder().string()), std::string::npos) << message;
  for (const std::string& culprit : GetParam().culprits) {
    EXPECT_NE(message.find(culprit), std::string::npos) << culprit << " not in: " << message;
  }
}

std::string case_name(const testing::TestParamInfo<BadModel>& info) { return info.param.name; }

INSTANTIATE_TEST_SUITE_P(Files, BadModels, testing::ValuesIn(bad_files()), case_name);
INSTANTIATE_TEST_SUITE_P(Headers, BadModels, testing::ValuesIn(bad_headers()), case_name);
INSTANTIATE_TEST_SUITE_P(Tensors, BadModels, testing::ValuesIn(bad_tensors()), case_name);
INSTANTIATE_TEST_SUITE_P(Sizes, BadModels, testing::ValuesIn(bad_sizes()), case_name);
INSTANTIATE_TEST_SUITE_P(Fields, BadModels, testing::ValuesIn(bad_fields()), case_name);
INSTANTIATE_TEST_SUITE_P(Windows, BadModels, testing::ValuesIn(bad_windows()), case_name);

}  // namespace
}  // namespace reprise
