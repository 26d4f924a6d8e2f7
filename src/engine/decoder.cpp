// SPDX-License-Identifier: Apache-2.0
#include "engine/decoder.h"

#include <algorithm>
#include <array>

#include <fmt/format.h>

#include "core/log.h"

namespace reprise {
namespace {

int sequences_of(const DecoderOptions& options) {
  return options.sequences != 0 ? options.sequences : options.max_batch;
}

/// The longest sequence, once it is known that the cache has room for as many as are asked for.
std::int64_t checked_context(const Device& device, const Ops& ops, const ModelSource& source,
                             const DecoderOptions& options) {
  const std::int64_t context =
      options.max_context != 0 ? options.max_context : source.config.max_positions;
  KvCache::require_room(device, source.config, ops.cache_dtype(source.dtype()),
                        sequences_of(options), context);
  return context;
}

template <class T>
TensorView rows_view(std::vector<T>& values, std::size_t rows) {
  return host_tensor(std::span<const T>(values.data(), rows));
}

}  // namespace

Decoder::Decoder(std::shared_ptr<Device> device, const ModelSource& source, DecoderOptions options)
    : device_(std::move(device)),
      ops_(make_ops(*device_, {.programmatic_launch = options.programmatic_launch})),
      load_stream_(device_->create_stream("load")),
      max_context_(checked_context(*device_, *ops_, source, options)),
      pages_per_sequence_(KvCache::pages_for(max_context_)),
      model_(source, *ops_, load_stream_, max_context_) {
  ops_->set_on_note(options.on_note ? options.on_note : stderr_sink());
  const DType cache_dtype = ops_->cache_dtype(model_.dtype());
  cache_ = std::make_unique<KvCache>(*device_, model_.config(), cache_dtype,
                                     KvCache::pages_for(sequences_of(options), max_context_));
  decode_step_ =
      std::make_unique<DecodeStep>(model_, *ops_, *cache_, pages_per_sequence_, options.budget);
  GraphPoolOptions pool_options{.sizes = options.sizes,
                                .max_rows = options.max_batch,
                                .record_mode = options.record_mode,
                                .self_test = options.self_test,
                                .on_note = options.on_note};
  pool_ = std::make_unique<GraphPool>(device_, decode_step_->make(), std::move(pool_options));
  bind_cache();
  const int chunk = static_cast<int>(std::min<std::int64_t>(options.prefill_chunk, max_context_));
  prefill_ = std::make_unique<Prefill>(model_, *ops_, *cache_, pool_->memory(), pages_per_sequence_,
                                       chunk, options.budget);
  slots_ = {.tokens = pool_->slot("tokens"),
            .positions = pool_->slot("positions"),
            .alive = pool_->slot("alive"),
            .temperatures = pool_->slot("temperatures"),
            .seeds = pool_->slot("seeds"),
            .block_tables = pool_->slot("block_tables"),
            .kv_cache = pool_->slot("kv_cache"),
            .logits = pool_->slot("logits"),
            .next = pool_->slot("next")};
  const auto rows = static_cast<std::size_t>(options.max_batch);
  tokens_.resize(rows);
  positions_.resize(rows);
  alive_.assign(rows, 1);
  temperatures_.resize(rows);
  seeds_.resize(rows);
  tables_.resize(rows * static_cast<std::size_t>(pages_per_sequence_));
}

Decoder::~Decoder() = default;

void Decoder::bind_cache() { pool_->bind("kv_cache", cache_->tensor()); }

RecordReport Decoder::record() {
  try {
    return pool_->record();
  } catch (...) {
    // How far the pool came is its own affair; without its cache it could not even run eagerly.
    pool_->reset();
    bind_cache();
    throw;
  }
}

void Decoder::check_token(std::int32_t token) const {
  const std::int64_t vocabulary = model_.config().vocabulary;
  if (token >= 0 && token < vocabulary) return;
  throw UsageError(fmt::format("token {} is outside the vocabulary: ids go from 0 to {}", token,
                               vocabulary - 1));
}

void Decoder::check_room(const Sequence& sequence, std::size_t more) const {
  const auto length = sequence.length() + static_cast<std::int64_t>(more);
  if (length <= max_context_) return;
  throw UsageError(fmt::format("{} tokens do not fit the context of {}; shorten the prompt", length,
                               max_context_));
}

std::int32_t Decoder::prefill(Sequence& sequence, std::span<const std::int32_t> tokens,
                              const Sampling& sampling, const Prefill::LogitsSink& sink) {
  if (tokens.empty()) throw UsageError("the prompt holds no token; give at least one");
  std::for_each(tokens.begin(), tokens.end(), [&](std::int32_t token) { check_token(token); });
  check_room(sequence, tokens.size());
  sequence.reserve(sequence.length() + static_cast<std::int64_t>(tokens.size()));
  return prefill_->run(sequence, tokens, sampling, sink, stream());
}

void Decoder::fill_rows(std::span<const DecodeRow> rows) {
  const auto width = static_cast<std::size_t>(pages_per_sequence_);
  for (std::size_t row = 0; row < rows.size(); ++row) {
    const Sequence& sequence = *rows[row].sequence;
    tokens_[row] = rows[row].token;
    positions_[row] = static_cast<std::int32_t>(sequence.length());
    temperatures_[row] = rows[row].sampling.temperature;
    seeds_[row] = rows[row].sampling.seed;
    const auto table = tables_.begin() + static_cast<std::ptrdiff_t>(row * width);
    const auto end = std::copy(sequence.pages().begin(), sequence.pages().end(), table);
    std::fill(end, table + pages_per_sequence_, kSinkPage);
  }
}

RunResult Decoder::step(std::span<const DecodeRow> rows, RunMode mode) {
  if (rows.size() > tokens_.size()) {
    throw UsageError(
        fmt::format("a step of {} rows is above the decoder's {}", rows.size(), tokens_.size()));
  }
  for (const DecodeRow& row : rows) {
    check_token(row.token);
    check_room(*row.sequence, 1);
  }
  for (const DecodeRow& row : rows) row.sequence->reserve(row.sequence->length() + 1);
  fill_rows(rows);
  const std::size_t n = rows.size();
  TensorView tables = host_tensor(std::span<const std::int32_t>(
      tables_.data(), n * static_cast<std::size_t>(pages_per_sequence_)));
  tables.shape = Shape{static_cast<std::int64_t>(n), pages_per_sequence_};
  const std::array<Input, 7> inputs{{{slots_.tokens, rows_view(tokens_, n)},
                                     {slots_.positions, rows_view(positions_, n)},
                                     {slots_.alive, rows_view(alive_, n)},
                                     {slots_.temperatures, rows_view(temperatures_, n)},
                                     {slots_.seeds, rows_view(seeds_, n)},
                                     {slots_.block_tables, tables},
                                     {slots_.kv_cache, cache_->tensor()}}};
  const RunResult result = pool_->run(static_cast<int>(n), inputs, mode);
  for (const DecodeRow& row : rows) row.sequence->set_length(row.sequence->length() + 1);
  return result;
}

void Decoder::read_next(std::span<std::int32_t> out) {
  pool_->read(pool_->output(slots_.next), out);
}
void Decoder::read_logits(std::span<float> out) { pool_->read(pool_->output(slots_.logits), out); }

}  // namespace reprise
