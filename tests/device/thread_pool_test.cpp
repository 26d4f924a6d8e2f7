// SPDX-License-Identifier: Apache-2.0
#include "device/host/thread_pool.h"

#include <atomic>
#include <mutex>
#include <set>
#include <stdexcept>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

namespace reprise::host {
namespace {

TEST(ThreadPool, CoversEveryIndexOnceInRangesOfAtLeastTheGrain) {
  for (const int threads : {1, 2, 5}) {
    ThreadPool pool(threads);
    EXPECT_EQ(pool.threads(), threads);
    for (const std::size_t count : {0u, 1u, 2u, 7u, 64u, 1000u}) {
      for (const std::size_t grain : {0u, 1u, 3u, 64u, 5000u}) {
        std::vector<std::atomic<int>> seen(count);
        std::atomic<int> short_ranges{0};
        pool.parallel_for(count, grain, [&](std::size_t begin, std::size_t end) {
          if (end - begin < grain && end - begin != count) ++short_ranges;
          for (std::size_t i = begin; i < end; ++i) ++seen[i];
        });
        for (const auto& times : seen)
          EXPECT_EQ(times, 1) << threads << " " << count << " " << grain;
        EXPECT_EQ(short_ranges, 0);
      }
    }
  }
}

TEST(ThreadPool, HelpersTakePart) {
  ThreadPool pool(2);
  std::atomic<int> inside{0};
  // Each range waits for the other one: only two threads at once can finish this.
  pool.parallel_for(2, 1, [&](std::size_t, std::size_t) {
    ++inside;
    while (inside < 2) std::this_thread::yield();
  });
  EXPECT_EQ(inside, 2);
}

TEST(ThreadPool, HelpersWakeAfterALongPause) {
  ThreadPool pool(2);
  for (int round = 0; round < 3; ++round) {
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
    std::atomic<int> inside{0};
    pool.parallel_for(2, 1, [&](std::size_t, std::size_t) {
      ++inside;
      while (inside < 2) std::this_thread::yield();
    });
  }
}

TEST(ThreadPool, ANestedCallRunsInline) {
  ThreadPool pool(3);
  std::atomic<int> total{0};
  pool.parallel_for(6, 1, [&](std::size_t begin, std::size_t end) {
    for (std::size_t i = begin; i < end; ++i) {
      const auto self = std::this_thread::get_id();
      pool.parallel_for(10, 1, [&](std::size_t inner_begin, std::size_t inner_end) {
        EXPECT_EQ(std::this_thread::get_id(), self);
        EXPECT_EQ(inner_end - inner_begin, 10u);
        total += static_cast<int>(inner_end - inner_begin);
      });
    }
  });
  EXPECT_EQ(total, 60);
}

TEST(ThreadPool, SeveralCallersAtOnce) {
  ThreadPool pool(3);
  std::vector<std::thread> callers;
  std::atomic<std::size_t> total{0};
  for (int caller = 0; caller < 4; ++caller) {
    callers.emplace_back([&] {
      for (int round = 0; round < 500; ++round) {
        std::atomic<std::size_t> own{0};
        pool.parallel_for(100, 1, [&](std::size_t begin, std::size_t end) { own += end - begin; });
        EXPECT_EQ(own, 100u);
        total += own;
      }
    });
  }
  for (std::thread& caller : callers) caller.join();
  EXPECT_EQ(total, 200'000u);
}

TEST(ThreadPool, PassesOnAnException) {
  ThreadPool pool(2);
  std::atomic<std::size_t> done{0};
  EXPECT_THROW(pool.parallel_for(64, 1,
                                 [&](std::size_t begin, std::size_t end) {
                                   done += end - begin;
                                   if (begin == 0) throw std::domain_error("range");
                                 }),
               std::domain_error);
  EXPECT_EQ(done, 64u);
  EXPECT_THROW(
      pool.parallel_for(1, 1, [](std::size_t, std::size_t) { throw std::domain_error("one"); }),
      std::domain_error);
  // Whoever threw is free for the next loop, as is its right to be parallel.
  std::atomic<int> inside{0};
  pool.parallel_for(2, 1, [&](std::size_t, std::size_t) {
    ++inside;
    while (inside < 2) std::this_thread::yield();
  });
}

}  // namespace
}  // namespace reprise::host
