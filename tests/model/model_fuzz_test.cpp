// SPDX-License-Identifier: Apache-2.0
// Seeded mutations of config.json, header and index. Whatever a file says, opening it succeeds or
// throws a ModelError of one line; nothing else, under sanitizers too. The data of what opens is
// read to its end.
#include <cstring>
#include <random>

#include <gtest/gtest.h>

#include <reprise/error.h>

#include "model/model_source.h"
#include "model/support/tiny_model.h"

namespace reprise {
namespace {

using test::read_bytes;
using test::TinyModel;
using test::write_bytes;

class Mutator {
 public:
  explicit Mutator(unsigned seed) : random_(seed) {}

  std::string operator()(std::string text) {
    for (std::size_t count = below(4) + 1; count > 0; --count) mutate(text);
    return text;
  }

 private:
  std::size_t below(std::size_t bound) { return random_() % bound; }

  void mutate(std::string& text) {
    static constexpr const char* kTokens[] = {"0",
                                              "-1",
                                              "1",
                                              "9223372036854775807",
                                              "18446744073709551616",
                                              "1e308",
                                              "0.5",
                                              "null",
                                              "true",
                                              "\"\"",
                                              "[",
                                              "]",
                                              "{",
                                              "}",
                                              ",",
                                              ":",
                                              "\"",
                                              "[]",
                                              "1e-9",
                                              "4294967296",
                                              "\\u0000",
                                              "\xff",
                                              "[1]",
                                              "{}"};
    if (text.empty()) return;
    const std::size_t at = below(text.size());
    switch (below(5)) {
      case 0:
        text[at] = static_cast<char>(below(256));
        break;
      case 1:
        text.erase(at, below(8) + 1);
        break;
      case 2:
        text.insert(at, text.substr(below(text.size()), below(40)));
        break;
      case 3:
        text.insert(at, kTokens[below(std::size(kTokens))]);
        break;
      default:
        replace_number(text, at, kTokens[below(std::size(kTokens))]);
    }
  }

  /// Keeps the text valid more often than the others do.
  static void replace_number(std::string& text, std::size_t from, const char* token) {
    const std::size_t begin = text.find_first_of("0123456789", from);
    if (begin == std::string::npos) return;
    const std::size_t end = text.find_first_not_of("0123456789", begin);
    text.replace(begin, (end == std::string::npos ? text.size() : end) - begin, token);
  }

  std::mt19937 random_;
};

int touch_all(const ModelTensors& tensors) {
  int sum = 0;
  const auto touch = [&](const HostTensor& tensor) {
    const auto* bytes = static_cast<const unsigned char*>(tensor.data);
    for (std::size_t i = 0; i < tensor.bytes(); ++i) sum += bytes[i];
  };
  touch(tensors.embed);
  touch(tensors.final_norm);
  touch(tensors.lm_head);
  for (const LayerTensors& layer : tensors.layers) {
    for (const HostTensor* t : {&layer.input_norm, &layer.q, &layer.k, &layer.v, &layer.o,
                                &layer.post_norm, &layer.gate, &layer.up, &layer.down}) {
      touch(*t);
    }
  }
  return sum;
}

/// Opens `rounds` mutations of the file; returns how many were refused.
int fuzz(const TinyModel& model, const std::string& name, std::size_t begin, std::size_t length,
         unsigned seed, int rounds) {
  const std::string good = read_bytes(model.file(name));
  const std::string part = good.substr(begin, length);
  Mutator mutate(seed);
  int refused = 0;
  volatile int sink = 0;
  for (int round = 0; round < rounds; ++round) {
    const std::string bad = mutate(part);
    std::string whole = good.substr(0, begin) + bad;
    if (length != std::string::npos) whole += good.substr(begin + length);
    if (begin == 8) {  // a header: tell its new length
      for (std::size_t i = 0; i < 8; ++i) whole[i] = static_cast<char>(bad.size() >> (8 * i));
    }
    write_bytes(model.file(name), whole);
    try {
      sink = sink + touch_all(*open_model(model.folder().string()).tensors);
    } catch (const ModelError& error) {
      ++refused;
      EXPECT_EQ(std::strchr(error.what(), '\n'), nullptr) << error.what();
      EXPECT_LT(std::strlen(error.what()), 1000u) << error.what();
    }
  }
  write_bytes(model.file(name), good);
  EXPECT_NO_THROW(open_model(model.folder().string()));
  return refused;
}

TEST(ModelFuzz, Config) {
  const TinyModel model;
  EXPECT_GT(fuzz(model, "config.json", 0, std::string::npos, 1, 1000), 500);
}

TEST(ModelFuzz, GenerationConfig) {
  const TinyModel model;
  EXPECT_GT(fuzz(model, "generation_config.json", 0, std::string::npos, 2, 300), 100);
}

TEST(ModelFuzz, SafetensorsHeader) {
  const TinyModel model;
  const std::string bytes = read_bytes(model.file("model.safetensors"));
  std::size_t length = 0;
  for (std::size_t i = 0; i < 8; ++i) {
    length |= static_cast<std::size_t>(static_cast<unsigned char>(bytes[i])) << (8 * i);
  }
  EXPECT_GT(fuzz(model, "model.safetensors", 8, length, 3, 1500), 1000);
}

TEST(ModelFuzz, SafetensorsBytes) {
  const TinyModel model;
  EXPECT_GT(fuzz(model, "model.safetensors", 0, std::string::npos, 4, 300), 50);
}

TEST(ModelFuzz, Index) {
  TinyModel model;
  model.shard();
  EXPECT_GT(fuzz(model, "model.safetensors.index.json", 0, std::string::npos, 5, 600), 300);
}

}  // namespace
}  // namespace reprise
