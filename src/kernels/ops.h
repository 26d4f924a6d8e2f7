// SPDX-License-Identifier: Apache-2.0
// The block operations of a Llama-family forward pass (DESIGN §7) and how they are run:
//
//   plan = ops.plan(descriptor, rows, budget)   may measure; never inside a recording
//   ops.run(plan, args, stream)                 decides and allocates nothing; may be recorded
//
// Every address in the args is a device address that must stay valid for as long as a graph
// recorded from the call may be replayed; everything that changes from step to step lies behind
// one. Row r's results depend on no other row and not on the number of rows (DESIGN §3, E2).
//
// Rows. A row is one token of one sequence: in a decode step row r is sequence r, in a prefill the
// rows are a prompt's tokens. `rows` of a plan is the bucket; rows at and above *row_count are
// padding: they may be computed, their cache entries lie in the sink page.
//
// Types. The residual stream and logits are f32. `activation_dtype` is the type of matrix inputs
// (q, attention output, gated activation), `cache_dtype` that of keys and values; both follow from
// the weights' type: on the host f32, on CUDA the weights' own.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include <reprise/device.h>

#include "core/host_tensor.h"
#include "core/log.h"
#include "kernels/weight.h"

namespace reprise {

/// Tokens in one page of the KV cache.
inline constexpr int kPageTokens = 16;
/// The page that padding rows read and write; no sequence ever owns it (DESIGN §5).
inline constexpr std::int32_t kSinkPage = 0;

/// What the host is willing to spend on planning.
struct PlanBudget {
  std::size_t workspace_bytes = std::size_t{32} << 20;  ///< the most one plan may ask for
  bool tune = false;  ///< may time alternatives; otherwise the choice is a pure function of shapes
};

/// Static facts of one layer's share of the cache. Keys and values are
/// [pages][kPageTokens][kv_heads] [head_dim] each, at addresses that do not depend on the number of
/// pages.
struct CacheLayer {
  void* keys = nullptr;
  void* values = nullptr;
  DType dtype = DType::f32;
};

/// The device inputs that all operations of a step share; one struct per step, addresses fixed.
struct BatchInputs {
  const std::int32_t* tokens = nullptr;        ///< [rows]
  const std::int32_t* positions = nullptr;     ///< [rows], 0-based place in the sequence
  const std::int32_t* sequences = nullptr;     ///< [rows], row of block_tables; null: row r is r
  const std::int32_t* block_tables = nullptr;  ///< [sequences, pages_per_sequence], page numbers
  int pages_per_sequence = 0;
  const std::int32_t* row_count = nullptr;  ///< [1], true rows
  const std::int32_t* alive = nullptr;      ///< [rows], 0: the row is inert
  const float* temperatures = nullptr;      ///< [rows], 0: greedy
  const std::int64_t* seeds = nullptr;      ///< [rows], of the random choice
};

struct HeadGeometry {
  int heads = 0;
  int kv_heads = 0;  ///< divides heads
  int head_dim = 0;  ///< even
};

// ---- descriptors: what is fixed when the model is loaded -------------------------------------

struct EmbedDescriptor {
  const Weight* table = nullptr;  ///< [vocabulary, hidden]
};

/// norm → q, k, v → biases → rotation by position → keys and values appended to the cache.
struct QkvDescriptor {
  const Weight* norm = nullptr;  ///< [hidden]
  float norm_eps = 0;
  const Weight* weight = nullptr;  ///< parts q, k, v: [(heads + 2 kv_heads) head_dim, hidden]
  const Weight* bias = nullptr;    ///< the same parts as one vector; null: none
  HeadGeometry geometry;
  /// cos and sin interleaved per pair of features, f32 [positions, head_dim / 2, 2]; feature i of
  /// the first half pairs with feature i of the second (rotate_half).
  const float* rope = nullptr;
  std::int64_t rope_positions = 0;
};

/// Causal attention of each row over its sequence's cache entries 0 … position.
struct AttendDescriptor {
  HeadGeometry geometry;
  float scale = 0;  ///< of q·k
  int window = 0;   ///< entries a row sees, itself included; 0: all
};

/// out-projection and down-projection: residual += weight · input + bias.
struct ProjectDescriptor {
  const Weight* weight = nullptr;  ///< [hidden, inputs]
  const Weight* bias = nullptr;
};

/// norm → gate, up → silu(gate) · up.
struct GateUpDescriptor {
  const Weight* norm = nullptr;
  float norm_eps = 0;
  const Weight* weight = nullptr;  ///< parts gate, up: [2 intermediate, hidden]
  const Weight* bias = nullptr;
};

struct LogitsDescriptor {
  const Weight* norm = nullptr;
  float norm_eps = 0;
  const Weight* weight = nullptr;  ///< [vocabulary, hidden]
};

/// The next token of each row: the most likely one (the lowest id among equals) at temperature 0,
/// else a draw from softmax(logits / temperature) by the Gumbel trick with the counter-based
/// generator of kernels/sampling.h keyed by (seed, position, token), so that the draw depends on
/// nothing else.
struct SelectDescriptor {
  int vocabulary = 0;
};

// ---- args: addresses of one step --------------------------------------------------------------

struct EmbedArgs {
  BatchInputs batch;
  float* residual = nullptr;  ///< out [rows, hidden]
};
struct QkvArgs {
  BatchInputs batch;
  const float* residual = nullptr;
  void* q = nullptr;  ///< out, activation_dtype [rows, heads head_dim]
  CacheLayer cache;   ///< appended to
  void* workspace = nullptr;
};
struct AttendArgs {
  BatchInputs batch;
  const void* q = nullptr;
  CacheLayer cache;
  void* out = nullptr;  ///< activation_dtype [rows, heads head_dim]
  void* workspace = nullptr;
};
struct ProjectArgs {
  BatchInputs batch;
  const void* input = nullptr;  ///< activation_dtype [rows, inputs]
  float* residual = nullptr;    ///< in and out
  void* workspace = nullptr;
};
struct GateUpArgs {
  BatchInputs batch;
  const float* residual = nullptr;
  void* out = nullptr;  ///< activation_dtype [rows, intermediate]
  void* workspace = nullptr;
};
struct LogitsArgs {
  BatchInputs batch;
  const float* residual = nullptr;
  float* logits = nullptr;  ///< out [rows, vocabulary]
  void* workspace = nullptr;
};
struct SelectArgs {
  BatchInputs batch;
  const float* logits = nullptr;
  std::int32_t* next = nullptr;  ///< out [rows]; may be batch.tokens: rows that are not alive keep
                                 ///< what `next` held
  void* workspace = nullptr;
};

/// How one operation will run for one number of rows. Made by Ops::plan, opaque to callers.
class Plan {
 public:
  Plan(int rows, std::size_t workspace_bytes) : rows_(rows), workspace_bytes_(workspace_bytes) {}
  virtual ~Plan() = default;
  int rows() const noexcept { return rows_; }
  /// Device bytes that args.workspace must point to, aligned to 256.
  std::size_t workspace_bytes() const noexcept { return workspace_bytes_; }

