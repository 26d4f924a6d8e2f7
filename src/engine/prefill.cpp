// SPDX-License-Identifier: Apache-2.0
#include "engine/prefill.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <optional>
#include <vector>

#include <reprise/error.h>

namespace reprise {
namespace {

constexpr int kLogitRows = 16;  // logits of so many rows at a time: vocabularies are large

std::size_t align_up(std::size_t bytes) { return (bytes + 255) / 256 * 256; }

// Lays arrays one after the other in a host image of the inputs' buffer.
class Packer {
 public:
  explicit Packer(std::vector<std::byte>& image, void* device) : image_(image), device_(device) {}

  template <class T>
  const T* put(std::span<const T> values) {
    const std::size_t offset = used_;
    used_ = align_up(used_ + values.size_bytes());
    if (image_.size() < used_) image_.resize(used_);
    if (!values.empty()) std::memcpy(image_.data() + offset, values.data(), values.size_bytes());
    return reinterpret_cast<const T*>(static_cast<std::byte*>(device_) + offset);
  }
  template <class T>
  const T* put(const std::vector<T>& values) {
    return put(std::span<const T>(values));
  }

 private:
  std::vector<std::byte>& image_;
  void* device_;
  std::size_t used_ = 0;
};

std::size_t input_bytes(int rows, int pages) {
  const auto n = static_cast<std::size_t>(rows);
  const std::size_t words = align_up(n * sizeof(std::int32_t));
  return align_up(sizeof(std::int32_t)) + 5 * words + align_up(n * sizeof(std::int64_t)) +
         align_up(static_cast<std::size_t>(pages) * sizeof(std::int32_t));
}

BatchInputs row_of(const BatchInputs& batch, int row) {
  BatchInputs one = batch;
  one.tokens += row;
  one.positions += row;
  one.sequences += row;
  one.alive += row;
  one.temperatures += row;
  one.seeds += row;
  return one;
}

}  // namespace

Prefill::Prefill(const Llama& model, Ops& ops, KvCache& cache, std::shared_ptr<MemoryPool> memory,
                 int pages_per_sequence, int chunk_tokens, PlanBudget budget)
    : model_(model),
      ops_(ops),
      cache_(cache),
      memory_(std::move(memory)),
      pages_per_sequence_(pages_per_sequence),
      chunk_(chunk_tokens),
      budget_(budget),
      full_chunk_(model, ops, chunk_tokens, budget),
      chooser_(model, ops, 1, budget) {
  Device& device = memory_->device();
  const auto vocabulary = static_cast<std::size_t>(model.config().vocabulary);
  inputs_ = device.allocate(input_bytes(chunk_, pages_per_sequence_), "prefill inputs");
  logits_ = device.allocate(kLogitRows * vocabulary * sizeof(float), "prefill logits");
  next_ = device.allocate(sizeof(std::int32_t), "prefill next token");
}

BatchInputs Prefill::upload(const Sequence& sequence, std::span<const std::int32_t> tokens,
                            const Sampling& sampling, Stream& stream) {
  const std::size_t rows = tokens.size();
  std::vector<std::int32_t> positions(rows);
  for (std::size_t i = 0; i < rows; ++i) {
    positions[i] = static_cast<std::int32_t>(sequence.length()) + static_cast<std::int32_t>(i);
  }
  std::vector<std::int32_t> table(static_cast<std::size_t>(pages_per_sequence_), kSinkPage);
  std::copy(sequence.pages().begin(), sequence.pages().end(), table.begin());
  std::vector<std::byte> image;
  Packer packer(image, inputs_.data());
  BatchInputs batch;
  const auto count = static_cast<std::int32_t>(rows);
  batch.row_count = packer.put(std::span<const std::int32_t>(&count, 1));
  batch.tokens = packer.put(tokens);
  batch.positions = packer.put(positions);
  batch.sequences = packer.put(std::vector<std::int32_t>(rows, 0));
  batch.alive = packer.put(std::vector<std::int32_t>(rows, 1));
  batch.temperatures = packer.put(std::vector<float>(rows, sampling.temperature));
  batch.seeds = packer.put(std::vector<std::int64_t>(rows, sampling.seed));
  batch.block_tables = packer.put(table);
  batch.pages_per_sequence = pages_per_sequence_;
  inputs_.from_host(stream, image);
  return batch;
}

void Prefill::emit_logits(const BatchInputs& batch, const float* residual, int rows,
                          const LogitsSink& sink, Stream& stream) {
  const auto vocabulary = static_cast<std::size_t>(model_.config().vocabulary);
  std::vector<float> host;
  std::optional<Head> head;  // most pieces have the same number of rows, hence the same plan
  for (int first = 0; first < rows; first += kLogitRows) {
    const int count = std::min(kLogitRows, rows - first);
    if (!head || count != kLogitRows) head.emplace(model_, ops_, count, budget_);
    const PoolBlock workspace = memory_->allocate(head->workspace_bytes(), "head workspace");
    head->logits(row_of(batch, first), residual + first * model_.config().hidden_size,
                 static_cast<float*>(logits_.data()), workspace.data(), stream);
    host.resize(static_cast<std::size_t>(count) * vocabulary);
    logits_.to_host(stream, std::as_writable_bytes(std::span(host)));
    sink(host);
  }
}

std::int32_t Prefill::choose(const BatchInputs& batch, const float* residual, int row,
                             Stream& stream) {
  const PoolBlock workspace = memory_->allocate(chooser_.workspace_bytes(), "head workspace");
  BatchInputs one = row_of(batch, row);
  auto* const logits = static_cast<float*>(logits_.data());
  chooser_.logits(one, residual + row * model_.config().hidden_size, logits, workspace.data(),
                  stream);
  chooser_.select(one, logits, static_cast<std::int32_t*>(next_.data()), workspace.data(), stream);
  std::int32_t token = 0;
  next_.to_host(stream, std::as_writable_bytes(std::span(&token, 1)));
  require_finite(stream);
  return token;
}

// Broken weights show in every logit, and greedy choice would make token 0 of them without a word.
// Once per prompt is enough, and cheap beside the prompt itself.
void Prefill::require_finite(Stream& stream) {
  std::vector<float> row(static_cast<std::size_t>(model_.config().vocabulary));
  logits_.to_host(stream, std::as_writable_bytes(std::span(row)));
  if (std::all_of(row.begin(), row.end(), [](float x) { return std::isfinite(x); })) return;
  throw ModelError(
      "the logits after the prompt are not finite: the weights hold NaN or infinite values, or "
      "config.json describes another model; take the checkpoint anew from its source");
}

std::int32_t Prefill::run_chunk(const Sequence& sequence, std::span<const std::int32_t> tokens,
                                const Sampling& sampling, const LogitsSink& sink, bool last,
                                Stream& stream) {
  const int rows = static_cast<int>(tokens.size());
  const BatchInputs batch = upload(sequence, tokens, sampling, stream);
  std::vector<PoolBlock> blocks;
  const auto scratch = [&](std::size_t bytes, std::string_view label) {
    blocks.push_back(memory_->allocate(bytes, label));
    return blocks.back().data();
  };
  std::unique_ptr<Forward> rest;
  if (rows != full_chunk_.rows()) rest = std::make_unique<Forward>(model_, ops_, rows, budget_);
  const Forward& forward = rest ? *rest : full_chunk_;
  const ForwardBuffers buffers = forward.allocate(scratch);
  forward.run(batch, buffers, cache_.layers(), stream);
  if (sink) emit_logits(batch, buffers.residual, rows, sink, stream);
  const std::int32_t next = last ? choose(batch, buffers.residual, rows - 1, stream) : 0;
  stream.synchronize();  // plans and blocks end here, and the work uses them
  ++steps_;
  return next;
}

std::int32_t Prefill::run(Sequence& sequence, std::span<const std::int32_t> tokens,
                          const Sampling& sampling, const LogitsSink& sink, Stream& stream) {
  std::int32_t next = 0;
  while (!tokens.empty()) {
    const std::size_t count = std::min(tokens.size(), static_cast<std::size_t>(chunk_));
    const bool last = count == tokens.size();
    next = run_chunk(sequence, tokens.first(count), sampling, sink, last, stream);
    sequence.set_length(sequence.length() + static_cast<std::int64_t>(count));
    tokens = tokens.subspan(count);
  }
  return next;
}

}  // namespace reprise
