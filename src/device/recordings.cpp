// SPDX-License-Identifier: Apache-2.0
#include "device/recordings.h"

#include <algorithm>
#include <iterator>

#include <fmt/format.h>

#include "device/checks.h"

namespace reprise::recordings {
namespace {

struct Deferred {
  DeviceKind kind;
  int ordinal;
  std::function<void()> action;
};

struct Table {
  std::atomic<std::size_t> live_count{0};
  std::mutex mutex;
  std::uint64_t next_id = 1;
  std::vector<std::shared_ptr<LiveRecording>> live;
  std::vector<Deferred> deferred;

  bool any_live_locked(DeviceKind kind, int ordinal) const {
    return std::any_of(live.begin(), live.end(), [&](const auto& recording) {
      return recording->kind == kind && recording->ordinal == ordinal;
    });
  }
  std::shared_ptr<LiveRecording> of_this_thread_locked(DeviceKind kind, int ordinal) const {
    const auto self = std::this_thread::get_id();
    const auto found = std::find_if(live.rbegin(), live.rend(), [&](const auto& recording) {
      return recording->thread == self && recording->kind == kind && recording->ordinal == ordinal;
    });
    return found == live.rend() ? nullptr : *found;  // bodies come after what they are bodies of
  }
  std::vector<Deferred> take_deferred_locked(DeviceKind kind, int ordinal) {
    std::vector<Deferred> taken;
    std::erase_if(deferred, [&](Deferred& item) {
      if (item.kind != kind || item.ordinal != ordinal) return false;
      taken.push_back(std::move(item));
      return true;
    });
    return taken;
  }
};

// How many recordings of the table this thread has open: a thread that has none, such as one that
// replays while another records, need not lock the table.
thread_local int own_live = 0;

// Never destroyed: buffers with static lifetime ask it while the process ends.
Table& table() {
  static Table& instance = *new Table;
  return instance;
}

[[noreturn]] void throw_nested(const StreamState& origin, LiveRecording& live) {
  const bool own = live.thread == std::this_thread::get_id();
  checks::fail(
      *origin.owner, CaptureFault::nested,
      fmt::format("capture on {} from thread {} is refused: stream '{}' is recording "
                  "already{} (recording {}, {}); {}",
                  checks::describe(origin), checks::thread_number(), live.origin_name,
                  own ? "" : fmt::format(" on thread {}", live.thread_number), live.id,
                  live.progress(),
                  own ? "end that recording before beginning another, or join the stream to "
                        "it by an event"
                      : "use another stream"));
}

}  // namespace

std::shared_ptr<LiveRecording> open(StreamState& origin) {
  const DeviceProperties& properties = origin.owner->properties;
  Table& all = table();
  std::shared_ptr<LiveRecording> busy;
  {
    const std::lock_guard lock(all.mutex);
    busy = origin.recording();
    if (busy == nullptr) busy = all.of_this_thread_locked(properties.kind, properties.ordinal);
    if (busy == nullptr && !origin.is_default) {
      auto recording = std::make_shared<LiveRecording>(all.next_id++, properties.kind,
                                                       properties.ordinal, origin);
      all.live.push_back(recording);
      all.live_count.store(all.live.size(), std::memory_order_release);
      ++own_live;
      origin.labels.clear();
      origin.set_recording(recording);
      return recording;
    }
  }
  if (busy != nullptr) throw_nested(origin, *busy);
  throw CaptureError(
      CaptureFault::refused,
      fmt::format("capture on {} from thread {} is refused: the default stream cannot "
                  "be recorded; use a stream of Device::create_stream",
                  checks::describe(origin), checks::thread_number()));
}

std::shared_ptr<LiveRecording> open_body(StreamState& origin,
                                         std::shared_ptr<LiveRecording> outer) {
  Table& all = table();
  const std::lock_guard lock(all.mutex);
  auto body = std::make_shared<LiveRecording>(all.next_id++, outer->kind, outer->ordinal, origin,
                                              std::move(outer));
  all.live.push_back(body);
  all.live_count.store(all.live.size(), std::memory_order_release);
  ++own_live;
  body->outer->suspend(true);
  origin.set_recording(body);
  return body;
}

void close(const std::shared_ptr<LiveRecording>& recording) noexcept {
  for (const auto& stream : recording->end()) {
    stream->labels.clear();
    stream->set_recording(nullptr);
  }
  if (recording->outer == nullptr) recording->origin->labels.clear();
  recording->origin->set_recording(recording->outer);
  if (recording->outer != nullptr) recording->outer->suspend(false);
  std::vector<Deferred> due;
  {
    Table& all = table();
    const std::lock_guard lock(all.mutex);
    std::erase(all.live, recording);
    --own_live;
    all.live_count.store(all.live.size(), std::memory_order_release);
    if (!all.any_live_locked(recording->kind, recording->ordinal)) {
      due = all.take_deferred_locked(recording->kind, recording->ordinal);
    }
  }
  for (Deferred& item : due) item.action();
}

std::shared_ptr<LiveRecording> of_this_thread(DeviceKind kind, int ordinal) noexcept {
  if (own_live == 0) return nullptr;
  Table& all = table();
  const std::lock_guard lock(all.mutex);
  return all.of_this_thread_locked(kind, ordinal);
}

bool any_live(DeviceKind kind, int ordinal) noexcept {
  Table& all = table();
  if (all.live_count.load(std::memory_order_acquire) == 0) return false;
  const std::lock_guard lock(all.mutex);
  return all.any_live_locked(kind, ordinal);
}

std::vector<std::shared_ptr<LiveRecording>> all_live(DeviceKind kind, int ordinal) {
  std::vector<std::shared_ptr<LiveRecording>> found;
  Table& all = table();
  const std::lock_guard lock(all.mutex);
  std::copy_if(all.live.begin(), all.live.end(), std::back_inserter(found),
               [&](const auto& live) { return live->kind == kind && live->ordinal == ordinal; });
  return found;
}

void run_or_defer(DeviceKind kind, int ordinal, std::function<void()> action) noexcept {
  {
    Table& all = table();
    const std::lock_guard lock(all.mutex);
    if (all.any_live_locked(kind, ordinal)) {
      all.deferred.push_back({kind, ordinal, std::move(action)});
      return;
    }
  }
  action();
}

}  // namespace reprise::recordings
