// SPDX-License-Identifier: Apache-2.0
// Prefill: a prompt's tokens through the forward pass in chunks, each token a row of one sequence.
// Runs eagerly on the decoder's lane; it is not a fallback of anything.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>

#include <reprise/memory_pool.h>

#include "engine/kv_cache.h"
#include "model/llama.h"

namespace reprise {

/// How the token after a row is chosen.
struct Sampling {
  float temperature = 0;  ///< 0: greedy
  std::int64_t seed = 0;
};

class Prefill {
 public:
  /// Takes logits of consecutive positions, [rows, vocabulary] each time.
  using LogitsSink = std::function<void(std::span<const float> logits)>;

  Prefill(const Llama& model, Ops& ops, KvCache& cache, std::shared_ptr<MemoryPool> memory,
          int pages_per_sequence, int chunk_tokens, PlanBudget budget);

  /// Appends `tokens` to the sequence, whose pages must be reserved, and returns the next token.
  /// Blocks. `sink` may be empty.
  std::int32_t run(Sequence& sequence, std::span<const std::int32_t> tokens,
                   const Sampling& sampling, const LogitsSink& sink, Stream& stream);

  /// Forward passes so far.
  std::uint64_t steps() const noexcept { return steps_; }

 private:
  BatchInputs upload(const Sequence& sequence, std::span<const std::int32_t> tokens,
                     const Sampling& sampling, Stream& stream);
  std::int32_t run_chunk(const Sequence& sequence, std::span<const std::int32_t> tokens,
                         const Sampling& sampling, const LogitsSink& sink, bool last,
                         Stream& stream);
  void emit_logits(const BatchInputs& batch, const float* residual, int rows,
                   const LogitsSink& sink, Stream& stream);
  std::int32_t choose(const BatchInputs& batch, const float* residual, int row, Stream& stream);
  /// Throws ModelError where the chosen row's logits are not finite.
  void require_finite(Stream& stream);

  const Llama& model_;
  Ops& ops_;
  KvCache& cache_;
  std::shared_ptr<MemoryPool> memory_;
  int pages_per_sequence_;
  int chunk_;
  PlanBudget budget_;
  Buffer inputs_;
  Buffer logits_;  // of a few rows
  Buffer next_;
  Forward full_chunk_;
  Head chooser_;  // of one row: the last one, after which comes the next token
  std::uint64_t steps_ = 0;
};

}  // namespace reprise
