// SPDX-License-Identifier: Apache-2.0
// Loops and branches on the host: a body is a recording of its own, and becomes a part of one node.
#include "device/conditional.h"

#include "device/host/stream.h"

namespace reprise::host {
namespace {

class HostConditional final : public ConditionalCapture {
 public:
  HostConditional(HostStream& stream, const ConditionalSpec& spec) : stream_(stream) {
    node_.spec = spec;
  }

  void begin_body(std::shared_ptr<LiveRecording>) override {
    outside_ = stream_.exchange_target(
        {.recording = std::make_shared<Recording>(), .frontier = {}, .last = {}});
  }
  void end_body() override {
    const auto body = leave();
    infos_.push_back(body->program()->nodes);
    node_.bodies.push_back(body->program());
  }
  void discard_body() noexcept override { leave(); }
  void commit() override { stream_.append_conditional(std::move(node_), std::move(infos_)); }

 private:
  std::shared_ptr<Recording> leave() noexcept {
    auto body = stream_.exchange_target(std::move(outside_)).recording;
    body->ended = true;  // streams that joined it are free again
    return body;
  }

  HostStream& stream_;
  HostStream::Target outside_;
  Conditional node_;
  std::vector<std::vector<NodeInfo>> infos_;
};

}  // namespace

std::unique_ptr<ConditionalCapture> HostStream::begin_conditional(const ConditionalSpec& spec) {
  return std::make_unique<HostConditional>(*this, spec);
}

}  // namespace reprise::host
