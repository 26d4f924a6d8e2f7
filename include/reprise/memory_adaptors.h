// SPDX-License-Identifier: Apache-2.0
// Resources round another resource: a limit, a count, a planned failure. They stack in any order
// and are thread safe where the resource inside is.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>

#include <reprise/memory_pool.h>

namespace reprise {

/// Refuses what would bring the bytes outstanding above a limit.
class LimitResource : public MemoryResource {
 public:
  /// Throws UsageError where `upstream` is null; so do the others.
  LimitResource(std::shared_ptr<MemoryResource> upstream, std::size_t limit_bytes);
  /// Throws OutOfMemory that names request, outstanding bytes and limit.
  void* allocate(std::size_t bytes) override;
  void deallocate(void* data, std::size_t bytes) noexcept override;
  std::size_t outstanding_bytes() const;

 private:
  const std::shared_ptr<MemoryResource> upstream_;
  const std::size_t limit_bytes_;
  mutable std::mutex mutex_;
  std::size_t outstanding_ = 0;
};

/// Counts what passes through. Failed allocations don't count.
class StatisticsResource : public MemoryResource {
 public:
  explicit StatisticsResource(std::shared_ptr<MemoryResource> upstream);
  void* allocate(std::size_t bytes) override;
  void deallocate(void* data, std::size_t bytes) noexcept override;
  MemoryCounter allocations() const;
  MemoryCounter bytes() const;

 private:
  const std::shared_ptr<MemoryResource> upstream_;
  mutable std::mutex mutex_;
  MemoryCounter allocations_;
  MemoryCounter bytes_;
};

/// Fails as planned, to test what happens then.
class FailingResource : public MemoryResource {
 public:
  enum class Plan : std::uint8_t {
    nth,    ///< the nth allocation only, counted from 1
    every,  ///< every nth allocation
  };
  /// `n` 0: never.
  FailingResource(std::shared_ptr<MemoryResource> upstream, Plan plan, std::uint64_t n);
  /// Throws OutOfMemory that says it was planned.
  void* allocate(std::size_t bytes) override;
  void deallocate(void* data, std::size_t bytes) noexcept override;
  /// Allocations asked for so far, failed ones included.
  std::uint64_t attempts() const;
  std::uint64_t failures() const;

 private:
  const std::shared_ptr<MemoryResource> upstream_;
  const Plan plan_;
  const std::uint64_t n_;
  mutable std::mutex mutex_;
  std::uint64_t attempts_ = 0;
  std::uint64_t failures_ = 0;
};

}  // namespace reprise
