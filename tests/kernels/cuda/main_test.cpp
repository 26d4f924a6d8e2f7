// SPDX-License-Identifier: Apache-2.0
// test_kernels_cuda [gtest options] [--seconds=N] [--threads=N] [--case=SEED]
// --seconds=N: how long all tests together may run random cases (default 1); each gets its share.
// --threads=N: how many run cases at once (default 1). --case=SEED: only the case of this seed.
#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <mutex>
#include <optional>
#include <random>
#include <string_view>
#include <thread>

#include <malloc.h>

#include "kernels/cuda/random_cases.h"

namespace reprise::testing {
namespace {

using Clock = std::chrono::steady_clock;

double seconds_since(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

/// What the program was told to do, how far it came, and the worlds that its threads use.
class Effort final : public ::testing::EmptyTestEventListener {
 public:
  double seconds = 1;
  int threads = 1;
  std::optional<std::uint64_t> only_case;

  static Effort& of_this_run() {
    static Effort effort;
    return effort;
  }

  void OnTestProgramStart(const ::testing::UnitTest& tests) override {
    tests_left_ = tests.test_to_run_count();
    worlds_.resize(static_cast<std::size_t>(threads));
  }
  void OnTestStart(const ::testing::TestInfo&) override { failed_ = false; }
  void OnTestEnd(const ::testing::TestInfo&) override { --tests_left_; }
  void OnTestPartResult(const ::testing::TestPartResult& part) override {
    if (part.failed()) failed_ = true;
  }
  void OnTestProgramEnd(const ::testing::UnitTest&) override { worlds_.clear(); }

  /// Seconds that the running test may take.
  double share() const {
    return std::max(0.0, seconds - seconds_since(start_)) / std::max(1, tests_left_);
  }
  bool failed() const noexcept { return failed_; }
  /// Of the thread of this number; made on its first use.
  GpuWorld& world(int thread) {
    auto& world = worlds_[static_cast<std::size_t>(thread)];
    if (!world) world = std::make_unique<GpuWorld>();
    return *world;
  }
  void add(const char* suite, const char* test, Compared compared, long cases, double spent) {
    (compared == Compared::with_reference ? comparisons_ : repetitions_) += cases;
    thread_seconds_ += spent * threads;
    std::printf(
        "%10ld cases %s: %s.%s\n", cases,
        compared == Compared::with_reference ? "beside the reference" : "bitwise in two ways",
        suite, test);
    std::fflush(stdout);
  }
  void print(int failed_tests) const {
    if (comparisons_ + repetitions_ == 0) return;
    std::printf(
        "%ld random-shape comparisons in %.1f s over %d threads (%.0f s of threads), "
        "%d misses; besides, %ld cases bitwise in two ways\n",
        comparisons_, seconds_since(start_), threads, thread_seconds_, failed_tests, repetitions_);
  }

 private:
  Clock::time_point start_ = Clock::now();
  std::atomic<bool> failed_ = false;
  int tests_left_ = 0;
  long comparisons_ = 0;
  long repetitions_ = 0;
  double thread_seconds_ = 0;
  std::vector<std::unique_ptr<GpuWorld>> worlds_;
};

void guarded(const std::function<void()>& body) {
  try {
    body();
  } catch (const std::exception& fault) {
    ADD_FAILURE() << "the case threw: " << fault.what();
  }
}

}  // namespace

void random_cases(Compared compared, const std::function<void(GpuWorld&)>& one_case) {
  constexpr long kLeast = 20;
  Effort& effort = Effort::of_this_run();
  const auto* test = ::testing::UnitTest::GetInstance()->current_test_info();
  const std::string repeat = std::string("repeat it with --gtest_filter=") +
                             test->test_suite_name() + "." + test->name() + " --case=";
  const double share = effort.share();
  const Clock::time_point start = Clock::now();
  std::atomic<long> done = 0;
  const auto work = [&](int thread) {
    std::mt19937_64 seeds(std::random_device{}());
    while (!effort.failed() && (done < kLeast || seconds_since(start) < share)) {
      const std::uint64_t seed = effort.only_case ? *effort.only_case : seeds();
      SCOPED_TRACE(repeat + std::to_string(seed));
      guarded([&] {
        GpuWorld& world = effort.world(thread);
        world.reseed(seed);
        one_case(world);
      });
      ++done;
      if (effort.only_case) break;
    }
  };
  std::vector<std::thread> others;
  const int threads = effort.only_case ? 1 : effort.threads;
  for (int thread = 1; thread < threads; ++thread) others.emplace_back(work, thread);
  work(0);
  for (std::thread& other : others) other.join();
  effort.add(test->test_suite_name(), test->name(), compared, done, seconds_since(start));
}

}  // namespace reprise::testing

int main(int count, char** arguments) {
  // Keeps what cases give back: fresh pages for every image would take longer than the cases.
  ::mallopt(M_MMAP_THRESHOLD, 1 << 30);
  ::mallopt(M_TRIM_THRESHOLD, 1 << 30);
  ::testing::InitGoogleTest(&count, arguments);
  auto& effort = reprise::testing::Effort::of_this_run();
  const auto value_of = [&](std::string_view name) -> const char* {
    for (int i = 1; i < count; ++i) {
      if (std::string_view(arguments[i]).starts_with(name)) return arguments[i] + name.size();
    }
    return nullptr;
  };
  if (const char* text = value_of("--seconds=")) effort.seconds = std::strtod(text, nullptr);
  if (const char* text = value_of("--threads=")) effort.threads = std::max(1, std::atoi(text));
  if (const char* text = value_of("--case=")) effort.only_case = std::strtoull(text, nullptr, 10);
  auto& tests = *::testing::UnitTest::GetInstance();
  tests.listeners().Append(&effort);
  const int result = RUN_ALL_TESTS();
  tests.listeners().Release(&effort);  // it is not theirs to delete
  effort.print(tests.failed_test_count());
  return result;
}
