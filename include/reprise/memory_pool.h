// SPDX-License-Identifier: Apache-2.0
// A private memory pool: device memory at addresses that stay put, shared by all graphs that are
// recorded against it (DESIGN §6). For steps of any kind; it knows nothing of graphs.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include <reprise/device.h>

namespace reprise {

/// Where memory comes from. Implementations stack: a pool takes its segments from a resource, and a
/// limit, statistics or a planned failure is a resource round another one.
class MemoryResource {
 public:
  virtual ~MemoryResource() = default;
  /// Aligned to 256 bytes. Throws OutOfMemory (nothing changed), or CaptureError where memory may
  /// not be taken now because the calling thread records.
  virtual void* allocate(std::size_t bytes) = 0;
  /// `bytes` as allocated. Work in flight may still use the memory: it must be waited for (as
  /// freeing a Buffer does) before somebody else may have it. Never throws.
  virtual void deallocate(void* data, std::size_t bytes) noexcept = 0;

  /// What it gives comes in multiples of this: asking for anything else wastes the rest.
  virtual std::size_t granularity() const noexcept { return 1; }
  /// Lengthens an allocation of `bytes` by `more` behind its end, in place; from then on it counts
  /// as one of `bytes + more`. False where that cannot be: nothing changed. Throws as allocate().
  virtual bool extend(void* data, std::size_t bytes, std::size_t more);
  /// True while the memory it gave is away (SleepableMemory): nothing may use it.
  virtual bool asleep() const noexcept { return false; }
};

/// One counter: bytes or a number of things.
struct MemoryCounter {
  std::uint64_t current = 0;
  std::uint64_t peak = 0;
  std::uint64_t allocated = 0;  ///< sum of all increases
  std::uint64_t freed = 0;      ///< sum of all decreases
};

/// Names as PyTorch users know them (torch.cuda.memory_stats). What has no meaning here is left
/// out: pools of small and large blocks, oversize blocks and max_split_size (one free list serves
/// every size), and num_sync_all_streams (giving back waits for nothing, since a pool has one
/// lane).
struct MemoryStatistics {
  MemoryCounter allocation;            ///< blocks handed out
  MemoryCounter allocated_bytes;       ///< in blocks handed out, rounded up as they were
  MemoryCounter requested_bytes;       ///< the same as asked for
  MemoryCounter segment;               ///< pieces taken from the upstream
  MemoryCounter reserved_bytes;        ///< bytes taken from the upstream
  MemoryCounter inactive_split;        ///< free blocks that are part of a segment in use
  MemoryCounter inactive_split_bytes;  ///< their bytes
  /// Times the pool gave free segments back because it could not grow, and tried again.
  std::uint64_t num_alloc_retries = 0;
  std::uint64_t num_ooms = 0;  ///< requests that ended in OutOfMemory
  /// Calls that took memory from the upstream: new segments, and segments that were lengthened.
  std::uint64_t num_device_alloc = 0;
  std::uint64_t num_device_free = 0;  ///< segments given back to the upstream

  /// 1 − peak allocated ÷ reserved now (DESIGN §6); 0 for an empty pool.
  double fragmentation() const noexcept;
};

struct MemoryPoolOptions {
  std::string name = "pool";
  /// A segment is at least this large, unless `limit_bytes` leaves less; requests above it get a
  /// segment of their own size.
  std::size_t segment_bytes = std::size_t{2} << 20;
  /// The most the pool will reserve; 0: no limit.
  std::size_t limit_bytes = 0;
  /// One segment that grows in place, as PyTorch's expandable_segments: what is free at its end
  /// counts towards the next larger request, so that reserved memory stays close to the most that
  /// was ever in use, whatever sizes come after a recording. Needs a device that can reserve
  /// addresses (Device::reserve); not for use with an upstream of one's own.
  bool expandable = false;
};

/// A stretch of a segment, for snapshots.
struct BlockInfo {
  std::size_t offset = 0;
  std::size_t bytes = 0;
  std::size_t requested_bytes = 0;  ///< 0 for a free block
  bool allocated = false;
  std::string label;  ///< owner; "" for a free block
};
struct SegmentInfo {
  std::uintptr_t address = 0;
  std::size_t bytes = 0;
  std::vector<BlockInfo> blocks;  ///< in order of address; they cover the segment
  bool recorded = false;          ///< a recording has used it: it stays for the pool's life
};

class MemoryPool;

/// Owns a block of a pool; gives it back when destroyed. Keeps the pool alive. Move-only.
class PoolBlock {
 public:
  PoolBlock() = default;
  PoolBlock(std::shared_ptr<MemoryPool> pool, void* data, std::size_t bytes,
            std::uint64_t generation) noexcept;
  ~PoolBlock();
  PoolBlock(PoolBlock&& other) noexcept;
  PoolBlock& operator=(PoolBlock&& other) noexcept;

