// SPDX-License-Identifier: Apache-2.0
// What is known of the nodes of a recording in progress and CUDA does not keep: their labels, what
// their launches declared, and what a conditional node holds. A launch does not say which node it
// became: so after each call the end of the stream's recorded work is looked at.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include <cuda_runtime_api.h>

#include "device/backend.h"

namespace reprise::cuda {

/// Nodes of bodies, at any depth, and what messages call them: a driver's complaint names the
/// handle.
using InnerNodes = std::vector<std::pair<cudaGraphNode_t, std::string>>;

struct ConditionalNode {
  std::string function;
  std::vector<std::vector<NodeInfo>> bodies;
  InnerNodes inner;
};

/// A kernel as this library launched it, on a stream whose native handle nobody else has: all that
/// the node can differ by from another one of the same kernel.
struct KnownLaunch {
  const void* kernel = nullptr;  ///< the function's address on the host; null: nothing is known
  std::array<std::uint32_t, 3> grid{1, 1, 1};
  std::array<std::uint32_t, 3> block{1, 1, 1};
  std::size_t dynamic_shared_bytes = 0;
};

struct NamedNode {
  std::string label;
  DeclaredLaunch declared = {};  ///< a plain launch's where nobody declared anything
  KnownLaunch launch = {};
};

/// Used by the recording thread only.
class NodeLabels {
 public:
  /// Whether name_unnamed() would find nothing to name.
  bool all_named(const std::vector<cudaGraphNode_t>& tail) const;
  /// Names `tail`, and all that comes before it and has no name yet, `label`. `named`: how many.
  cudaError_t name_unnamed(const std::vector<cudaGraphNode_t>& tail, const std::string& label,
                           std::size_t& named);
  /// As name_unnamed() that found nothing.
  void name_none() noexcept { last_named_.clear(); }
  /// "" for a node that nobody named.
  const std::string& of(cudaGraphNode_t node) const;
  /// What the nodes that name_unnamed() named last were declared as, and, of a single one, how it
  /// was launched.
  void declare_last_named(DeclaredLaunch declared, const KnownLaunch& launch);
  /// Null for a node that nobody named. Its reader may move out of it: the node stays a named one.
  NamedNode* find(cudaGraphNode_t node);
  void add_conditional(cudaGraphNode_t node, ConditionalNode recorded);
  /// Null for a node that is none of ours.
  const ConditionalNode* conditional(cudaGraphNode_t node) const;
  /// Device memory that the nodes use: lives as long as what is made of the recording.
  void keep(std::shared_ptr<void> memory) { memory_.push_back(std::move(memory)); }
  std::vector<std::shared_ptr<void>> take_memory() noexcept { return std::move(memory_); }
  /// The capture of a body ended with an error: CUDA's driver (580.159) has freed the body then,
  /// and frees it again with the graph around it, which ends the process.
  void note_lost_body() noexcept { lost_body_ = true; }
  bool lost_body() const noexcept { return lost_body_; }
  void clear() noexcept;

 private:
  std::unordered_map<cudaGraphNode_t, NamedNode> named_;
  std::vector<cudaGraphNode_t> last_named_;
  std::vector<cudaGraphNode_t> open_;  // of name_unnamed(): kept for its memory
  std::unordered_map<cudaGraphNode_t, ConditionalNode> conditionals_;
  std::vector<std::shared_ptr<void>> memory_;
  bool lost_body_ = false;
};

}  // namespace reprise::cuda
