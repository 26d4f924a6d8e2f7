// SPDX-License-Identifier: Apache-2.0
#include <string_view>
#include <utility>

#include <fmt/core.h>

#include <reprise/error.h>
#include <reprise/memory_adaptors.h>

#include "core/bytes.h"
#include "memory/accounting.h"

namespace reprise {
namespace {

std::shared_ptr<MemoryResource> required(std::shared_ptr<MemoryResource> upstream,
                                         std::string_view adaptor) {
  if (upstream != nullptr) return upstream;
  throw UsageError(fmt::format("{} was given no upstream; pass the resource to wrap", adaptor));
}

}  // namespace

ResourceAdaptor::ResourceAdaptor(std::shared_ptr<MemoryResource> upstream, std::string_view adaptor)
    : upstream_(required(std::move(upstream), adaptor)) {}

LimitResource::LimitResource(std::shared_ptr<MemoryResource> upstream, std::size_t limit_bytes)
    : ResourceAdaptor(std::move(upstream), "LimitResource"), limit_bytes_(limit_bytes) {}

void LimitResource::require_room(std::size_t bytes) const {
  if (bytes <= limit_bytes_ - outstanding_) return;
  throw OutOfMemory(fmt::format("{} ({} bytes) on top of {} would pass the limit of {}",
                                format_bytes(bytes), bytes, format_bytes(outstanding_),
                                format_bytes(limit_bytes_)));
}

void* LimitResource::allocate(std::size_t bytes) {
  // Held throughout, so that two threads cannot pass the check for the same room.
  const std::lock_guard lock(mutex_);
  require_room(bytes);
  void* const data = upstream().allocate(bytes);
  outstanding_ += bytes;
  return data;
}

bool LimitResource::extend(void* data, std::size_t bytes, std::size_t more) {
  const std::lock_guard lock(mutex_);
  require_room(more);
  if (!upstream().extend(data, bytes, more)) return false;
  outstanding_ += more;
  return true;
}

void LimitResource::deallocate(void* data, std::size_t bytes) noexcept {
  upstream().deallocate(data, bytes);
  const std::lock_guard lock(mutex_);
  outstanding_ -= bytes;
}

std::size_t LimitResource::outstanding_bytes() const {
  const std::lock_guard lock(mutex_);
  return outstanding_;
}

StatisticsResource::StatisticsResource(std::shared_ptr<MemoryResource> upstream)
    : ResourceAdaptor(std::move(upstream), "StatisticsResource") {}

void* StatisticsResource::allocate(std::size_t bytes) {
  void* const data = upstream().allocate(bytes);
  const std::lock_guard lock(mutex_);
  increase(allocations_, 1);
  increase(bytes_, bytes);
  return data;
}

void StatisticsResource::deallocate(void* data, std::size_t bytes) noexcept {
  upstream().deallocate(data, bytes);
  const std::lock_guard lock(mutex_);
  decrease(allocations_, 1);
  decrease(bytes_, bytes);
}

bool StatisticsResource::extend(void* data, std::size_t bytes, std::size_t more) {
  if (!upstream().extend(data, bytes, more)) return false;
  const std::lock_guard lock(mutex_);
  increase(bytes_, more);
  return true;
}

MemoryCounter StatisticsResource::allocations() const {
  const std::lock_guard lock(mutex_);
  return allocations_;
}

MemoryCounter StatisticsResource::bytes() const {
  const std::lock_guard lock(mutex_);
  return bytes_;
}

FailingResource::FailingResource(std::shared_ptr<MemoryResource> upstream, Plan plan,
                                 std::uint64_t n)
    : ResourceAdaptor(std::move(upstream), "FailingResource"), plan_(plan), n_(n) {}

void FailingResource::attempt(std::size_t bytes) {
  const std::lock_guard lock(mutex_);
  ++attempts_;
  const bool fails = n_ != 0 && (plan_ == Plan::nth ? attempts_ == n_ : attempts_ % n_ == 0);
  if (!fails) return;
  ++failures_;
  throw OutOfMemory(fmt::format("allocation {} ({} bytes) was planned to fail", attempts_, bytes));
}

void* FailingResource::allocate(std::size_t bytes) {
  attempt(bytes);
  return upstream().allocate(bytes);
}

bool FailingResource::extend(void* data, std::size_t bytes, std::size_t more) {
  attempt(more);
  return upstream().extend(data, bytes, more);
}

void FailingResource::deallocate(void* data, std::size_t bytes) noexcept {
  upstream().deallocate(data, bytes);
}

std::uint64_t FailingResource::attempts() const {
  const std::lock_guard lock(mutex_);
  return attempts_;
}

std::uint64_t FailingResource::failures() const {
  const std::lock_guard lock(mutex_);
  return failures_;
}

}  // namespace reprise
