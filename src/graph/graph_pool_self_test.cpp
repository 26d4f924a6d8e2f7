// SPDX-License-Identifier: Apache-2.0
// Self-tests of a pool's graphs: all at once in record(), or one by one while serving goes on.
#include <algorithm>
#include <exception>

#include "graph/graph_pool_impl.h"
#include "graph/self_test.h"

namespace reprise {

void GraphPool::Impl::test(Bucket& bucket, StateSaver& states) {
  if (bucket.state.get() != RunState::recorded || bucket.self_test != SelfTest::pending) return;
  PoolCounters& counters = books(bucket.key).counters;
  ++counters.self_tests;
  std::string reason;
  try {
    const auto difference = self_test(harness, *bucket.recorded, states);
    if (const std::string line = states.staging().take_note(); !line.empty()) note(line);
    if (!difference) {
      bucket.self_test = SelfTest::passed;
      return;
    }
    reason = *difference;
  } catch (const std::exception& error) {
    if (harness.device().lost()) throw;
    if (!first_error_) first_error_ = std::current_exception();
    reason = error.what();
    states.restore(harness.lane().stream());  // it broke off
    harness.reload(harness.lane().stream());
  }
  ++counters.self_test_failures;
  bucket.self_test = SelfTest::failed;
  disable(bucket, reason);
}

std::vector<Bucket*> GraphPool::Impl::untested() {
  return recording_order([](const Bucket& bucket) {
    return bucket.state.get() == RunState::recorded && bucket.self_test == SelfTest::pending;
  });
}

void GraphPool::Impl::test_all(std::span<Bucket* const> order, StateSaver& states) {
  std::size_t done = 0;
  const std::vector<Bucket*> waiting = untested();
  for (Bucket* bucket : waiting) {
    const Stopwatch watch;
    test(*bucket, states);
    progress(PoolPhase::self_test, *bucket, ++done, waiting.size(), watch);
  }
  const bool any = std::any_of(order.begin(), order.end(), [](const Bucket* bucket) {
    return bucket->state.get() == RunState::recorded;
  });
  if (!any && first_error_) std::rethrow_exception(first_error_);
}

std::optional<SelfTestResult> GraphPool::Impl::self_test_next() {
  require_awake("self_test_next()");
  const std::vector<Bucket*> waiting = untested();
  if (waiting.empty()) return std::nullopt;
  Bucket& bucket = *waiting.front();
  const Stopwatch watch;
  between_runs([&](StateSaver& states) { test(bucket, states); });
  return SelfTestResult{.rows = bucket.key.rows,
                        .variant = books(bucket.key).options.name,
                        .passed = bucket.self_test == SelfTest::passed,
                        .reason = bucket.reason,
                        .seconds = watch.seconds(),
                        .pending = waiting.size() - 1};
}

}  // namespace reprise
