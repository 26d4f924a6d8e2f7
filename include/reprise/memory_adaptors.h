// SPDX-License-Identifier: Apache-2.0
// Resources round another resource: a limit, a count, a planned failure. They stack in any order
// and are thread safe where the resource inside is. To lengthen an allocation in place counts as to
// allocate what is added.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string_view>

#include <reprise/memory_pool.h>

namespace reprise {

/// What they have in common: the resource inside. Calls that need no thought go on to it.
class ResourceAdaptor : public MemoryResource {
 public:
  std::size_t granularity() const noexcept override { return upstream_->granularity(); }
  bool asleep() const noexcept override { return upstream_->asleep(); }

 protected:
  /// `adaptor` is its name for the message. Throws UsageError where `upstream` is null.
  ResourceAdaptor(std::shared_ptr<MemoryResource> upstream, std::string_view adaptor);
  MemoryResource& upstream() const noexcept { return *upstream_; }

 private:
  const std::shared_ptr<MemoryResource> upstream_;
};

/// Refuses what would bring the bytes outstanding above a limit.
class LimitResource : public ResourceAdaptor {
 public:
  /// Throws UsageError where `upstream` is null; so do the others.
  LimitResource(std::shared_ptr<MemoryResource> upstream, std::size_t limit_bytes);
  /// Throws OutOfMemory that names request, outstanding bytes and limit.
  void* allocate(std::size_t bytes) override;
  void deallocate(void* data, std::size_t bytes) noexcept override;
  bool extend(void* data, std::size_t bytes, std::size_t more) override;
  std::size_t outstanding_bytes() const;

 private:
  void require_room(std::size_t bytes) const;  // under the lock

  const std::size_t limit_bytes_;
  mutable std::mutex mutex_;
  std::size_t outstanding_ = 0;
};

/// Counts what passes through. Failed allocations don't count.
class StatisticsResource : public ResourceAdaptor {
 public:
  explicit StatisticsResource(std::shared_ptr<MemoryResource> upstream);
  void* allocate(std::size_t bytes) override;
  void deallocate(void* data, std::size_t bytes) noexcept override;
  bool extend(void* data, std::size_t bytes, std::size_t more) override;
  MemoryCounter allocations() const;
  MemoryCounter bytes() const;

 private:
  mutable std::mutex mutex_;
  MemoryCounter allocations_;
  MemoryCounter bytes_;
};

/// Fails as planned, to test what happens then.
class FailingResource : public ResourceAdaptor {
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
  bool extend(void* data, std::size_t bytes, std::size_t more) override;
  /// Allocations asked for so far, failed ones included.
  std::uint64_t attempts() const;
  std::uint64_t failures() const;

 private:
  void attempt(std::size_t bytes);

  const Plan plan_;
  const std::uint64_t n_;
  mutable std::mutex mutex_;
  std::uint64_t attempts_ = 0;
  std::uint64_t failures_ = 0;
};

}  // namespace reprise
