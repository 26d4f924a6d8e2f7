// SPDX-License-Identifier: Apache-2.0
#include "device/host/queue.h"

#include <fmt/format.h>

#include "device/host/spin.h"

namespace reprise::host {
namespace {

constexpr int kSpin = 1000;
constexpr std::size_t kFirstLength = 64;

thread_local bool is_worker = false;

}  // namespace

Queue::Queue(DeviceState& device, std::string stream_name)
    : device_(device), stream_name_(std::move(stream_name)), ring_(kFirstLength) {
  worker_ = std::thread([this] { work_off(); });
}

Queue::~Queue() {
  {
    const std::lock_guard lock(mutex_);
    stop_ = true;
    hint_.store(true, std::memory_order_release);
  }
  filled_.notify_one();
  worker_.join();
}

bool Queue::on_worker() noexcept { return is_worker; }

std::uint64_t Queue::push(Item item) {
  std::uint64_t ticket = 0;
  bool wake = false;
  {
    const std::lock_guard lock(mutex_);
    if (size_ == ring_.size()) {
      std::vector<Item> longer(ring_.size() * 2);
      for (std::size_t index = 0; index < size_; ++index) {
        longer[index] = std::move(ring_[(head_ + index) & (ring_.size() - 1)]);
      }
      ring_ = std::move(longer);
      head_ = 0;
    }
    ticket = ++last_ticket_;
    ring_[(head_ + size_) & (ring_.size() - 1)] = std::move(item);
    ++size_;
    hint_.store(true, std::memory_order_release);
    wake = asleep_;
  }
  if (wake) filled_.notify_one();
  return ticket;
}

std::uint64_t Queue::last_ticket() const {
  const std::lock_guard lock(mutex_);
  return last_ticket_;
}

bool Queue::take(Item& item) {
  spin_until(kSpin, [&] { return hint_.load(std::memory_order_acquire); });
  std::unique_lock lock(mutex_);
  asleep_ = true;
  filled_.wait(lock, [&] { return size_ > 0 || stop_; });
  asleep_ = false;
  if (size_ == 0) return false;
  item = std::move(ring_[head_]);
  head_ = (head_ + 1) & (ring_.size() - 1);
  --size_;
  hint_.store(size_ > 0 || stop_, std::memory_order_release);
  return true;
}

void Queue::work_off() {
  is_worker = true;
  std::uint64_t ticket = 0;
  Item item;
  while (take(item)) {
    ++ticket;
    run(item);
    // What a task holds is let go before anybody can see it done.
    item = Item{};
    progress_->complete(ticket);
  }
}

void Queue::run(const Item& item) {
  if (item.wait_for) item.wait_for->wait(item.wait_ticket);
  run_guarded(item.work, item.work.label);
  if (item.program) run(*item.program);
  if (item.timestamp) {
    const std::lock_guard stamp(item.timestamp->mutex);
    if (item.timestamp->latest == item.timestamp_number) {
      item.timestamp->time = std::chrono::steady_clock::now();
    }
  }
}

void Queue::run(const Program& program) {
  for (std::size_t index = 0; index < program.work.size(); ++index) {
    const Work& work = program.work[index];
    if (work.kind == Work::Kind::conditional) {
      run(*work.conditional);
    } else {
      run_guarded(work, program.nodes[index].label);
    }
  }
}

void Queue::run(const Conditional& node) {
  const auto holds = [&] {
    return !device_.lost.load(std::memory_order_acquire) && *node.spec.condition != 0;
  };
  if (node.spec.kind == ConditionalSpec::Kind::loop) {
    for (std::uint32_t round = 0; round < node.spec.max_iterations && holds(); ++round) {
      run(*node.bodies.front());
    }
    return;
  }
  const std::size_t taken = holds() ? 0 : 1;
  if (taken < node.bodies.size()) run(*node.bodies[taken]);
}

void Queue::run_guarded(const Work& work, const std::string& label) {
  if (work.kind == Work::Kind::nothing || device_.lost.load(std::memory_order_acquire)) return;
  std::string reason;
  try {
    work.run();
    return;
  } catch (const std::exception& fault) {
    reason = fault.what();
  } catch (...) {
    reason = "an exception that is no std::exception";
  }
  device_.mark_lost(
      fmt::format("host task '{}' on stream '{}' threw: {}", label, stream_name_, reason));
}

}  // namespace reprise::host
