// SPDX-License-Identifier: Apache-2.0
// A model ready to decode: weights, cache, prefill, and the pool of recorded decode steps.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string_view>
#include <vector>

#include <reprise/graph_pool.h>

#include "engine/decode_step.h"
#include "engine/kv_cache.h"
#include "engine/prefill.h"
#include "model/model_source.h"

namespace reprise {

struct DecoderOptions {
  int max_batch = 1;
  /// Sizes to record; empty: default_ladder(max_batch).
  std::vector<int> sizes;
  /// Tokens a sequence may grow to; 0: the model's max_position_embeddings.
  std::int64_t max_context = 0;
  /// Sequences of that length the cache holds at once; 0: max_batch.
  int sequences = 0;
  int prefill_chunk = 512;
  RecordMode record_mode = RecordMode::graphs;
  bool self_test = true;
  PlanBudget budget = {};
  bool programmatic_launch = true;                ///< as OpsOptions::programmatic_launch
  std::function<void(std::string_view)> on_note;  ///< null: standard error
};

/// One row of a decode step.
struct DecodeRow {
  Sequence* sequence = nullptr;  ///< the token becomes its entry `length`
  std::int32_t token = 0;
  Sampling sampling = {};
};

/// One lane: use it from one thread at a time.
class Decoder {
 public:
  /// Loads the model. Throws OutOfMemory first where the cache has no room on the device.
  Decoder(std::shared_ptr<Device> device, const ModelSource& source, DecoderOptions options);
  ~Decoder();
  Decoder(const Decoder&) = delete;
  Decoder& operator=(const Decoder&) = delete;

  /// Records the ladder. Without it, and after it has thrown, every step runs eagerly, counted as a
  /// fallback unless asked for.
  RecordReport record();

  Sequence new_sequence() { return Sequence(*cache_); }
  /// Appends a prompt and returns the token that follows. Throws UsageError for an empty prompt, a
  /// token outside the vocabulary or a sequence that would outgrow max_context; nothing has changed
  /// then. `sink` gets the logits of every position.
  std::int32_t prefill(Sequence& sequence, std::span<const std::int32_t> tokens,
                       const Sampling& sampling, const Prefill::LogitsSink& sink = {});
  /// Enqueues one step for all rows and advances their sequences; read_next() waits for it. Throws
  /// as prefill().
  RunResult step(std::span<const DecodeRow> rows, RunMode mode = RunMode::automatic);
  /// The tokens the latest step chose, one per row.
  void read_next(std::span<std::int32_t> out);
  /// The latest step's logits, [rows, vocabulary].
  void read_logits(std::span<float> out);

  const Llama& model() const noexcept { return model_; }
  std::int64_t max_context() const noexcept { return max_context_; }
  KvCache& cache() noexcept { return *cache_; }
  GraphPool& pool() noexcept { return *pool_; }
  Ops& ops() noexcept { return *ops_; }
  Device& device() noexcept { return *device_; }
  Stream& stream() noexcept { return pool_->stream(); }
  std::uint64_t prefill_steps() const noexcept { return prefill_->steps(); }

 private:
  void bind_cache();
  void check_token(std::int32_t token) const;
  void check_room(const Sequence& sequence, std::size_t more) const;
  void fill_rows(std::span<const DecodeRow> rows);

  // In the order of construction: each part uses those above it.
  std::shared_ptr<Device> device_;
  std::unique_ptr<Ops> ops_;
  Stream load_stream_;
  std::int64_t max_context_;
  int pages_per_sequence_;
  Llama model_;
  std::unique_ptr<KvCache> cache_;
  std::unique_ptr<DecodeStep> decode_step_;
  std::unique_ptr<GraphPool> pool_;
  std::unique_ptr<Prefill> prefill_;

  struct Slots {
    Slot tokens, positions, alive, temperatures, seeds, block_tables, kv_cache, logits, next;
  } slots_;
  // The host's image of a step's inputs, kept to avoid allocating on every step.
  std::vector<std::int32_t> tokens_;
  std::vector<std::int32_t> positions_;
  std::vector<std::int32_t> alive_;
  std::vector<float> temperatures_;
  std::vector<std::int64_t> seeds_;
  std::vector<std::int32_t> tables_;
};

}  // namespace reprise
