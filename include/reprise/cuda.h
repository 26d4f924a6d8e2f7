// SPDX-License-Identifier: Apache-2.0
// Opt-in header for steps that run on a CUDA device: native handles, and how raw launches get their
// labels. Needs the CUDA toolkit's headers. Every call throws UsageError on another device.
#pragma once

#include <string_view>
#include <utility>

#include <cuda_runtime_api.h>

#include <reprise/device.h>
#include <reprise/launch_declaration.h>

namespace reprise::cuda {

/// The stream's native handle, for launches by the calling thread. Ask anew for each group of
/// launches: the recording rules of <reprise/device.h> are checked here (default stream, another
/// thread's recording, lost device), and the stream's device is made current. Don't begin or end a
/// capture on it, don't synchronise it inside a recording, don't destroy it.
cudaStream_t native(Stream& stream);

/// Call it after raw launches on native(stream). Throws DeviceError, or CaptureError inside a
/// recording, for the error that the thread's launches left. Inside a recording, the nodes that the
/// launches became get `label` under the open label scopes, and count as work of the recording.
/// Nodes that nobody named get the label of the scopes open at their launch.
void note_work(Stream& stream, std::string_view label);
/// The same with what the kernels launched since the last call declare: the launches themselves are
/// the caller's, with cudaLaunchAttributeProgrammaticStreamSerialization where that is declared.
/// For a library's kernels `waits` alone says that they may be launched programmatically.
/// <reprise/cuda_launch.h> launches as declared.
void note_work(Stream& stream, std::string_view label, const LaunchDeclaration& declaration);

/// launch(cudaStream_t) and note_work in one: the counterpart of host::enqueue.
template <class Launch>
void enqueue(Stream& stream, std::string_view label, Launch&& launch) {
  std::forward<Launch>(launch)(native(stream));
  note_work(stream, label);
}

template <class Launch>
void enqueue(Stream& stream, std::string_view label, const LaunchDeclaration& declaration,
             Launch&& launch) {
  std::forward<Launch>(launch)(native(stream));
  note_work(stream, label, declaration);
}

/// The event's native handle. Record it and wait for it through Stream, so that recordings know.
cudaEvent_t native(Event& event);

}  // namespace reprise::cuda
