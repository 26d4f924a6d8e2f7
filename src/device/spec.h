// SPDX-License-Identifier: Apache-2.0
// The text that chooses a device: "auto", "host", "cuda", "cuda:N".
#pragma once

#include <string_view>

#include <reprise/device.h>

namespace reprise {

struct DeviceSpec {
  bool automatic = false;  ///< take cuda if it is usable, else host
  DeviceKind kind = DeviceKind::host;
  int ordinal = 0;

  friend bool operator==(const DeviceSpec&, const DeviceSpec&) = default;
};

/// Throws UsageError that lists what is allowed.
DeviceSpec parse_device_spec(std::string_view text);

}  // namespace reprise
