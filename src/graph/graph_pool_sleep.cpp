// SPDX-License-Identifier: Apache-2.0
// A pool whose physical memory is away (DESIGN §6, S14). The memory itself is its owners' business.
#include <fmt/format.h>

#include "graph/graph_pool_impl.h"

namespace reprise {

void GraphPool::Impl::require_awake(std::string_view call) const {
  if (!asleep_) return;
  throw UsageError(fmt::format(
      "{} of pool '{}' is refused: it is asleep and its memory may be away; call wake() first",
      call, harness.step().name));
}

void GraphPool::Impl::sleep() {
  require_awake("sleep()");
  Stream& stream = harness.lane().stream();
  harness.lane().order(stream);
  stream.synchronize();
  for (Bucket& bucket : buckets) {
    bucket.before_sleep = bucket.state.get();
    bucket.state.set(RunState::asleep);
  }
  asleep_ = true;
}

void GraphPool::Impl::wake() {
  if (!asleep_) {
    throw UsageError(fmt::format("wake() of pool '{}': it is not asleep", harness.step().name));
  }
  for (Bucket& bucket : buckets) bucket.state.set(bucket.before_sleep);
  asleep_ = false;
}

}  // namespace reprise
