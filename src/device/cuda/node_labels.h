// SPDX-License-Identifier: Apache-2.0
// Which label each node of a recording in progress has, and what its launch declared. CUDA keeps
// neither, and a launch does not say which node it became: so after each call the end of the
// stream's recorded work is looked at.
#pragma once

#include <string>
#include <unordered_map>
#include <vector>

#include <cuda_runtime_api.h>

#include "device/declared_launch.h"

namespace reprise::cuda {

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
  void clear() noexcept {
    labels_.clear();
    declared_.clear();
    last_named_.clear();
  }

 private:
  std::unordered_map<cudaGraphNode_t, std::string> labels_;
  std::unordered_map<cudaGraphNode_t, DeclaredLaunch> declared_;
  std::vector<cudaGraphNode_t> last_named_;
};

}  // namespace reprise::cuda
