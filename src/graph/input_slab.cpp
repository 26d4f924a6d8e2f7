// SPDX-License-Identifier: Apache-2.0
#include "graph/input_slab.h"

#include <algorithm>
#include <cstring>

namespace reprise {
namespace {

constexpr std::size_t kPinnedSlabs = 4;  // replays the host may run ahead of their input copies
constexpr std::size_t kRanges = 1024;    // reserved, so that the hot path does not allocate

}  // namespace

InputSlab::InputSlab(Device& device, Buffer& slab)
    : slab_(slab), shadow_(slab.bytes()), unknown_(slab.bytes(), std::byte{1}) {
  ranges_.reserve(kRanges);
  ring_.reserve(kPinnedSlabs);
  for (std::size_t i = 0; i < kPinnedSlabs; ++i) {
    ring_.push_back({device.allocate_pinned(slab.bytes(), "pinned inputs"), device.create_event()});
  }
}

bool InputSlab::known(std::size_t begin, std::size_t end) const {
  if (!any_unknown_) return true;
  const auto first = unknown_.begin() + static_cast<std::ptrdiff_t>(begin);
  const auto last = unknown_.begin() + static_cast<std::ptrdiff_t>(end);
  return std::find(first, last, std::byte{1}) == last;
}

void InputSlab::add(std::size_t begin, std::size_t end) {
  if (!ranges_.empty() && ranges_.back().end == begin) {
    ranges_.back().end = end;
  } else {
    ranges_.push_back({begin, end});
  }
}

void InputSlab::write(std::size_t offset, const void* source, std::size_t bytes, bool always) {
  if (bytes == 0) return;
  std::byte* place = shadow_.data() + offset;
  if (!always && known(offset, offset + bytes) && std::memcmp(place, source, bytes) == 0) return;
  std::memcpy(place, source, bytes);
  add(offset, offset + bytes);
}

void InputSlab::write_rows(std::size_t offset, const std::vector<std::byte>& row, std::size_t count,
                           bool always) {
  for (std::size_t i = 0; i < count; ++i) {
    write(offset + i * row.size(), row.data(), row.size(), always);
  }
}

void InputSlab::forget(std::size_t offset, std::size_t bytes) {
  std::fill_n(unknown_.begin() + static_cast<std::ptrdiff_t>(offset), bytes, std::byte{1});
  any_unknown_ = true;
}

void InputSlab::send(Stream& stream, Pinned& pinned, Range range) {
  const std::size_t bytes = range.end - range.begin;
  std::memcpy(static_cast<std::byte*>(pinned.buffer.data()) + range.begin,
              shadow_.data() + range.begin, bytes);
  stream.copy(slab_.view(range.begin, bytes), pinned.buffer.view(range.begin, bytes));
}

// Joins ranges across gaps whose bytes the device holds already: one longer copy costs less than
// two.
void InputSlab::merge_ranges() {
  std::sort(ranges_.begin(), ranges_.end(),
            [](const Range& a, const Range& b) { return a.begin < b.begin; });
  std::size_t last = 0;
  for (std::size_t i = 1; i < ranges_.size(); ++i) {
    const bool overlaps = ranges_[i].begin <= ranges_[last].end;
    if (overlaps || known(ranges_[last].end, ranges_[i].begin)) {
      ranges_[last].end = std::max(ranges_[last].end, ranges_[i].end);
    } else {
      ranges_[++last] = ranges_[i];
    }
  }
  ranges_.resize(last + 1);
}

void InputSlab::flush(Stream& stream) {
  if (ranges_.empty()) return;
  merge_ranges();
  Pinned& pinned = ring_[turn_];
  turn_ = (turn_ + 1) % ring_.size();
  pinned.read.synchronize();
  for (const Range& range : ranges_) {
    send(stream, pinned, range);
    if (any_unknown_) {
      std::fill(unknown_.begin() + static_cast<std::ptrdiff_t>(range.begin),
                unknown_.begin() + static_cast<std::ptrdiff_t>(range.end), std::byte{0});
    }
  }
  if (any_unknown_) {
    any_unknown_ = std::find(unknown_.begin(), unknown_.end(), std::byte{1}) != unknown_.end();
  }
  stream.record(pinned.read);
  ranges_.clear();
}

void InputSlab::upload_all(Stream& stream) {
  if (shadow_.empty()) return;  // a step may have no copied input at all
  ranges_.assign(1, {0, shadow_.size()});
  flush(stream);
}

}  // namespace reprise
