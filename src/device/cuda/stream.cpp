// SPDX-License-Identifier: Apache-2.0
#include "device/cuda/stream.h"

#include "device/cuda/driver.h"
#include "device/cuda/graph.h"
#include "device/cuda/status.h"
#include "device/recordings.h"

namespace reprise::cuda {
namespace {

bool on_host(MemorySpace space) { return space != MemorySpace::device; }

cudaMemcpyKind copy_kind(MemorySpace destination, MemorySpace source) {
  if (on_host(destination)) {
    return on_host(source) ? cudaMemcpyHostToHost : cudaMemcpyDeviceToHost;
  }
  return on_host(source) ? cudaMemcpyHostToDevice : cudaMemcpyDeviceToDevice;
}

}  // namespace

CudaStream::CudaStream(DeviceState& owning, std::string stream_name, bool legacy)
    : legacy_(legacy), reached_(owning, cudaEventDisableTiming) {
  name = std::move(stream_name);
  owner = &owning;
  if (legacy) {
    stream_ = cudaStreamLegacy;
    return;
  }
  const RelaxedGuard relaxed;
  check(cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking), owning,
        "Device::create_stream");
}

CudaStream::~CudaStream() {
  if (legacy_) return;
  const RelaxedGuard relaxed;
  if (cudaStreamDestroy(stream_) != cudaSuccess) cudaGetLastError();
}

bool CudaStream::capturing_locked() const {
  return captured_in_ != nullptr && !captured_in_->ended();
}

template <class Enqueue>
void CudaStream::enqueue(std::string_view call, const Enqueue& enqueue) {
  const auto live = recording();
  if (live != nullptr && may_have_others_work()) name_new_nodes(*live, {}, true);
  check(enqueue(), *this, call);
  if (live != nullptr) name_new_nodes(*live, {}, false);  // the public side counts this one
}

void CudaStream::copy(MemoryView destination, MemoryView source) {
  enqueue("Stream::copy", [&] {
    return cudaMemcpyAsync(destination.data, source.data, source.bytes,
                           copy_kind(destination.space, source.space), stream_);
  });
}

void CudaStream::fill(MemoryView destination, std::uint8_t value) {
  enqueue("Stream::fill",
          [&] { return cudaMemsetAsync(destination.data, value, destination.bytes, stream_); });
}

void CudaStream::record(EventState& event) {
  look_for_new_nodes();  // work noted so far comes before the event, also raw launches
  check(cudaEventRecord(static_cast<CudaEvent&>(event).handle(), stream_), *this, "Stream::record");
}

void CudaStream::wait(const EventState& event) {
  waited_.store(true, std::memory_order_relaxed);
  const auto& cuda_event = static_cast<const CudaEvent&>(event);
  const auto source = event.mark().recording;
  if (source == nullptr) {
    check(cudaStreamWaitEvent(stream_, cuda_event.handle(), 0), *this, "Stream::wait");
    return;
  }
  look_for_new_nodes();
  waited_.store(true, std::memory_order_relaxed);
  const std::lock_guard lock(mutex_);
  if (!capturing_locked()) {
    check(cudaEventRecord(reached_.get(), stream_), *this, "Stream::wait");
  }
  check(cudaStreamWaitEvent(stream_, cuda_event.handle(), 0), *this, "Stream::wait");
  captured_in_ = source;
}

void CudaStream::synchronize() {
  const RelaxedGuard relaxed;
  {
    const std::lock_guard lock(mutex_);
    // Another thread may have begun to record on this stream since the caller asked: then the event
    // marks what came before.
    if (!capturing_locked()) {
      check(cudaEventRecord(reached_.get(), stream_), *this, "Stream::synchronize");
    }
  }
  // Not the stream: waiting for one that records would end its recording.
  check(cudaEventSynchronize(reached_.get()), *this, "Stream::synchronize");
}

bool CudaStream::query() {
  const std::lock_guard lock(mutex_);
  const cudaError_t status =
      capturing_locked() ? cudaEventQuery(reached_.get()) : cudaStreamQuery(stream_);
  if (status == cudaErrorNotReady) {
    cudaGetLastError();
    return false;
  }
  check(status, *this, "Stream::query");
  return true;
}

bool CudaStream::wait_quietly() noexcept {
  try {
    synchronize();
    return true;
  } catch (const std::exception&) {
    return false;  // a lost device says so at the next call
  }
}

}  // namespace reprise::cuda
