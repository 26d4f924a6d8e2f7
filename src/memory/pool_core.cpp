// SPDX-License-Identifier: Apache-2.0
#include "memory/pool_core.h"

#include <array>
#include <cassert>
#include <utility>

#include <fmt/core.h>

#include <reprise/error.h>

#include "core/bytes.h"
#include "memory/accounting.h"

namespace reprise {
namespace {

/// Bytes to skip so that blocks are aligned to kBlockBytes: an upstream promises only 256.
std::size_t misalignment(const void* data) noexcept {
  const auto rest = reinterpret_cast<std::uintptr_t>(data) % kBlockBytes;
  return rest == 0 ? 0 : kBlockBytes - rest;
}

/// What is left of an upstream's `bytes` (a multiple of kBlockBytes) in whole aligned blocks.
std::size_t usable_bytes(const void* data, std::size_t bytes) noexcept {
  return misalignment(data) == 0 ? bytes : bytes - kBlockBytes;
}

std::array<MemoryCounter*, 7> counters(MemoryStatistics& all) noexcept {
  return {&all.allocation,     &all.allocated_bytes, &all.requested_bytes,     &all.segment,
          &all.reserved_bytes, &all.inactive_split,  &all.inactive_split_bytes};
}

}  // namespace

PoolCore::PoolCore(MemoryPoolOptions options, std::shared_ptr<MemoryResource> upstream,
                   std::function<std::string()> device_memory)
    : options_(std::move(options)),
      policy_(options_.segment_bytes, options_.limit_bytes, upstream->granularity()),
      upstream_(std::move(upstream)),
      device_memory_(std::move(device_memory)) {}

PoolCore::~PoolCore() {
  for (const Segment& segment : free_list_.segments()) {
    upstream_->deallocate(segment.upstream_data, segment.upstream_bytes);
  }
}

PoolCore::Taken PoolCore::allocate(std::size_t bytes, std::string_view label,
                                   const RecordingSite* site) {
  const Request request = rounded(bytes, label);
  std::string owner(label);
  auto found = free_list_.take(request.block_bytes);
  if (!found) {
    grow(request, site);
    found = free_list_.take(request.block_bytes);
  }
  const BlockRef block = *found;
  void* const data = block->segment->data + block->offset;
  try {
    handed_out_.emplace(data, block);
  } catch (...) {
    free_list_.give_back(block);
    throw;
  }
  block->requested = bytes;
  block->label = std::move(owner);
  note_use(*block->segment, site);
  increase(statistics_.allocation, 1);
  increase(statistics_.allocated_bytes, block->bytes);
  increase(statistics_.requested_bytes, bytes);
  count_split();
  return {data, block->bytes};
}

void PoolCore::give_back(void* data, const RecordingSite* site) noexcept {
  const auto found = handed_out_.find(data);
  assert(found != handed_out_.end() && "not a block of this pool");
  if (found == handed_out_.end()) return;
  const BlockRef block = found->second;
  handed_out_.erase(found);
  note_use(*block->segment, site);
  decrease(statistics_.allocation, 1);
  decrease(statistics_.allocated_bytes, block->bytes);
  decrease(statistics_.requested_bytes, block->requested);
  free_list_.give_back(block);
  count_split();
}

void PoolCore::keep_segment(void* data) noexcept {
  const auto found = handed_out_.find(data);
  assert(found != handed_out_.end() && "not a block of this pool");
  if (found != handed_out_.end()) found->second->segment->recorded = true;
}

void PoolCore::reserve(std::size_t bytes, const RecordingSite* site) {
  const Request request = rounded(bytes, "");
  if (free_list_.largest_free() < request.block_bytes) grow(request, site);
}

std::size_t PoolCore::trim() noexcept {
  std::size_t given_back = 0;
  auto& segments = free_list_.segments();
  for (SegmentRef segment = segments.begin(); segment != segments.end();) {
    if (!may_return_to_upstream(*segment)) {
      ++segment;
      continue;
    }
    given_back += segment->upstream_bytes;
    segment = return_to_upstream(segment);
  }
  return given_back;
}

PoolCore::Request PoolCore::rounded(std::size_t bytes, std::string_view label) {
  if (const auto block_bytes = round_to_blocks(bytes)) return {bytes, *block_bytes, label};
  ++statistics_.num_ooms;
  throw_out_of_memory({bytes, bytes, label}, "no device has that many bytes");
}

void PoolCore::grow(const Request& request, const RecordingSite* site) {
  if (site != nullptr) refuse_growth(options_.name, request.block_bytes, request.label, *site);
  auto reason = try_grow(request.block_bytes);
  if (!reason) return;
  if (trim() > 0) {
    ++statistics_.num_alloc_retries;
    reason = try_grow(request.block_bytes);
    if (!reason) return;
  }
  ++statistics_.num_ooms;
  throw_out_of_memory(request, *reason);
}

std::optional<std::string> PoolCore::try_grow(std::size_t block_bytes) {
  try {
    if (try_extend(block_bytes)) return std::nullopt;
    const auto taken = take_segment(block_bytes);
    if (!taken) return "the pool's limit_bytes does not allow it";
    add_segment(taken->data, taken->bytes);
    return std::nullopt;
  } catch (const OutOfMemory& error) {
    return error.what();
  }
}

bool PoolCore::try_extend(std::size_t block_bytes) {
  if (free_list_.segments().empty()) return false;
  Segment& segment = free_list_.segments().back();
  const auto more =
      policy_.extension_for(block_bytes, segment.free_tail(),
                            static_cast<std::size_t>(statistics_.reserved_bytes.current));
  if (!more || !upstream_->extend(segment.upstream_data, segment.upstream_bytes, *more)) {
    return false;
  }
  // What the upstream has added is part of the segment, whether or not the list can take it.
  segment.upstream_bytes += *more;
  ++statistics_.num_device_alloc;
  increase(statistics_.reserved_bytes, *more);
  free_list_.extend_segment(segment, *more);
  return true;
}

std::optional<PoolCore::Taken> PoolCore::take_segment(std::size_t block_bytes) {
  const auto reserved = static_cast<std::size_t>(statistics_.reserved_bytes.current);
  const auto bytes = policy_.segment_for(block_bytes, reserved);
  if (!bytes) return std::nullopt;
  void* const data = upstream_->allocate(*bytes);
  ++statistics_.num_device_alloc;
  if (usable_bytes(data, *bytes) >= block_bytes) return Taken{data, *bytes};
  upstream_->deallocate(data, *bytes);
  ++statistics_.num_device_free;
  const auto padded = policy_.segment_for(block_bytes + kBlockBytes, reserved);
  if (!padded) return std::nullopt;
  void* const larger = upstream_->allocate(*padded);
  ++statistics_.num_device_alloc;
  return Taken{larger, *padded};
}

void PoolCore::add_segment(void* upstream_data, std::size_t upstream_bytes) {
  auto* const start = static_cast<std::byte*>(upstream_data);
  try {
    Segment& segment = free_list_.add_segment(start + misalignment(upstream_data),
                                              usable_bytes(upstream_data, upstream_bytes));
    segment.upstream_data = upstream_data;
    segment.upstream_bytes = upstream_bytes;
  } catch (...) {
    upstream_->deallocate(upstream_data, upstream_bytes);
    ++statistics_.num_device_free;
    throw;
  }
  increase(statistics_.segment, 1);
  increase(statistics_.reserved_bytes, upstream_bytes);
}

SegmentRef PoolCore::return_to_upstream(SegmentRef segment) noexcept {
  upstream_->deallocate(segment->upstream_data, segment->upstream_bytes);
  ++statistics_.num_device_free;
  decrease(statistics_.segment, 1);
  decrease(statistics_.reserved_bytes, segment->upstream_bytes);
  return free_list_.remove_segment(segment);
}

void PoolCore::count_split() noexcept {
  set(statistics_.inactive_split, free_list_.split().blocks);
  set(statistics_.inactive_split_bytes, free_list_.split().bytes);
}

void PoolCore::throw_out_of_memory(const Request& request, std::string_view reason) {
  const std::string owner = request.label.empty() ? "" : fmt::format(" for '{}'", request.label);
  const std::string limit = options_.limit_bytes == 0 ? "none" : format_bytes(options_.limit_bytes);
  throw OutOfMemory(
      fmt::format("pool '{}' has no room for {} bytes ({}){}: reserved {}, allocated {}, largest "
                  "free block {}, "
                  "limit {}; {}; cause: {}; release blocks, ask for less, or raise the limit",
                  options_.name, request.bytes, format_bytes(request.bytes), owner,
                  format_bytes(statistics_.reserved_bytes.current),
                  format_bytes(statistics_.allocated_bytes.current),
                  format_bytes(free_list_.largest_free()), limit, device_memory_(), reason));
}

void PoolCore::reset_peak_stats() noexcept {
  for (MemoryCounter* counter : counters(statistics_)) reset_peak(*counter);
}

void PoolCore::reset_accumulated_stats() noexcept {
  for (MemoryCounter* counter : counters(statistics_)) reset_accumulated(*counter);
  statistics_.num_alloc_retries = 0;
  statistics_.num_ooms = 0;
  statistics_.num_device_alloc = 0;
  statistics_.num_device_free = 0;
}

std::vector<SegmentInfo> PoolCore::snapshot() const {
  std::vector<SegmentInfo> infos;
  for (const Segment& segment : free_list_.segments()) {
    SegmentInfo info{
        reinterpret_cast<std::uintptr_t>(segment.data), segment.bytes, {}, segment.recorded};
    for (const Block& block : segment.blocks) {
      info.blocks.push_back(
          {block.offset, block.bytes, block.requested, block.allocated, block.label});
    }
    infos.push_back(std::move(info));
  }
  return infos;
}

}  // namespace reprise
