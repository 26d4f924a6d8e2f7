// SPDX-License-Identifier: Apache-2.0
#include "device/cuda/node_labels.h"

#include <algorithm>

#include "device/cuda/driver.h"

namespace reprise::cuda {

bool NodeLabels::all_named(const std::vector<cudaGraphNode_t>& tail) const {
  return std::all_of(tail.begin(), tail.end(),
                     [this](cudaGraphNode_t node) { return named_.contains(node); });
}

cudaError_t NodeLabels::name_unnamed(const std::vector<cudaGraphNode_t>& tail,
                                     const std::string& label, std::size_t& named) {
  named = 0;
  last_named_.clear();
  open_ = tail;
  NodeDependencies before;
  while (!open_.empty()) {
    const cudaGraphNode_t node = open_.back();
    open_.pop_back();
    const auto [place, fresh] = named_.try_emplace(node);
    if (!fresh) continue;
    place->second.label = label;
    ++named;
    last_named_.push_back(node);
    const cudaError_t status = node_dependencies(node, before);
    if (status != cudaSuccess) return status;
    open_.insert(open_.end(), before.nodes.begin(), before.nodes.end());
  }
  return cudaSuccess;
}

const std::string& NodeLabels::of(cudaGraphNode_t node) const {
  static const std::string none;
  const auto found = named_.find(node);
  return found == named_.end() ? none : found->second.label;
}

void NodeLabels::add_conditional(cudaGraphNode_t node, ConditionalNode recorded) {
  conditionals_.insert_or_assign(node, std::move(recorded));
}

const ConditionalNode* NodeLabels::conditional(cudaGraphNode_t node) const {
  const auto found = conditionals_.find(node);
  return found == conditionals_.end() ? nullptr : &found->second;
}

void NodeLabels::clear() noexcept {
  named_.clear();
  conditionals_.clear();
  memory_.clear();
  lost_body_ = false;
  last_named_.clear();
}

void NodeLabels::declare_last_named(DeclaredLaunch declared, const KnownLaunch& launch) {
  if (last_named_.size() == 1) {
    NamedNode& node = named_.at(last_named_.front());
    node.declared = std::move(declared);
    node.launch = launch;
    return;
  }
  for (const cudaGraphNode_t node : last_named_) named_.at(node).declared = declared;
}

NamedNode* NodeLabels::find(cudaGraphNode_t node) {
  const auto found = named_.find(node);
  return found == named_.end() ? nullptr : &found->second;
}

}  // namespace reprise::cuda
