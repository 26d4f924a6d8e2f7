// SPDX-License-Identifier: Apache-2.0
// The tensors of a Llama-family model: which there are, under which names and with which shapes,
// and a checkpoint's tensors put in their places.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "core/host_tensor.h"
#include "model/checkpoint.h"
#include "model/config.h"

namespace reprise {

// Matrices are [outputs, inputs], row-major, as a checkpoint stores them: y = W x + b.
// H hidden_size, Q heads*head_dim, K kv_heads*head_dim, I intermediate_size, V vocabulary.
// A tensor the configuration does not have (a bias) is empty.
struct LayerTensors {
  HostTensor input_norm;  // [H]
  HostTensor q;           // [Q, H]
  HostTensor k;           // [K, H]
  HostTensor v;           // [K, H]
  HostTensor o;           // [H, Q]
  HostTensor q_bias;      // [Q]
  HostTensor k_bias;      // [K]
  HostTensor v_bias;      // [K]
  HostTensor o_bias;      // [H]
  HostTensor post_norm;   // [H], before the MLP
  HostTensor gate;        // [I, H]
  HostTensor up;          // [I, H]
  HostTensor down;        // [H, I]
  HostTensor gate_bias;   // [I]
  HostTensor up_bias;     // [I]
  HostTensor down_bias;   // [H]
};

struct ModelTensors {
  HostTensor embed;                  // [V, H]
  std::vector<LayerTensors> layers;  // [config.layers]
  HostTensor final_norm;             // [H]
  HostTensor lm_head;                // [V, H]; the same memory as embed where tied
  DType dtype = DType::bf16;  // of every matrix; norms and biases may differ, each for itself
};

enum class TensorRole : std::uint8_t { matrix, norm, bias };

/// One tensor that a configuration demands, and where in the structs above it belongs.
struct ExpectedTensor {
  std::string name{};  ///< "model.layers.0.self_attn.q_proj.weight"
  Shape shape{};
  TensorRole role = TensorRole::matrix;
  std::int64_t layer = -1;                         ///< -1: not of a layer
  HostTensor LayerTensors::*layer_slot = nullptr;  ///< set if layer >= 0
  HostTensor ModelTensors::*model_slot = nullptr;  ///< set otherwise
};

/// All tensors of a model with this configuration, in the order of computation; lm_head only if it
/// is not tied. Random models are made from this list too (core/random_weights.h says how).
std::vector<ExpectedTensor> expected_tensors(const ModelConfig& config);

/// Whether an output matrix is stored that is not the embedding table over again. Compares their
/// bytes, so it may read both.
bool stores_own_lm_head(const Checkpoint& checkpoint);

/// Puts the checkpoint's tensors in their places after checking all of them: each expected one is
/// there, has the expected shape and is F32, F16 or BF16; all matrices have one dtype. Extra
/// tensors are left alone (a copy of tied embeddings as lm_head, rotary tables) unless they prove
/// that config.json describes another model: a bias it denies, a layer beyond its last, norms of
/// queries and keys. Throws ModelError naming file and tensor.
ModelTensors gather_tensors(const Checkpoint& checkpoint, const ModelConfig& config);

/// Number of weights, embedding table included; a tied table counts once.
std::int64_t parameter_count(const ModelConfig& config);

/// Bytes of weights one decode step reads: all but the embedding table, of which a step reads a row
/// (a tied table is read as lm_head). `dtype` is taken for all tensors.
std::int64_t weight_bytes_per_step(const ModelConfig& config, DType dtype);

}  // namespace reprise
