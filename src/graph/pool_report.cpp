// SPDX-License-Identifier: Apache-2.0
#include <reprise/pool_report.h>

namespace reprise {

std::string_view to_string(FallbackReason reason) noexcept {
  switch (reason) {
    case FallbackReason::none:
      return "none";
    case FallbackReason::above_ladder:
      return "above_ladder";
    case FallbackReason::padding_refused:
      return "padding_refused";
    case FallbackReason::not_recorded:
      return "not_recorded";
    case FallbackReason::bucket_disabled:
      return "bucket_disabled";
  }
  return "?";
}

std::string_view to_string(SelfTest test) noexcept {
  switch (test) {
    case SelfTest::none:
      return "none";
    case SelfTest::pending:
      return "pending";
    case SelfTest::passed:
      return "passed";
    case SelfTest::failed:
      return "failed";
  }
  return "?";
}

std::string_view to_string(PoolPhase phase) noexcept {
  switch (phase) {
    case PoolPhase::warm_up:
      return "warm-up";
    case PoolPhase::record:
      return "record";
    case PoolPhase::self_test:
      return "self-test";
  }
  return "?";
}

std::uint64_t PoolCounters::all_fallbacks() const noexcept {
  std::uint64_t sum = 0;
  for (std::uint64_t count : fallbacks) sum += count;
  return sum;
}

PoolCounters& PoolCounters::operator+=(const PoolCounters& other) noexcept {
  replays += other.replays;
  fake_replays += other.fake_replays;
  eager_steps += other.eager_steps;
  padded_rows += other.padded_rows;
  lazy_recordings += other.lazy_recordings;
  self_tests += other.self_tests;
  self_test_failures += other.self_test_failures;
  for (std::size_t i = 0; i < fallbacks.size(); ++i) fallbacks[i] += other.fallbacks[i];
  return *this;
}

}  // namespace reprise
