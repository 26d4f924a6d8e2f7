// SPDX-License-Identifier: Apache-2.0
#include "model/llama.h"

#include <span>

#include <fmt/format.h>

#include <reprise/error.h>

#include "core/bytes.h"
#include "core/random_weights.h"
#include "core/text.h"
#include "model/rope.h"

namespace reprise {
namespace {

std::optional<Weight> load_biases(Ops& ops, bool present, const std::vector<HostTensor>& parts,
                                  Stream& stream) {
  if (!present) return std::nullopt;
  return ops.load(parts, WeightUse::vector, stream);
}

Weight load_one(Ops& ops, const HostTensor& tensor, WeightUse use, Stream& stream) {
  return ops.load(std::span(&tensor, 1), use, stream);
}

LlamaLayer load_layer(const ModelConfig& config, const LayerTensors& from, Ops& ops,
                      Stream& stream) {
  const auto matrix = [&](std::vector<HostTensor> parts) {
    return ops.load(parts, WeightUse::matrix, stream);
  };
  return {
      .input_norm = load_one(ops, from.input_norm, WeightUse::vector, stream),
      .qkv = matrix({from.q, from.k, from.v}),
      .qkv_bias =
          load_biases(ops, config.qkv_bias, {from.q_bias, from.k_bias, from.v_bias}, stream),
      .o = matrix({from.o}),
      .o_bias = load_biases(ops, config.o_bias, {from.o_bias}, stream),
      .post_norm = load_one(ops, from.post_norm, WeightUse::vector, stream),
      .gate_up = matrix({from.gate, from.up}),
      .gate_up_bias = load_biases(ops, config.mlp_bias, {from.gate_bias, from.up_bias}, stream),
      .down = matrix({from.down}),
      .down_bias = load_biases(ops, config.mlp_bias, {from.down_bias}, stream),
  };
}

// Makes a random model's weights under the names a checkpoint would give them, so that stacking q,
// k and v or not does not change their values.
class RandomMaker {
 public:
  RandomMaker(Ops& ops, std::uint64_t seed, Stream& stream)
      : ops_(ops), seed_(seed), stream_(stream) {}

  Weight matrix(std::vector<RandomPart> parts, std::int64_t cols, WeightUse use) {
    return ops_.random(parts, cols, DType::bf16, seed_, kRandomStddev, use, stream_);
  }
  std::optional<Weight> biases(bool present, const std::vector<RandomPart>& parts) {
    if (!present) return std::nullopt;
    return ops_.random(parts, 1, DType::bf16, seed_, kRandomStddev, WeightUse::vector, stream_);
  }
  Weight ones(std::int64_t length) {
    const std::vector<float> values(static_cast<std::size_t>(length), 1.0F);
    const HostTensor tensor{.name = "ones",
                            .dtype = DType::f32,
                            .shape = Shape{length},
                            .data = values.data(),
                            .owner = nullptr};
    return load_one(ops_, tensor, WeightUse::vector, stream_);
  }

