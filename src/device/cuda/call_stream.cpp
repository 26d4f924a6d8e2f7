// SPDX-License-Identifier: Apache-2.0
#include "device/cuda/call_stream.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstring>

#include <cuda.h>

namespace reprise::cuda {
namespace {

// CUPTI hands over the parameters as a structure whose members are the call's, in their order.
struct LaunchKernel {  // cudaLaunchKernel, cudaLaunchCooperativeKernel
  const void* function;
  dim3 grid, block;
  void** arguments;
  std::size_t shared;
  cudaStream_t stream;
};
struct DriverLaunch {  // cuLaunchKernel, cuLaunchCooperativeKernel
  CUfunction function;
  unsigned grid[3], block[3], shared;
  CUstream stream;
};
struct Copy {  // cudaMemcpyAsync
  void* destination;
  const void* source;
  std::size_t bytes;
  cudaMemcpyKind kind;
  cudaStream_t stream;
};
struct Copy2D {  // cudaMemcpy2DAsync
  void* destination;
  std::size_t destination_pitch;
  const void* source;
  std::size_t source_pitch, width, height;
  cudaMemcpyKind kind;
  cudaStream_t stream;
};
struct DriverCopy {  // cuMemcpyAsync and those of a direction
  CUdeviceptr destination, source;
  std::size_t bytes;
  CUstream stream;
};
struct Fill {  // cudaMemsetAsync
  void* data;
  int value;
  std::size_t bytes;
  cudaStream_t stream;
};
struct DriverFill {  // cuMemsetD8Async and its siblings
  CUdeviceptr data;
  unsigned value;
  std::size_t count;
  CUstream stream;
};
struct CopySymbol {  // cudaMemcpyToSymbolAsync, cudaMemcpyFromSymbolAsync
  const void* destination;
  const void* source;
  std::size_t bytes, offset;
  cudaMemcpyKind kind;
  cudaStream_t stream;
};
struct CopyPeer {  // cudaMemcpyPeerAsync
  void* destination;
  int destination_device;
  const void* source;
  int source_device;
  std::size_t bytes;
  cudaStream_t stream;
};
struct Fill2D {  // cudaMemset2DAsync
  void* data;
  std::size_t pitch;
  int value;
  std::size_t width, height;
  cudaStream_t stream;
};
struct AllocateFromPool {  // cudaMallocFromPoolAsync
  void** data;
  std::size_t bytes;
  cudaMemPool_t pool;
  cudaStream_t stream;
};
struct OnStream {  // cudaStreamSynchronize, cudaStreamQuery, cudaLaunchHostFunc
  cudaStream_t stream;
};
struct SecondIsStream {  // cudaEventRecord, cudaGraphLaunch, cudaMemcpy3DAsync, cudaFreeAsync
  void* first;
  cudaStream_t stream;
};
struct ThirdIsStream {  // cudaMallocAsync
  void* first;
  std::size_t second;
  cudaStream_t stream;
};

struct Place {
  std::string_view function;
  std::size_t offset;
};

constexpr std::array kPlaces = std::to_array<Place>({
    {"cudaLaunchKernel", offsetof(LaunchKernel, stream)},
    {"cudaLaunchCooperativeKernel", offsetof(LaunchKernel, stream)},
    {"cudaLaunchHostFunc", offsetof(OnStream, stream)},
    {"cudaMemcpyAsync", offsetof(Copy, stream)},
    {"cudaMemcpy2DAsync", offsetof(Copy2D, stream)},
    {"cudaMemcpy3DAsync", offsetof(SecondIsStream, stream)},
    {"cudaMemsetAsync", offsetof(Fill, stream)},
    {"cudaMemcpyToSymbolAsync", offsetof(CopySymbol, stream)},
    {"cudaMemcpyFromSymbolAsync", offsetof(CopySymbol, stream)},
    {"cudaMemcpyPeerAsync", offsetof(CopyPeer, stream)},
    {"cudaMemset2DAsync", offsetof(Fill2D, stream)},
    {"cudaMallocFromPoolAsync", offsetof(AllocateFromPool, stream)},
    {"cudaEventRecord", offsetof(SecondIsStream, stream)},
    {"cudaEventRecordWithFlags", offsetof(SecondIsStream, stream)},
    {"cuEventRecord", offsetof(SecondIsStream, stream)},
    {"cuLaunchHostFunc", offsetof(OnStream, stream)},
    {"cuMemAllocAsync", offsetof(ThirdIsStream, stream)},
    {"cuMemFreeAsync", offsetof(SecondIsStream, stream)},
    {"cudaGraphLaunch", offsetof(SecondIsStream, stream)},
    {"cudaMallocAsync", offsetof(ThirdIsStream, stream)},
    {"cudaFreeAsync", offsetof(SecondIsStream, stream)},
    {"cudaStreamSynchronize", offsetof(OnStream, stream)},
    {"cudaStreamQuery", offsetof(OnStream, stream)},
    {"cuLaunchKernel", offsetof(DriverLaunch, stream)},
    {"cuLaunchCooperativeKernel", offsetof(DriverLaunch, stream)},
    {"cuMemcpyAsync", offsetof(DriverCopy, stream)},
    {"cuMemcpyHtoDAsync", offsetof(DriverCopy, stream)},
    {"cuMemcpyDtoHAsync", offsetof(DriverCopy, stream)},
    {"cuMemcpyDtoDAsync", offsetof(DriverCopy, stream)},
    {"cuMemsetD8Async", offsetof(DriverFill, stream)},
    {"cuMemsetD16Async", offsetof(DriverFill, stream)},
    {"cuMemsetD32Async", offsetof(DriverFill, stream)},
    {"cuGraphLaunch", offsetof(SecondIsStream, stream)},
    {"cuStreamSynchronize", offsetof(OnStream, stream)},
    {"cuStreamQuery", offsetof(OnStream, stream)},
});

template <class T>
T read(const void* from, std::size_t offset) noexcept {
  T value;
  std::memcpy(&value, static_cast<const char*>(from) + offset, sizeof value);
  return value;
}

}  // namespace

std::optional<cudaStream_t> stream_of(std::string_view function, const void* parameters) noexcept {
  if (parameters == nullptr) return std::nullopt;
  // The first parameter of these two is a description of the launch.
  if (function == "cudaLaunchKernelExC") {
    const auto* config = read<const cudaLaunchConfig_t*>(parameters, 0);
    return config == nullptr ? std::nullopt : std::optional(config->stream);
  }
  if (function == "cuLaunchKernelEx") {
    const auto* config = read<const CUlaunchConfig*>(parameters, 0);
    return config == nullptr ? std::nullopt : std::optional<cudaStream_t>(config->hStream);
  }
  const auto* const found = std::find_if(kPlaces.begin(), kPlaces.end(), [&](const Place& place) {
    return place.function == function;
  });
  if (found == kPlaces.end()) return std::nullopt;
  return read<cudaStream_t>(parameters, found->offset);
}

}  // namespace reprise::cuda
