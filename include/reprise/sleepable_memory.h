// SPDX-License-Identifier: Apache-2.0
// Device memory that is given back for a while and comes back at the same addresses (DESIGN §6,
// S14). Graphs that were recorded against it replay after it woke without being recorded again.
//
// Of each allocation its owner says what is to become of the contents: lost, saved to host memory,
// or loaded anew. What is recorded against such memory should be kernels: copies and fills are
// resolved when they are recorded (<reprise/address_range.h>), so a graph that holds copies or
// fills of this memory must be recorded again after sleep.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <reprise/device.h>
#include <reprise/memory_pool.h>

namespace reprise {

/// What becomes of the contents of an allocation over a sleep.
enum class SleepClass : std::uint8_t {
  discard,  ///< lost: caches and scratch memory, whose owner computes them anew
  save,     ///< kept in pinned host memory and restored: state that exists nowhere else
  reload,   ///< lost, then refilled by a callback of the owner: weights
};
inline constexpr std::size_t kSleepClasses = 3;
std::string_view to_string(SleepClass kind) noexcept;

/// Refills an allocation after wake-up mapped it: enqueues on `stream` (or waits itself) and may
/// throw, which ends the wake-up. It is given the memory, so it need not own the buffer, and should
/// not: the buffer would then keep itself alive. Calls that it makes on the SleepableMemory are
/// refused.
using ReloadFunction = std::function<void(Stream& stream, MemoryView memory)>;

struct SleepableMemoryOptions {
  std::string name = "sleepable";
  /// Bytes that *discard* memory holds after wake-up; none: undefined, and no time is spent.
  std::optional<std::uint8_t> discard_fill = {};
};

struct SleepReport {
  struct Part {
    std::size_t allocations = 0;
    std::size_t bytes = 0;  ///< of device memory given back
  };
  std::array<Part, kSleepClasses> parts{};  ///< by class
  std::size_t host_bytes = 0;               ///< of pinned memory that holds what is saved
  double save_seconds = 0;
  double unmap_seconds = 0;

  const Part& of(SleepClass kind) const noexcept { return parts[static_cast<std::size_t>(kind)]; }
  std::size_t bytes() const noexcept;  ///< of all classes
};

struct WakeReport {
  std::size_t bytes = 0;     ///< of device memory taken
  std::size_t mappings = 0;  ///< pieces it was taken in: one for each allocation
  double map_seconds = 0;
  double restore_seconds = 0;
  double reload_seconds = 0;
};

struct SleepableAllocation;  // in src/memory/
class SleepableMemory;

/// Owns one allocation of a SleepableMemory, and keeps that alive. Move-only. May be destroyed
/// while asleep. Destroying waits for work in flight, as with an AddressRange.
class SleepableBuffer {
 public:
  SleepableBuffer() noexcept = default;
  SleepableBuffer(std::shared_ptr<SleepableMemory> memory,
                  std::shared_ptr<SleepableAllocation> allocation) noexcept;
  ~SleepableBuffer();
  SleepableBuffer(SleepableBuffer&&) noexcept = default;
  SleepableBuffer& operator=(SleepableBuffer&& other) noexcept;

  explicit operator bool() const noexcept { return allocation_ != nullptr; }
  /// Stays the same, asleep or not.
  void* data() const noexcept;
  /// Bytes that have memory behind them while awake: what was asked for, rounded up to the device's
  /// granularity.
  std::size_t bytes() const noexcept;
  /// Bytes of addresses: how far extend() can go.
  std::size_t reserved_bytes() const noexcept;
  SleepClass sleep_class() const noexcept;
  const std::string& label() const noexcept;
  /// As Buffer::generation; stays over a sleep, since the addresses do.
  std::uint64_t generation() const noexcept;

  /// Both throw UsageError while the memory is asleep, and where what is asked for does not lie
  /// inside bytes().
  MemoryView view() const;
  MemoryView view(std::size_t offset, std::size_t bytes) const;
  TensorView tensor(DType dtype, const Shape& shape) const;

  /// Puts memory behind the next `more` bytes, a multiple of the device's granularity, as one
  /// piece. Graphs that were recorded before reach it. Throws UsageError beyond reserved_bytes()
  /// or while asleep, OutOfMemory, or CaptureError on a thread that records: nothing changed then.
  void extend(std::size_t more);

 private:
  void release() noexcept;

