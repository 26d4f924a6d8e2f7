// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <string>

#include <reprise/device.h>

namespace reprise::cli {

/// Device::open. Where "auto" found no usable GPU in a build that could use one, a note says so and
/// why: whoever meant the GPU would otherwise wonder at the speed.
std::shared_ptr<Device> open_device(const std::string& spec);

}  // namespace reprise::cli
