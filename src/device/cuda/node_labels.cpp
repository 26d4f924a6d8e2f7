// SPDX-License-Identifier: Apache-2.0
#include "device/cuda/node_labels.h"

#include "device/cuda/driver.h"

namespace reprise::cuda {

cudaError_t NodeLabels::name_unnamed(const std::vector<cudaGraphNode_t>& tail,
                                     const std::string& label, std::size_t& named) {
  named = 0;
  last_named_.clear();
  std::vector<cudaGraphNode_t> open = tail;
  NodeDependencies before;
  while (!open.empty()) {
    const cudaGraphNode_t node = open.back();
    open.pop_back();
    if (!labels_.try_emplace(node, label).second) continue;
    ++named;
    last_named_.push_back(node);
    const cudaError_t status = node_dependencies(node, before);
    if (status != cudaSuccess) return status;
    open.insert(open.end(), before.nodes.begin(), before.nodes.end());
  }
  return cudaSuccess;
}

const std::string& NodeLabels::of(cudaGraphNode_t node) const {
  static const std::string none;
  const auto found = labels_.find(node);
  return found == labels_.end() ? none : found->second;
}

void NodeLabels::add_conditional(cudaGraphNode_t node, ConditionalNode recorded) {
  conditionals_.insert_or_assign(node, std::move(recorded));
}

const ConditionalNode* NodeLabels::conditional(cudaGraphNode_t node) const {
  const auto found = conditionals_.find(node);
  return found == conditionals_.end() ? nullptr : &found->second;
}

void NodeLabels::clear() noexcept {
  labels_.clear();
  conditionals_.clear();
  memory_.clear();
  lost_body_ = false;
  declared_.clear();
  last_named_.clear();
}

void NodeLabels::declare_last_named(const DeclaredLaunch& declared) {
  for (const cudaGraphNode_t node : last_named_) declared_.insert_or_assign(node, declared);
}

const DeclaredLaunch& NodeLabels::declared(cudaGraphNode_t node) const {
  static const DeclaredLaunch none;
  const auto found = declared_.find(node);
  return found == declared_.end() ? none : found->second;
}

}  // namespace reprise::cuda
