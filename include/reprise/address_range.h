// SPDX-License-Identifier: Apache-2.0
// Device addresses that stay while the memory behind them comes and goes (DESIGN §6, S13, S14).
//
// A range is reserved once, for the most that will ever be needed; memory is mapped into parts of
// it and given back. What was recorded against the addresses stays valid: a graph that was made
// while a part had no memory reaches it once it has, without being recorded again.
//
// Reading or writing a part that has no memory is a fault, on every device: on the host the process
// gets a segmentation violation, on CUDA the device is lost. Inside a recording only kernels should
// touch a range; copies and fills of its parts are resolved when they are recorded, and those of a
// part that was unmapped since must not be replayed, not even after it was mapped again.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include <reprise/device.h>

namespace reprise {

struct AddressRangeState;  // in src/device/

/// Owns a stretch of device addresses and the memory mapped into it. Move-only. All calls but
/// moving, assigning and destroying are thread safe; that no other thread enqueues work on a part
/// while it is being unmapped is the callers' to arrange. data() never changes, so replaying asks
/// nothing here.
///
/// What one map() call maps is one *mapping*: one piece of memory, given back whole. Few large
/// mappings are cheaper than many small ones, so map in the units in which memory is to be given
/// back.
///
/// The destructor waits for work in flight on the device's streams, then gives back memory and
/// addresses; while a recording is live on the device, this is put off until that has ended.
class AddressRange {
 public:
  AddressRange() noexcept;
  explicit AddressRange(std::unique_ptr<AddressRangeState> state);
  ~AddressRange();
  AddressRange(AddressRange&&) noexcept;
  AddressRange& operator=(AddressRange&&) noexcept;

  explicit operator bool() const noexcept { return state_ != nullptr; }
  /// The first address, a multiple of granularity(); null for a range of zero bytes.
  void* data() const noexcept;
  /// What was asked for, rounded up to granularity().
  std::size_t bytes() const noexcept;
  /// Offsets and sizes of map() and unmap() are multiples of it: bytes, a power of two.
  std::size_t granularity() const noexcept;
  const std::string& label() const noexcept;
  /// Unique among all allocations and ranges of the device's life, never 0. Mapping and unmapping
  /// leave it as it is: the addresses have not moved.
  std::uint64_t generation() const noexcept;

  /// Bytes of device memory that the range holds.
  std::size_t mapped_bytes() const;
  /// True where all of [offset, offset + bytes) has memory; false where any of it has none or lies
  /// outside.
  bool is_mapped(std::size_t offset, std::size_t bytes) const;
  /// Throws UsageError where [offset, offset + bytes) does not lie inside or has a part without
  /// memory, which it names.
  MemoryView view(std::size_t offset, std::size_t bytes) const;

  /// Puts memory behind [offset, offset + bytes), as one mapping; contents undefined, also where
  /// there was memory before. Either all of it is mapped or, after an exception, nothing was
  /// changed. Zero bytes do nothing. Throws UsageError for what is not a multiple of granularity(),
  /// lies outside or is mapped in part already, OutOfMemory with the device's figures, CaptureError
  /// on a thread that records on the device.
  void map(std::size_t offset, std::size_t bytes);
  /// Gives the memory behind [offset, offset + bytes) back, after waiting for the work in flight on
  /// the device's streams (work on raw streams of your own is yours to wait for). The addresses
  /// stay reserved and may be mapped again. Takes one or more whole mappings that leave no gap;
  /// zero bytes do nothing. Throws UsageError for anything else, naming the mapping that would be
  /// cut or the part without memory, and CaptureError on a thread that records on the device: then
  /// nothing was changed. DeviceError, and nothing changed, where work in flight cannot be
  /// waited for: from work that a stream of the host device runs, or while a stream is in a raw
  /// capture of your own. If the device fails, each mapping is either still there (its contents may
  /// be lost) or gone.
  void unmap(std::size_t offset, std::size_t bytes);

 private:
  std::unique_ptr<AddressRangeState> state_;
};

}  // namespace reprise