 private:
  int rows_;
  std::size_t workspace_bytes_;
};

/// Calls that ran by a more general implementation than the one made for their kind.
struct KernelFallback {
  std::string reason;       ///< "matmul_unaligned"
  std::uint64_t calls = 0;  ///< when enqueued: a recorded call counts once, its replays do not
};

/// The operations of one device. Thread safe as long as each stream is used by one thread.
class Ops {
 public:
  virtual ~Ops() = default;

  virtual DType activation_dtype(DType weights) const = 0;
  virtual DType cache_dtype(DType weights) const = 0;

  /// Brings tensors to the device, stacked by rows. Blocks until the sources may go, unless the
  /// returned weight refers to them (then its owner keeps them alive).
  virtual Weight load(std::span<const HostTensor> parts, WeightUse use, Stream& stream) = 0;
  /// Makes weights on the device: element i of a part is random_weight(tensor_seed(seed, name), i)
  /// scaled to `deviation` (core/random_weights.h).
  virtual Weight random(std::span<const RandomPart> parts, std::int64_t cols, DType dtype,
                        std::uint64_t seed, float deviation, WeightUse use, Stream& stream) = 0;

  virtual std::unique_ptr<Plan> plan(const EmbedDescriptor&, int rows, const PlanBudget&) = 0;
  virtual std::unique_ptr<Plan> plan(const QkvDescriptor&, int rows, const PlanBudget&) = 0;
  virtual std::unique_ptr<Plan> plan(const AttendDescriptor&, int rows, const PlanBudget&) = 0;
  virtual std::unique_ptr<Plan> plan(const ProjectDescriptor&, int rows, const PlanBudget&) = 0;
  virtual std::unique_ptr<Plan> plan(const GateUpDescriptor&, int rows, const PlanBudget&) = 0;
  virtual std::unique_ptr<Plan> plan(const LogitsDescriptor&, int rows, const PlanBudget&) = 0;
  virtual std::unique_ptr<Plan> plan(const SelectDescriptor&, int rows, const PlanBudget&) = 0;

  virtual void run(const Plan& plan, const EmbedArgs& args, Stream& stream) = 0;
  virtual void run(const Plan& plan, const QkvArgs& args, Stream& stream) = 0;
  virtual void run(const Plan& plan, const AttendArgs& args, Stream& stream) = 0;
  virtual void run(const Plan& plan, const ProjectArgs& args, Stream& stream) = 0;
  virtual void run(const Plan& plan, const GateUpArgs& args, Stream& stream) = 0;
  virtual void run(const Plan& plan, const LogitsArgs& args, Stream& stream) = 0;
  virtual void run(const Plan& plan, const SelectArgs& args, Stream& stream) = 0;

  /// Those there were, since the operations were made. Thread safe.
  virtual std::vector<KernelFallback> kernel_fallbacks() const = 0;
  /// Takes one line at the first fallback of each reason; null: nobody is told. Set it before use.
  virtual void set_on_note(LogSink on_note) = 0;

  /// ++*counter on the device, by one thread: the smallest piece of work there is, with which the
  /// cost of launching is measured.
  virtual void count_up(std::uint32_t* counter, Stream& stream) = 0;

  /// Reads `bytes` bytes of device memory once, in any order, as fast as the device can: what
  /// kernels/bandwidth.h measures. `data` is aligned to 256. `*sink`, on the device, becomes the
  /// exclusive or of all 32-bit words in the byte order of the machine (the last one filled up with
  /// zeros), so that no read can be left out.
  virtual void read_all(const void* data, std::size_t bytes, std::uint32_t* sink,
                        Stream& stream) = 0;
};

struct OpsOptions {
  /// Let kernels start while the one before them ends, where the device can (on CUDA, compute
  /// capability 9.0 and newer). The results are the same, bit for bit.
  bool programmatic_launch = true;
};

/// The operations for `device`: on the host the vectorised ones. The device must outlive them.
std::unique_ptr<Ops> make_ops(Device& device, const OpsOptions& options = {});
/// Those of a CUDA device; throws DeviceError in a build without CUDA.
std::unique_ptr<Ops> make_cuda_ops(Device& device, const OpsOptions& options = {});

}  // namespace reprise
