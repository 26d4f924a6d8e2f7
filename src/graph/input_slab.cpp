// SPDX-License-Identifier: Apache-2.0
#include "graph/input_slab.h"

#include <algorithm>
#include <cstring>

namespace reprise {
namespace {

constexpr std::size_t kPinnedSlabs = 4;  // replays the host may run ahead of their input copies

}  // namespace

InputSlab::InputSlab(Device& device, Buffer& slab, std::size_t device_owned, std::size_t inputs)
    : slab_(slab), shadow_(slab.bytes()), device_owned_(device_owned) {
  // An input is one range of values and one of padding; the row count is one more.
  const std::size_t most = 2 * inputs + 1;
  ranges_.reserve(most);
  unknown_.reserve(2 * most);
  unknown_.push_back({0, slab.bytes()});
  ring_.reserve(kPinnedSlabs);
  for (std::size_t i = 0; i < kPinnedSlabs; ++i) {
    ring_.push_back({device.allocate_pinned(slab.bytes(), "pinned inputs"), device.create_event()});
  }
}

bool InputSlab::known(Range range) const {
  return std::none_of(unknown_.begin(), unknown_.end(), [&](const Range& unknown) {
    return unknown.begin < range.end && range.begin < unknown.end;
  });
}

void InputSlab::note_known(Range range) {
  for (std::size_t i = 0; i < unknown_.size();) {
    const Range old = unknown_[i];
    if (old.end <= range.begin || range.end <= old.begin) {
      ++i;
      continue;
    }
    unknown_[i] = unknown_.back();
    unknown_.pop_back();
    // What is left of it goes to the end, and is met again there without an overlap.
    if (old.begin < range.begin) unknown_.push_back({old.begin, range.begin});
    if (range.end < old.end) unknown_.push_back({range.end, old.end});
  }
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
  if (!always && known({offset, offset + bytes}) && std::memcmp(place, source, bytes) == 0) return;
  std::memcpy(place, source, bytes);
  add(offset, offset + bytes);
}

// One range for all rows that changed, with those between them.
void InputSlab::write_rows(std::size_t offset, const std::vector<std::byte>& row, std::size_t count,
                           bool always) {
  const std::size_t bytes = row.size() * count;
  if (bytes == 0) return;
  const bool all = always || !known({offset, offset + bytes});
  Range changed{offset + bytes, offset};
  for (std::size_t i = 0; i < count; ++i) {
    const std::size_t begin = offset + i * row.size();
    std::byte* const place = shadow_.data() + begin;
    if (!all && std::memcmp(place, row.data(), row.size()) == 0) continue;
    std::memcpy(place, row.data(), row.size());
    changed = {std::min(changed.begin, begin), begin + row.size()};
  }
  if (changed.begin < changed.end) add(changed.begin, changed.end);
}

void InputSlab::forget(std::size_t offset, std::size_t bytes) {
  if (bytes == 0) return;
  note_known({offset, offset + bytes});  // so that no stretch is listed twice
  unknown_.push_back({offset, offset + bytes});
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
    const Range gap{ranges_[last].end, ranges_[i].begin};
    const bool overlaps = gap.end <= gap.begin;
    if (overlaps || (gap.end <= device_owned_ && known(gap))) {
      ranges_[last].end = std::max(ranges_[last].end, ranges_[i].end);
    } else {
      ranges_[++last] = ranges_[i];
    }
  }
  ranges_.resize(last + 1);
}

void InputSlab::send_all(Stream& stream, Pinned& pinned) {
  try {
    for (const Range& range : ranges_) send(stream, pinned, range);
  } catch (...) {
    // Copies before the failed one may be in flight, and this pinned slab will be written again.
    try {
      stream.record(pinned.read);
    } catch (const std::exception&) {
      // The first exception tells more.
    }
    throw;
  }
  stream.record(pinned.read);
}

void InputSlab::flush(Stream& stream) {
  if (ranges_.empty()) return;
  merge_ranges();
  Pinned& pinned = ring_[turn_];
  turn_ = (turn_ + 1) % ring_.size();
  pinned.read.synchronize();
  send_all(stream, pinned);
  for (const Range& range : ranges_) note_known(range);
  ranges_.clear();
}

void InputSlab::upload_all(Stream& stream) {
  if (shadow_.empty()) return;  // a step may have no copied input at all
  ranges_.assign(1, {0, shadow_.size()});
  flush(stream);
}

std::vector<std::byte> InputSlab::download(Stream& stream) const {
  std::vector<std::byte> contents(shadow_.size());
  if (!contents.empty()) stream.copy(pageable(std::span(contents)), slab_.view());
  return contents;
}

void InputSlab::put_back(const std::vector<std::byte>& contents, Stream& stream) {
  shadow_ = contents;
  upload_all(stream);
}

}  // namespace reprise
