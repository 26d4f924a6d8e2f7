// SPDX-License-Identifier: Apache-2.0
// What a device brings to the conformance suite of DESIGN §4: how to open it, and a few small
// kernels. The suite is written against this header only; host_kit.cpp and cuda_kit.cu implement
// it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string_view>

#include <reprise/device.h>
#include <reprise/launch_declaration.h>

namespace reprise::contract {

/// Arrays are float and lie in device memory. Kernels are enqueued on the stream under `label`.
class Kit {
 public:
  virtual ~Kit() = default;

  virtual std::shared_ptr<Device> open() = 0;

  /// x[i] += c
  virtual void add(Stream& stream, float* x, std::size_t n, float c,
                   std::string_view label = "add") = 0;
  /// The same by a kernel that waits for those before it and lets the next one start early,
  /// launched as `declaration` says.
  virtual void add_declared(Stream& stream, float* x, std::size_t n, float c,
                            const LaunchDeclaration& declaration,
                            std::string_view label = "add") = 0;
  /// y[i] += a * x[i]
  virtual void axpy(Stream& stream, float* y, const float* x, std::size_t n, float a) = 0;
  /// y[i] = a * x[i]
  virtual void copy_scaled(Stream& stream, float* y, const float* x, std::size_t n, float a) = 0;
  /// x[*index * stride + i] += c, where `index` lies in device memory and is read by the kernel
  virtual void add_at(Stream& stream, float* x, const std::uint32_t* index, std::size_t stride,
                      std::size_t n, float c) = 0;
  /// x[i] = i
  virtual void fill_index(Stream& stream, float* x, std::size_t n) = 0;
  /// *x += c, where `x` lies in device memory
  virtual void add_integer(Stream& stream, std::int32_t* x, std::int32_t c) = 0;
  /// Keeps the stream busy until *flag is not 0. `flag` lies in pinned memory.
  virtual void wait_for_flag(Stream& stream, std::uint32_t* flag) = 0;

  /// True where something outside the library can end a recording.
  virtual bool can_invalidate_recording() const = 0;
  /// Ends the recording that the calling thread makes on `stream`, behind the library's back.
  virtual void invalidate_recording(Stream& stream) = 0;

  /// True where a device can be lost without harm to other Device objects of the process.
  virtual bool can_lose_device() const = 0;
  /// Enqueues a kernel that fails with `reason` in its message, which loses the device.
  virtual void lose_device(Stream& stream, std::string_view reason) = 0;
};

std::unique_ptr<Kit> make_kit();

}  // namespace reprise::contract
