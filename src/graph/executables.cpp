// SPDX-License-Identifier: Apache-2.0
#include "graph/executables.h"

#include <algorithm>
#include <bit>

#include <fmt/format.h>

#include "device/backend.h"

namespace reprise {
namespace {

// The driver allows such a graph one executable at a time and updates none (CUDA's rules for
// conditional nodes).
bool has_condition(const Graph& graph) {
  const auto nodes = graph.recorded().nodes();
  return std::any_of(nodes.begin(), nodes.end(),
                     [](const NodeInfo& node) { return node.kind == NodeKind::conditional; });
}

bool update(ExecutableSlot& slot, const Launchable& graph) {
  if (!slot.exec || slot.signature != graph.graph.signature()) return false;
  if (slot.exec->update(graph.graph) != UpdateResult::updated) return false;
  slot.holds = graph.number;
  return true;
}

}  // namespace

std::size_t Executables::live() const noexcept {
  std::size_t count = 0;
  for (const auto& weak : slots_) {
    const auto slot = weak.lock();
    count += slot != nullptr && slot->exec ? 1 : 0;
  }
  return count;
}

std::shared_ptr<ExecutableSlot> Executables::new_slot(const Graph& graph) {
  std::erase_if(slots_, [](const auto& weak) { return weak.expired(); });
  auto slot = std::make_shared<ExecutableSlot>();
  slot->signature = graph.signature();
  slot->last_used = ++uses_;
  slots_.push_back(slot);
  return slot;
}

std::shared_ptr<ExecutableSlot> Executables::shared_slot(const Graph& graph) const {
  for (const auto& weak : slots_) {
    auto slot = weak.lock();
    if (slot != nullptr && slot->signature == graph.signature()) return slot;
  }
  return nullptr;
}

// The one that was not used for longest; giving it up waits for its replays.
bool Executables::drop_one(const ExecutableSlot& keep) {
  std::shared_ptr<ExecutableSlot> oldest;
  for (const auto& weak : slots_) {
    const auto slot = weak.lock();
    if (slot == nullptr || slot.get() == &keep || !slot->exec) continue;
    if (oldest == nullptr || slot->last_used < oldest->last_used) oldest = slot;
  }
  if (oldest == nullptr) return false;
  oldest->exec.reset();
  oldest->holds = 0;
  ++counters_.dropped;
  return true;
}

void Executables::instantiate(Launchable& graph, Stream& stream) {
  ExecutableSlot& slot = *graph.slot;
  while (full() && drop_one(slot)) {
  }
  while (!slot.exec) {
    try {
      slot.exec.emplace(graph.graph.instantiate());
    } catch (const OutOfMemory&) {
      // Where a bound was asked for, executables may go; elsewhere each is to stay.
      if (options_.most == 0 || !drop_one(slot)) throw;
    }
  }
  ++counters_.instantiated;
  nodes_made_ += graph.graph.node_count();
  try {
    slot.exec->upload(stream);
  } catch (...) {
    slot.exec.reset();
    throw;
  }
  slot.holds = graph.number;
}

Launchable Executables::adopt(Graph graph, std::shared_ptr<ExecutableSlot> former, Stream& stream) {
  Launchable made{.graph = std::move(graph), .number = ++graphs_, .slot = nullptr};
  const bool alone = has_condition(made.graph);
  const bool owns_former = former != nullptr && former.use_count() == 1;
  if (owns_former && !alone && update(*former, made)) {
    ++counters_.updated;
    made.slot = std::move(former);
    return made;
  }
  former.reset();  // before the next one is made, so that no two of them need room
  if (options_.share && !alone) {
    made.slot = shared_slot(made.graph);
    // One that the driver does not take although the signatures agree is of no use to this graph.
    if (made.slot != nullptr && made.slot->exec && !update(*made.slot, made)) made.slot.reset();
    if (made.slot != nullptr) {
      ++counters_.shared;
      return made;
    }
  }
  made.slot = new_slot(made.graph);
  if (!full()) instantiate(made, stream);
  return made;
}

Executables::Cause Executables::provide(Launchable& graph, Stream& stream) {
  if (graph.slot->exec) {
    if (update(*graph.slot, graph)) {
      ++counters_.switched;
      return Cause::switched;
    }
    graph.slot = new_slot(graph.graph);
  }
  instantiate(graph, stream);
  return Cause::dropped;
}

std::string Executables::make_ready(Launchable& graph, Stream& stream) {
  return notice_thrashing(provide(graph, stream));
}

std::string Executables::notice_thrashing(Cause cause) {
  const int waited = std::popcount(history_);
  if (replays_ < kHistory || waited * 2 <= kHistory) return "";
  ++counters_.thrashed;
  bool& noted = cause == Cause::switched ? noted_switching_ : noted_dropping_;
  if (noted) return "";
  noted = true;
  if (cause == Cause::switched) {
    return fmt::format(
        "{} of the latest {} replays had to re-point a shared executable first; turn "
        "share_executables off (counted from now on, not reported again)",
        waited, kHistory);
  }
  return fmt::format(
      "{} of the latest {} replays had to make an executable again first, because of the bound of "
      "{}; raise max_executables (counted from now on, not reported again)",
      waited, kHistory, options_.most);
}

ExecutableCounters Executables::counters() const {
  ExecutableCounters now = counters_;
  now.live = live();
  return now;
}

void Executables::measured(std::size_t bytes) noexcept {
  if (nodes_made_ == 0) return;  // it was somebody else's
  measured_bytes_ += bytes;
  measured_nodes_ += nodes_made_;
  nodes_made_ = 0;
}

void Executables::forget_measure() noexcept {
  measured_bytes_ = 0;
  measured_nodes_ = 0;
  nodes_made_ = 0;
}

std::size_t Executables::bytes_of(const Launchable& graph) const noexcept {
  if (measured_nodes_ == 0 || graph.slot->holds != graph.number) return 0;
  return measured_bytes_ * graph.graph.node_count() / measured_nodes_;
}

}  // namespace reprise
