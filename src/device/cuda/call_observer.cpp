// SPDX-License-Identifier: Apache-2.0
#include "device/cuda/call_observer.h"

#include <algorithm>
#include <optional>
#include <string>
#include <utility>

#include "device/checks.h"
#include "device/cuda/call_stream.h"
#include "device/cuda/demangle.h"
#include "device/cuda/device.h"
#include "device/cuda/driver.h"
#include "device/cuda/stream.h"
#include "device/recordings.h"

namespace reprise::cuda {
namespace {

bool is_standard(cudaStream_t stream) noexcept {
  return stream == nullptr || stream == cudaStreamLegacy || stream == cudaStreamPerThread;
}

/// The recording's name of a stream, "" where it is none of the recording's.
std::string name_in(const LiveRecording& recording, cudaStream_t stream) {
  const auto is_it = [&](StreamState& state) {
    return static_cast<CudaStream&>(state).handle_now() == stream;
  };
  // On another thread the recording may be over, and its stream gone, by now.
  const std::shared_ptr<StreamState> origin = recording.origin_alive.lock();
  if (origin != nullptr && is_it(*origin)) return recording.origin_name;
  for (const auto& joined : recording.joined()) {
    if (is_it(*joined)) return joined->name;
  }
  return {};
}

bool is_relaxed() noexcept {
  cudaStreamCaptureMode mode = cudaStreamCaptureModeRelaxed;
  cudaThreadExchangeStreamCaptureMode(&mode);
  const bool relaxed = mode == cudaStreamCaptureModeRelaxed;
  cudaThreadExchangeStreamCaptureMode(&mode);
  return relaxed;
}

}  // namespace

CallObserver::CallObserver(DeviceState& device) : device_(device) {
  cupti_.subscribe(&CallObserver::on_call, this);
}

CallObserver::~CallObserver() {
  cupti_.unsubscribe();
  // Callbacks of other threads that had begun before.
  while (running_.load(std::memory_order_acquire) != 0) std::this_thread::yield();
}

void CallObserver::on_call(void* user, CuptiDomain domain, std::uint32_t /*id*/, const void* data) {
  auto& self = *static_cast<CallObserver*>(user);
  const auto& call = *static_cast<const CuptiCall*>(data);
  self.running_.fetch_add(1, std::memory_order_acq_rel);
  try {
    if (call.site == CuptiSite::enter) {
      self.on_entry(domain, call);
    } else if (domain == CuptiDomain::runtime) {
      self.go_back();
    }
  } catch (...) {
    // CUDA's frames lie between us and anybody who could be told: dropped() tells.
    self.drop();
  }
  self.running_.fetch_sub(1, std::memory_order_acq_rel);
}

// The runtime does its work by calls of the driver: what counts is the call that was made.
void CallObserver::on_entry(CuptiDomain domain, const CuptiCall& call) {
  const bool own = go_deeper();
  try {
    if (own) look_at(call);
  } catch (...) {
    if (domain == CuptiDomain::driver) go_back();
    throw;
  }
  if (domain == CuptiDomain::driver) go_back();
}

bool CallObserver::go_deeper() {
  const std::lock_guard lock(mutex_);
  return depth_[std::this_thread::get_id()]++ == 0;
}

void CallObserver::go_back() {
  const std::lock_guard lock(mutex_);
  const auto found = depth_.find(std::this_thread::get_id());
  if (found == depth_.end()) return;  // the watch began inside the call
  if (--found->second == 0) depth_.erase(found);
}

Recordings CallObserver::begun() const {
  const DeviceProperties& properties = device_.properties;
  if (!recordings::any_live(properties.kind, properties.ordinal)) return {};
  Recordings live = recordings::all_live(properties.kind, properties.ordinal);
  std::erase_if(
      live, [](const auto& recording) { return recording->capture_id == 0 || recording->ended(); });
  return live;
}

void CallObserver::look_at(const CuptiCall& call) {
  const Recordings live = begun();
  if (live.empty()) return;
  const int device = cupti_.device_of(call.context);
  if (device >= 0 && device != device_.properties.ordinal) return;
  count();
  const std::string_view function = plain_name(call.function);
  const std::optional<cudaStream_t> stream = stream_of(function, call.parameters);
  ObservedCall observed{.function = function};
  observed.relaxed = is_relaxed();
  // The innermost of this thread, and the one whose capture the stream takes part in.
  const auto own = recordings::of_this_thread(device_.properties.kind, device_.properties.ordinal);
  std::shared_ptr<LiveRecording> owner;
  if (stream && is_standard(*stream)) {
    observed.target = CallTarget::standard;
  } else if (stream) {
    const std::uint64_t id = capture_id(*stream);
    const auto found = std::find_if(live.begin(), live.end(), [&](const auto& recording) {
      return id != 0 && recording->capture_id == id;
    });
    if (found != live.end()) owner = *found;
    observed.target = owner != nullptr ? CallTarget::recording : CallTarget::other;
  }
  observed.recording_thread =
      owner != nullptr ? owner->thread == std::this_thread::get_id() : own != nullptr;
  const std::optional<CallEffect> effect = effect_of(observed);
  if (!effect) return;
  if (waits_for_device(function)) {  // ends them all; a body's is its outermost's
    for (const auto& recording : live) {
      if (recording->outer == nullptr) keep_call(*effect, call, stream, *recording);
    }
    return;
  }
  const auto& concerned = owner != nullptr ? owner : own;
  if (concerned != nullptr) keep_call(*effect, call, stream, *concerned);
}

void CallObserver::keep_call(CallEffect effect, const CuptiCall& call,
                             std::optional<cudaStream_t> stream, LiveRecording& recording) {
  WatchedCall kept;
  kept.effect = effect;
  kept.function = plain_name(call.function);
  kept.kernel = demangled(call.symbol);
  kept.thread = checks::thread_number();
  if (stream && is_standard(*stream)) {
    kept.stream = "the default stream";
  } else if (stream) {
    const std::string own = name_in(recording, *stream);
    kept.stream = own.empty() ? "another stream" : "stream '" + own + "'";
  }
  keep(std::move(kept), recording);
}

std::unique_ptr<CallWatch> CudaDevice::watch_calls() {
  return std::make_unique<CallObserver>(*this);
}

}  // namespace reprise::cuda
