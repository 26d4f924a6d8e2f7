// SPDX-License-Identifier: Apache-2.0
#include <utility>

#include <reprise/memory_pool.h>

namespace reprise {

PoolBlock::PoolBlock(std::shared_ptr<MemoryPool> pool, void* data, std::size_t bytes,
                     std::uint64_t generation) noexcept
    : pool_(std::move(pool)), data_(data), bytes_(bytes), generation_(generation) {}

PoolBlock::~PoolBlock() { release(); }

PoolBlock::PoolBlock(PoolBlock&& other) noexcept
    : pool_(std::move(other.pool_)),
      data_(std::exchange(other.data_, nullptr)),
      bytes_(std::exchange(other.bytes_, 0)),
      generation_(std::exchange(other.generation_, 0)) {}

PoolBlock& PoolBlock::operator=(PoolBlock&& other) noexcept {
  if (this == &other) return *this;
  release();
  pool_ = std::move(other.pool_);
  data_ = std::exchange(other.data_, nullptr);
  bytes_ = std::exchange(other.bytes_, 0);
  generation_ = std::exchange(other.generation_, 0);
  return *this;
}

void PoolBlock::keep_segment() noexcept {
  if (data_ != nullptr) pool_->keep_segment(data_);
}

void PoolBlock::release() noexcept {
  if (data_ != nullptr) pool_->give_back(data_);
  data_ = nullptr;
  pool_.reset();
}

}  // namespace reprise