  std::shared_ptr<SleepableMemory> memory_;
  std::shared_ptr<SleepableAllocation> allocation_;
};

/// Hands out device memory by class, and puts all of it to sleep and wakes it together. Thread
/// safe; that no other thread enqueues work on the memory during sleep() and wake() is the callers'
/// to arrange. Runners and pools whose MemoryPool lies in it, or that are told of it by
/// RunnerOptions or GraphPoolOptions::sleeps_with, refuse to run while it is asleep.
class SleepableMemory : public std::enable_shared_from_this<SleepableMemory> {
 public:
  static std::shared_ptr<SleepableMemory> create(std::shared_ptr<Device> device,
                                                 SleepableMemoryOptions options = {});
  ~SleepableMemory();
  SleepableMemory(const SleepableMemory&) = delete;
  SleepableMemory& operator=(const SleepableMemory&) = delete;

  Device& device() const noexcept;
  const std::string& name() const noexcept;
  /// Bytes, a power of two: what allocations are rounded up to. Small things are better packed in
  /// a MemoryPool over resource(), or cut from one allocation.
  std::size_t granularity() const noexcept;

  /// Memory of its own addresses. `reserve_bytes` of them, if that is more than `bytes`, can be
  /// given memory later by extend(). *reload* needs a callback and the others take none. Throws
  /// UsageError for that and while asleep, OutOfMemory, DeviceError where the device cannot reserve
  /// addresses.
  SleepableBuffer allocate(std::size_t bytes, SleepClass kind, std::string_view label,
                           ReloadFunction reload = nullptr, std::size_t reserve_bytes = 0);
  /// Segments for a MemoryPool, *discard* or *save*; keeps this alive. They grow in place, as with
  /// MemoryPoolOptions::expandable.
  std::shared_ptr<MemoryResource> resource(SleepClass kind, std::string_view label);

  /// Waits for work in flight, saves, and gives the device memory back. Throws UsageError where it
  /// is asleep already, another thread is in sleep() or wake(), or a recording is live on the
  /// device (CaptureError on the thread that records), and what the device throws (OutOfMemory for
  /// the pinned memory): it is then awake and nothing is lost, unless the device failed when part
  /// of the memory had been given back. After that it is asleep, the message says what is still
  /// mapped, and sleep() may be called again to give back the rest.
  SleepReport sleep();
  /// Takes memory in one piece for each allocation, restores what was saved and calls the reload
  /// callbacks, both in the order of allocation, and waits for it all. If anything throws, the
  /// memory is given back, it is still asleep with all that was saved, the exception goes on, and
  /// wake() may be called again. UsageError where it is awake; else refused as sleep() is.
  WakeReport wake();
  /// From the moment sleep() begins to give back until wake() has succeeded.
  bool asleep() const noexcept { return asleep_.load(std::memory_order_acquire); }
  /// Bytes of device memory held now; 0 when all of it sleeps.
  std::size_t mapped_bytes() const;

 private:
  friend class SleepableBuffer;
  using Allocations = std::vector<std::shared_ptr<SleepableAllocation>>;
  class Resource;
  class Busy;

  SleepableMemory(std::shared_ptr<Device> device, SleepableMemoryOptions options);
  void forget(const std::shared_ptr<SleepableAllocation>& allocation) noexcept;
  void extend(SleepableAllocation& allocation, std::size_t more);
  Allocations all() const;
  void require_no_recording(std::string_view call) const;
  void require_steady(std::string_view call, std::string_view label) const;  // under the lock
  void save(const Allocations& allocations, SleepReport& report);
  void unmap(const Allocations& allocations, SleepReport& report);
  void map(const Allocations& allocations, WakeReport& report);
  void restore(const Allocations& allocations, WakeReport& report);
  void reload(const Allocations& allocations, WakeReport& report);
  static void drop_saved(const Allocations& allocations) noexcept;
  static void give_back_quietly(const Allocations& allocations) noexcept;

  const std::shared_ptr<Device> device_;
  const SleepableMemoryOptions options_;
  const std::size_t granularity_;
  Stream stream_;  ///< of saving and restoring
  std::atomic<bool> asleep_{false};
  mutable std::mutex mutex_;  ///< guards the members below
  bool busy_ = false;         ///< a sleep() or wake() is on its way
  Allocations allocations_;
};

}  // namespace reprise
