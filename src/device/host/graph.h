// SPDX-License-Identifier: Apache-2.0
// Recorded and executable graphs on the host.
#pragma once

#include <memory>
#include <mutex>

#include "device/host/progress.h"
#include "device/host/work.h"

namespace reprise::host {

class HostGraph final : public RecordedGraph {
 public:
  explicit HostGraph(std::shared_ptr<const Program> program) : program_(std::move(program)) {}
  std::span<const NodeInfo> nodes() const override { return program_->nodes; }
  std::shared_ptr<ExecutableGraph> instantiate() const override;
  std::shared_ptr<ExecutableGraph> instantiate_stamped(std::uint64_t* stamps) const override;
  const std::shared_ptr<const Program>& program() const noexcept { return program_; }

 private:
  std::shared_ptr<const Program> program_;
};

class HostExecutable final : public ExecutableGraph {
 public:
  explicit HostExecutable(std::shared_ptr<const Program> program) : program_(std::move(program)) {}
  void upload(StreamState&) override {}
  void launch(StreamState& stream) override;
  UpdateOutcome update(const RecordedGraph& graph) override;
  void wait_idle() noexcept override;

 private:
  std::mutex mutex_;
  std::shared_ptr<const Program> program_;  // launches in flight keep the one they were made with
  std::shared_ptr<Progress> last_progress_;
  std::uint64_t last_ticket_ = 0;
};

}  // namespace reprise::host
