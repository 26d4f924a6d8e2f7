// SPDX-License-Identifier: Apache-2.0
// One way each to break the config.json of a valid model folder.
#include <gtest/gtest.h>

#include "model/support/bad_model.h"

namespace reprise {
namespace {

using test::BadModel;
using test::TinyModel;

/// A case that sets a field of config.json, and the message names it.
BadModel field(const std::string& name, const std::string& key, const std::string& literal,
               const std::string& also = "config.json") {
  return {name, [=](TinyModel& m) { m.set(key, literal); }, {"'" + key, also}};
}

BadModel missing_field(const std::string& key) {
  return {
      "no_" + key, [=](TinyModel& m) { m.remove_field(key); }, {"'" + key + "'", "config.json"}};
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

class BadConfigs : public testing::TestWithParam<BadModel> {};

TEST_P(BadConfigs, GiveOneLineThatNamesTheCulprit) { test::expect_refusal(GetParam()); }

std::string case_name(const testing::TestParamInfo<BadModel>& info) { return info.param.name; }

INSTANTIATE_TEST_SUITE_P(Sizes, BadConfigs, testing::ValuesIn(bad_sizes()), case_name);
INSTANTIATE_TEST_SUITE_P(Fields, BadConfigs, testing::ValuesIn(bad_fields()), case_name);
INSTANTIATE_TEST_SUITE_P(Windows, BadConfigs, testing::ValuesIn(bad_windows()), case_name);

}  // namespace
}  // namespace reprise
