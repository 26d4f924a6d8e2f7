// SPDX-License-Identifier: Apache-2.0
// One way each to break the files of a valid model folder, the weights above all.
#include <filesystem>

#include <gtest/gtest.h>

#include "core/text.h"
#include "model/support/bad_model.h"

namespace reprise {
namespace {

namespace fs = std::filesystem;
using test::BadModel;
using test::read_bytes;
using test::safetensors_bytes;
using test::TinyModel;
using test::write_bytes;

constexpr const char* kWeights = "model.safetensors";
constexpr const char* kIndex = "model.safetensors.index.json";
constexpr const char* kShard = "model-00002-of-00002.safetensors";

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
  };
}

std::vector<BadModel> bad_weight_files() {
  const auto replace = [](const std::string& bytes) {
    return [=](TinyModel& m) { write_bytes(m.file(kWeights), bytes); };
  };
  return {
      {"empty_weights", replace(""), {kWeights, "0 bytes"}},
      {"seven_bytes", replace("1234567"), {kWeights, "7 bytes"}},
      {"header_of_2_63_bytes",
       replace(std::string("\0\0\0\0\0\0\0\x80{}", 10)),
       {kWeights, "9223372036854775808"}},
      {"header_of_2_64_bytes", replace(std::string(8, '\xff')), {kWeights, "header"}},
      {"header_longer_than_file",
       replace(std::string("\x40\0\0\0\0\0\0\0{}", 10)),
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
  };
}

std::vector<BadModel> bad_shards() {
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
      {"index_lacks_tensor", shard_named(json_quoted(kShard)), {kIndex, "embed_tokens"}},
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

class BadFiles : public testing::TestWithParam<BadModel> {};

TEST_P(BadFiles, GiveOneLineThatNamesTheCulprit) { test::expect_refusal(GetParam()); }

std::string case_name(const testing::TestParamInfo<BadModel>& info) { return info.param.name; }

INSTANTIATE_TEST_SUITE_P(Files, BadFiles, testing::ValuesIn(bad_files()), case_name);
INSTANTIATE_TEST_SUITE_P(WeightFiles, BadFiles, testing::ValuesIn(bad_weight_files()), case_name);
INSTANTIATE_TEST_SUITE_P(Headers, BadFiles, testing::ValuesIn(bad_headers()), case_name);
INSTANTIATE_TEST_SUITE_P(Tensors, BadFiles, testing::ValuesIn(bad_tensors()), case_name);
INSTANTIATE_TEST_SUITE_P(Shards, BadFiles, testing::ValuesIn(bad_shards()), case_name);

}  // namespace
}  // namespace reprise
