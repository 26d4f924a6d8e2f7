// SPDX-License-Identifier: Apache-2.0
// A Llama-family model on a device: its weights, and the forward pass over the block operations.
// Knows nothing of graphs: whether run() is recorded or executed is the stream's business.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <reprise/device.h>

#include "kernels/ops.h"
#include "model/config.h"
#include "model/model_source.h"

namespace reprise {

struct LlamaLayer {
  Weight input_norm;
  Weight qkv;
  std::optional<Weight> qkv_bias;
  Weight o;
  std::optional<Weight> o_bias;
  Weight post_norm;
  Weight gate_up;
  std::optional<Weight> gate_up_bias;
  Weight down;
  std::optional<Weight> down_bias;
};

/// Weights and tables on the device. Immutable after loading; any thread may read.
class Llama {
 public:
  /// Loads (or makes, for random models) all weights. `positions` is the longest sequence that will
  /// be computed; it sizes the table of rotations and may exceed the configuration's.
  Llama(const ModelSource& source, Ops& ops, Stream& stream, std::int64_t positions);

  const ModelConfig& config() const noexcept { return config_; }
  DType dtype() const noexcept { return dtype_; }
  std::int64_t positions() const noexcept { return positions_; }
  const Weight& embedding() const noexcept { return embedding_; }
  const Weight& lm_head() const noexcept { return lm_head_ ? *lm_head_ : embedding_; }
  const Weight& final_norm() const noexcept { return final_norm_; }
  const std::vector<LlamaLayer>& layers() const noexcept { return layers_; }
  const float* rope() const noexcept { return static_cast<const float*>(rope_.data()); }
  HeadGeometry geometry() const noexcept;

 private:
  void load(const ModelSource& source, Ops& ops, Stream& stream);
  void make_random(const ModelSource& source, Ops& ops, Stream& stream);

  ModelConfig config_;
  DType dtype_;
  std::int64_t positions_;
  Weight embedding_;
  std::vector<LlamaLayer> layers_;
  Weight final_norm_;
  std::optional<Weight> lm_head_;  // none: tied to the embedding
  Buffer rope_;
};

/// Device memory of one forward pass. All of it is scratch except what the caller wants to read.
struct ForwardBuffers {
  float* residual = nullptr;   ///< [rows, hidden]
  void* q = nullptr;           ///< activation type [rows, heads head_dim]
  void* attention = nullptr;   ///< activation type [rows, heads head_dim]
  void* activation = nullptr;  ///< activation type [rows, intermediate]
  void* workspace = nullptr;   ///< Forward::workspace_bytes()
};

/// The forward pass for one number of rows: its plans. Made outside recordings, run anywhere.
class Forward {
 public:
  Forward(const Llama& model, Ops& ops, int rows, const PlanBudget& budget);

  int rows() const noexcept { return rows_; }
  std::size_t workspace_bytes() const noexcept { return workspace_bytes_; }
  /// Takes the buffers' memory from `scratch`, in a fixed order.
  ForwardBuffers allocate(
      const std::function<void*(std::size_t bytes, std::string_view label)>& scratch) const;

  /// Tokens in, residual stream after the last layer out; keys and values are appended to `cache`
  /// ([layers]).
  void run(const BatchInputs& batch, const ForwardBuffers& buffers,
           const std::vector<CacheLayer>& cache, Stream& stream) const;

 private:
  struct LayerPlans {
    std::unique_ptr<Plan> qkv;
    std::unique_ptr<Plan> attend;
    std::unique_ptr<Plan> out;
    std::unique_ptr<Plan> gate_up;
    std::unique_ptr<Plan> down;
    std::string label;
  };
  void plan_layer(std::size_t index, const PlanBudget& budget);
  void run_layer(std::size_t index, const BatchInputs& batch, const ForwardBuffers& buffers,
                 const CacheLayer& cache, Stream& stream) const;
  void need(const Plan& plan) noexcept;

  const Llama& model_;
  Ops& ops_;
  int rows_;
  std::size_t workspace_bytes_ = 0;
  std::unique_ptr<Plan> embed_;
  std::vector<LayerPlans> layers_;
};

/// Final norm, logits and the choice of the next token for `rows` rows of a residual stream.
class Head {
 public:
  Head(const Llama& model, Ops& ops, int rows, const PlanBudget& budget);
  std::size_t workspace_bytes() const noexcept { return workspace_bytes_; }
  void logits(const BatchInputs& batch, const float* residual, float* logits, void* workspace,
              Stream& stream) const;
  void select(const BatchInputs& batch, const float* logits, std::int32_t* next, void* workspace,
              Stream& stream) const;

 private:
  Ops& ops_;
  std::size_t workspace_bytes_ = 0;
  std::unique_ptr<Plan> logits_;
  std::unique_ptr<Plan> select_;
};

}  // namespace reprise
