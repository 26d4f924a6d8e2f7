// SPDX-License-Identifier: Apache-2.0
// The executables of a pool's or runner's graphs: brought up to date where structures are equal,
// shared among graphs, bounded in number (DESIGN §4.9). One lane, as its owner.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <reprise/graph.h>
#include <reprise/pool_report.h>

namespace reprise {

/// An executable, or the place of one that was dropped.
struct ExecutableSlot {
  std::optional<GraphExec> exec = {};
  std::uint64_t signature = 0;
  std::uint64_t holds = 0;      ///< number of the graph that it launches; 0: it has no executable
  std::uint64_t last_used = 0;  ///< a count of uses
};

/// A recorded graph and where its executable is. With sharing the slot may hold another graph now.
struct Launchable {
  Graph graph;
  std::uint64_t number = 0;  ///< unique within its Executables
  std::shared_ptr<ExecutableSlot> slot;
};

struct ExecutableOptions {
  bool share = false;    ///< one executable for all graphs of one signature
  std::size_t most = 0;  ///< alive at a time; 0: no bound
};

class Executables {
 public:
  explicit Executables(ExecutableOptions options) : options_(options) {}

  /// Finds an executable for a graph that was just recorded: brings `former`, that of the recording
  /// it replaces (null: there is none), up to date where nobody else has it and the structures are
  /// equal; else joins one that is shared, or makes one and uploads it. Where there is no room for
  /// another one, that waits for the first use. A graph with conditional nodes has one executable
  /// at a time and neither shares nor is updated. Throws what instantiation throws.
  Launchable adopt(Graph graph, std::shared_ptr<ExecutableSlot> former, Stream& stream);

  /// Counts a replay; false: make_ready() is to be called first. The replay path: allocates
  /// nothing.
  bool use(const Launchable& graph) noexcept {
    const bool ready = graph.slot->holds == graph.number;
    graph.slot->last_used = ++uses_;
    history_ = history_ << 1 | (ready ? 0U : 1U);
    ++replays_;
    return ready;
  }
  /// Sees to it that the graph's slot holds it, after use() has said that it does not: re-points
  /// the executable, or makes it again, dropping the one that was not used for longest. Notices
  /// when more than half of the latest kHistory replays had to. Throws what instantiation throws;
  /// the slot then holds nothing.
  /// Returns a line that says so the first time, for the user; else "".
  std::string make_ready(Launchable& graph, Stream& stream);
  /// The same for what is no replay, such as a self-test.
  void make_ready_quietly(Launchable& graph, Stream& stream) {
    if (graph.slot->holds != graph.number) provide(graph, stream);
  }

  ExecutableCounters counters() const;

  /// `bytes`: what the device lost while the executables since the latest call were made. forget()
  /// begins anew.
  void measured(std::size_t bytes) noexcept;
  void forget_measure() noexcept;
  /// The graph's part of what was measured, by its share of nodes; 0 while its slot holds another.
  std::size_t bytes_of(const Launchable& graph) const noexcept;

  static constexpr int kHistory = 64;

 private:
  enum class Cause : std::uint8_t { switched, dropped };

  std::size_t live() const noexcept;
  bool full() const noexcept { return options_.most != 0 && live() >= options_.most; }
  std::shared_ptr<ExecutableSlot> new_slot(const Graph& graph);
  std::shared_ptr<ExecutableSlot> shared_slot(const Graph& graph) const;
  bool drop_one(const ExecutableSlot& keep);
  void instantiate(Launchable& graph, Stream& stream);
  Cause provide(Launchable& graph, Stream& stream);
  std::string notice_thrashing(Cause cause);

  ExecutableOptions options_;
  std::vector<std::weak_ptr<ExecutableSlot>> slots_;
  ExecutableCounters counters_;
  std::uint64_t graphs_ = 0;
  std::uint64_t uses_ = 0;
  std::uint64_t replays_ = 0;
  std::uint64_t history_ = 0;  // a bit per replay, the latest lowest: it had to wait
  bool noted_switching_ = false;
  bool noted_dropping_ = false;
  std::size_t nodes_made_ = 0;      // since the latest measure
  std::size_t measured_nodes_ = 0;  // in all
  std::size_t measured_bytes_ = 0;
};

}  // namespace reprise