  explicit operator bool() const noexcept { return data_ != nullptr; }
  void* data() const noexcept { return data_; }
  std::size_t bytes() const noexcept { return bytes_; }
  /// Unique among the pool's blocks: a later block at the same address has another.
  std::uint64_t generation() const noexcept { return generation_; }
  MemoryView view() const noexcept { return {data_, bytes_, MemorySpace::device}; }
  /// The segment that this lies in stays for the pool's life, as though a recording had used it:
  /// somebody will go on working at this address after the block was given back.
  void keep_segment() noexcept;

 private:
  void release() noexcept;

  std::shared_ptr<MemoryPool> pool_;
  void* data_ = nullptr;
  std::size_t bytes_ = 0;
  std::uint64_t generation_ = 0;
};

/// Best fit over segments, neighbours coalesced, blocks rounded to 512 bytes. The same sequence of
/// requests from the same state yields the same addresses: a warm-up pass makes room for the
/// recording pass. A block given back may be handed out at once, so all work that uses the pool
/// must be ordered on one lane (DESIGN §5). The bookkeeping itself is thread safe.
///
/// While the calling thread records, blocks are handed out from what is reserved; the pool refuses
/// to grow with a CaptureError that names the pool, the missing bytes and the fix (warm up or
/// reserve).
class MemoryPool : public std::enable_shared_from_this<MemoryPool> {
 public:
  /// Takes segments from the device, or from `upstream` where one is given.
  static std::shared_ptr<MemoryPool> create(std::shared_ptr<Device> device,
                                            MemoryPoolOptions options = {},
                                            std::shared_ptr<MemoryResource> upstream = nullptr);
  ~MemoryPool();
  MemoryPool(const MemoryPool&) = delete;
  MemoryPool& operator=(const MemoryPool&) = delete;

  const std::string& name() const noexcept;
  Device& device() const noexcept;

  /// At least `bytes`, aligned to 512; zero bytes give a block of the smallest size. `label` names
  /// the owner in snapshots. Throws OutOfMemory with what is reserved, in use and free, and
  /// UsageError while the memory is asleep.
  PoolBlock allocate(std::size_t bytes, std::string_view label);
  /// Makes sure that a single block of `bytes` could be handed out without growing.
  void reserve(std::size_t bytes);
  /// Gives wholly free segments back to the upstream; returns their bytes. Segments that a
  /// recording has used stay for the pool's life: its graph replays in them after the blocks were
  /// given back.
  std::size_t trim();

  /// True while the upstream's memory is away; replays in it are refused (SleepableMemory).
  bool asleep() const noexcept;

  MemoryStatistics statistics() const;
  /// Every peak becomes what is current; fragmentation() then tells of what follows.
  void reset_peak_stats();
  /// Every sum of increases and decreases, and every num_…, becomes 0.
  void reset_accumulated_stats();
  std::vector<SegmentInfo> snapshot() const;

 private:
  friend class PoolBlock;
  struct Impl;
  explicit MemoryPool(std::unique_ptr<Impl> impl);
  void give_back(void* data) noexcept;
  void keep_segment(void* data) noexcept;

  std::unique_ptr<Impl> impl_;
};

/// The pool's statistics as a table of fixed width, with a heading that names it (diag/).
std::string memory_summary(const MemoryPool& pool);

/// {"pool", "device", "statistics": {counter: {"current", "peak", "allocated", "freed"}, …,
/// "num_alloc_retries", "num_ooms", "num_device_alloc", "num_device_free", "fragmentation"},
/// "segments": [{"address": "0x…", "bytes", "recorded", "blocks": [{"offset", "bytes",
/// "requested_bytes", "state": "allocated"|"free", "label"}]}]}.
/// Bytes are integers. Here and below statistics and segments are taken one after the other, so a
/// pool that others use meanwhile may not agree with itself.
std::string memory_json(const MemoryPool& pool);

/// The statistics alone, flat, under the keys of torch.cuda.memory_stats:
/// {"allocated_bytes.all.peak": n, …, "num_ooms": n, …} and "fragmentation". "active" and
/// "active_bytes" are there for readers that look for them and equal "allocation" and
/// "allocated_bytes": a block given back is free at once.
std::string memory_stats_json(const MemoryPool& pool);

/// memory_json()'s pool as a picture, one SVG document: segments as bars, blocks coloured by owner,
/// free ones hatched, a legend with bytes. A block is at least 2 px wide; beyond that widths are in
/// proportion. Refers to nothing outside and follows the reader's light or dark theme.
std::string memory_svg(const MemoryPool& pool);

/// memory_svg() and a table of all blocks as one self-contained HTML page.
std::string memory_html(const MemoryPool& pool);

}  // namespace reprise
