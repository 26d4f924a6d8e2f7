// SPDX-License-Identifier: Apache-2.0
// What is known of the nodes of a recording in progress and CUDA does not keep: their labels, what
// their launches declared, and what a conditional node holds. A launch does not say which node it
// became: so after each call the end of the stream's recorded work is looked at.
#pragma once

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

/// Used by the recording thread only.
class NodeLabels {
 public:
  /// Names `tail`, and all that comes before it and has no name yet, `label`. `named`: how many.
  cudaError_t name_unnamed(const std::vector<cudaGraphNode_t>& tail, const std::string& label,
                           std::size_t& named);
  /// "" for a node that nobody named.
  const std::string& of(cudaGraphNode_t node) const;
  /// What the nodes that name_unnamed() named last were declared as.
  void declare_last_named(const DeclaredLaunch& declared);
  /// A plain launch's where nobody declared anything.
  const DeclaredLaunch& declared(cudaGraphNode_t node) const;
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
  std::unordered_map<cudaGraphNode_t, std::string> labels_;
  std::unordered_map<cudaGraphNode_t, DeclaredLaunch> declared_;
  std::vector<cudaGraphNode_t> last_named_;
  std::unordered_map<cudaGraphNode_t, ConditionalNode> conditionals_;
  std::vector<std::shared_ptr<void>> memory_;
  bool lost_body_ = false;
};

}  // namespace reprise::cuda
