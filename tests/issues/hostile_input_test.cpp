// SPDX-License-Identifier: Apache-2.0
// Faults that hostile input has found; each test is named after its fault.
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <stdexcept>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <reprise/error.h>
#include <reprise/host.h>

#include "kernels/ops.h"
#include "model/llama.h"
#include "model/model_source.h"
#include "model/tokenizer/tokenizer.h"

namespace reprise {
namespace {

namespace fs = std::filesystem;
using testing::AllOf;
using testing::HasSubstr;
using testing::ThrowsMessage;

class Folder {
 public:
  Folder() {
    std::string name = testing::TempDir() + "reprise-hostile-XXXXXX";
    if (::mkdtemp(name.data()) == nullptr) throw std::runtime_error("mkdtemp failed");
    path_ = name;
  }
  ~Folder() {
    std::error_code ignored;
    fs::remove_all(path_, ignored);
  }
  Folder(const Folder&) = delete;
  Folder& operator=(const Folder&) = delete;
  const fs::path& path() const { return path_; }

 private:
  fs::path path_;
};

std::string config_text(const std::string& more) {
  return R"({"architectures":["Qwen2ForCausalLM"],"hidden_size":8,"intermediate_size":8,)"
         R"("num_hidden_layers":1,"num_attention_heads":2,"num_key_value_heads":1,"vocab_size":9)" +
         more + "}";
}

// Each step turns every "x" into two.
std::string doubling_tokenizer(int steps) {
  std::string list;
  for (int i = 0; i < steps; ++i) {
    list += std::string(i == 0 ? "" : ",") +
            R"({"type":"Replace","pattern":{"String":"x"},"content":"xx"})";
  }
  return R"({"normalizer":{"type":"Sequence","normalizers":[)" + list +
         R"(]},"model":{"type":"BPE","vocab":{"x":0},"merges":[]}})";
}

TEST(HostileInput, a_dangling_generation_config_is_no_absent_one) {
  const Folder folder;
  const ModelConfig config = parse_config(config_text(""), "config.json");
  const fs::path file = folder.path() / "generation_config.json";
  EXPECT_NO_THROW(read_generation(file, config));
  fs::create_symlink("/nowhere/generation_config.json", file);
  EXPECT_THAT([&] { read_generation(file, config); },
              ThrowsMessage<ModelError>(HasSubstr(file.string())));
}

TEST(HostileInput, max_window_layers_is_checked_where_layer_types_decide) {
  const std::string types = R"(,"layer_types":["full_attention"],"max_window_layers":)";
  EXPECT_NO_THROW(parse_config(config_text(types + "28"), "config.json"));
  for (const std::string value : {"\"a\"", "-1", "[]", "1.5"}) {
    EXPECT_THAT([&] { parse_config(config_text(types + value), "config.json"); },
                ThrowsMessage<ModelError>(HasSubstr("max_window_layers")))
        << value;
  }
}

TEST(HostileInput, random_weights_above_the_memory_are_refused_before_any_is_made) {
  // 13 billion weights, of which the first matrix alone would fit.
  const auto device = host::open({.threads = 1, .memory_limit = std::size_t{1} << 30});
  const ModelSource source = open_model("random:llama-2-13b");
  const auto ops = make_ops(*device);
  Stream stream = device->create_stream("load");
  EXPECT_THAT([&] { const Llama model(source, *ops, stream, 16); },
              ThrowsMessage<OutOfMemory>(
                  AllOf(HasSubstr("the weights of random:llama-2-13b"), HasSubstr("24.2 GiB"))));
}

TEST(HostileInput, a_normalizer_that_fills_the_memory_is_stopped) {
  const Folder folder;
  std::ofstream(folder.path() / "tokenizer.json") << doubling_tokenizer(4);
  EXPECT_EQ(Tokenizer::load(folder.path()).encode("x", false).size(), 16U);
  std::ofstream(folder.path() / "tokenizer.json") << doubling_tokenizer(60);
  const Tokenizer tokenizer = Tokenizer::load(folder.path());
  EXPECT_THAT(
      [&] { tokenizer.encode("x", false); },
      ThrowsMessage<ModelError>(AllOf(HasSubstr("tokenizer.json"), HasSubstr("normalizer"))));
}

}  // namespace
}  // namespace reprise