 private:
  Ops& ops_;
  std::uint64_t seed_;
  Stream& stream_;
};

LlamaLayer make_layer(const ModelConfig& c, std::int64_t index, RandomMaker& maker) {
  const auto part = [&](std::string_view name, std::string_view kind, std::int64_t rows) {
    return RandomPart{fmt::format("model.layers.{}.{}.{}", index, name, kind), rows};
  };
  const auto qkv = [&](std::string_view kind) -> std::vector<RandomPart> {
    return {part("self_attn.q_proj", kind, c.query_size()),
            part("self_attn.k_proj", kind, c.kv_size()),
            part("self_attn.v_proj", kind, c.kv_size())};
  };
  const auto gate_up = [&](std::string_view kind) -> std::vector<RandomPart> {
    return {part("mlp.gate_proj", kind, c.intermediate_size),
            part("mlp.up_proj", kind, c.intermediate_size)};
  };
  const auto o = part("self_attn.o_proj", "weight", c.hidden_size);
  const auto down = part("mlp.down_proj", "weight", c.hidden_size);
  const auto o_bias = part("self_attn.o_proj", "bias", c.hidden_size);
  const auto down_bias = part("mlp.down_proj", "bias", c.hidden_size);
  return {
      .input_norm = maker.ones(c.hidden_size),
      .qkv = maker.matrix(qkv("weight"), c.hidden_size, WeightUse::matrix),
      .qkv_bias = maker.biases(c.qkv_bias, qkv("bias")),
      .o = maker.matrix({o}, c.query_size(), WeightUse::matrix),
      .o_bias = maker.biases(c.o_bias, {o_bias}),
      .post_norm = maker.ones(c.hidden_size),
      .gate_up = maker.matrix(gate_up("weight"), c.hidden_size, WeightUse::matrix),
      .gate_up_bias = maker.biases(c.mlp_bias, gate_up("bias")),
      .down = maker.matrix({down}, c.intermediate_size, WeightUse::matrix),
      .down_bias = maker.biases(c.mlp_bias, {down_bias}),
  };
}

/// Before the memory is filled, which takes minutes and everybody else's memory. In double, so that
/// no size overflows on its way to the refusal.
void require_room(const ModelSource& source, const Device& device) {
  const double bytes = static_cast<double>(parameter_count(source.config)) *
                       static_cast<double>(size_of(source.dtype()));
  const MemoryInfo memory = device.memory_info();
  if (bytes <= static_cast<double>(memory.free)) return;
  throw OutOfMemory(fmt::format(
      "the weights of {} take {:.1f} GiB, {} has {} free; use a smaller model",
      printable(source.argument), bytes / (1 << 30), device.label(), format_bytes(memory.free)));
}

}  // namespace

Llama::Llama(const ModelSource& source, Ops& ops, Stream& stream, std::int64_t positions)
    : config_(source.config), dtype_(source.dtype()), positions_(positions) {
  if (source.tensors) {
    load(source, ops, stream);
  } else {
    make_random(source, ops, stream);
  }
  const std::vector<float> table = rope_table(config_.rope, config_.head_dim, positions);
  rope_ = stream.device().allocate(table.size() * sizeof(float), "rotations");
  rope_.from_host(stream, std::as_bytes(std::span(table)));
}

void Llama::load(const ModelSource& source, Ops& ops, Stream& stream) {
  const ModelTensors& tensors = *source.tensors;
  if (source.checkpoint) source.checkpoint->prefetch();  // all of it will be read, from now on
  const bool tied = config_.tie_embeddings;
  embedding_ = load_one(ops, tensors.embed,
                        tied ? WeightUse::embedding_and_matrix : WeightUse::embedding, stream);
  for (const LayerTensors& layer : tensors.layers) {
    layers_.push_back(load_layer(config_, layer, ops, stream));
  }
  final_norm_ = load_one(ops, tensors.final_norm, WeightUse::vector, stream);
  if (!tied) lm_head_ = load_one(ops, tensors.lm_head, WeightUse::matrix, stream);
}

void Llama::make_random(const ModelSource& source, Ops& ops, Stream& stream) {
  require_room(source, stream.device());
  RandomMaker maker(ops, source.seed, stream);
  const bool tied = config_.tie_embeddings;
  embedding_ =
      maker.matrix({{"model.embed_tokens.weight", config_.vocabulary}}, config_.hidden_size,
                   tied ? WeightUse::embedding_and_matrix : WeightUse::embedding);
  for (std::int64_t index = 0; index < config_.layers; ++index) {
    layers_.push_back(make_layer(config_, index, maker));
  }
  final_norm_ = maker.ones(config_.hidden_size);
  if (!tied) {
    lm_head_ = maker.matrix({{"lm_head.weight", config_.vocabulary}}, config_.hidden_size,
                            WeightUse::matrix);
  }
}

HeadGeometry Llama::geometry() const noexcept {
  return {.heads = static_cast<int>(config_.heads),
          .kv_heads = static_cast<int>(config_.kv_heads),
          .head_dim = static_cast<int>(config_.head_dim)};
}

}  // namespace reprise
