// SPDX-License-Identifier: Apache-2.0
// Carries copied inputs from the host to the device's slab: all that changed travels in one copy
// from a pinned slab; nothing travels when nothing changed (DESIGN §5). Several pinned slabs take
// turns, so that the host never rewrites one that a copy in flight still reads.
#pragma once

#include <cstddef>
#include <vector>

#include <reprise/device.h>

namespace reprise {

class InputSlab {
 public:
  /// Mirrors `slab`, which must outlive this object and whose contents are taken as unknown. What
  /// lies at `device_owned` and behind is overwritten by the device between runs: only what is
  /// written there travels, never a gap between two writes. `inputs`: how many there are, so that
  /// the hot path need not allocate.
  InputSlab(Device& device, Buffer& slab, std::size_t device_owned, std::size_t inputs);

  /// Puts bytes at an offset. `always` is for values that the device overwrites: they travel even
  /// if the host wrote the same before.
  void write(std::size_t offset, const void* source, std::size_t bytes, bool always);
  /// Repeats `row` `count` times from an offset on.
  void write_rows(std::size_t offset, const std::vector<std::byte>& row, std::size_t count,
                  bool always);
  /// The device's copy of this stretch was changed behind our back: the next write travels.
  void forget(std::size_t offset, std::size_t bytes);
  /// Enqueues the copies; waits only if all pinned slabs are still being read. If it throws, what
  /// was to travel travels with the next flush.
  void flush(Stream& stream);
  /// Enqueues a copy of everything, to undo what a step wrote into its own inputs.
  void upload_all(Stream& stream);
  /// Waits for the stream's work and returns what the device holds, whoever wrote it.
  std::vector<std::byte> download(Stream& stream) const;
  /// Takes over such contents and enqueues their way back.
  void put_back(const std::vector<std::byte>& contents, Stream& stream);

 private:
  struct Range {
    std::size_t begin = 0;
    std::size_t end = 0;
  };
  struct Pinned {
    Buffer buffer;
    Event read;  // reached when the copies out of it are done
  };

  void add(std::size_t begin, std::size_t end);
  bool known(Range range) const;
  void note_known(Range range);
  void merge_ranges();
  void send_all(Stream& stream, Pinned& pinned);
  void send(Stream& stream, Pinned& pinned, Range range);

  Buffer& slab_;
  std::vector<std::byte> shadow_;  // what the device's slab holds once all copies are done
  std::size_t device_owned_;
  std::vector<Range> unknown_;  // disjoint: where the device may hold something else
  std::vector<Range> ranges_;   // to be sent
  std::vector<Pinned> ring_;
  std::size_t turn_ = 0;
};

}  // namespace reprise
