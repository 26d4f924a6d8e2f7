// SPDX-License-Identifier: Apache-2.0
// What `reprise info` knows, and its two forms.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include <reprise/device.h>

#include "engine/device_speed.h"
#include "model/model_source.h"

namespace reprise::cli {

struct InfoReport {
  std::shared_ptr<Device> device;
  std::optional<DeviceSpeed> speed;
  std::string
      why_no_speed;  ///< why it could not be measured; "" where it was, or was not asked for
  std::optional<ModelSource> model;
  std::size_t cache_bytes_per_token = 0;  ///< of the model on the device
};

/// The instruction set the host computes with: "AVX-512", "AVX2" or "plain".
std::string instructions();

std::string info_text(const InfoReport& report);
std::string info_json(const InfoReport& report);

}  // namespace reprise::cli
