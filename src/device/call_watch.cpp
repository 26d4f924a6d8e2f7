// SPDX-License-Identifier: Apache-2.0
#include "device/call_watch.h"

#include <algorithm>
#include <array>

#include <fmt/format.h>

#include "device/recordings.h"

namespace reprise {
namespace {

constexpr std::size_t kMostCalls = 1000;

/// What kinds of calls there are, as far as a recording is concerned.
enum class CallClass : std::uint8_t {
  enqueues,      // onto the stream it names
  blocks,        // runs now, ordered on the default stream or on none, and waits
  waits_stream,  // waits for, or asks about, the stream it names
  waits_device,  // waits for all streams
  waits_event,   // waits for, or asks about, an event
  marks,         // records an event on the stream it names
  memory,        // gives or takes memory
};

struct KnownCall {
  std::string_view name;
  CallClass kind;
};

constexpr std::array kKnown = std::to_array<KnownCall>({
    {"cudaLaunchKernel", CallClass::enqueues},
    {"cudaLaunchKernelExC", CallClass::enqueues},
    {"cudaLaunchCooperativeKernel", CallClass::enqueues},
    {"cudaLaunchHostFunc", CallClass::enqueues},
    {"cudaMemcpyAsync", CallClass::enqueues},
    {"cudaMemcpy2DAsync", CallClass::enqueues},
    {"cudaMemcpy3DAsync", CallClass::enqueues},
    {"cudaMemsetAsync", CallClass::enqueues},
    {"cudaMemcpyToSymbolAsync", CallClass::enqueues},
    {"cudaMemcpyFromSymbolAsync", CallClass::enqueues},
    {"cudaMemcpyPeerAsync", CallClass::enqueues},
    {"cudaMemset2DAsync", CallClass::enqueues},
    {"cudaEventRecord", CallClass::marks},
    {"cudaEventRecordWithFlags", CallClass::marks},
    {"cudaMallocFromPoolAsync", CallClass::enqueues},
    {"cudaGraphLaunch", CallClass::enqueues},
    {"cudaMallocAsync", CallClass::enqueues},
    {"cudaFreeAsync", CallClass::enqueues},
    {"cuLaunchKernel", CallClass::enqueues},
    {"cuLaunchKernelEx", CallClass::enqueues},
    {"cuLaunchCooperativeKernel", CallClass::enqueues},
    {"cuMemcpyAsync", CallClass::enqueues},
    {"cuMemcpyHtoDAsync", CallClass::enqueues},
    {"cuMemcpyDtoHAsync", CallClass::enqueues},
    {"cuMemcpyDtoDAsync", CallClass::enqueues},
    {"cuMemsetD8Async", CallClass::enqueues},
    {"cuMemsetD16Async", CallClass::enqueues},
    {"cuMemsetD32Async", CallClass::enqueues},
    {"cuGraphLaunch", CallClass::enqueues},
    {"cuLaunchHostFunc", CallClass::enqueues},
    {"cuMemAllocAsync", CallClass::enqueues},
    {"cuMemFreeAsync", CallClass::enqueues},
    {"cuEventRecord", CallClass::marks},
    {"cudaMemcpy", CallClass::blocks},
    {"cudaMemcpy2D", CallClass::blocks},
    {"cudaMemcpy3D", CallClass::blocks},
    {"cudaMemcpyToSymbol", CallClass::blocks},
    {"cudaMemcpyFromSymbol", CallClass::blocks},
    {"cudaMemset", CallClass::blocks},
    {"cudaMemset2D", CallClass::blocks},
    {"cudaMemset3D", CallClass::blocks},
    {"cudaMemcpyPeer", CallClass::blocks},
    {"cudaMemcpy2DToArray", CallClass::blocks},
    {"cudaMemcpy2DFromArray", CallClass::blocks},
    {"cuMemcpy2D", CallClass::blocks},
    {"cuMemcpy3D", CallClass::blocks},
    {"cuMemcpyPeer", CallClass::blocks},
    {"cuMemsetD16", CallClass::blocks},
    {"cuMemcpy", CallClass::blocks},
    {"cuMemcpyHtoD", CallClass::blocks},
    {"cuMemcpyDtoH", CallClass::blocks},
    {"cuMemcpyDtoD", CallClass::blocks},
    {"cuMemsetD8", CallClass::blocks},
    {"cuMemsetD32", CallClass::blocks},
    {"cudaStreamSynchronize", CallClass::waits_stream},
    {"cudaStreamQuery", CallClass::waits_stream},
    {"cuStreamSynchronize", CallClass::waits_stream},
    {"cuStreamQuery", CallClass::waits_stream},
    {"cudaDeviceSynchronize", CallClass::waits_device},
    {"cuCtxSynchronize", CallClass::waits_device},
    {"cudaEventSynchronize", CallClass::waits_event},
    {"cudaEventQuery", CallClass::waits_event},
    {"cuEventSynchronize", CallClass::waits_event},
    {"cuEventQuery", CallClass::waits_event},
    {"cudaMalloc", CallClass::memory},
    {"cudaMallocHost", CallClass::memory},
    {"cudaHostAlloc", CallClass::memory},
    {"cudaMallocPitch", CallClass::memory},
    {"cudaMallocManaged", CallClass::memory},
    {"cudaMalloc3D", CallClass::memory},
    {"cudaMallocArray", CallClass::memory},
    {"cudaFreeArray", CallClass::memory},
    {"cudaHostRegister", CallClass::memory},
    {"cudaHostUnregister", CallClass::memory},
    {"cuMemAllocManaged", CallClass::memory},
    {"cuMemAllocPitch", CallClass::memory},
    {"cuMemHostAlloc", CallClass::memory},
    {"cudaFree", CallClass::memory},
    {"cudaFreeHost", CallClass::memory},
    {"cuMemAlloc", CallClass::memory},
    {"cuMemFree", CallClass::memory},
    {"cuMemAllocHost", CallClass::memory},
    {"cuMemFreeHost", CallClass::memory},
});

const KnownCall* known_call(std::string_view name) noexcept {
  const auto* const found = std::find_if(kKnown.begin(), kKnown.end(),
                                         [&](const KnownCall& call) { return call.name == name; });
  return found == kKnown.end() ? nullptr : found;
}

std::string_view advice(const WatchedCall& call) noexcept {
  switch (call.effect) {
    case CallEffect::ends:
      return "CUDA ends the recording for it; wait for single streams that don't record, or wait "
             "before and after";
    case CallEffect::foreign:
      return "it becomes part of the graph; let one thread record, and give others streams of "
             "their own";
    case CallEffect::outside:
      break;
  }
  const KnownCall* const known = known_call(call.function);
  if (known != nullptr && known->kind == CallClass::memory) {
    return "a replay does not do it again; take memory before recording, or from the step's "
           "scratch memory";
  }
  if (known != nullptr && known->kind == CallClass::enqueues) {
    return "it runs at once and is missing from the graph; enqueue it on the recording stream, or "
           "join its stream by an event";
  }
  return "it runs at once, or is refused, and is missing from the graph; do it before or after the "
         "recording, or through the recording stream";
}

std::string sentence(const WatchedCall& call, const LiveRecording& recording) {
  return fmt::format("thread {} called {}{}{} while stream '{}' recorded (recording {}, {}): {}",
                     call.thread, call.function,
                     call.kernel.empty() ? "" : fmt::format(" of kernel '{}'", call.kernel),
                     call.stream.empty() ? "" : fmt::format(" on {}", call.stream),
                     recording.origin_name, recording.id, recording.progress(), advice(call));
}

}  // namespace

std::string_view to_string(CallEffect effect) noexcept {
  switch (effect) {
    case CallEffect::outside:
      return "outside";
    case CallEffect::foreign:
      return "foreign";
    case CallEffect::ends:
      return "ends";
  }
  return "?";
}

std::string_view plain_name(std::string_view function) noexcept {
  for (const std::string_view suffix : {"_ptsz", "_ptds"}) {
    if (function.ends_with(suffix)) function.remove_suffix(suffix.size());
  }
  const std::size_t version = function.rfind("_v");
  if (version != std::string_view::npos && version + 2 < function.size() &&
      std::all_of(function.begin() + static_cast<std::ptrdiff_t>(version) + 2, function.end(),
                  [](char digit) { return digit >= '0' && digit <= '9'; })) {
    function.remove_suffix(function.size() - version);
  }
  return function;
}

std::optional<CallEffect> effect_of(const ObservedCall& call) noexcept {
  const KnownCall* const known = known_call(call.function);
  if (known == nullptr) return std::nullopt;
  const auto outside = [&]() -> std::optional<CallEffect> {
    if (!call.recording_thread) return std::nullopt;
    return CallEffect::outside;
  };
  switch (known->kind) {
    case CallClass::waits_device:
      return CallEffect::ends;
    case CallClass::waits_stream:
      if (call.target == CallTarget::recording) return CallEffect::ends;
      return outside();
    case CallClass::enqueues:
      if (call.target != CallTarget::recording) return outside();
      if (call.recording_thread) return std::nullopt;
      return CallEffect::foreign;
    case CallClass::marks:
      // On another stream it is no work: what waits for it inside the recording is told by CUDA.
      if (call.target != CallTarget::recording || call.recording_thread) return std::nullopt;
      return CallEffect::foreign;
    case CallClass::memory:
      if (call.relaxed) return std::nullopt;
      return outside();
    case CallClass::waits_event:
      if (call.relaxed) return std::nullopt;
      return outside();
    case CallClass::blocks:
      return outside();
  }
  return std::nullopt;
}

bool waits_for_device(std::string_view function) noexcept {
  const KnownCall* const known = known_call(function);
  return known != nullptr && known->kind == CallClass::waits_device;
}

void CallWatch::keep(WatchedCall call, LiveRecording& recording) {
  call.recording = recording.id;
  call.text = sentence(call, recording);
  if (call.effect == CallEffect::ends) recording.blame(call.text);
  const std::lock_guard lock(mutex_);
  if (calls_.size() < kMostCalls) {
    calls_.push_back(std::move(call));
  } else {
    ++dropped_;
  }
}

void CallWatch::count() noexcept {
  const std::lock_guard lock(mutex_);
  ++seen_;
}

std::vector<WatchedCall> CallWatch::calls() const {
  const std::lock_guard lock(mutex_);
  return calls_;
}

std::uint64_t CallWatch::dropped() const {
  const std::lock_guard lock(mutex_);
  return dropped_ + unkept_;
}

std::uint64_t CallWatch::seen() const {
  const std::lock_guard lock(mutex_);
  return seen_;
}

}  // namespace reprise
