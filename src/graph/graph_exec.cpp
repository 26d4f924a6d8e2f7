// SPDX-License-Identifier: Apache-2.0
#include <mutex>

#include <fmt/format.h>

#include <reprise/graph.h>

#include "device/checks.h"
#include "graph/signature.h"

namespace reprise {
namespace {

void admit_launch(const std::shared_ptr<Device>& device, Stream& stream, std::string_view call) {
  if (device == nullptr) {
    throw UsageError(fmt::format("{}: this executable graph was moved from", call));
  }
  StreamState& state = stream.state();
  if (state.owner != &device->state()) {
    throw UsageError(fmt::format("{} on {}: the graph was recorded on another device object", call,
                                 checks::describe(state)));
  }
  checks::refuse_if_recording(
      state, call, [&] { return checks::describe(state); }, "launch after the recorded function");
  checks::admit_work(state, call);
}

}  // namespace

GraphExec::GraphExec(std::shared_ptr<Device> device, std::shared_ptr<ExecutableGraph> executable,
                     std::uint64_t signature)
    : device_(std::move(device)), executable_(std::move(executable)), signature_(signature) {}

GraphExec::~GraphExec() { release(); }

GraphExec::GraphExec(GraphExec&&) noexcept = default;

GraphExec& GraphExec::operator=(GraphExec&& other) noexcept {
  if (this != &other) {
    release();
    device_ = std::move(other.device_);
    executable_ = std::move(other.executable_);
    signature_ = other.signature_;
  }
  return *this;
}

void GraphExec::release() noexcept {
  if (executable_ == nullptr) return;
  const std::shared_ptr<Device> device = std::move(device_);
  const std::shared_ptr<ExecutableGraph> executable = std::move(executable_);
  const DeviceProperties& properties = device->properties();
  if (!recordings::any_live(properties.kind, properties.ordinal)) {
    executable->wait_idle();
    return;
  }
  // The action holds the device too: the executable must go before it.
  recordings::run_or_defer(properties.kind, properties.ordinal,
                           [device, executable] { executable->wait_idle(); });
}

void GraphExec::upload(Stream& stream) {
  admit_launch(device_, stream, "GraphExec::upload");
  executable_->upload(stream.state());
}

void GraphExec::launch(Stream& stream) {
  admit_launch(device_, stream, "GraphExec::launch");
  executable_->launch(stream.state());
}

UpdateResult GraphExec::update(const Graph& graph) {
  if (executable_ == nullptr) {
    throw UsageError("GraphExec::update: this executable graph was moved from");
  }
  device_->state().require_usable();
  if (&graph.device() != device_.get()) {
    throw UsageError("GraphExec::update: the graph was recorded on another device object");
  }
  if (graph.signature() != signature_) return UpdateResult::topology_differs;
  const RecordedGraph& recorded = graph.recorded();
  const std::lock_guard lock(recorded.executable_mutex);
  // Set for graphs with loops or branches only, whose executables share what they count in.
  const auto other = recorded.executable.lock();
  if (other != nullptr && other != executable_) {
    throw UsageError(
        "GraphExec::update: the graph holds a loop or a branch and has an executable of its own; "
        "record it again for this one, or destroy that executable before");
  }
  switch (executable_->update(recorded)) {
    case UpdateOutcome::updated:
      if (has_conditional(recorded.nodes())) recorded.executable = executable_;
      return UpdateResult::updated;
    case UpdateOutcome::topology_differs:
      return UpdateResult::topology_differs;
    case UpdateOutcome::refused:
      break;
  }
  return UpdateResult::refused;
}

}  // namespace reprise
