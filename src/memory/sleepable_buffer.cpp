// SPDX-License-Identifier: Apache-2.0
#include <utility>

#include <fmt/format.h>

#include <reprise/error.h>
#include <reprise/sleepable_memory.h>

#include "memory/sleepable_allocation.h"

namespace reprise {
namespace {

const std::string kNoLabel;

}  // namespace

SleepableBuffer::SleepableBuffer(std::shared_ptr<SleepableMemory> memory,
                                 std::shared_ptr<SleepableAllocation> allocation) noexcept
    : memory_(std::move(memory)), allocation_(std::move(allocation)) {}

SleepableBuffer::~SleepableBuffer() { release(); }

SleepableBuffer& SleepableBuffer::operator=(SleepableBuffer&& other) noexcept {
  if (this == &other) return *this;
  release();
  memory_ = std::move(other.memory_);
  allocation_ = std::move(other.allocation_);
  return *this;
}

void SleepableBuffer::release() noexcept {
  if (allocation_ != nullptr) memory_->forget(allocation_);
  allocation_.reset();
  memory_.reset();
}

void* SleepableBuffer::data() const noexcept {
  return allocation_ ? allocation_->range.data() : nullptr;
}
std::size_t SleepableBuffer::bytes() const noexcept {
  return allocation_ ? allocation_->bytes.load() : 0;
}
std::size_t SleepableBuffer::reserved_bytes() const noexcept {
  return allocation_ ? allocation_->range.bytes() : 0;
}
SleepClass SleepableBuffer::sleep_class() const noexcept {
  return allocation_ ? allocation_->kind : SleepClass::discard;
}
const std::string& SleepableBuffer::label() const noexcept {
  return allocation_ ? allocation_->range.label() : kNoLabel;
}
std::uint64_t SleepableBuffer::generation() const noexcept {
  return allocation_ ? allocation_->range.generation() : 0;
}

MemoryView SleepableBuffer::view() const { return view(0, bytes()); }

MemoryView SleepableBuffer::view(std::size_t offset, std::size_t count) const {
  if (allocation_ == nullptr) {
    throw UsageError(
        "SleepableBuffer::view on an empty buffer; it was never allocated or moved from");
  }
  if (memory_->asleep()) {
    throw UsageError(
        fmt::format("buffer '{}' of sleepable memory '{}' is asleep; call wake() first", label(),
                    memory_->name()));
  }
  if (offset > bytes() || count > bytes() - offset) {
    throw UsageError(fmt::format("buffer '{}' has {} bytes; [{}, {} + {}) does not lie inside",
                                 label(), bytes(), offset, offset, count));
  }
  return allocation_->range.view(offset, count);
}

TensorView SleepableBuffer::tensor(DType dtype, const Shape& shape) const {
  TensorView tensor{.data = data(), .dtype = dtype, .shape = shape, .generation = generation()};
  (void)view(0, tensor.bytes());
  return tensor;
}

void SleepableBuffer::extend(std::size_t more) {
  if (allocation_ == nullptr) {
    throw UsageError(
        "SleepableBuffer::extend on an empty buffer; it was never allocated or moved from");
  }
  memory_->extend(*allocation_, more);
}

}  // namespace reprise
