// SPDX-License-Identifier: Apache-2.0
// Streaming through memory as fast as the machine's threads can read it.
#pragma once

#include <cstddef>
#include <cstdint>

#include <reprise/device.h>

namespace reprise::simd {

/// As Ops::read_all, with the widest loads of this CPU whatever the level of the other kernels: it
/// measures the machine, not them.
void enqueue_read_all(Device& device, const void* data, std::size_t bytes, std::uint32_t* sink,
                      Stream& stream);

}  // namespace reprise::simd
