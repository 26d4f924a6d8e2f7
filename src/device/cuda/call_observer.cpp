// SPDX-License-Identifier: Apache-2.0
#include "device/cuda/call_observer.h"

#include <cstdlib>
#include <optional>
#include <string>
#include <utility>

#include <cxxabi.h>

#include "device/checks.h"
#include "device/cuda/call_stream.h"
#include "device/cuda/device.h"
#include "device/cuda/stream.h"
#include "device/recordings.h"

namespace reprise::cuda {
namespace {

std::string demangled(const char* symbol) {
  if (symbol == nullptr) return {};
  int status = 0;
  char* const text = abi::__cxa_demangle(symbol, nullptr, nullptr, &status);
  std::string result = status == 0 ? text : symbol;
  std::free(text);
  return result;
}

bool is_standard(cudaStream_t stream) noexcept {
  return stream == nullptr || stream == cudaStreamLegacy || stream == cudaStreamPerThread;
}

/// The recording's name of a stream, "" where it is none of the recording's.
std::string name_in(const LiveRecording& recording, cudaStream_t stream) {
  const auto is_it = [&](const StreamState& state) {
    return static_cast<const CudaStream&>(state).handle() == stream;
  };
  if (is_it(*recording.origin)) return recording.origin_name;
  for (const auto& joined : recording.joined()) {
    if (is_it(*joined)) return joined->name;
  }
  return {};
}

bool is_capturing(cudaStream_t stream) noexcept {
  cudaStreamCaptureStatus status = cudaStreamCaptureStatusNone;
  if (cudaStreamIsCapturing(stream, &status) == cudaSuccess) {
    return status != cudaStreamCaptureStatusNone;
  }
  cudaGetLastError();  // a handle that is none: the caller's own call will say so
  return false;
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
    // Out of memory for a note. CUDA's frames lie between us and anybody who could be told.
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

std::shared_ptr<LiveRecording> CallObserver::concerned() const {
  const DeviceProperties& properties = device_.properties;
  if (!recordings::any_live(properties.kind, properties.ordinal)) return nullptr;
  auto own = recordings::of_this_thread(properties.kind, properties.ordinal);
  if (own != nullptr) return own;
  const auto all = recordings::all_live(properties.kind, properties.ordinal);
  return all.empty() ? nullptr : all.front();
}

void CallObserver::look_at(const CuptiCall& call) {
  const std::shared_ptr<LiveRecording> recording = concerned();
  if (recording == nullptr) return;
  const int device = cupti_.device_of(call.context);
  if (device >= 0 && device != device_.properties.ordinal) return;
  // Between opening the books and CUDA's own beginning, and the same at the end.
  auto& origin = static_cast<CudaStream&>(*recording->origin);
  if (!is_capturing(origin.handle())) return;
  count();
  const std::string_view function = plain_name(call.function);
  ObservedCall observed{.function = function};
  observed.recording_thread = recording->thread == std::this_thread::get_id();
  observed.relaxed = is_relaxed();
  std::string name;
  if (const auto stream = stream_of(function, call.parameters)) {
    if (is_standard(*stream)) {
      observed.target = CallTarget::standard;
      name = "the default stream";
    } else {
      observed.target = is_capturing(*stream) ? CallTarget::recording : CallTarget::other;
      const std::string own = name_in(*recording, *stream);
      name = own.empty() ? "another stream" : "stream '" + own + "'";
    }
  }
  const std::optional<CallEffect> effect = effect_of(observed);
  if (!effect) return;
  WatchedCall kept;
  kept.effect = *effect;
  kept.function = function;
  kept.kernel = demangled(call.symbol);
  kept.thread = checks::thread_number();
  kept.stream = name;
  keep(std::move(kept), *recording);
}

std::unique_ptr<CallWatch> CudaDevice::watch_calls() {
  return std::make_unique<CallObserver>(*this);
}

}  // namespace reprise::cuda
